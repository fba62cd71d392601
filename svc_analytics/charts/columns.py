"""Chart of two columns of any table: an answer of one's own, drawn as statements are."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from svc_analytics.charts import drawing
from svc_analytics.charts.drawing import INK, PAPER, SERIES, Axes, Row, Table
from svc_analytics.charts.words import apart
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.cells import RATIO, USD, kind_of
from svc_analytics.formatting.texts import cut_short, single_line
from svc_analytics.messages import Message, translated
from svc_analytics.money import format_amount, group_digits
from svc_analytics.warehouse.figures import in_sentence, label_of, read_figures

KINDS = ("bar", "line")
_HATCHES = ("", drawing.HATCH, "", "....", "", "\\\\\\\\\\")
_BARS: tuple[dict[str, Any], ...] = tuple(
    {"facecolor": PAPER, "edgecolor": colour, "hatch": hatch, "linewidth": 0.8}
    if hatch
    else {"color": colour}
    for colour, hatch in zip(SERIES, _HATCHES, strict=True)
)
_NUMBERS = (Decimal, int, float, type(None))
_LETTER = 0.07  # inches, of a text over a bar or below the axis
_MOST_MARKERS = 60  # of a line; more would hide it
Point = tuple[int, Any]  # a place on the axis and the value there


def column_chart(
    axes: Axes,
    table: Table,
    x: str,
    y: str,
    kind: str = "bar",
    by: str = "",
    currency: str | None = None,
) -> None:
    """Draw the column `y` by the column `x`, as bars or as a line for each value of `by`.

    Days and months keep their distance; any other `x` stands in the order of the table. Bars
    have their exact amounts as labels where there is room. An unknown value is hatched grey.
    With a `currency`, only the rows of that coin are drawn.

    Raises:
        ConfigError: when the columns cannot be drawn.
    """
    rows = drawing.rows_of(table, currency)
    check_columns(rows, x, y, kind, by)
    values = _values([row[x] for row in rows], x)
    places = _places(values)
    points = [(places[value], row) for value, row in zip(values, rows, strict=True)]
    known = [(place, row) for place, row in points if row[y] is not None]
    groups = list(dict.fromkeys(row[by] for row in rows)) if by else [None]
    for number, group in enumerate(groups):
        own = [(place, row[y]) for place, row in points if not by or row[by] == group]
        _draw(axes, kind, own, (number, len(groups)), _text(group))
    drawing.mark_unknown(axes, sorted({place for place, row in points if row[y] is None}))
    _label_places(axes, table, places)
    _label_values(axes, y, rows, has_common_unit(table.schema.field(y)))
    drawing.legend_below(axes)
    drawing.finish(axes, _title(y, x, currency), known, "unknown" if rows else "no rows")


def has_common_unit(field: Any) -> str:
    """Return the kind of a column whose values of all coins fit one axis: USD, or shares."""
    kind = kind_of(field)
    return kind if kind in (USD, RATIO) else ""


def _title(y: str, x: str, currency: str | None) -> Message:
    names = {"figure": translated(label_of(y)), "column": translated(in_sentence(x))}
    if currency:
        return Message("{FIGURE} by {COLUMN}, {coin}", **names, coin=currency)
    return Message("{FIGURE} by {COLUMN}", **names)


def check_columns(rows: Sequence[Row], x: str, y: str, kind: str, by: str) -> None:
    """Refuse, in one line, what cannot be drawn."""
    if kind not in KINDS:
        raise ConfigError(f"no kind of chart {kind!r:.40}: write kind='bar' or kind='line'")
    for name in filter(None, (x, y, by)):
        if rows and name not in rows[0]:
            raise ConfigError(f"there is no column {name!r:.40}; there are {', '.join(rows[0])}")
    wrong = next((row[y] for row in rows if not isinstance(row[y], _NUMBERS)), None)
    if wrong is not None:
        text = f"the column {y!r} holds {_text(wrong)!r:.40}, which is no number"
        raise ConfigError(f"{text}: give y= a column of amounts or counts")
    count = len({row[by] for row in rows}) if by else 1
    if count > drawing.MOST_SERIES:
        text = f"the column {by!r} has {count} values, and a chart holds {drawing.MOST_SERIES}"
        raise ConfigError(f"{text}: choose some of them in the SQL")
    _check_once([(row[x], row[by]) if by else (row[x],) for row in rows])


def _check_once(keys: Sequence[tuple[Any, ...]]) -> None:
    """Refuse two rows that would be drawn over each other."""
    key, count = next(iter(Counter(keys).most_common(1)), ((), 1))
    if count > 1:
        where = " and ".join(map(_text, key))
        raise ConfigError(f"{count} rows are of {where}: add them up in the SQL, or give by=")


def _values(rows: Sequence[Any], name: str) -> list[Any]:
    """Return days as dates, and anything else as a text."""
    days = [value.date() if _is_midnight(value) else value for value in rows]
    if not all(type(day) is date for day in days):
        return [_text(value) for value in rows]
    return [f"{day:%Y-%m}" for day in days] if "month" in name else days


def _is_midnight(value: Any) -> bool:
    return isinstance(value, datetime) and value.time() == time()


def _text(value: Any) -> str:
    if isinstance(value, (Decimal, int)):
        return group_digits(format_amount(Decimal(value)))
    return "unknown" if value is None else str(value)


def _places(values: Sequence[Any]) -> dict[Any, int]:
    """Return the place of each value of the axis: days and months keep their distance."""
    if values and isinstance(values[0], date):
        return {day: day.toordinal() for day in sorted(values)}
    are_months = all(map(drawing.is_month, values))
    order = drawing.all_months(values) if are_months else list(dict.fromkeys(values))
    return {value: place for place, value in enumerate(order)}


def _draw(axes: Axes, kind: str, points: list[Point], series: tuple[int, int], name: str) -> None:
    """Draw one series: a line, or bars that stand beside those of the others."""
    number, count = series
    points = sorted(points, key=lambda point: point[0])  # a line runs from left to right
    heights = [drawing.NOWHERE if value is None else float(value) for _, value in points]
    if kind == "line":
        look = {"markersize": 3.5, "linewidth": 1.2} | drawing.LINES[number]
        look |= {"label": name} if count > 1 else {}
        look |= {"marker": ""} if len(points) > _MOST_MARKERS else {}
        axes.plot([place for place, _ in points], heights, **look)
        return
    axes.axhline(0, color=INK, linewidth=0.8)
    if count == 1:
        points = [(place, value) for place, value in points if value is not None]
        drawing.signed_bars(axes.bar, [(place, Decimal(value)) for place, value in points])
        _label_bars(axes, points)
    elif points:
        width = 0.8 / count
        shift = (number - (count - 1) / 2) * width
        axes.bar([at + shift for at, _ in points], heights, width, label=name, **_BARS[number])


def _label_bars(axes: Axes, points: list[Point]) -> None:
    """Write the exact values at the bars if all of them fit; a float has no exact one."""
    texts = [_text(value) for _, value in points if not isinstance(value, float)]
    longest = max(map(len, texts), default=0)
    if len(texts) == len(points) and longest <= _letters(axes, len(points)):
        for (place, value), text in zip(points, texts, strict=True):
            top = (place, max(float(value), 0.0))
            drawing.annotate(axes, top, text, xytext=(0, 2), ha="center")


def _letters(axes: Axes, count: int) -> int:
    """Return how many letters fit into each of so many places beside one another."""
    return int(drawing.picture_width(axes) * 0.85 / _LETTER / max(count, 1))


def _label_places(axes: Axes, table: Table, places: dict[Any, int]) -> None:
    """Label the axis by day, month or value, and shade the day or month that is not over."""
    labelled = list(places)
    if labelled and isinstance(labelled[0], date):
        what = "day"
        drawing.label_days(axes, sorted(places.values()))
    else:
        what = "month"
        most = max(_letters(axes, min(len(labelled), drawing.MOST_TICKS)), 4)
        drawing.label_places(axes, [cut_short(single_line(text), most) for text in labelled])
        axes.set_xlim(-0.6, max(len(labelled), 1) - 0.4)
    drawing.mark_running(axes, table, labelled, list(places.values()), what)


def _label_values(axes: Axes, name: str, rows: Sequence[Row], common: str) -> None:
    """Write the ticks of the values, and name their unit, or the column if it is no figure."""
    figure = read_figures().get(name)
    if figure.unit == "ratio" if figure else common == RATIO:
        known = [float(row[name]) for row in rows if row[name] is not None]
        drawing.percent_axis(axes.yaxis, known)
    else:
        drawing.amount_axis(axes.yaxis)
    if common == USD:
        axes.set_ylim(min(axes.get_ylim()[0], 0), max(axes.get_ylim()[1], 0))
    unit = _unit_text(figure.unit, rows) if figure else label_of(name)
    if axes.get_ylim()[0] > 0:
        unit = Message("{LABEL} (axis not from zero)", label=translated(unit))
    axes.set_ylabel(apart(axes, unit))


def _unit_text(unit: str, rows: Sequence[Row]) -> str:
    """Name the unit of a figure: none beside percentages, a coin where the rows are of one."""
    coins = {row["currency"] for row in rows} if rows and "currency" in rows[0] else set()
    coin = str(*coins) if len(coins) == 1 else "coin"
    if unit == "USD per coin":
        return Message("USD per {coin}", coin=coin)
    return {"ratio": "", "coin": coin}.get(unit, unit)
