"""What records are worth in USD, by the values that the service recorded.

A record without a value adds nothing and is counted. Where it is not known how many there are, a
missing sum is unknown.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import reduce
from typing import Any

from svc_analytics.messages import Message
from svc_analytics.money import EXACT

_PRICED = {
    "payments_count": "usd_gross_priced_count",
    "refunds_count": "usd_refunds_priced_count",
    "payouts_count": "usd_payouts_priced_count",
}
_RECORDS = {"usd_net_sales": "payments_count", "usd_refunds": "refunds_count"}
_PAYOUTS = {"usd_payouts_debited": "payouts_count"}


def usd_of(row: Mapping[str, Any], name: str) -> Decimal | None:
    """Return a coin's sum in USD; None where it is unknown.

    >>> counted = {"refunds_count": 2, "usd_refunds_priced_count": 0, "usd_refunds": None}
    >>> usd_of(counted, "usd_refunds"), usd_of({"usd_refunds": None}, "usd_refunds")
    (Decimal('0'), None)
    """
    value: Decimal | None = row[name]
    count = (_RECORDS | _PAYOUTS)[name]
    is_unpriced = row.get(count) is not None and row.get(_PRICED[count]) == 0
    return Decimal(0) if value is None and is_unpriced else value


def total(values: Iterable[Decimal]) -> Decimal:
    """Return the exact sum."""
    return reduce(EXACT.add, values, Decimal(0))


def unpriced(rows: Iterable[Mapping[str, Any]], *, has_payouts: bool = False) -> str:
    """Say how many records have no value in USD, where the rows count both."""
    counts = [*_RECORDS.values(), *(_PAYOUTS.values() if has_payouts else ())]
    pairs = [(row.get(count), row.get(_PRICED[count])) for row in rows for count in counts]
    known = [(count, priced) for count, priced in pairs if None not in (count, priced)]
    missing = sum(int(count or 0) - int(priced or 0) for count, priced in known)
    if not missing:
        return ""
    every = sum(int(count or 0) for count, _ in known)
    return Message("chart.unpriced", count=f"{missing:,}", total=f"{every:,}")
