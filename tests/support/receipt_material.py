"""What the tests of receipts are made of: records, tokens made two ways, and both as tables."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.instants import parse_instant
from svc_analytics.receipts.bulk import RECORDS, BulkVerifier
from svc_analytics.signing.receipt_tokens import MONEY_FACTS, Verdict, sign_receipt
from svc_analytics.signing.secrets import Secret, SigningSecret, parse_secrets

Facts = dict[str, Any]

FACTS: Facts = {
    "payment_id": "0f4b7d5e-6a1c-4d0e-9b7a-2c3d4e5f6071",
    "receipt_no": "SVC-000042",
    "merchant_id": "11111111-1111-4111-8111-111111111111",
    "reference_id": "order-42",
    "currency": "usdt",
    "amount": "12.50",
    "charged_amount": "12.50",
    "fee_bearer": "merchant",
    "net_amount": "12.37",
    "paid_at": "2026-10-05T09:30:00Z",
}
SECRET = "a receipt secret ✓"
RING = parse_secrets(SECRET)


def signed(facts: Facts, secret: str = SECRET) -> str:
    """Make a token as the sandbox does: our own code."""
    return sign_receipt(facts, Secret(secret))


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def token_of(payload: Any, secret: str = SECRET, version: str = "v1") -> str:
    """Make a token by the contract's words alone; bytes are taken as they are."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    signed_text = f"{version}.{encoded(data)}"
    mac = hmac.new(secret.encode(), signed_text.encode(), hashlib.sha256).digest()
    return f"{signed_text}.{encoded(mac)}"


def held(facts: Facts) -> Facts:
    """Return facts as a lake holds them: decimals, and the instant in microseconds."""
    amounts = {name: Decimal(facts[name]) for name in MONEY_FACTS}
    return facts | amounts | {"paid_at": parse_instant(facts["paid_at"])[0]}


def table(records: Sequence[Facts | None]) -> pa.Table:
    return pa.Table.from_pylist([record or {} for record in records], schema=RECORDS)


def check(
    tokens: Sequence[str | None],
    records: Sequence[Facts | None],
    ring: Sequence[SigningSecret] = RING,
    *,
    is_covered: bool = True,
) -> list[Verdict]:
    """Check tokens in bulk, each against the facts in the same place."""
    verifier = BulkVerifier(ring, is_covered=lambda at: is_covered)
    return list(verifier.verify(tokens, table([record and held(record) for record in records])))


def verdicts(tokens: Sequence[str | None], facts: Facts = FACTS) -> list[str]:
    """Return the verdicts on tokens that all claim to be of one payment."""
    return [found.verdict for found in check(tokens, [facts] * len(tokens))]
