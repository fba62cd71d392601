"""A chart as an SVG picture to be set into a page: the same bytes for the same chart."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, filterwarnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters become outlines, so that every reader and printer draws the same picture.
LOOK: dict[str, Any] = {
    "svg.fonttype": "path",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
}
_REFERENCE = re.compile(r'(\bid="|href="#|url\(#)')


def draw_svg(
    name: str,
    draw: Callable[[Axes], None],
    title: str,
    size: tuple[float, float] = (7.2, 2.2),
    sign: str = "",
) -> str:
    """Return one chart as an `<svg>` element; `name` keeps its ids apart from other charts'.

    `sign` stands small below it: of what and of whom it is.
    """
    out = StringIO()
    save_picture(out, "svg", draw, size, sign, name)
    return _embed(out.getvalue(), name, title)


def save_picture(
    out: Any,
    form: str,
    draw: Callable[[Axes], None],
    size: tuple[float, float],
    sign: str = "",
    salt: str = "",
    dpi: float = 100,
) -> None:
    """Write one chart into a file as `svg` or `png`, whatever a user has set for notebooks."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(), catch_warnings():
        # A letter that the font lacks is a box; there is nothing to be done about it.
        filterwarnings("ignore", message="Glyph .* missing")
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(LOOK | {"svg.hashsalt": salt})
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        if sign:
            figure.supxlabel(sign, x=0.99, ha="right", fontsize=6, color="#666666")
        nothing = {"Date": None, "Creator": None, "Format": None} if form == "svg" else None
        figure.savefig(out, format=form, metadata=nothing, dpi=dpi)


def _embed(text: str, name: str, title: str) -> str:
    """Cut the prolog and the metadata, and make ids unique in the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = _REFERENCE.sub(rf"\g<1>{name}-", text)
    label = f'<svg role="img" aria-label="{escape(title)}"'
    return text.replace("<svg", label, 1)
