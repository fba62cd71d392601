"""Idempotency by `reference_id`: allow repeats, refuse a different request."""

import hashlib

import msgspec

from svc_analytics.sandbox.core.errors import Refusal
from svc_analytics.sandbox.state.store import Store


class IdempotencyKeys:
    """Remember the requests made so far, by kind and reference."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def is_replay(self, kind: str, reference_id: str, payload: object) -> bool:
        """Tell whether the same request was made before; refuse a different one."""
        rows = self._store.fetch(
            "select fingerprint from requests where kind = ? and reference_id = ?",
            (kind, reference_id),
        )
        if rows and rows[0][0] != _fingerprint(payload):
            raise duplicate_reference()
        return bool(rows)

    def keep(self, kind: str, reference_id: str, payload: object) -> None:
        """Remember a request; call inside the transaction that carries it out."""
        values = (kind, reference_id, _fingerprint(payload))
        self._store.fetch("insert into requests values (?, ?, ?)", values)


def duplicate_reference() -> Refusal:
    """Return the error for a reference that is already used for something else."""
    return Refusal(409, "PAY_DUPLICATE_REFERENCE")


def _fingerprint(payload: object) -> str:
    canonical = msgspec.json.encode(payload, order="sorted")
    return hashlib.sha256(canonical).hexdigest()
