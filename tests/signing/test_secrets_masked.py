"""Keys and secrets: only `reveal` tells them."""

import base64
import copy
import dataclasses
import json
import logging
import pickle
from collections.abc import Callable

import pytest

from svc_analytics.signing.secrets import Secret, hide_coded_keys, hide_keys

TEXT = "svc_live_" + "ab" * 32
MASKED = Secret(TEXT)

SHOWN: dict[str, Callable[[], str]] = {
    "repr": lambda: repr(MASKED),
    "str": lambda: str(MASKED),
    "format": lambda: format(MASKED),
    "f-string": lambda: f"{MASKED} {MASKED!r} {MASKED!s} {MASKED!a}",
    "percent": lambda: "%s %r" % (MASKED, MASKED),  # noqa: UP031
    "in a container": lambda: repr([MASKED, {"key": MASKED}, (MASKED,)]),
    "in a log record": lambda: logging.makeLogRecord({"msg": "%s", "args": (MASKED,)}).getMessage(),
    "in an exception": lambda: repr(ValueError(MASKED)),
}


@pytest.mark.parametrize("show", SHOWN.values(), ids=SHOWN.keys())
def test_no_way_of_printing_shows_it(show):
    """H5: however a key is printed, stars come out."""
    assert "***" in show()
    assert TEXT[:12] not in show()


@pytest.mark.parametrize(
    "key",
    [TEXT, TEXT.upper(), TEXT.capitalize()],
    ids=["as issued", "in capitals", "with a capital"],
)
def test_a_key_that_somebody_repeats_is_hidden(key):
    """A proxy may send back what it was sent; all else of an answer stays."""
    assert hide_keys(f"<p>Bearer {key}</p>".encode()) == b"<p>Bearer svc_***</p>"
    assert hide_keys(b"<p>another text</p>") == b"<p>another text</p>"


@dataclasses.dataclass
class _Holder:
    key: Secret


LEAKS: dict[str, Callable[[], object]] = {
    "pickle": lambda: pickle.dumps(MASKED),
    "pickle inside": lambda: pickle.dumps({"key": MASKED}),
    "copy": lambda: copy.copy(MASKED),
    "deepcopy": lambda: copy.deepcopy([MASKED]),
    "asdict": lambda: dataclasses.asdict(_Holder(MASKED)),
    "json": lambda: json.dumps({"key": MASKED}),
    "a width": lambda: f"{MASKED:>80}",
    "joined": lambda: "".join([MASKED]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("leak", LEAKS.values(), ids=LEAKS.keys())
def test_it_is_not_written_anywhere(leak):
    """A key is neither pickled nor turned into text by chance; the refusal is silent about it."""
    with pytest.raises(TypeError) as refusal:
        leak()
    assert TEXT[:12] not in str(refusal.value)


def test_reveal_tells_the_text():
    """The one place that sends a key can have it."""
    assert MASKED.reveal() == TEXT


def test_it_does_not_change():
    """A key cannot be exchanged under someone's hands."""
    with pytest.raises(AttributeError):
        MASKED._text = "other"  # type: ignore[misc]


def test_secrets_are_equal_where_their_texts_are():
    """To nothing else, also not to the text itself."""
    assert Secret("a") == Secret("a") and len({Secret("a"), Secret("a")}) == 1
    assert [Secret("a") == other for other in (Secret("b"), "a", None)] == [False] * 3


@pytest.mark.parametrize("before", ["", "a", "me", "you:"])
@pytest.mark.parametrize("key", [TEXT, TEXT.replace("live", "payout")], ids=["live", "payout"])
def test_a_key_in_base64_is_hidden_wherever_it_begins(key, before):
    """Behind a name, as in a header: base64 writes one text in three ways."""
    hidden = hide_coded_keys(b"refused: %s." % base64.b64encode(f"{before}{key}".encode()))
    assert hidden.startswith(b"refused: ") and hidden.endswith(b"svc_***.") and len(hidden) < 30
