"""Charts as SVG or PNG pictures: the same bytes for the same chart."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.formatting.sanitize import escape_invisible, visible
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.language.fonts import OF_PICTURES, picture_families
from svc_analytics.render.layout import arrange, thin_out
from svc_analytics.render.letters import mark_missing

# Letters become outlines: the picture does not depend on the reader's fonts.
STYLE: dict[str, Any] = {
    "svg.fonttype": "path",
    "text.parse_math": False,
    "font.family": [OF_PICTURES],
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
    "timezone": "UTC",  # the defaults leave it as the machine's own settings have it
}
_UNDATED = {"Date": None, "Creator": None, "Format": None}
_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)')


@dataclass(frozen=True)
class Look:
    """How a chart is drawn: its inches, the small letters below it, its language."""

    size: tuple[float, float] = (7.2, 2.2)
    caption: str = ""
    language: Language = ENGLISH  # of its texts, but not of the caption


def draw_svg(name: str, draw: Callable[[Axes], None], title: str, look: Look) -> str:
    """Return a chart as an `<svg>` element, with ids that begin with `name`."""
    out = StringIO()
    save_picture(out, "svg", draw, look, salt=name)
    told = look.language.text(visible(title))
    return _embed(escape_invisible(out.getvalue()), name, told)


def save_picture(
    out: Any, form: str, draw: Callable[[Axes], None], look: Look, salt: str = ""
) -> None:
    """Write a chart into a file as `svg` or `png`, whatever style notebooks set."""
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(STYLE | {"svg.hashsalt": salt})
        if look.language.has_right_to_left:
            settings.update({"font.family": picture_families()})
        figure = Figure(figsize=look.size)
        options: Any = {"axes_class": WordedAxes, "language": look.language}
        axes = figure.add_axes((0, 0, 1, 1), **options)
        draw(axes)
        caption = mark_missing(axes, look.caption, look.language)
        if look.language.has_jalali:  # with a day of each calendar, labels are wider
            thin_out(axes)
        arrange(figure, axes, caption)
        if form == "svg":  # drawn once: savefig would draw the same a second time
            canvas: Any = FigureCanvasSVG(figure)
            canvas.print_svg(out, metadata=_UNDATED)
        else:
            figure.savefig(out, format=form, dpi=100)


def _embed(text: str, name: str, title: str) -> str:
    """Return the `<svg>` element alone, with ids that are unique in the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = _REFERENCE.sub(rf"\g<1>{name}-", text)
    label = f'<svg role="img" aria-label="{escape(title)}"'
    return text.replace("<svg", label, 1)
