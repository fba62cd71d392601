"""Where a figure comes from: the SQL that yields it, and the records behind it.

The SQL stands on its own: pasted into `svc-analytics sql` it gives the same figure.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.money import format_amount
from svc_analytics.periods import Period, known_until, named_month
from svc_analytics.statements.balance_assertions import Assertion, read_assertions
from svc_analytics.warehouse.views import quote
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

if TYPE_CHECKING:
    import pandas as pd

_COIN = "currency = {currency}"
_PAID = f"{_COIN} and status = 'completed' and paid_at >= {{start}} and paid_at < {{end}}"
_SETTLED = f"{_COIN} and status = 'completed' and settled_at >= {{start}} and settled_at < {{end}}"
_MOVED = f"{_COIN} and occurred_at >= {{start}} and occurred_at < {{end}}"
# The records of one coin that figures are made of.
_SOURCES = {
    "payments": f"select * from payments where {_PAID}",
    "refunds": f"select * from refunds where {_SETTLED}",
    "payouts": f"select * from payouts where {_SETTLED}",
    "fees": f"select * from fees where {_COIN} and fee_bearer = 'merchant' "
    "and incurred_at >= {start} and incurred_at < {end}",
    "settlement": f"select * from ledger_entries where kind in ('payment', 'refund') and {_MOVED}",
    "movements": f"select * from ledger_entries where {_MOVED}",
    "earlier": f"select * from ledger_entries where {_COIN} and occurred_at < {{start}}",
    "until": f"select * from ledger_entries where {_COIN} and occurred_at < {{end}}",
    "newest": f"select * from int_priced_entries where {_COIN} and occurred_at < {{end}} "
    "order by occurred_at desc, kind desc, record_id desc limit 1",
    "cohort": f"""select payments.*, refunded from payments left join (
        select refunds.payment_id, sum(refunds.amount) as refunded from refunds cross join int_lake
        where status = 'completed' and currency = payment_currency and settled_at < read_to
        group by refunds.payment_id
    ) using (payment_id) where {_PAID}""",
    "returned": f"""select *, known(
        payment_currency = currency,
        usd_value - muldiv18(payment_usd_value, amount, payment_amount)
    ) as drift from int_period_refunds({{start}}, {{end}}) where {_COIN}""",
    "receipts": f"select * from receipt_status where {_PAID}",
    "asserted": "select {asserted_at} as asserted_at, {currency} as currency, "
    "{balance}::decimal(38,18) as balance where {asserted_at} is not null",
    "until_asserted": f"select * from ledger_entries where {_COIN} "
    "and occurred_at < {asserted_at}",
}
_ORDERS = {
    "payments": "paid_at, payment_id",
    "cohort": "paid_at, payment_id",
    "receipts": "paid_at, payment_id",
    "refunds": "settled_at, payout_id",
    "returned": "settled_at, payout_id",
    "payouts": "settled_at, payout_id",
    "fees": "incurred_at, entry_id",
    "asserted": "asserted_at",
}
_COUNT = "count(*)"
_NET = "coalesce(sum(net), 0)::decimal(38,18)"
_RETURNED = "coalesce(sum(refunded), 0)::decimal(38,18)"
_CHARGED = "coalesce(sum(charged_amount), 0)::decimal(38,18)"
_RATE = "ratio(fee_amount, amount)"
_ATTESTED = "verdict in ('valid', 'valid_previous_secret')"
_PROVEN = "verdict in ('valid', 'valid_previous_secret', 'proven_by_record')"


def _sum(column: str, where: str = "true") -> str:
    return f"coalesce(sum({column}) filter (where {where}), 0)::decimal(38,18)"


def _count(where: str) -> str:
    return f"count(*) filter (where {where})"


def _usd(expression: str) -> str:
    """No record is worth nothing; records without a recorded value are worth an unknown sum."""
    return f"case when count(*) = 0 then 0::decimal(38,18) else sum({expression}) end"


def _ratio(part: str, whole: str) -> str:
    """Divide two sums: exact division takes no aggregate itself."""
    return (
        f"(select ratio(part, whole) from (select {part} as part, {whole} as whole from records))"
    )


_FIGURES = {
    "payments_count": ("payments", _COUNT),
    "payers_count": ("payments", "count(distinct payer_id)"),
    "gross_sales": ("payments", _sum("amount")),
    "charged_total": ("payments", _sum("charged_amount")),
    "payment_fees": ("payments", _sum("fee_amount")),
    "net_sales": ("payments", _sum("net_amount")),
    "refunds_count": ("refunds", _COUNT),
    "refunds_paid": ("refunds", _sum("amount")),
    "refunds_debited": ("refunds", _sum("debited_amount")),
    "refunds_same_period": ("refunds", _sum("amount", "payment_paid_at >= {start}")),
    "refunds_prior_period": ("refunds", _sum("amount", "payment_paid_at < {start}")),
    "refunds_unresolved": ("refunds", _sum("amount", "not has_payment")),
    "fee_leakage": (
        "refunds",
        _sum(
            "muldiv18(payment_fee_amount, amount, payment_charged_amount)",
            "payment_currency = currency",
        ),
    ),
    "payouts_count": ("payouts", _COUNT),
    "payouts_sent": ("payouts", _sum("amount")),
    "payout_fees": ("payouts", _sum("fee_amount")),
    "payouts_debited": ("payouts", _sum("debited_amount")),
    "total_fees_borne": ("fees", _sum("fee")),
    "net_settlement": ("settlement", _NET),
    "rail_movement": ("movements", _NET),
    "opening_position": ("earlier", _NET),
    "closing_position": ("until", _NET),
    "effective_fee_rate": ("payments", _ratio(_sum("fee_amount"), _sum("amount"))),
    "refund_ratio_period": (
        "settlement",
        _ratio(
            _sum("-gross", "kind = 'refund'"),
            f"(select sum(charged_amount) from payments where {_PAID})",
        ),
    ),
    "refund_ratio_cohort": ("cohort", _ratio(_RETURNED, _CHARGED)),
    "refunded_payments_ratio": ("cohort", _ratio("count(refunded)", _COUNT)),
    "open_refundable": ("cohort", f"{_CHARGED} - {_RETURNED}"),
    "usd_gross": ("payments", _usd("usd_value")),
    "usd_net_sales": ("payments", _usd("muldiv18(usd_value, net_amount, amount)")),
    "usd_fees": ("payments", _usd("muldiv18(usd_value, fee_amount, amount)")),
    "usd_refunds": ("refunds", _usd("usd_value")),
    "usd_payouts": ("payouts", _usd("usd_value")),
    "implied_rate": ("newest", "any_value(rate)"),
    "implied_rate_at": ("newest", "any_value(occurred_at)"),
    "usd_exposure": (
        "newest",
        "(select muldiv(position, usd_value, amount)::decimal(38,18) from records cross join "
        f"(select sum(net) as position from ledger_entries where {_COIN} "
        "and occurred_at < {end}))",
    ),
    "receipts_checked": ("receipts", _count("verdict <> 'not_checked'")),
    "receipts_valid": ("receipts", _count(_PROVEN)),
    "attested_ratio": ("receipts", _ratio(_sum("charged_amount", _ATTESTED), _CHARGED)),
}
# Those that stand in the table `figures`.
_SIDE_FIGURES = {
    "pay_identity_breaks": ("payments", _count("charged_amount - fee_amount <> net_amount")),
    "bearer_breaks": (
        "payments",
        _count(
            "fee_bearer = 'merchant' "
            "and (charged_amount <> amount or net_amount <> amount - fee_amount)"
        ),
    ),
    "fees_borne_by_merchant": ("payments", _sum("fee_amount", "fee_bearer = 'merchant'")),
    "fees_borne_by_others": ("payments", _sum("fee_amount", "fee_bearer <> 'merchant'")),
    "fees_without_bearer": ("payments", _sum("fee_amount", "fee_bearer is null")),
    "fee_rate_min": ("payments", f"min({_RATE})"),
    "fee_rate_median": ("payments", f"middle8({_RATE})"),
    "fee_rate_max": ("payments", f"max({_RATE})"),
    "ticket_avg": (
        "payments",
        "(select muldiv18(total, 1, paid) "
        "from (select sum(amount) as total, count(*) as paid from records))",
    ),
    "ticket_median": ("payments", "middle18(amount)"),
    "ticket_max": ("payments", "max(amount)"),
    "fully_refunded_count": ("cohort", _count("refunded >= charged_amount and refunded > 0")),
    "partly_refunded_count": ("cohort", _count("refunded < charged_amount and refunded > 0")),
    "usd_gross_priced_count": ("payments", "count(usd_value)"),
    "usd_refunds_priced_count": ("refunds", "count(usd_value)"),
    "usd_payouts_priced_count": ("payouts", "count(usd_value)"),
    "usd_rate_drift": ("returned", "case when count(*) = count(drift) then sum(drift) end"),
    "attested_count": ("receipts", _count(_ATTESTED)),
    "attested_count_ratio": ("receipts", _ratio(_count(_ATTESTED), _COUNT)),
    "attested_amount": ("receipts", _sum("charged_amount", _ATTESTED)),
    "asserted_balance": ("asserted", "any_value(balance)"),
    "outside_movement": ("until_asserted", f"{{balance}}::decimal(38,18) - {_NET}"),
}


@dataclass(frozen=True)
class Explanation:
    """One figure of one coin: its value, the SQL that yields it, and the records it is made of.

    `value` is what the statement says: None where the figure is unknown because not
    all of its records were read, whatever the records at hand add up to.
    """

    figure: str
    currency: str
    period: Period
    value: Any
    sql: str
    table: pa.Table

    @property
    def rows(self) -> pd.DataFrame:
        """The contributing records, oldest first."""
        return to_frame(self.table)


def explain(
    lake: Lake,
    month: str,
    currency: str,
    figure: str,
    *,
    zone: str = "UTC",
    calendar: str = "gregorian",
) -> Explanation:
    """Say where a figure of a month's statement comes from.

    Raises `ConfigError` for a figure, a month or a coin that the statement does not have.
    """
    now = time.time_ns() // 1000
    period = named_month(month, now, zone, calendar)
    with open_warehouse(lake) as warehouse:
        assertions = read_assertions(lake.path)
        return explain_period(warehouse, period, currency, figure, assertions, now)


def explain_period(
    warehouse: Warehouse,
    period: Period,
    currency: str,
    figure: str,
    assertions: Iterable[Assertion] = (),
    now: int = 0,
) -> Explanation:
    """Do the same for any period, over an open warehouse."""
    figures = _FIGURES | _SIDE_FIGURES
    if figure not in figures:
        raise ConfigError(f"no figure {figure!r} to explain: choose of {', '.join(figures)}")
    source, expression = figures[figure]
    seen = [found for found in assertions if found.currency == currency]
    places = _places(period, currency, seen)
    records, total = _SOURCES[source].format(**places), expression.format(**places)
    over = "" if total.startswith("(select") else " from records"
    sql = f"with records as (\n    {records}\n)\nselect {total} as {figure}{over}"
    value = _stated(warehouse, period, figure, places, seen, now)
    order = _ORDERS.get(source, "occurred_at, kind, record_id")
    table = warehouse.query(f"with records as ({records}) from records order by {order}")
    return Explanation(figure, currency, period, value, sql, table)


def _places(period: Period, currency: str, seen: Iterable[Assertion]) -> dict[str, str]:
    """Return what stands for the names in braces; of the balances seen, the period's newest."""
    inside = [found for found in seen if period.start < found.at <= period.end]
    newest = max(inside, key=lambda found: found.at, default=None)
    return {
        "start": _instant(period.start),
        "end": _instant(period.end),
        "currency": quote(currency),
        "asserted_at": _instant(newest.at) if newest else "null::timestamptz",
        "balance": format_amount(newest.balance) if newest else "null",
    }


def _stated(
    warehouse: Warehouse,
    period: Period,
    figure: str,
    places: dict[str, str],
    seen: Iterable[Assertion],
    now: int,
) -> Any:
    """Return what the statement says of a figure, unknown where it says so."""
    ends = [end for found in warehouse.coverage().values() for _, end in found.read]
    read_to = max(ends, default=period.end)
    known_to = _instant(known_until(period, read_to, max(now, read_to)))
    bounds = f"{places['start']}, {places['end']}, known_to := {known_to}"
    of_coin = f"where currency = {places['currency']}"
    if figure in _FIGURES:
        found = warehouse.query(f"select {figure} from statement_summary({bounds}) {of_coin}")
    else:
        found = warehouse.query(
            f"select value from statement_figures({bounds}, assertions := $seen) {of_coin} "
            f"and name = '{figure}'",
            {"seen": [assertion.to_parameter() for assertion in seen] or None},
        )
    if not len(found):
        message = f"{period.folder} has no movement and no position in {places['currency']}"
        raise ConfigError(message)
    return found[0][0].as_py()


def _instant(micros: int) -> str:
    return f"timestamptz '{format_instant(micros)}'"
