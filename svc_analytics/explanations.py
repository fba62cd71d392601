"""Where a figure comes from: the SQL that yields it, and the records behind it.

The SQL stands on its own: pasted into `svc-analytics sql` it gives the same figure.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.lake import Lake
from svc_analytics.periods import Period, format_instant, named_month
from svc_analytics.views import quote
from svc_analytics.warehouse import Warehouse, open_warehouse, to_frame

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
}
_COUNT = "count(*)"
_NET = "coalesce(sum(net), 0)::decimal(38,18)"
_RETURNED = "coalesce(sum(refunded), 0)::decimal(38,18)"
_CHARGED = "coalesce(sum(charged_amount), 0)::decimal(38,18)"


def _sum(column: str, where: str = "true") -> str:
    return f"coalesce(sum({column}) filter (where {where}), 0)::decimal(38,18)"


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
    """Say where a figure of a month's summary comes from.

    Raises `ConfigError` for a figure, a month or a coin that the summary does not have.
    """
    period = named_month(month, time.time_ns() // 1000, zone, calendar)
    with open_warehouse(lake) as warehouse:
        return explain_period(warehouse, period, currency, figure)


def explain_period(warehouse: Warehouse, period: Period, currency: str, figure: str) -> Explanation:
    """Do the same for any period, over an open warehouse."""
    if figure not in _FIGURES:
        raise ConfigError(f"no figure {figure!r} to explain: choose of {', '.join(_FIGURES)}")
    source, expression = _FIGURES[figure]
    places = {
        "start": _instant(period.start),
        "end": _instant(period.end),
        "currency": quote(currency),
    }
    records, total = _SOURCES[source].format(**places), expression.format(**places)
    over = "" if total.startswith("(select") else " from records"
    sql = f"with records as (\n    {records}\n)\nselect {total} as {figure}{over}"
    found = warehouse.fetch(
        f"select {figure} from statement_summary({places['start']}, {places['end']}) "
        f"where currency = {places['currency']}"
    )
    if not len(found):
        message = f"{period.folder} has no movement and no position in {currency}"
        raise ConfigError(message)
    table = warehouse.fetch(f"with records as ({records}) from records order by all")
    return Explanation(figure, currency, period, found[0][0].as_py(), sql, table)


def _instant(micros: int) -> str:
    return f"timestamptz '{format_instant(micros)}'"
