"""Records as the API returns them: values as strings, metadata as an object."""

from typing import Any

from svc_analytics.instants import SECOND, from_micros
from svc_analytics.sandbox.core.validation import decode_exactly
from svc_analytics.sandbox.state.account import Account
from svc_analytics.sandbox.state.store import StoredRecord
from svc_analytics.schema import PAYMENTS, Stream

Record = dict[str, Any]

# Properties unknown to the contract, which says that new ones may appear at any time.
RECORD_EXTRAS = {"channel": "widget", "risk": {"score": "0.07", "flags": []}}
PAGE_EXTRAS = {"object": "list", "served_by": "sandbox"}


def contract_form(stream: Stream, stored: StoredRecord, account: Account) -> Record:
    """Return a record as the API does, its receipt signed as on the day of issue."""
    if stream is not PAYMENTS:
        times = {name: instant_text(stored[name]) for name in ("created_at", "settled_at")}
        return {**stored, **times}
    facts, secret = receipt_facts(stored, account), account.receipt_secret(stored["paid_at"])
    return {
        **stored,
        "metadata": decode_exactly(stored["metadata"]),
        "receipt": account.tampering.sign(stored, facts, secret),
        "paid_at": facts["paid_at"],
    }


def instant_text(micros: int) -> str:
    """Write an instant in whole seconds, milliseconds or microseconds, as it needs.

    >>> instant_text(1_500_000), instant_text(1)
    ('1970-01-01T00:00:01.500Z', '1970-01-01T00:00:00.000001Z')
    """
    fine = "microseconds" if micros % 1000 else "milliseconds"
    precision = fine if micros % SECOND else "seconds"
    return from_micros(micros).isoformat(timespec=precision).removesuffix("+00:00") + "Z"


def receipt_facts(stored: StoredRecord, account: Account) -> Record:
    """Return a stored payment with the field names of a receipt token."""
    return {
        **stored,
        "payment_id": stored["id"],
        "merchant_id": account.merchant_id,
        "paid_at": instant_text(stored["paid_at"]),
    }
