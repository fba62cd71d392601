"""Secrets that never show themselves, and key rings of them, the newest secret first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from svc_analytics.errors import ConfigError
from svc_analytics.instants import HOUR, parse_bound


class Secret:  # no dataclass: `asdict` would take it apart
    """A key or secret whose repr hides it; only `reveal()` returns its text.

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


ROTATION_OVERLAP = 24 * HOUR  # contract, Limits: secret rotation overlap
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True)
class SigningSecret:
    """One secret of a key ring, and when it came into force if that is known."""

    secret: Secret
    valid_from: int | None = None


_WANTED = "secrets are texts as in SVC_RECEIPT_SECRETS, newest first"
Secrets = str | SigningSecret | Sequence[str | SigningSecret]


def parse_ring(secrets: Secrets) -> tuple[SigningSecret, ...]:
    """Return one key ring from secrets given as texts, as `SigningSecret`, or both.

    >>> [entry.valid_from for entry in parse_ring(["b@1970-01-01T00:00:01Z", "a"])]
    [1000000, None]
    """
    given = [secrets] if isinstance(secrets, (str, SigningSecret)) else secrets
    if not isinstance(given, Iterable):
        raise ConfigError(f"{_WANTED}, not {type(given).__name__}")  # never the value
    return tuple(entry for one in given for entry in _entries(one))


def _entries(one: object) -> tuple[SigningSecret, ...]:
    """Return the entries of one text, or an entry as it is."""
    if isinstance(one, SigningSecret):
        return (one,)
    if not isinstance(one, str):
        raise ConfigError(f"{_WANTED}, not {type(one).__name__}")  # never the value
    return parse_secrets(one)


def parse_secrets(text: str) -> tuple[SigningSecret, ...]:
    """Read the text of a key ring, newest first: `new@2026-08-15T00:00:00Z,old`."""
    ring = tuple(_parse_secret(part.strip()) for part in text.split(",") if part.strip())
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
    secret, at, instant = part.rpartition("@")
    if not at or not _DATE.match(instant):  # a secret may itself hold an @
        return SigningSecret(Secret(part))
    valid_from = parse_bound(instant)
    if not secret:
        raise ConfigError("a date without a secret before its @")
    return SigningSecret(Secret(secret), valid_from)
