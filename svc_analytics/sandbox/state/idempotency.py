"""Idempotency by `reference_id`: allow repeats, refuse a different request."""

import hashlib

import msgspec

from svc_analytics.sandbox.core.errors import duplicate_reference
from svc_analytics.sandbox.state.store import Store


class IdempotencyKeys:
    """Remember the requests made so far, by kind and reference."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_replay(self, kind: str, reference_id: str, payload: object) -> bool:
        """Tell whether the same request was made before; refuse a different one."""
        sql = "select fingerprint from requests where kind = ? and reference_id = ?"
        row = self._store.first(sql, kind, reference_id)
        if row and row[0] != _fingerprint(payload):
            raise duplicate_reference()
        return row is not None

    def keep(self, kind: str, reference_id: str, payload: object) -> None:
        """Remember a request; call inside the transaction that carries it out."""
        self._store.insert("requests", kind, reference_id, _fingerprint(payload))


def _fingerprint(payload: object) -> str:
    canonical = msgspec.json.encode(payload, order="sorted")
    return hashlib.sha256(canonical).hexdigest()
