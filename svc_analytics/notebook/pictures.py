"""`svc.draw`: charts of a table or a statement, one per coin, to display in a notebook."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.arguments import as_names, described
from svc_analytics.charts.bridge import usd_bridge
from svc_analytics.charts.columns import check_columns, column_chart, has_common_unit
from svc_analytics.charts.drawing import MOST_SERIES, dark_styles, rows_of
from svc_analytics.charts.usd import MONTHS as MONTHS_DRAWN, USED as YEAR, usd_year
from svc_analytics.charts.words import worded
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import arrow_of, names_of
from svc_analytics.formatting.status_line import status_line_of
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.picked import Live, Picked
from svc_analytics.notebook.show import has_trend, is_statement
from svc_analytics.render.bridge import TREND, bridge_table, year_name
from svc_analytics.render.figures import UNDEFINED, unknown_causes
from svc_analytics.warehouse.figures import in_sentence

COIN = "currency"
_KINDS = (COIN, "stream")
_ALONE, _BESIDE = (7.2, 3.0), (5.4, 2.5)  # inches, of one picture and of several
NOTHING = "nothing to draw: the table has no rows"
MOST_LETTERS = 32  # of each of the merchant's names, so that the caption fits the picture
# Each chart's table of a statement, and a figure that is unknown when rows may be missing.
_TABLES = {
    "net_settlement_daily": ("daily", "net_settlement"),
    "position": ("position", "rail_movement"),
    "receipt_verdicts": ("receipts", "payments_count"),
    "refund_cohorts": ("cohorts", "refunds_paid"),
    "refund_ratio": ("summary", "refunds_paid"),
    "usd_bridge": ("summary", "usd_exposure"),
    "usd_exposure": ("exposure", "usd_exposure"),
    "usd_year": (TREND, "usd_net_sales"),
}


@dataclass(frozen=True)
class Picture:
    """Charts side by side, displayed as HTML in a notebook."""

    title: str
    drawings: list[str]
    why: str = NOTHING  # there is no drawing
    status_line: str = ""  # period, zone and status of the statement that is drawn

    def __repr__(self) -> str:
        text = self.title if self.drawings else f"{self.title}: {self.why}"
        return f"{text}; {self.status_line}" if self.status_line else text

    def _repr_html_(self) -> str:
        if not self.drawings:
            return f"<p>{escape(repr(self))}</p>"
        boxes = "".join(f"<div>{_fluid(drawing)}</div>" for drawing in self.drawings)
        box = "display:flex;flex-wrap:wrap;gap:16px;direction:ltr"
        return f'<div class="svc-picture" style="{box}"><style>{_dark()}</style>{boxes}</div>'


def draw(chart: Any, table: Any = None, *names: str, **options: Any) -> Picture | Live:
    """Draw a chart of `svc_analytics.charts` for each coin, or a frame of your own.

    A chart is drawn for each coin, or for the coins named; a chart of streams once per
    stream. From a statement, it takes its own table. Below a picture made of a statement, or
    of a table of one, are its period, zone and status. A comparison draws the months up to
    its later one. `options` are the chart's own, such as `zone` or `figure`. A picture of the
    statement of `svc.pick` follows the pickers. `lang="fa"` or `"en+fa"` writes it in Persian
    or in both languages, with `digits="fa"` in Persian digits too.

    Of a frame of your own, name the columns: `x`, `y`, `kind="bar"` or `"line"`, and `by` for
    several bars or lines. `by="currency"` draws each coin for itself, for amounts of two
    coins have no common scale; what is in USD or a ratio is one chart of all coins.

    Returns:
        Pictures side by side, which a notebook displays.

    Raises:
        ConfigError: when the chart is no function, or needs a column that the table lacks.

    Examples:
        >>> svc.draw(svc.charts.net_settlement_daily, st, "btc")  # doctest: +SKIP
        >>> svc.draw(lake.sql("from net_settlement_monthly"), x="month", y="net_settlement",
        ...          by="currency")  # doctest: +SKIP
    """
    language = Language(options.pop("lang", "en"), options.pop("digits", "latin"))
    if table is None and not callable(chart) and {"x", "y"} & set(options):
        return _own(chart, language, **options)
    if isinstance(table, Picked):
        return table.show(lambda st, coin: _picture(chart, st, names, options, language, coin))
    return _picture(chart, table, names, options, language)


def _own(
    table: Any,
    language: Language,
    x: str = "",
    y: str = "",
    kind: str = "bar",
    by: str = "",
    **others: Any,
) -> Picture:
    """Draw two columns of a frame: one picture, or one for each coin."""
    if others or not (x and y):
        raise ConfigError("a frame is drawn by x=, y=, kind= and by=: name the columns x and y")
    arrow = arrow_of(table)
    check_columns(rows_of(arrow.slice(0, 1)), x, y, kind, by)
    is_apart = by == COIN and not _fits_one_axis(arrow, y)
    columns: dict[str, Any] = {"x": x, "y": y, "kind": kind} | ({} if is_apart else {"by": by})
    coins = _names(column_chart, arrow, COIN) if is_apart else ("",)
    title, status_line = f"{in_sentence(y)} by {in_sentence(x)}", status_line_of(arrow).text
    parts = {
        coin: partial(column_chart, table=arrow, currency=coin or None, **columns)
        for coin in coins
        if len(arrow)
    }
    size = _ALONE if len(coins) == 1 else _BESIDE
    return _drawn(title, parts, None, status_line, size, language)


def _fits_one_axis(table: pa.Table, y: str) -> bool:
    """Whether one picture says it of all coins: in USD or as a share, of not too many of them."""
    few = COIN in table.column_names and len(pc.unique(table[COIN])) <= MOST_SERIES
    return few and bool(has_common_unit(table.schema.field(y)))


def _picture(
    chart: Any,
    table: Any,
    names: tuple[str, ...],
    options: dict[str, Any],
    language: Language,
    coin: str | None = None,
) -> Picture:
    """Draw a chart; of a picked coin, only its picture."""
    if not callable(chart):
        message = "give a function of svc.charts, such as svc.charts.position"
        raise ConfigError(f"chart is {described(chart)}: {message}; or a frame with x= and y=")
    as_names("names", names, "btc")
    arrow, why = _source(chart, table)
    kind = next((name for name in inspect.signature(chart).parameters if name in _KINDS), None)
    if not kind and names and COIN in arrow.column_names:  # one picture of the coins named
        arrow, names = arrow.filter(pc.is_in(arrow[COIN], pa.array(names))), ()
    names = names or (_names(chart, arrow, kind) if kind else ("",))
    if coin is not None and kind == COIN:
        names = tuple(name for name in names if name == coin)
    title, status_line = chart.__name__.replace("_", " "), status_line_of(arrow).text
    size = _size(chart, arrow, len(names))
    parts = {
        name: partial(chart, table=arrow, **({kind: name} if kind else {}), **options)
        for name in names
    }
    try:
        return _drawn(title, parts, table, status_line, size, language, why)
    except KeyError as error:
        raise _no_column(chart, str(error.args[0]), arrow) from error


def _drawn(
    title: str,
    parts: Mapping[str, partial[None]],
    table: Any,
    status_line: str,
    size: tuple[float, float],
    language: Language,
    why: str = NOTHING,
) -> Picture:
    """Return the charts as pictures; their keys are the names of coins or streams."""
    from svc_analytics.render.picture import Look, draw_svg  # loads matplotlib

    look = Look(size, _caption(status_line, table, language), language)
    drawings = []
    for number, (name, drawn) in enumerate(parts.items()):
        label = ", ".join(filter(None, [title, name, status_line]))
        salt = f"{title.replace(' ', '_')}-{number}"
        drawings.append(draw_svg(salt, drawn, label, look))
    named = ", ".join([title, *filter(None, parts)])
    return Picture(named, drawings, why, status_line)


def _source(chart: Callable[..., None], table: Any) -> tuple[pa.Table, str]:
    """Return the table to draw, and why nothing is drawn if it has no rows."""
    if has_trend(table):
        return _of_comparison(chart, table), NOTHING
    if not is_statement(table):
        return arrow_of(table), NOTHING
    if chart.__name__ not in _TABLES:
        drawn = ", ".join(_TABLES)
        raise ConfigError(f"a statement draws {drawn}; give {chart.__name__} a table")
    name, figure = _TABLES[chart.__name__]
    if chart is usd_year:
        name = year_name(table.tables)
    if not name or (chart is usd_bridge and TREND not in table.tables):
        text = "this statement holds no earlier month in USD"
        raise ConfigError(f"{text}: draw {chart.__name__} of svc.compare(lake, month)")
    known = table.tables["summary"][figure]
    is_unread = known.null_count or (table.needs_attention and not len(known))
    causes = unknown_causes(table)
    because = (
        Message("unknown.because_in_chart", reasons=translated(causes)) if causes else UNDEFINED
    )
    why = because if is_unread else NOTHING
    if chart.__name__ == "usd_bridge":
        return bridge_table(table.tables, table.period), why
    return table.tables[name], why


def _of_comparison(chart: Callable[..., None], comparison: Any) -> pa.Table:
    """Return the year up to the later of two months, or the bridge from one to the next."""
    old, new = comparison.old, comparison.new
    if chart is usd_year:
        return comparison.trend_table(YEAR, 2 * MONTHS_DRAWN)
    if chart is usd_bridge and old.period.end == new.period.start:
        return bridge_table(new.tables, new.period, old.tables["summary"])
    text = "a comparison draws usd_year and, of a month with the one before it, usd_bridge"
    raise ConfigError(f"{text}; give {chart.__name__} a table")


def _caption(status_line: str, table: Any, language: Language) -> str:
    """Return the lines below a picture: period, zone and status, then the merchant's names."""
    is_named = is_statement(table) or has_trend(table)
    # In a line of their own: right-to-left letters would reverse a date beside them.
    names = [names_of(table.merchant, MOST_LETTERS)] if is_named else []
    return "\n".join([worded(status_line, language, "\n"), *names])


def _names(chart: Callable[..., None], table: pa.Table, kind: str) -> tuple[str, ...]:
    if kind not in table.column_names:
        raise _no_column(chart, kind, table)
    return tuple(sorted(set(table[kind].to_pylist())))


def _no_column(chart: Callable[..., None], name: str, table: pa.Table) -> ConfigError:
    columns = ", ".join(table.column_names)
    return ConfigError(f"{chart.__name__} needs a column {name!r}; the table has {columns}")


def _size(chart: Callable[..., None], table: pa.Table, count: int) -> tuple[float, float]:
    if chart.__name__ == "refund_cohorts":  # a field for each of twelve months
        return _ALONE[0], 3.6
    if chart.__name__ == "usd_exposure":  # a bar for each coin
        return _ALONE[0], max(_ALONE[1], 0.9 + 0.25 * table.num_rows)
    return _ALONE if count == 1 else _BESIDE


def _fluid(drawing: str) -> str:
    """Return a drawing at its own size, so that its letters are those of all others."""
    look = "max-width:100%;height:auto;font-family:inherit"
    return drawing.replace("<svg", f'<svg style="{look}"', 1)


@cache
def _dark() -> str:
    """Return the colours of pictures in the dark theme of JupyterLab."""
    return dark_styles('[data-jp-theme-light="false"] .svc-picture svg')
