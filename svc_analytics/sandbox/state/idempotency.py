"""Idempotency by `reference_id`: the same request again, or another under the same name."""

import hashlib

import msgspec

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.state.store import Store


class References:
    """The requests made so far, by kind and reference."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_replay(self, kind: str, reference_id: str, payload: object) -> bool:
        """Tell whether this very request was made before; refuse a different one."""
        rows = self._store.fetch(
            "select fingerprint from requests where kind = ? and reference_id = ?",
            (kind, reference_id),
        )
        if rows and rows[0][0] != _fingerprint(payload):
            raise duplicate()
        return bool(rows)

    def keep(self, kind: str, reference_id: str, payload: object) -> None:
        """Remember a request, in the transaction that fulfils it."""
        values = (kind, reference_id, _fingerprint(payload))
        self._store.fetch("insert into requests values (?, ?, ?)", values)


def duplicate() -> Refusal:
    """Return the refusal of a reference that names something else already."""
    return Refusal(409, "PAY_DUPLICATE_REFERENCE")


def _fingerprint(payload: object) -> str:
    canonical = msgspec.json.encode(payload, order="sorted")
    return hashlib.sha256(canonical).hexdigest()
