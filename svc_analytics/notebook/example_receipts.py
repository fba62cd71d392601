"""Example receipts, good and bad, made from the newest payment of a lake."""

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import pandas as pd

from svc_analytics.arguments import check
from svc_analytics.lake.lake import check_lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.money import format_amount
from svc_analytics.signing.receipt_tokens import FACTS, sign_receipt
from svc_analytics.signing.secrets import Secret

_NEWEST = """
    select
        payment_id, receipt_no, reference_id, currency, amount, charged_amount, fee_bearer,
        net_amount, strftime(paid_at at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') as paid_at
    from payments
    where fee_bearer is not null and reference_id is not null
    -- First where all was read: only there a payment can be known not to exist.
    order by
        exists (
            from coverage
            where stream = 'payments' and state = 'complete'
                and payments.paid_at >= starts_at and payments.paid_at < ends_at
        ) desc,
        payments.paid_at desc,
        payment_id
    limit 1
"""


def example_receipts(lake: Lakehouse, secret: str) -> pd.DataFrame:
    """Return one good and four bad receipts of the newest payment, to verify.

    They are signed with the `secret` you choose, and prove nothing.

    Returns:
        A frame with a row per example: `what` it is, and the `receipt`. A lake without a
        payment gives none.

    Raises:
        ConfigError: when the secret is no text, or the lake is no lake.
        LakeError: when there is no lake.

    Examples:
        >>> examples = svc.example_receipts(lake, "a secret")  # doctest: +SKIP
        >>> svc.verify_receipts(examples, "a secret")  # doctest: +SKIP
    """
    check_lake(lake)
    check("secret", secret, str, "any text: the examples are signed with it")
    examples = [
        example
        for row in lake.sql(_NEWEST).to_dict("records")
        for example in _examples(_facts(row, lake.merchant_id), Secret(secret))
    ]
    return pd.DataFrame(examples, columns=["what", "receipt"])


def _facts(row: Mapping[Hashable, Any], merchant_id: str) -> dict[str, str]:
    """Return the facts of a payment as its receipt states them, in that order."""
    values = {**row, "merchant_id": merchant_id}
    texts = ((name, values[name]) for name in FACTS)
    return {name: text if isinstance(text, str) else format_amount(text) for name, text in texts}


def _examples(facts: Mapping[str, str], secret: Secret) -> Iterator[tuple[str, str]]:
    good = sign_receipt(facts, secret)
    _, payload, signature = good.split(".")
    dearer = {**facts, "amount": f"1{facts['amount']}"}
    _, changed, _ = sign_receipt(dearer, secret).split(".")
    unknown = {**facts, "payment_id": "00000000-0000-4000-8000-000000000000"}
    yield "as the service issues it", good
    yield "its amount changed, the signature kept", f"v1.{changed}.{signature}"
    forger = "its amount changed, and signed again by someone who has the secret"
    yield forger, sign_receipt(dearer, secret)
    yield "of a payment that does not exist", sign_receipt(unknown, secret)
    yield "cut off when it was copied", f"v1.{payload}.{signature[:20]}"
