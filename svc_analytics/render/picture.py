"""Charts as SVG or PNG pictures: the same bytes for the same chart."""

import pickle
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from html import escape
from io import StringIO
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator

from svc_analytics.charts.axes import BELOW, legend_columns, picture_width
from svc_analytics.charts.palette import INK, RULE, SOFT
from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.charts.words import language_of
from svc_analytics.formatting.texts import escape_invisible, visible
from svc_analytics.language.catalogue import END, ENGLISH, LEFT_TO_RIGHT, RIGHT_TO_LEFT, Language
from svc_analytics.language.fonts import OF_PICTURES, css_families

# Letters stay letters, so that a page gives them its own font. Their room is measured by a
# font that comes with the library and is wider than those of pages.
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": [OF_PICTURES],
    "font.size": 9,
    "text.color": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 8,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": SOFT,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "none",
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "timezone": "UTC",  # the defaults leave it as the machine's own settings have it
} | {
    f"{axis}tick.{name}": value
    for axis in "xy"
    for name, value in {"color": SOFT, "labelsize": 8, "major.size": 0, "major.pad": 4}.items()
}
_UNDATED = {"Date": None, "Creator": None, "Format": None}
_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)')
_MARK = re.compile(r'(<defs>\s*<path [^>]*?) style="[^"]*"')  # where it is used has a style too
_FAMILY = re.compile(r" font-family: [^;\"]*;?")
_FROM_THE_RIGHT = re.compile(
    r"(<text [^>]*>)([^<]*[\u0590-\u065f\u066e-\u06ef\u06fa-\u08ff][^<]*)(</text>)"
)
_ISOLATES = {ord(mark): f"&#{ord(mark)};" for mark in (LEFT_TO_RIGHT, RIGHT_TO_LEFT, END)}


@dataclass(frozen=True)
class Look:
    """How a chart is drawn: its inches, the small letters below it, its language."""

    size: tuple[float, float] = (7.2, 2.2)
    caption: str = ""
    language: Language = ENGLISH  # of its texts, but not of the caption


@dataclass(frozen=True)
class _Chart:
    """A chart by all that it is made of: equal ones are drawn alike."""

    name: str
    draw: Callable[[Axes], None] = field(compare=False)
    title: str
    look: Look
    content: bytes  # of its function, table and options


def draw_svg(name: str, draw: partial[None], title: str, look: Look) -> str:
    """Return a chart as an `<svg>` element, with ids that begin with `name`.

    A close draws those of a page, and its proof draws them again: what was drawn last is kept.
    """
    return _svg(_Chart(name, draw, title, look, pickle.dumps((draw, title))))


@lru_cache(maxsize=64)
def _svg(chart: _Chart) -> str:
    out, look = StringIO(), chart.look
    save_picture(out, "svg", chart.draw, look, salt=chart.name)
    drawn = out.getvalue()
    if look.language.has_right_to_left:  # its words isolate the values in them
        isolated = rf"\1{RIGHT_TO_LEFT}\2{END}\3"
        drawn = _FROM_THE_RIGHT.sub(isolated, drawn).translate(_ISOLATES)
    title = look.language.text(visible(chart.title))
    return _embed(escape_invisible(drawn), chart.name, title)


def save_picture(
    out: Any,
    form: str,
    draw: Callable[[Axes], None],
    look: Look,
    *,
    salt: str = "",
    dpi: int = 100,
) -> None:
    """Write a chart into a file as `svg` or `png`, whatever style notebooks set."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the reader's fonts may have it
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(STYLE | {"svg.hashsalt": salt})
        figure = Figure(figsize=look.size)
        options: Any = {"axes_class": WordedAxes, "language": look.language}
        axes = figure.add_axes((0, 0, 1, 1), **options)
        draw(axes)
        if look.language.has_jalali:  # with a day of each calendar, labels are wider
            thin_out(axes)
        arrange(figure, axes, look.caption)
        if form == "svg":  # drawn once: savefig would draw the same a second time
            canvas: Any = FigureCanvasSVG(figure)
            canvas.print_svg(out, metadata=_UNDATED)
        else:
            figure.savefig(out, format=form, dpi=dpi)


def _embed(text: str, name: str, title: str) -> str:
    """Return the `<svg>` element alone, with ids that are unique in the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<(metadata|style).*?</\1>", "", text, flags=re.S)
    text = _REFERENCE.sub(rf"\g<1>{name}-", _MARK.sub(r"\1", _FAMILY.sub("", text)))
    families = escape(css_families().replace('"', "'"))
    label = f'<svg role="img" aria-label="{escape(title)}" font-family="{families}, sans-serif"'
    return text.replace("<svg", f'{label} stroke-linejoin="round"', 1)


# ---------- Where the axes of a picture stand
# The room that the texts around them need.
#
# The library's own layout draws every text twice to find that room, and takes nearly twice as
# long; in a small picture with two languages it leaves the axes no room at all, and puts the texts
# over them. Here each margin is the height of the lines in it, or the width of the widest label.


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
    room = width - 2 * _GAP
    head = _head(axes, room)
    foot = TextBlock(_broken(caption, _SMALL, room), _SMALL, {"color": SOFT})
    ticks = _TICK + max(map(_lines, _texts(axes.xaxis)), default=0) * _letters(axes.xaxis)
    below: Any = axes.xaxis.label
    below.set_text("\n".join(_broken(below.get_text(), below.get_fontsize(), room)))
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
