"""The chart of a comparison: which coin moved what sales left, as a chart of the spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.charts.bridge import CHANGE, UNKNOWN, Step, change_steps, told_of_change
from svc_analytics.charts.palette import BLUE, PAPER, RUST, UP
from svc_analytics.language.catalogue import Language
from svc_analytics.money import EXACT
from svc_analytics.render.workbook.cells import HEADING, CellWriter

_WIDTH, _HEIGHT, _BAR = 620, 36, 26  # pixels: of the chart, and of a bar in it
_ROW = 20  # pixels of a row
_USD = "#,##0.00"
_CLEAR: dict[str, Any] = {"fill": {"none": True}, "border": {"none": True}}


def write_change(
    pen: CellWriter, sheet: Any, row: int, span: tuple[int, float], change: pa.Table
) -> int:
    """Write the chart with its sentence, what it draws behind it; return the row below."""
    steps = change_steps(change.to_pylist())
    pen.words(sheet, row, 0, CHANGE, bold=True, font_color=HEADING)
    pen.wide(sheet, row + 1, span, told_of_change(steps) or UNKNOWN)
    if not steps:
        return row + 3
    first, behind = row + 2, span[0] + 2
    pen.words(sheet, first, behind, "What the chart draws", bold=True, bottom=1)
    for place, step in enumerate(steps, first + 1):
        pen.text(sheet, place, behind, _named(pen.language, step))
        for column, value in enumerate(_drawn(step), behind + 1):
            pen.number(sheet, place, column, value, _USD)
    sheet.insert_chart(first, 0, _chart(pen, sheet, (first + 1, behind), steps), {"y_offset": 4})
    return first + (_HEIGHT + _BAR * len(steps)) // _ROW + 2


def _drawn(step: Step) -> tuple[Decimal, ...]:
    """Return the clear part before a step's bar, and the bar on either side of zero."""
    low, high = min(step.start, step.end), max(step.start, step.end)
    nothing = Decimal()
    clear = low if low > 0 else high if high < 0 else nothing
    right = EXACT.subtract(high, max(low, nothing)) if high > 0 else nothing
    left = EXACT.subtract(low, min(high, nothing)) if low < 0 else nothing
    return clear, right, left


def _chart(pen: CellWriter, sheet: Any, place: tuple[int, int], steps: Sequence[Step]) -> Any:
    """Return the bars, one below the other, each from where the one before ends."""
    chart = pen.workbook.add_chart({"type": "bar", "subtype": "stacked"})
    (first, column), name = place, sheet.get_name()
    last = first + len(steps) - 1
    points = list(map(_colour, steps))
    for values, look in enumerate((_CLEAR, {"points": points}, {"points": points}), column + 1):
        chart.add_series(
            {
                "categories": [name, first, column, last, column],
                "values": [name, first, values, last, values],
                "gap": 40,
                **look,
            }
        )
    chart.set_legend({"none": True})
    chart.set_y_axis({"reverse": True, "line": {"none": True}, "major_tick_mark": "none"})
    chart.set_x_axis({"visible": False, "major_gridlines": {"visible": False}})
    chart.set_chartarea({"border": {"none": True}})
    chart.set_size({"width": _WIDTH, "height": _HEIGHT + _BAR * len(steps)})
    chart.show_hidden_data()  # what it draws may be folded away
    return chart


def _named(language: Language, step: Step) -> str:
    """Return a step with its amount: not every program has room for one beside a bar."""
    return f"{language.text(step.name)}  {language.number(step.text)}"


def _colour(step: Step) -> dict[str, Any]:
    """Return the look of a bar: worth dark, what comes in filled, what goes out hatched."""
    if step.amount < 0:
        look = {"pattern": "wide_upward_diagonal", "fg_color": RUST, "bg_color": PAPER}
        return {"pattern": look, "border": {"color": RUST}}
    return {"fill": {"color": BLUE if step.is_worth else UP}}
