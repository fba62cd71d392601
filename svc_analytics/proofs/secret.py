"""The secret of a lake, and the salts made of it: without its salt, nobody can guess a line.

It is made when the lake first seals a month. Whoever has it can test guesses at lines of which
only a hash was given away, so it is in every copy of the lake and in no package.
"""

import hmac
import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from svc_analytics.errors import LakeError
from svc_analytics.storage import Storage, merge_into

FILE = "secret"
SCHEME = "hmac-sha256/1"
_TAG = b"svc-analytics/salt/1"
_BYTES = 32


def read_secret(lake: Path) -> bytes | None:
    """Read the secret of a lake; None where it has none. Raises `LakeError` for a torn one."""
    try:
        secret = (lake / FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LakeError(f"{lake / FILE} cannot be read: {error.strerror}") from error
    if len(secret) != _BYTES:
        raise LakeError(f"{lake / FILE} is torn: restore it from a copy of the lake")
    return secret


def require_secret(storage: Storage) -> bytes:
    """Read the secret of a lake; where there is none, make one."""
    return read_secret(storage.folder) or merge_into(storage, partial(_make, storage))


def _make(storage: Storage) -> bytes:
    if known := read_secret(storage.folder):
        return known
    secret = secrets.token_bytes(_BYTES)
    with storage.write(storage.folder / FILE) as temporary:
        temporary.touch(mode=0o600)
        temporary.write_bytes(secret)
    return secret


def netstring(content: bytes) -> bytes:
    """Write bytes with their length before them, so that no two lists of them are alike.

    >>> netstring(b"2026-10")
    b'7:2026-10,'
    """
    return b"%d:%b," % (len(content), content)


@dataclass(frozen=True)
class Scope:
    """The statement that a salt is of: a line that is restated has another salt."""

    merchant: str
    calendar: str
    zone: str
    label: str
    version: int

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> "Scope":
        """Take the scope from a manifest."""
        names = (manifest[name] for name in ("calendar", "zone", "label", "version"))
        return cls(str(manifest["merchant"].get("id")), *names)


class Salts:
    """The salts of a statement's lines."""

    def __init__(self, secret: bytes, scope: Scope) -> None:
        facts = (scope.merchant, scope.calendar, scope.zone, scope.label, str(scope.version))
        prefix = b"".join(map(netstring, [_TAG, *(fact.encode() for fact in facts)]))
        self._begun = hmac.new(secret, prefix, "sha256")

    def of(self, record_id: bytes, line_number: int) -> bytes:
        """Make the salt of a line, from its record and its number from 1."""
        number = b"%d" % line_number
        mac = self._begun.copy()
        mac.update(b"%d:%b,%d:%b," % (len(record_id), record_id, len(number), number))
        return mac.digest()
