"""Pickers of month and currency that redraw a statement's tables and charts in a notebook."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from svc_analytics import charts
from svc_analytics.errors import ConfigError, SvcError, needs_extra
from svc_analytics.formatting.display import Display
from svc_analytics.lake.lake import check_lake, known_months, last_full_month
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.errors import one_line_of
from svc_analytics.notebook.pictures import draw
from svc_analytics.notebook.show import show
from svc_analytics.statements.statement import Statement, statement

Parts = Callable[[Statement, str], Sequence[Any]]
_FEES = (
    *("gross_sales", "payment_fees", "payout_fees", "total_fees_borne"),
    *("effective_fee_rate", "refunds_paid", "fee_leakage"),
)
_POSITION = (
    *("opening_position", "net_sales", "refunds_debited", "net_settlement"),
    *("payouts_debited", "rail_movement", "closing_position"),
)
_RECEIPTS = ("payments_count", "receipts_checked", "receipts_valid", "attested_ratio")

# What is shown of a statement and a coin.
PARTS: dict[str, Parts] = {
    "settlement": lambda st, coin: (
        draw(charts.net_settlement_daily, st, coin),
        show(_of_coin(st, "daily", coin), f"{st.period.folder} by day, {coin}"),
    ),
    "fees": lambda st, coin: (
        _figures(st, coin, "fees", _FEES),
        draw(charts.fee_rate, st, coin),
        draw(charts.refund_cohorts, st, coin),
    ),
    "position": lambda st, coin: (
        _figures(st, coin, "position", _POSITION),
        draw(charts.position, st, coin),
    ),
    "exposure": lambda st, coin: (
        draw(charts.usd_exposure, st),
        show(_of_coin(st, "exposure", coin), f"exposure in {coin}"),
    ),
    "receipts": lambda st, coin: (
        _figures(st, coin, "receipts", _RECEIPTS),
        draw(charts.receipt_verdicts, _of_coin(st, "receipts", coin)),
    ),
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
    statement and a currency.

    Returns:
        A widget, which a notebook displays.

    Raises:
        ConfigError: when ipywidgets is not installed, the lake holds no month, or there are
            no such parts.
        LakeError: when there is no lake.

    Examples:
        >>> svc.pick(lake, parts="fees", month="2026-10")  # doctest: +SKIP
    """
    check_lake(lake)
    with needs_extra("lab"):
        import ipywidgets  # an optional extra
    if isinstance(parts, str) and parts not in PARTS:
        raise ConfigError(f"there are no parts {parts!r}: choose one of {', '.join(PARTS)}")
    made = made or statement(lake, month or last_full_month(lake, zone), zone=zone)
    period = made.period
    labels = {*known_months(lake, period.zone, period.calendar), period.label}
    options = sorted(labels, reverse=True)
    months = ipywidgets.Dropdown(options=options, value=period.label, description="month")
    coins, out = ipywidgets.Dropdown(description="currency"), ipywidgets.Output()
    chosen_parts = PARTS[parts] if isinstance(parts, str) else parts
    view = _View(lake, made, chosen_parts, months, coins, out)
    for picker in (months, coins):
        picker.observe(view.redraw, "value")
    view.offer_coins()
    view.redraw()
    return ipywidgets.VBox([ipywidgets.HBox([months, coins]), out])


@dataclass
class _View:
    """A statement below its pickers, made again only when the month changes."""

    lake: Lakehouse
    statement: Statement
    parts: Parts
    months: Any
    coins: Any
    out: Any

    def offer_coins(self) -> None:
        """Offer the statement's coins; keep the chosen one if it has it. Draws nothing."""
        names = self.statement.tables["summary"]["currency"].to_pylist()
        chosen = self.coins.value
        self.coins.unobserve(self.redraw, "value")
        self.coins.options = names
        self.coins.value = chosen if chosen in names else next(iter(names), None)
        self.coins.observe(self.redraw, "value")

    def redraw(self, _: object = None) -> None:
        """Replace the tables and charts below the pickers."""
        label, period = self.months.value, self.statement.period
        try:
            if label != period.label:  # no figure of another month stays below
                self._set([_line(f"making the statement of {label} …")])
                self.statement = statement(
                    self.lake, label, zone=period.zone, calendar=period.calendar
                )
                self.offer_coins()
            coin = self.coins.value
            nothing = [_line(f"{label} has no movement and no position")]
            self._set(nothing if coin is None else self.parts(self.statement, coin))
        except SvcError as error:
            self._set([_line(one_line_of(error))])

    def _set(self, parts: Sequence[Any]) -> None:
        # In one assignment: nothing flickers, and callbacks print nowhere else.
        self.out.outputs = tuple(map(_output, parts))


def _line(text: str) -> Display:
    return Display("", [text])


def _output(part: Any) -> dict[str, Any]:
    data = {"text/plain": repr(part), "text/html": part._repr_html_()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def _of_coin(st: Statement, name: str, coin: str) -> Any:
    table = st.tables[name]
    return table.filter(pc.equal(table["currency"], coin))


def _figures(st: Statement, coin: str, title: str, names: Sequence[str]) -> Display:
    return show(st, f"{title} of {st.period.folder}", only=names, coins=[coin])
