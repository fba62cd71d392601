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
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FixedLocator

from svc_analytics.charts import drawing
from svc_analytics.charts.drawing import INK, RULE, SOFT
from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.charts.words import language_of
from svc_analytics.formatting.texts import escape_invisible, visible
from svc_analytics.language.catalogue import END, ENGLISH, LEFT_TO_RIGHT, RIGHT_TO_LEFT, Language

# The fonts of Persian pages and pictures: those of this machine, in one order.
# Ahead of its Persian font a machine may have one that is made for Latin letters alone.
FONT_FAMILIES = (
    *("Vazirmatn", "Noto Sans", "Noto Sans Arabic", "Noto Naskh Arabic", "Segoe UI", "Tahoma"),
    "DejaVu Sans",
)
PICTURE_FONT = "DejaVu Sans"  # comes with matplotlib, and has every letter of Persian


def css_families(last: str = FONT_FAMILIES[-1]) -> str:
    """Return the families as a style sheet names them, the last one narrower if need be.

    >>> css_families("DejaVu Sans Condensed").split(", ")[-3:]
    ['"Tahoma"', '"DejaVu Sans Condensed"', '"DejaVu Sans"']
    """
    names = dict.fromkeys((*FONT_FAMILIES[:-1], last, FONT_FAMILIES[-1]))
    return ", ".join(f'"{name}"' for name in names)


# Letters stay letters, so that a page gives them its own font. Their room is measured by a
# font that comes with the library and is wider than those of pages.
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "text.hinting": "no_hinting",  # a line is as wide as it was measured to be
    "font.family": [PICTURE_FONT],
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
        FigureCanvasAgg(figure)  # it measures each text once
        options: Any = {"axes_class": WordedAxes, "language": look.language}
        axes = figure.add_subplot(**options)
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


_GAP = 4.0  # points, between two texts and at the edge
_LINE = 1.2  # times the size of the letters
_SENTENCE, _SMALL = 8.5, 7.0  # points, the letters below the title, and those of a caption
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
        place, side = (1 - _GAP / width, "right") if at_right else (_GAP / width, "left")
        for number, line in enumerate(self.lines):
            base = top - (number * _LINE + 1) * self.size
            look: dict[str, Any] = {"fontsize": self.size, "ha": side, "va": "baseline"} | self.look
            figure.text(place, base / height, line, **look)
        return top - self.height


def arrange(figure: Figure, axes: Axes, caption: str = "") -> None:
    """Write the texts above the axes and the caption, and lay out what stands between them.

    A picture whose texts leave too little to the axes becomes higher. Title and caption stand at
    the edge of the picture, and are broken in lines: the library's layout does neither.
    """
    width, height = (inches * _INCH for inches in figure.get_size_inches())
    room = width - 2 * _GAP
    head = _head(axes, room)
    foot = TextBlock(_broken(caption, _SMALL, room), _SMALL, {"color": SOFT})
    below: Any = axes.xaxis.label
    below.set_text("\n".join(_broken(below.get_text(), below.get_fontsize(), room)))
    _move_legend(figure, axes)
    outer = _GAP / 2 + sum(block.height for block in head), foot.height
    height = max(
        height, sum(outer) + _around(figure, axes) + max(_LEAST * height, _rows(figure, axes))
    )
    figure.set_size_inches(width / _INCH, height / _INCH)
    _lay_out(figure, outer[1] / height, 1 - outer[0] / height)
    top = height - _GAP / 2
    for block in head:
        top = block.write(figure, top, at_right=language_of(axes).direction == "rtl")
    foot.write(figure, foot.height, at_right=True)


def _move_legend(figure: Figure, axes: Axes) -> None:
    """Let the legend below the axes be one of the figure: those the layout makes room for."""
    legend = axes.get_legend()
    if legend and legend.get_label() == drawing.BELOW:
        columns = drawing.legend_columns(axes, [text.get_text() for text in legend.get_texts()])
        legend.remove()
        drawing.add_legend(axes, on=figure, loc="outside lower center", ncols=columns)


def _around(figure: Figure, axes: Axes) -> float:
    """Return the height of what stands around the axes: labels, and a legend below them."""
    boxes: list[Any] = [axes.get_tightbbox(), *(one.get_tightbbox() for one in figure.legends)]
    pixels: float = sum(box.height for box in boxes) - axes.bbox.height
    return pixels / figure.dpi * _INCH + 2 * _GAP * len(boxes)


def _lay_out(figure: Figure, bottom: float, top: float) -> None:
    """Place the axes with their labels and the legend below them between two heights."""
    pad, place = _GAP / _INCH, (0.0, bottom, 1.0, top - bottom)
    ConstrainedLayoutEngine(rect=place, w_pad=pad, h_pad=pad).execute(figure)
    for legend in figure.legends:  # the layout makes room at the foot of the figure alone
        legend.set_bbox_to_anchor(place, figure.transFigure)


def _head(axes: Axes, room: float) -> list[TextBlock]:
    """Take the title and the sentence from the axes, to write them at the edge of the picture."""
    title, subtitle = axes.get_title(), axes.get_title("left")
    axes.set_title("")
    axes.set_title("", loc="left")
    size = float(axes.title.get_fontsize())
    named = TextBlock(_broken(title, size, room, "bold"), size, {"fontweight": "bold"})
    return [named, TextBlock(_broken(subtitle, _SENTENCE, room), _SENTENCE, {"color": SOFT})]


def _broken(text: str, size: float, room: float, weight: str = "normal") -> list[str]:
    """Return the lines of a text, none wider than the room; no isolated value is broken."""
    letters = FontProperties(size=size, weight=weight)
    broken: list[str] = []
    for line in filter(None, text.split("\n")):
        whole, most = _ISOLATED.sub(lambda part: part[0].replace(" ", "\u00a0"), line), len(line)
        lines = [whole]
        while most > 1 and _widest(lines, letters) > room:
            most = max(map(len, lines)) - 1  # any number between would give the same lines
            lines = wrap(whole, most, break_long_words=False)
            if max(map(len, lines)) > most:  # a word that is longer than a line
                break
        broken += lines
    return broken


def _rows(figure: Figure, axes: Axes) -> float:
    """Return the height that named rows need below one another, with the texts in them."""
    if not isinstance(axes.yaxis.get_major_locator(), FixedLocator):
        return 0.0
    names = axes.yaxis.get_majorticklabels()
    highest = max((text.get_window_extent().height for text in [*names, *axes.texts]), default=0.0)
    return len(names) * highest * _LINE * _INCH / figure.dpi


def thin_out(axes: Axes) -> None:
    """Keep as many labels below the axes as fit beside one another, the first of them."""
    if not isinstance(axes.xaxis.get_major_locator(), FixedLocator):
        return
    places = list(axes.xaxis.get_major_locator()())
    texts = axes.xaxis.get_major_formatter().format_ticks(places)
    letters = FontProperties(size=axes.xaxis.get_major_ticks(1)[0].label1.get_fontsize())
    needed = _widest("\n".join(texts).split("\n"), letters) * _LABEL * len(texts)
    step = int(-(-needed // (drawing.picture_width(axes) * _INCH * _ROOM)))
    if step > 1:
        axes.set_xticks(places[::step], texts[::step])


def _widest(lines: Sequence[str], letters: FontProperties) -> float:
    """Return the width of the widest of some lines, in points."""
    measure = text_to_path.get_text_width_height_descent
    return max((measure(line, letters, False)[0] for line in lines if line), default=0.0)
