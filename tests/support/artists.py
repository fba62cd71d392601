"""What charts are drawn of, and what is drawn on axes, as tests read it."""

from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes


def table_of(**columns: Any) -> pa.Table:
    """Make a table of its columns."""
    return pa.table(columns)


def hatched_places(axes: Axes) -> list[float]:
    """Return the middles of what is hatched as unknown, over the whole height of the axes."""
    found: list[Any] = [one for one in axes.collections if one.get_label() == "unknown"]
    paths = [path for one in found if one.get_hatch() for path in one.get_paths()]
    boxes = [path.get_extents() for path in paths]
    return [round((box.x0 + box.x1) / 2, 2) for box in boxes if (box.y0, box.y1) == (0, 1)]


def texts(axes: Axes) -> list[str]:
    """Return what is written on axes."""
    return [text.get_text() for text in axes.texts]


def legend(axes: Axes) -> list[str]:
    """Return what the legend of axes names."""
    found = axes.get_legend()
    return [text.get_text() for text in found.get_texts()] if found else []


def all_texts(axes: Axes) -> list[str]:
    """Return the title, the sentence below it, labels, ticks, annotations and legend of axes."""
    found = [axes.get_title(), axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()]
    found += texts(axes)
    for axis in (axes.xaxis, axes.yaxis):
        found += axis.get_major_formatter().format_ticks(axis.get_major_locator()())
    return found + legend(axes)
