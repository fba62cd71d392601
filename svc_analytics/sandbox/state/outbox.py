"""Outbox of webhook events: written with the change they report, delivered later."""

import uuid
from typing import Any

import msgspec

from svc_analytics.sandbox.state.store import Store

# Events, Event types: the fields of each type, in order, after event_id and type.
FIELDS: dict[str, tuple[str, ...]] = {
    "payment.completed": ("session_id", "reference_id", "payment_id", "status"),
    "session.expired": ("session_id", "reference_id", "status"),
    "payout.completed": ("payout_id", "reference_id", "kind", "status"),
    "binding.completed": ("binding_id", "customer_id", "status"),
    "binding.review": ("binding_id", "customer_id", "status"),
    "binding.revoked": ("binding_id", "customer_id", "status"),
    "test.ping": ("source",),
}


class Outbox:
    """Queue webhook events; they carry ids and a status, never an amount."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def emit(self, type_: str, at: int, **fields: str | None) -> str:
        """Queue an event and return its id, which every delivery attempt carries."""
        if tuple(fields) != FIELDS[type_]:
            raise AssertionError(f"{type_} has the fields {FIELDS[type_]}, not {tuple(fields)}")
        event_id = str(uuid.uuid4())
        body: dict[str, Any] = {"event_id": event_id, "type": type_, **fields}
        text = msgspec.json.encode(body).decode()
        self._store.insert("events", event_id, type_, text, at, "pending", 0, at)
        return event_id
