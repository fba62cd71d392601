"""Pickers of month and currency that redraw a statement's tables and charts in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from svc_analytics import charts
from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.formatting.display import Display
from svc_analytics.lake.lake import known_months, last_full_month
from svc_analytics.notebook.errors import one_line_of
from svc_analytics.notebook.pictures import draw
from svc_analytics.notebook.show import show
from svc_analytics.statements.statement import statement

if TYPE_CHECKING:
    from svc_analytics.lakehouse import Lakehouse
    from svc_analytics.statements.statement import Statement

Parts = Callable[["Statement", str], Sequence[Any]]
_FEES = (
    *("gross_sales", "payment_fees", "payout_fees", "total_fees_borne"),
    *("effective_fee_rate", "refunds_paid", "fee_leakage"),
)
_POSITION = (
    *("opening_position", "net_sales", "refunds_debited", "net_settlement"),
    *("payouts_debited", "rail_movement", "closing_position"),
)
_RECEIPTS = ("payments_count", "receipts_checked", "receipts_valid", "attested_ratio")


def settlement_parts(made: Statement, currency: str) -> Sequence[Any]:
    """Return a coin's days as a chart and as numbers."""
    days = _of_coin(made, "daily", currency)
    title = f"{made.period.folder} by day, {currency}"
    return draw(charts.net_settlement_daily, made, currency), show(days, title)


def fee_parts(made: Statement, currency: str) -> Sequence[Any]:
    """Return what selling cost in a coin, its rate by day, and what came back."""
    figures = show(made, f"fees of {made.period.folder}", only=_FEES, coins=[currency])
    rate = draw(charts.fee_rate, made, currency)
    return figures, rate, draw(charts.refund_cohorts, made, currency)


def position_parts(made: Statement, currency: str) -> Sequence[Any]:
    """Return how a coin's position rolled forward, and its days."""
    title = f"position of {made.period.folder}"
    figures = show(made, title, only=_POSITION, coins=[currency])
    return figures, draw(charts.position, made, currency)


def exposure_parts(made: Statement, currency: str) -> Sequence[Any]:
    """Return what all coins are worth, and the rate of one."""
    rate = _of_coin(made, "exposure", currency)
    return draw(charts.usd_exposure, made), show(rate, f"exposure in {currency}")


def receipt_parts(made: Statement, currency: str) -> Sequence[Any]:
    """Return the verdicts on a coin's receipts."""
    title = f"receipts of {made.period.folder}"
    figures = show(made, title, only=_RECEIPTS, coins=[currency])
    return figures, draw(charts.receipt_verdicts, _of_coin(made, "receipts", currency))


PARTS: dict[str, Parts] = {
    "settlement": settlement_parts,
    "fees": fee_parts,
    "position": position_parts,
    "exposure": exposure_parts,
    "receipts": receipt_parts,
}


def pick(
    lake: Lakehouse,
    made: Statement | None = None,
    parts: str | Parts = "settlement",
    *,
    month: str | None = None,
    zone: str = "UTC",
) -> Any:
    """Return pickers of month and currency, with the chosen tables and charts below.

    Starts with the statement `made`, or with `month`. `parts` chooses what is shown:
    settlement, fees, position, exposure or receipts, or a function that returns it for a
    statement and a currency. Raises `ConfigError` when ipywidgets is not installed, or
    the lake holds no month.
    """
    try:
        import ipywidgets
    except ModuleNotFoundError as error:
        raise ConfigError('ipywidgets is not installed: pip install -e ".[lab]"') from error
    if isinstance(parts, str) and parts not in PARTS:
        raise ConfigError(f"there are no parts {parts!r}: choose one of {', '.join(PARTS)}")
    made = made or statement(lake, month or last_full_month(lake, zone), zone=zone)
    period = made.period
    offered = known_months(lake, period.zone, period.calendar)
    months = ipywidgets.Dropdown(
        options=sorted({*offered, period.label}, reverse=True),
        value=period.label,
        description="month",
    )
    coins = ipywidgets.Dropdown(description="currency")
    out = ipywidgets.Output()
    view = _View(lake, PARTS[parts] if isinstance(parts, str) else parts, months, coins, out)
    view.take(made)
    months.observe(view.change_month, "value")
    coins.observe(view.redraw, "value")
    return ipywidgets.VBox([ipywidgets.HBox([months, coins]), out])


class _View:
    """The statement behind the pickers, made again only when the month changes."""

    def __init__(self, lake: Lakehouse, parts: Parts, months: Any, coins: Any, out: Any) -> None:
        self._lake, self._parts = lake, parts
        self._months, self._coins, self._out = months, coins, out
        self._made: Statement | None = None
        self._zone, self._calendar = "UTC", "gregorian"

    def take(self, made: Statement) -> None:
        """Show a statement: offer its coins, keep the chosen one if it has it."""
        self._zone, self._calendar = made.period.zone, made.period.calendar
        names = made.tables["summary"]["currency"].to_pylist()
        chosen = self._coins.value
        self._made = None  # nothing is drawn while coins are being exchanged
        self._coins.options = names
        self._coins.value = chosen if chosen in names else next(iter(names), None)
        self._made = made
        self.redraw()

    def change_month(self, _: object = None) -> None:
        """Make the month's statement; until it is there, no figure of another one stands."""
        self._made = None
        self._set([Display("", [f"making the statement of {self._months.value} …"])])
        try:
            made = statement(
                self._lake, self._months.value, zone=self._zone, calendar=self._calendar
            )
        except SvcError as error:
            self._set([Display("", [one_line_of(error)])])
            return
        self.take(made)

    def redraw(self, _: object = None) -> None:
        """Replace what stands below the pickers."""
        if self._made is None:
            return
        if self._coins.value is None:
            self._set([Display("", [f"{self._months.value} has no movement and no position"])])
            return
        try:
            self._set(self._parts(self._made, self._coins.value))
        except SvcError as error:
            self._set([Display("", [one_line_of(error)])])

    def _set(self, parts: Sequence[Any]) -> None:
        # At once: nothing flickers, and callbacks outside a cell print nowhere else.
        self._out.outputs = tuple(map(_bundle, parts))


def _of_coin(made: Statement, name: str, currency: str) -> Any:
    table = made.tables[name]
    return table.filter(pc.equal(table["currency"], currency))


def _bundle(part: Any) -> dict[str, Any]:
    data = {"text/plain": repr(part), "text/html": part._repr_html_()}
    return {"output_type": "display_data", "data": data, "metadata": {}}
