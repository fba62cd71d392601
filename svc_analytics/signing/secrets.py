"""Secrets that never show themselves, and key rings of them, the newest secret first."""

import base64
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from svc_analytics.errors import ConfigError
from svc_analytics.instants import HOUR, parse_bound


class Secret:  # no dataclass: `asdict` would take it apart
    """A key or secret whose repr hides it; only `reveal()` returns its text.

    Examples:
        >>> Secret("svc_live_0123")
        Secret(***)
    """

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        object.__setattr__(self, "_text", text)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a key or secret does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the text itself, for the one place that sends it or signs with it."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a key or secret is not pickled")


_MARK = b"svc_***"


def _in_base64(text: bytes) -> list[bytes]:
    """Encode a text in base64, without the letters that its neighbours share, at each offset."""
    whole = [base64.b64encode(bytes(offset) + text) for offset in range(3)]
    return [whole[n][(4 * n + 2) // 3 : 4 * (n + len(text)) // 3] for n in range(3)]


_CODED = [*_in_base64(b"svc_live_"), *_in_base64(b"svc_payout_")]
_KEY = re.compile(rb"svc(_|%5f)(live|payout)(_|%5f)[0-9a-f]{8,}", re.IGNORECASE)
_CODED_KEY = re.compile(rb"[\w+/-]{0,2}(%s)[\w+/=-]*" % b"|".join(map(re.escape, _CODED)))


def hide_keys(body: bytes) -> bytes:
    """Return bytes that somebody else sent, with a mark in place of each key of the service.

    A proxy may repeat what it was sent, in an error or anywhere else.

    >>> hide_keys(b"refused: Bearer svc_live_" + b"0a" * 32)
    b'refused: Bearer svc_***'
    """
    import numpy as np  # here, for most commands only show that they have no key

    # Searched first: a pattern takes a hundred times as long, and `in` for each case five times.
    text = np.frombuffer(body, np.uint8)
    lower = text | 0x20
    marks = (lower[:-3] == ord("s")) & (lower[1:-2] == ord("v")) & (lower[2:-1] == ord("c"))
    return _KEY.sub(_MARK, body) if (marks & (text[3:] == ord("_"))).any() else body


def hide_coded_keys(body: bytes) -> bytes:
    """Return bytes with a mark in place of each key, also as addresses and base64 write it."""
    return _CODED_KEY.sub(_MARK, _KEY.sub(_MARK, body))


def hide_keys_in(text: str) -> str:
    """Return a text with a mark in place of each key, however it is written."""
    return hide_coded_keys(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")


def hide_keys_of(error: BaseException | None) -> None:
    """Put a mark in place of each key in the texts of an error and of what led to it."""
    while error is not None:
        error.args = tuple(
            hide_keys_in(each) if isinstance(each, str) else each for each in error.args
        )
        error = error.__cause__ or error.__context__


ROTATION_OVERLAP = 24 * HOUR  # contract, Limits: secret rotation overlap
_BORDER = re.compile(r"[,\r\n]")
_QUOTED = re.compile(r"""(["'])((?:(?!\1).)*)\1""", re.DOTALL)
# What a person may mean as a date after an @; `\d` is a digit of any script.
_MONTH = (
    r"(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?"
    r"|oct(ober)?|nov(ember)?|dec(ember)?)"
)
_LIKE_DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}([-/.]\d|\Z)"  # 2026-08-15, 15.08.2026, 2026-08
    r"|\d{1,2}:\d\d"  # a time of day
    r"|(13|14|19|20)\d\d([01]\d[0-3]\d(T.*)?)?\Z"  # 2026, 20260815
    r"|1[4-9]\d{8}(\d{3}|\d{6})?\Z"  # seconds since 1970, or parts of them
    r"|(yesterday|today|tomorrow|now|(last|next|this) .*|\w+day)\Z"
    rf"|(\d{{1,2}}\W*)?{_MONTH}(\W+\d{{1,4}}){{0,2}}\Z",  # 15 August 2026
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SigningSecret:
    """One secret of a key ring, and when it came into force (UTC microseconds) if that is known.

    Examples:
        >>> SigningSecret(Secret("rcpt_0123"), 1_755_216_000_000_000).valid_from
        1755216000000000
    """

    secret: Secret
    valid_from: int | None = None


_NO_INSTANT = (
    "what follows the @ of a secret is no date or instant: write 2026-08-15 or "
    "2026-08-15T00:00:00Z; if it is part of the secret, add an @ and since when the secret holds"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_WANTED = "secrets are texts as in SVC_RECEIPT_SECRETS, newest first"
Secrets = str | SigningSecret | Sequence[str | SigningSecret]


def parse_ring(secrets: Secrets) -> tuple[SigningSecret, ...]:
    """Return one key ring from secrets given as texts, as `SigningSecret`, or both.

    >>> [entry.valid_from for entry in parse_ring(["b@1970-01-01T00:00:01Z", "a"])]
    [1000000, None]
    """
    parts = [secrets] if isinstance(secrets, (str, SigningSecret)) else secrets
    if not isinstance(parts, Iterable):
        raise ConfigError(f"{_WANTED}, not {type(parts).__name__}")  # never the value
    return tuple(entry for one in parts for entry in _entries(one))


def _entries(one: object) -> tuple[SigningSecret, ...]:
    """Return the entries of one text, or an entry as it is."""
    if isinstance(one, SigningSecret):
        return (one,)
    if not isinstance(one, str):
        raise ConfigError(f"{_WANTED}, not {type(one).__name__}")  # never the value
    return parse_secrets(one)


def parse_secrets(text: str) -> tuple[SigningSecret, ...]:
    r"""Read the text of a key ring, newest first: `new@2026-08-15T00:00:00Z,old`.

    Commas or line breaks part the secrets; blanks and quotes around one are not part of it.

    >>> [entry.secret.reveal() for entry in parse_secrets('"new"\r\n\r\n old ,oldest')]
    ['new', 'old', 'oldest']
    """
    if _SURROGATE.search(text):  # a byte of the environment that is no UTF-8
        raise ConfigError("a secret holds bytes that are no UTF-8 text: copy it again")
    parts = (part.strip() for part in _BORDER.split(_unquoted(text)))
    ring = tuple(_parse_secret(part) for part in parts if part)
    dates = [entry.valid_from for entry in ring if entry.valid_from is not None]
    if dates != sorted(dates, reverse=True):
        raise ConfigError("the secrets are not newest first: order them by the instant after @")
    return ring


def valid_until(signer: SigningSecret, ring: Sequence[SigningSecret]) -> int | None:
    """Return the last instant at which a secret may have signed; None for no end.

    Contract, Events 8: the previous secret is accepted for 24 hours after its successor.
    """
    newer = (entry.valid_from for entry in ring[: ring.index(signer)])
    successor = min((at for at in newer if at is not None), default=None)
    return None if successor is None else successor + ROTATION_OVERLAP


def is_after_expiry(signer: SigningSecret, ring: Sequence[SigningSecret], paid_at: int) -> bool:
    """Tell whether an older secret signed something dated after it had expired."""
    until = valid_until(signer, ring)
    return until is not None and paid_at > until


def oldest_date(ring: Iterable[SigningSecret]) -> int | None:
    """Return when the ring's oldest dated secret came into force; None without dates."""
    return min((entry.valid_from for entry in ring if entry.valid_from is not None), default=None)


def _parse_secret(part: str) -> SigningSecret:
    """Read a secret and the date after its last @; an @ before anything else is part of it."""
    whole = _unquoted(part)
    secret, at, date = (each.strip() for each in whole.rpartition("@"))
    if not at or not _LIKE_DATE.match(date):
        return SigningSecret(Secret(whole))
    if not secret:
        raise ConfigError("a date without a secret before its @")
    try:
        valid_from = parse_bound(date)
    except ConfigError:
        raise ConfigError(_NO_INSTANT) from None  # never the text: it may be part of the secret
    return SigningSecret(Secret(_unquoted(secret)), valid_from)


def _unquoted(text: str) -> str:
    """Return a text without the blanks around it, and the one pair of quotes."""
    text = text.strip()
    quoted = _QUOTED.fullmatch(text)
    return quoted[2].strip() if quoted else text
