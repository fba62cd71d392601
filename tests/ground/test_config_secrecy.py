"""Settings keep their keys and secrets to themselves (H5)."""

import copy
import dataclasses
import pickle
import pprint
import traceback
from collections.abc import Callable

import pytest

from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import ConfigError
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, PAYOUT_KEY
from tests.support.unit_material import raised_by

RECEIPT_SECRET, WEBHOOK_SECRET, PROXY_PASSWORD = "rcpt-s3cret", "hook-s3cret", "pr0xy-pass"
NEVER = (CHECKOUT_KEY[9:25], PAYOUT_KEY[11:27], "s3cret", PROXY_PASSWORD)


@pytest.fixture
def settings(tmp_path) -> Settings:
    environ = {
        "SVC_BASE_URL": BASE_URL,
        "SVC_CHECKOUT_KEY": CHECKOUT_KEY,
        "SVC_PAYOUT_KEY": PAYOUT_KEY,
        "SVC_RECEIPT_SECRETS": f"{RECEIPT_SECRET}@2026-08-15T00:00:00Z,older-s3cret",
        "SVC_WEBHOOK_SECRETS": WEBHOOK_SECRET,
        "SVC_PROXY": f"http://user:{PROXY_PASSWORD}@proxy.example:3128",
    }
    return read_settings(environ=environ, folder=tmp_path)


PRINTED: dict[str, Callable[[Settings], str]] = {
    "repr": repr,
    "str": str,
    "format": lambda settings: f"{settings} {settings!r} {settings!a}",
    "percent": lambda settings: "%s %r" % (settings, settings),  # noqa: UP031
    "in containers": lambda settings: repr([{"settings": settings}]),
    "pretty": pprint.pformat,
    "in an exception": lambda settings: "".join(traceback.format_exception(ValueError(settings))),
}  # fmt: skip


@pytest.mark.parametrize("show", PRINTED.values(), ids=PRINTED.keys())
def test_no_way_of_printing_shows_a_secret(settings, show):
    """However settings are printed, no key, secret or proxy password comes out."""
    text = show(settings)
    assert "***" in text
    assert not [secret for secret in NEVER if secret in text]


@pytest.mark.parametrize(
    "write", [pickle.dumps, copy.deepcopy, dataclasses.asdict], ids=lambda f: f.__name__
)
def test_settings_are_not_pickled_or_copied(settings, write):
    """Settings do not travel to a file or another process."""
    with pytest.raises(TypeError, match="not pickled"):
        write(settings)


VARIABLES = [
    *("SVC_BASE_URL", "SVC_CHECKOUT_KEY", "SVC_PAYOUT_KEY", "SVC_PATIENCE"),
    *("SVC_CHECKOUT_KEY_FILE", "SVC_PAYOUT_KEY_FILE", "SVC_RECEIPT_SECRETS_FILE"),
    "SVC_WEBHOOK_SECRETS_FILE",
]
MISPLACED = {
    "a checkout key": CHECKOUT_KEY,
    "a payout key": PAYOUT_KEY,
    "a mistyped key": CHECKOUT_KEY + "1",
    "a secret": RECEIPT_SECRET,
}
RIGHT = {("SVC_CHECKOUT_KEY", "a checkout key"), ("SVC_PAYOUT_KEY", "a payout key")}
CASES = [(name, what) for name in VARIABLES for what in MISPLACED if (name, what) not in RIGHT]


@pytest.mark.parametrize(("name", "what"), CASES)
def test_key_in_the_wrong_variable_is_not_told(tmp_path, name, what):
    """A key pasted into any variable is refused without being shown, causes included."""
    error = raised_by(lambda: read_settings(environ={name: MISPLACED[what]}, folder=tmp_path))
    assert isinstance(error, ConfigError)
    assert name in str(error)
    told = "".join(traceback.format_exception(error))
    assert not [secret for secret in NEVER if secret in told]


@pytest.mark.parametrize(
    "url", [f"https://user:{CHECKOUT_KEY}@pay.example", f"http://pay.example/{PAYOUT_KEY}"]
)
def test_refused_address_tells_no_key(tmp_path, url):
    """An address that holds a key is refused without being shown."""
    error = raised_by(lambda: read_settings(environ={"SVC_BASE_URL": url}, folder=tmp_path))
    told = "".join(traceback.format_exception(error))
    assert not [secret for secret in NEVER if secret in told]


@pytest.mark.parametrize("name", ["SVC_RECEIPT_SECRETS", "SVC_WEBHOOK_SECRETS"])
def test_refused_ring_tells_no_secret(tmp_path, name):
    """A ring oldest first would verify by the wrong dates: the variable is named, and no secret."""
    ring = "a-s3cret@2026-01-01T00:00:00Z,b-s3cret@2026-08-15T00:00:00Z"
    error = raised_by(lambda: read_settings(environ={name: ring}, folder=tmp_path))
    assert f"{name}: " in str(error) and "newest first" in str(error)
    assert "s3cret" not in "".join(traceback.format_exception(error))


def test_dotenv_that_cannot_be_read_tells_no_secret(tmp_path):
    """A broken `.env` is named, its content is not shown."""
    (tmp_path / ".env").write_bytes(f"SVC_CHECKOUT_KEY={CHECKOUT_KEY}\n".encode() + b"\xff")
    error = raised_by(lambda: read_settings(environ={}, folder=tmp_path))
    assert isinstance(error, ConfigError)
    assert CHECKOUT_KEY[9:25] not in "".join(traceback.format_exception(error))
