"""Axes, labels and colours that all charts share."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from svc_analytics.charts.words import CALENDARS_NAMED, apart, in_line, language_of, tick_text
from svc_analytics.formatting.status_line import status_line_of

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas as pd
    import pyarrow as pa

# Texts, because the three libraries take long to load.
Axes: TypeAlias = "matplotlib.axes.Axes"
Table: TypeAlias = "pa.Table | pd.DataFrame"
Row = dict[str, Any]
INK, SOFT, RULE, PAPER = "#1c2733", "#54616e", "#dde2e7", "#ffffff"
BLUE, RUST = "#2f4b6e", "#b5563f"  # they differ in lightness too
# One coin beside another, the largest first: dark and light take turns in a grey print.
SERIES = (BLUE, "#d98e2b", "#7a9e7e", "#9aa7b8", "#7d5a86", "#c9b78f")
UP = SERIES[2]
_DARK = {
    INK: "#ececea",
    SOFT: "#b0b0ac",
    RULE: "#3d4247",
    PAPER: "#161616",
    BLUE: "#7fa3d1",
    RUST: "#e0836b",
    "#d98e2b": "#e3a14a",
    "#7a9e7e": "#8fb894",
    "#9aa7b8": "#8391a5",
    "#7d5a86": "#b491be",
    "#c9b78f": "#a8966c",
}
_SHADES = 5  # of a share, from a light one to BLUE
HATCH = "/////"
# Grey and crossed: it differs from bars below zero in a grey print too.
UNKNOWN: dict[str, Any] = {
    "facecolor": "none",
    "edgecolor": SERIES[3],
    "hatch": "xxx",
    "linewidth": 0.0,
    "zorder": 0,
}
MOST_TICKS = 6
MOST_SERIES = len(SERIES)
LINES: tuple[dict[str, Any], ...] = tuple(
    {"color": colour, "marker": marker, "linestyle": style}
    for colour, marker, style in zip(
        SERIES, "os^DvP", ("-", "--", "-.", ":", "-", "--"), strict=True
    )
)
MOST_DAYS = 100  # on an axis labelled by day; a longer one is labelled by month
MOST_MONTHS = 120  # on an axis without gaps
BELOW = "below the axes"  # the name of a legend that a picture makes room for there
_MARK, _LETTER = 0.32, 0.056  # inches, of an entry in a legend and of each letter of it
NOWHERE = float("nan")  # the place of an unknown value: nothing is drawn
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")


def rows_of(table: Table, currency: str | None = None) -> list[Row]:
    """Return a table's rows, or those of one coin."""
    import pyarrow as pa  # takes long to load

    arrow = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table)
    rows: list[Row] = arrow.to_pylist()
    return [row for row in rows if currency is None or row["currency"] == currency]


def hatched() -> dict[str, Any]:
    """Return the look of bars that differ from filled ones even in a grey print."""
    return {"facecolor": PAPER, "edgecolor": RUST, "hatch": HATCH, "linewidth": 0.8}


def signed_bars(bars: Callable[..., Any], values: Sequence[tuple[int, Decimal]]) -> None:
    """Draw amounts above zero filled and those below hatched, with their labels."""
    above = [(place, float(value)) for place, value in values if value >= 0]
    below = [(place, float(value)) for place, value in values if value < 0]
    filled = {"color": BLUE, "label": "above zero"}
    for pairs, look in ((above, filled), (below, hatched() | {"label": "below zero"})):
        if pairs:
            places, lengths = zip(*pairs, strict=True)
            bars(places, lengths, 0.8, **look)


def mark_running(
    axes: Axes, table: Table, values: Sequence[Any], places: Sequence[int], what: str
) -> int | None:
    """Shade the first day or month that is not over; return its place, None where all are."""
    is_running, pairs = status_line_of(table).is_running, zip(values, places, strict=True)
    place = next((place for value, place in pairs if is_running(value)), None)
    if place is not None:
        _shade(axes, place - 0.5, place + 0.5, what)
    return place


def mark_running_month(axes: Axes, table: Table, last: float) -> None:
    """Shade the days of the month that is not over, up to the last one drawn."""
    month = status_line_of(table).first_open_month
    first = date.fromisoformat(f"{month}-01").toordinal() if month else last
    if first < last:
        _shade(axes, first, last, "month")


def _shade(axes: Axes, start: float, end: float, what: str) -> None:
    look: dict[str, Any] = {"facecolor": RULE, "edgecolor": SOFT, "linestyle": ":", "zorder": 0}
    axes.axvspan(start, end, label=f"running {what}", **look)


def labels(rows: list[Row]) -> list[str]:
    """Return the month or period of each row."""
    name = "month" if rows and "month" in rows[0] else "period"
    return [str(row[name]) for row in rows]


def is_month(text: str) -> bool:
    """Whether a text is a month, such as `2026-10`."""
    return bool(_MONTH.fullmatch(text))


def all_months(labels: Iterable[str]) -> list[str]:
    """Return months in order with those between them: an axis of time has no gaps.

    >>> all_months(["2027-01", "2026-11"])
    ['2026-11', '2026-12', '2027-01']
    """
    months = sorted(set(labels))
    if not months or not all(map(is_month, months)):
        return months
    first, last = (int(text[:4]) * 12 + int(text[5:]) - 1 for text in (months[0], months[-1]))
    if last - first >= MOST_MONTHS:
        return months
    return [f"{n // 12:04}-{n % 12 + 1:02}" for n in range(first, last + 1)]


def mark_unknown(axes: Axes, places: Sequence[float]) -> None:
    """Hatch the whole height where a figure is unknown: an empty place would look like zero."""
    if places:
        spans = [(place - 0.5, 1.0) for place in places]
        look: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "label": "unknown"}
        axes.broken_barh(spans, (0, 1), **UNKNOWN, **look)


def label_places(axes: Axes, labels: list[str]) -> None:
    """Label the ticks 0, 1, 2 …; of many labels only some are written."""
    step = -(-len(labels) // MOST_TICKS) or 1
    label_ticks(axes.xaxis, range(0, len(labels), step), labels[::step])


def label_ticks(axis: Any, places: Sequence[int], texts: Sequence[str]) -> None:
    """Write texts at places of an axis; a month with those of the other calendar, if displayed."""
    language, between = language_of(axis.axes), "\n" if axis.axis_name == "x" else " "
    axis.set_ticks(places, labels=[tick_text(text, language, between) for text in texts])


def label_days(axes: Axes, days: list[int]) -> None:
    """Label an axis of day numbers by day, or a long one by month."""
    from svc_analytics.charts.ticks import DayFormatter  # loads matplotlib

    if not days:
        if language_of(axes).has_own_digits:
            amount_axis(axes.xaxis)
        return
    first, last = days[0], max(days[-1], days[0] + MOST_TICKS)
    ticks, form = list(range(first, last + 1)), "%m-%d"
    if last - first >= MOST_DAYS:
        ticks, form = [day for day in ticks if date.fromordinal(day).day == 1], "%Y-%m"
    shown = ticks[:: -(-len(ticks) // MOST_TICKS)]
    axes.set_xticks(shown)
    axes.xaxis.set_major_formatter(DayFormatter(form, language_of(axes)))
    if language_of(axes).has_jalali:
        axes.set_xlabel(apart(axes, CALENDARS_NAMED), fontsize="small")
    axes.set_xlim(first - 0.8, last + 0.8)


def finish_days(axes: Axes, table: Table, unit: str) -> None:
    """Finish axes of amounts by day: the days of all coins, the running one shaded, a legend."""
    days = sorted({row["day"].toordinal() for row in rows_of(table)})
    mark_running(axes, table, list(map(date.fromordinal, days)), days, "day")
    label_days(axes, days)
    amount_axis(axes.yaxis)
    axes.set_ylabel(apart(axes, unit))
    legend_below(axes)


def amount_axis(axis: Any) -> None:
    """Write the ticks of an axis as plain amounts, all with the same places."""
    from svc_analytics.charts.ticks import AmountFormatter  # loads matplotlib

    axis.set_major_formatter(AmountFormatter(language_of(axis.axes)))


def percent_axis(axis: Any, drawn: list[float]) -> None:
    """Write the ticks of an axis as percentages of the same places, with zero on it."""
    from svc_analytics.charts.ticks import ShareFormatter  # loads matplotlib

    axis.set_major_formatter(ShareFormatter(language_of(axis.axes)))
    known = [value for value in drawn if value == value]
    axis.axes.set_ylim(min([0, *known]) * 1.25, max([0, *known]) * 1.25 or 0.01)


def finish(axes: Axes, title: str, drawn: Sequence[Any], why: str, subtitle: str = "") -> None:
    """Write the title, a sentence of what is drawn, or why nothing is.

    Empty axes would look like zero. The sentence is what matplotlib calls the left title.
    """
    axes.set_title(apart(axes, title), y=1.0)  # where it would stand: the library would search
    if subtitle:
        axes.set_title(apart(axes, subtitle), loc="left", y=1.0)
    if not drawn:
        middle: dict[str, Any] = {"ha": "center", "va": "center", "color": SOFT}
        axes.text(0.5, 0.5, apart(axes, why), transform=axes.transAxes, **middle)


def add_legend(axes: Axes, label: str = "", on: Any = None, **options: Any) -> None:
    """Add a legend in small letters, without a frame: on the axes, or on the figure around them."""
    handles, names = axes.get_legend_handles_labels()
    entries: dict[str, Any] = {
        "handles": handles,
        "labels": [in_line(axes, name) for name in names],
    }
    entries["markerfirst"] = language_of(axes).direction == "ltr"
    entries |= {"handlelength": 1.4, "handletextpad": 0.5, "columnspacing": 1.2}
    (on or axes).legend(frameon=False, fontsize="small", **entries | options).set_label(label)


def legend_below(axes: Axes) -> None:
    """Add a legend below the axes, unless only one kind of mark is drawn."""
    names = axes.get_legend_handles_labels()[1]
    if len(names) > 1 or names == ["unknown"]:
        below = -0.12 - 0.08 * len(axes.get_xlabel().splitlines())
        where: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, below)}
        columns = legend_columns(axes, [in_line(axes, name) for name in names])
        add_legend(axes, label=BELOW, ncols=columns, **where)


def legend_columns(axes: Axes, names: list[str]) -> int:
    """Return how many entries of a legend stand side by side in the width of the picture."""
    room = picture_width(axes) - 2 * _MARK
    fitting = (
        n
        for n in range(MOST_SERIES + 1, 1, -1)
        if n <= len(names) and _legend_width(names, n) <= room
    )
    return next(fitting, 1)


def picture_width(axes: Axes) -> float:
    """Return the width of the picture that the axes stand in, in inches."""
    from matplotlib.figure import Figure  # takes long to load

    figure = axes.get_figure(root=True)
    return figure.get_figwidth() if isinstance(figure, Figure) else 0.0


def _legend_width(names: list[str], columns: int) -> float:
    """Return the width of a legend in inches; its first columns hold what is over."""
    rows, over = divmod(len(names), columns)
    ends = [rows * n + min(n, over) for n in range(columns + 1)]
    widest = [max(map(len, names[start:end])) for start, end in pairwise(ends)]
    return sum(_MARK + _LETTER * letters for letters in widest)


def annotate(axes: Axes, place: tuple[float, float], text: str, **look: Any) -> None:
    """Write a small text next to a place."""
    axes.annotate(apart(axes, text), place, textcoords="offset points", fontsize="small", **look)


# ---------- Colours, and what stands for each of them on a dark page


def shade(depth: int) -> str:
    """Return the colour of a share: 0 is the paper, 5 the darkest.

    >>> shade(0), shade(5)
    ('#ffffff', '#2f4b6e')
    """
    return _between(PAPER, BLUE, depth)


def dark_styles(where: str) -> str:
    """Return the style sheet that gives pictures, in elements of the selector, their dark colours.

    A picture has its light colours in itself, so that it is whole without any style sheet.
    """
    shades = {shade(n): _between(_DARK[PAPER], _DARK[BLUE], n) for n in range(1, _SHADES)}
    return "\n".join(
        f'{where} :is([style*="{name}: {light}"], [{name}="{light}"]) '
        f"{{ {name}: {dark} !important; }}"
        for light, dark in (_DARK | shades).items()
        for name in ("fill", "stroke")
    )


def _between(lightest: str, darkest: str, depth: int) -> str:
    parts = (
        (int(low, 16) * (_SHADES - depth) + int(high, 16) * depth) // _SHADES
        for low, high in zip(_bytes(lightest), _bytes(darkest), strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in parts)


def _bytes(colour: str) -> list[str]:
    return [colour[n : n + 2] for n in (1, 3, 5)]
