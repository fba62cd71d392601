"""Charts as SVG or PNG pictures: the same bytes for the same chart."""

import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from html import escape
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from svc_analytics.charts.palette import INK, RULE, SOFT
from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.formatting.sanitize import escape_invisible, visible
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.language.fonts import OF_PICTURES, css_families
from svc_analytics.language.isolation import END, LEFT_TO_RIGHT, RIGHT_TO_LEFT
from svc_analytics.render.layout import arrange, thin_out

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
    out: Any, form: str, draw: Callable[[Axes], None], look: Look, salt: str = ""
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
            figure.savefig(out, format=form, dpi=100)


def _embed(text: str, name: str, title: str) -> str:
    """Return the `<svg>` element alone, with ids that are unique in the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<(metadata|style).*?</\1>", "", text, flags=re.S)
    text = _REFERENCE.sub(rf"\g<1>{name}-", _MARK.sub(r"\1", _FAMILY.sub("", text)))
    families = escape(css_families().replace('"', "'"))
    label = f'<svg role="img" aria-label="{escape(title)}" font-family="{families}, sans-serif"'
    return text.replace("<svg", f'{label} stroke-linejoin="round"', 1)
