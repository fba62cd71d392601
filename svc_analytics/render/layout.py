"""Where the axes of a picture stand: the room that the texts around them need.

The library's own layout draws every text twice to find that room. Here each margin is the
height of the lines in it, or the width of the widest label.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator

from svc_analytics.charts.axes import BELOW, legend_columns, picture_width
from svc_analytics.charts.palette import SOFT
from svc_analytics.charts.words import language_of
from svc_analytics.language.isolation import END, LEFT_TO_RIGHT

_LINE = 1.2  # times the size of the letters
_TICK = 6.0  # points, from the axis to the label of a tick
_GAP = 4.0  # points, between two texts and at the edge
_TOLD, _SMALL = 8.5, 7.0  # points, the letters below the title, and those of a caption
_LEGEND_LINE, _LEGEND_EDGE = 12.0, 9.0  # points
_INCH = 72.0  # points
_ROOM, _LABEL = 0.82, 1.12  # of the width for the ticks; of a label, with what parts it
_LEAST = 0.4  # of the height of a picture, for the axes themselves
_ISOLATED = re.compile(f"{LEFT_TO_RIGHT}[^{END}]*{END}")


@dataclass(frozen=True)
class TextBlock:
    """Lines of one size that stand above or below the axes."""

    lines: list[str]
    size: float
    look: dict[str, Any]

    @property
    def height(self) -> float:
        """Its height in points, with the gap below it."""
        return len(self.lines) * self.size * _LINE + _GAP if self.lines else 0.0

    def write(self, figure: Figure, top: float, *, at_right: bool) -> float:
        """Write the lines from a height on, each for itself, and return where the next begins."""
        width, height = (inches * _INCH for inches in figure.get_size_inches())
        side = (1 - _GAP / width, "right") if at_right else (_GAP / width, "left")
        for number, line in enumerate(self.lines):
            base = top - (number * _LINE + 1) * self.size
            look: dict[str, Any] = {
                "fontsize": self.size,
                "ha": side[1],
                "va": "baseline",
            } | self.look
            figure.text(side[0], base / height, line, **look)
        return top - self.height


def arrange(figure: Figure, axes: Axes, caption: str = "") -> None:
    """Place the axes, the texts above and below them, and the caption of a picture.

    A picture whose texts leave too little to the axes becomes higher.
    """
    width, height = (inches * _INCH for inches in figure.get_size_inches())
    head, foot = _head(axes, width - 2 * _GAP), _foot(caption, width - 2 * _GAP)
    ticks = _TICK + max(map(_lines, _texts(axes.xaxis)), default=0) * _letters(axes.xaxis)
    below: Any = axes.xaxis.label
    below.set_text("\n".join(_broken(below.get_text(), below.get_fontsize(), width - 2 * _GAP)))
    label = _height(below)
    bottom = _GAP + foot.height + _legend_height(axes) + label + ticks
    above = _GAP + sum(block.height for block in head)
    up = max(height - above - bottom, _LEAST * height, _rows(axes))
    height = above + up + bottom
    figure.set_size_inches(width / _INCH, height / _INCH)
    _place(axes, (width, height), (bottom, up))
    axes.xaxis.set_label_coords(0.5, -ticks / up)
    legend = axes.get_legend()
    if legend and legend.get_label() == BELOW:
        legend.set_bbox_to_anchor((0.5, -(ticks + label) / up), transform=axes.transAxes)
    top = height - _GAP / 2
    for block in head:
        top = block.write(figure, top, at_right=language_of(axes).direction == "rtl")
    foot.write(figure, foot.height, at_right=True)


def _place(axes: Axes, size: tuple[float, float], rows: tuple[float, float]) -> None:
    """Place the axes beside their labels, `rows` points above the foot of the picture."""
    (width, height), (bottom, up) = size, rows
    axes.set_position((0.1, bottom / height, 0.8, up / height))
    side = _GAP + _height(axes.yaxis.label)
    left = side + _TICK + max(_widths(axes.yaxis), default=0.0)
    across = width - _GAP - _beyond(axes, width - left) - left
    axes.set_position((left / width, bottom / height, across / width, up / height))
    axes.yaxis.set_label_coords((side - left - _GAP) / across, 0.5)


def _head(axes: Axes, room: float) -> list[TextBlock]:
    """Take the title and the sentence from the axes, to write them at the edge of the picture."""
    title, subtitle = axes.get_title(), axes.get_title("left")
    axes.set_title("")
    axes.set_title("", loc="left")
    size = float(axes.title.get_fontsize())
    named = TextBlock(_broken(title, size, room, "bold"), size, {"fontweight": "bold"})
    return [named, TextBlock(_broken(subtitle, _TOLD, room), _TOLD, {"color": SOFT})]


def _foot(caption: str, room: float) -> TextBlock:
    return TextBlock(_broken(caption, _SMALL, room), _SMALL, {"color": SOFT})


def _broken(text: str, size: float, room: float, weight: str = "normal") -> list[str]:
    """Return the lines of a text, none wider than the room; no isolated value is broken."""
    letters = FontProperties(size=size, weight=weight)
    broken: list[str] = []
    for line in filter(None, text.split("\n")):
        whole, most = _ISOLATED.sub(lambda part: part[0].replace(" ", "\u00a0"), line), len(line)
        lines = [whole]
        while most > 1 and max(_line_widths(lines, letters), default=0.0) > room:
            most -= 1
            lines = wrap(whole, most, break_long_words=False)
            if max(map(len, lines)) > most:  # a word that is longer than a line
                break
        broken += lines
    return broken


def _lines(text: str) -> int:
    return text.count("\n") + 1


def _height(text: Any) -> float:
    """Return the height of a title or a label, with the gap to what follows."""
    written = text.get_text()
    return _lines(written) * text.get_fontsize() * _LINE + _GAP if written else 0.0


def _rows(axes: Axes) -> float:
    """Return the height that rows need below one another, with the lines of texts in them."""
    if not isinstance(axes.yaxis.get_major_locator(), FixedLocator):
        return 0.0
    names = _texts(axes.yaxis)
    lines = max(map(_lines, [*names, *(text.get_text() for text in axes.texts)]), default=1)
    apart = 0.5 if lines > 1 else 0.0
    return len(names) * _letters(axes.yaxis) * (lines + apart)


def _letters(axis: Any) -> float:
    """Return the height of a line of an axis's tick labels."""
    size: float = axis.get_major_ticks(1)[0].label1.get_fontsize()
    return size * _LINE


def _texts(axis: Any) -> list[str]:
    """Return the labels of the ticks that are in sight."""
    low, high = sorted(axis.get_view_interval())
    places = [place for place in axis.get_major_locator()() if low <= place <= high]
    texts: list[str] = axis.get_major_formatter().format_ticks(places)
    return texts


def _widths(axis: Any) -> list[float]:
    """Return the widths of an axis's tick labels."""
    return _text_widths(axis, _texts(axis))


def thin_out(axes: Axes) -> None:
    """Keep as many labels below the axes as fit beside one another, the first of them."""
    if not isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        return
    places = list(axes.xaxis.get_major_locator()())
    texts = axes.xaxis.get_major_formatter().format_ticks(places)
    needed = max(_text_widths(axes.xaxis, texts), default=0.0) * _LABEL * len(texts)
    step = int(-(-needed // (picture_width(axes) * _INCH * _ROOM)))
    if step > 1:
        axes.set_xticks(places[::step], texts[::step])


def _text_widths(axis: Any, labels: Sequence[str]) -> list[float]:
    """Return the widths of the lines of labels of an axis, in points."""
    letters = FontProperties(size=axis.get_major_ticks(1)[0].label1.get_fontsize())
    return _line_widths([line for text in labels for line in text.split("\n")], letters)


def _line_widths(lines: Sequence[str], letters: FontProperties) -> list[float]:
    measure = text_to_path.get_text_width_height_descent
    return [measure(line, letters, False)[0] for line in lines if line]


def _beyond(axes: Axes, width: float) -> float:
    """Return how far the last label below the axes reaches beyond their right end."""
    low, high = axes.get_xlim()
    places = [place for place in axes.xaxis.get_major_locator()() if low <= place <= high]
    widths: Sequence[float] = _widths(axes.xaxis)
    if not widths or not places:
        return 0.0
    return max(0.0, widths[-1] / 2 - (high - max(places)) / (high - low) * width)


def _legend_height(axes: Axes) -> float:
    legend = axes.get_legend()
    if not legend or legend.get_label() != BELOW:
        return 0.0
    names = [text.get_text() for text in legend.get_texts()]
    rows = -(-len(names) // legend_columns(axes, names))
    return rows * _LEGEND_LINE + _LEGEND_EDGE
