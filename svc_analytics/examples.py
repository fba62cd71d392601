"""Receipts made up from the lake's own payments, to see what a bad one looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from svc_analytics.errors import ConfigError
from svc_analytics.masked import Masked
from svc_analytics.money import format_amount
from svc_analytics.tokens import FACTS, sign_receipt

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.warehouse import AnalyticLake

_NEWEST = """
    select
        payment_id, receipt_no, reference_id, currency, amount, charged_amount, fee_bearer,
        net_amount, strftime(paid_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') as paid_at
    from payments
    where fee_bearer is not null and reference_id is not null
    order by payments.paid_at desc, payment_id
    limit 1
"""


def example_receipts(lake: AnalyticLake, secret: str) -> pd.DataFrame:
    """Return a good receipt of the newest payment and four bad ones: `what` and `receipt`.

    They are signed with a `secret` of the reader's choice and prove nothing.
    """
    import pandas as pd

    rows = lake.sql(_NEWEST).to_dict("records")
    if not rows:
        raise ConfigError(f"{lake.path} holds no payment to make a receipt of")
    facts = {"merchant_id": lake.merchant_id} | {
        name: value if isinstance(value, str) else format_amount(value)
        for name, value in rows[0].items()
    }
    ordered = {name: facts[name] for name in FACTS}
    return pd.DataFrame(_examples(ordered, Masked(secret)), columns=["what", "receipt"])


def _examples(facts: Mapping[str, str], secret: Masked) -> Iterator[tuple[str, str]]:
    good = sign_receipt(facts, secret)
    _, payload, signature = good.split(".")
    dearer = {**facts, "amount": f"1{facts['amount']}"}
    _, changed, _ = sign_receipt(dearer, secret).split(".")
    unknown = {**facts, "payment_id": "00000000-0000-4000-8000-000000000000"}
    yield "as the service issues it", good
    yield "its amount changed, the signature kept", f"v1.{changed}.{signature}"
    yield "its amount changed, and signed again by who has the secret", sign_receipt(dearer, secret)
    yield "of a payment that does not exist", sign_receipt(unknown, secret)
    yield "cut off when it was copied", f"v1.{payload}.{signature[:20]}"
