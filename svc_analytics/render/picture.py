"""A chart as an SVG picture to be set into a page: the same bytes for the same chart."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Letters become outlines, so that every reader and printer draws the same picture.
_LOOK: dict[str, Any] = {
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
    name: str, draw: Callable[[Axes], None], title: str, size: tuple[float, float] = (7.2, 2.2)
) -> str:
    """Return one chart as an `<svg>` element; `name` keeps its ids apart from other charts'."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # What a user has set for notebooks must not change a statement's bytes.
    with mpl.rc_context():
        mpl.rcdefaults()
        settings: Any = mpl.rcParams
        settings.update(_LOOK | {"svg.hashsalt": name})
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        out = StringIO()
        nothing = {"Date": None, "Creator": None, "Format": None}
        figure.savefig(out, format="svg", metadata=nothing)
    return _embed(out.getvalue(), name, title)


def _embed(text: str, name: str, title: str) -> str:
    """Cut the prolog and the metadata, and make ids unique in the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    text = _REFERENCE.sub(rf"\g<1>{name}-", text)
    label = f'<svg role="img" aria-label="{escape(title)}"'
    return text.replace("<svg", label, 1)
