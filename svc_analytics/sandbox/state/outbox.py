"""Events: emitted in the transaction of what they tell, delivered later by another.

The contract says of a session's metadata that it is echoed on webhooks, and lists each
event's fields without it; we follow the list.
"""

import uuid
from typing import Any

import msgspec

from svc_analytics.sandbox.state.store import Store

# Events, Event types: each type's fields, behind event_id and type and in this order.
FIELDS: dict[str, tuple[str, ...]] = {
    "payment.completed": ("session_id", "reference_id", "payment_id", "status"),
    "session.expired": ("session_id", "reference_id", "status"),
    "payout.completed": ("payout_id", "reference_id", "kind", "status"),
    "binding.completed": ("binding_id", "customer_id", "status"),
    "binding.review": ("binding_id", "customer_id", "status"),
    "binding.revoked": ("binding_id", "customer_id", "status"),
    "test.ping": ("source",),
}


class Events:
    """The queue of events; they carry ids and a status, never an amount."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def emit(self, type_: str, at: int, **fields: str | None) -> str:
        """Queue an event and return its id, which every attempt at it will carry."""
        if tuple(fields) != FIELDS[type_]:
            raise AssertionError(f"{type_} has the fields {FIELDS[type_]}, not {tuple(fields)}")
        event_id = str(uuid.uuid4())
        body: dict[str, Any] = {"event_id": event_id, "type": type_, **fields}
        values = (event_id, type_, msgspec.json.encode(body).decode(), at, "pending", 0, at)
        self._store.fetch("insert into events values (?, ?, ?, ?, ?, ?, ?)", values)
        return event_id
