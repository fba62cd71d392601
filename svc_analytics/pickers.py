"""Pickers of month and currency that redraw a statement's tables and charts in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from svc_analytics import charts
from svc_analytics.errors import ConfigError
from svc_analytics.notebooks import known_months, last_full_month
from svc_analytics.render.display import draw, show
from svc_analytics.statements import statement

if TYPE_CHECKING:
    from svc_analytics.statements import Statement
    from svc_analytics.warehouse import AnalyticLake

Parts = Callable[["Statement", str], Sequence[Any]]


def statement_parts(made: Statement, currency: str) -> Sequence[Any]:
    """Return what the picker shows of one coin unless told: its days, and how it settled."""
    import pyarrow.compute as pc

    daily = made.tables["daily"]
    of_coin = daily.filter(pc.equal(daily["currency"], currency))
    return (
        draw(charts.net_settlement_daily, daily, currency),
        draw(charts.position, made.tables["position"], currency),
        show(of_coin, f"{made.period.folder}, {currency}"),
    )


def pick(
    lake: AnalyticLake,
    parts: Parts = statement_parts,
    *,
    month: str | None = None,
    zone: str = "UTC",
) -> Any:
    """Return a widget with a month and a currency; `parts(statement, currency)` is redrawn.

    Raises `ConfigError` where ipywidgets is not installed, or the lake holds no month.
    """
    try:
        import ipywidgets
    except ModuleNotFoundError as error:
        raise ConfigError('ipywidgets is not installed: pip install -e ".[lab]"') from error
    months = ipywidgets.Dropdown(
        options=known_months(lake, zone),
        value=month or last_full_month(lake, zone),
        description="month",
    )
    coins = ipywidgets.Dropdown(description="currency")
    out = ipywidgets.Output()
    view = _View(lake, parts, zone, months, coins, out)
    months.observe(view.change_month, "value")
    coins.observe(view.redraw, "value")
    view.change_month()
    return ipywidgets.VBox([ipywidgets.HBox([months, coins]), out])


class _View:
    """The statement behind the pickers, made again only when the month changes."""

    def __init__(
        self, lake: AnalyticLake, parts: Parts, zone: str, months: Any, coins: Any, out: Any
    ) -> None:
        self._lake, self._parts, self._zone = lake, parts, zone
        self._months, self._coins, self._out = months, coins, out
        self._made: Statement | None = None

    def change_month(self, _: object = None) -> None:
        """Make the month's statement, offer its coins, keep the chosen one if it has it."""
        made = statement(self._lake, self._months.value, zone=self._zone)
        names = made.tables["summary"]["currency"].to_pylist()
        chosen = self._coins.value
        self._made = None  # nothing is drawn while coins are being exchanged
        self._coins.options = names
        self._coins.value = chosen if chosen in names else next(iter(names), None)
        self._made = made
        self.redraw()

    def redraw(self, _: object = None) -> None:
        """Replace what stands below the pickers."""
        if self._made is None or self._coins.value is None:
            return
        shown = [_bundle(part) for part in self._parts(self._made, self._coins.value)]
        # Set at once: nothing flickers, and callbacks outside a cell print nowhere else.
        self._out.outputs = tuple(shown)


def _bundle(part: Any) -> dict[str, Any]:
    data = {"text/plain": repr(part), "text/html": part._repr_html_()}
    return {"output_type": "display_data", "data": data, "metadata": {}}
