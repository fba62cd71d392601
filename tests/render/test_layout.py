"""The margins of a picture hold the texts in them."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from svc_analytics.render.layout import arrange
from svc_analytics.render.picture import STYLE
from tests.charts.test_chart_pictures import DRAWN

SIZES = {"usd_exposure": (7.2, 3.0), "usd_year": (4.3, 2.6), "usd_bridge": (2.9, 2.6)}


def arranged(draw: Callable[[Axes], None], size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return a figure that was laid out and drawn."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE | {"text.hinting": "no_hinting"})
        figure = Figure(figsize=size, dpi=72)
        axes = figure.add_axes((0, 0, 1, 1))
        draw(axes)
        arrange(figure, axes, "2026-10, UTC\nSaffron & Tile")
        FigureCanvasAgg(figure).draw()
    return figure, axes


def in_sight(axis: Any) -> list[Any]:
    """Return the labels of the ticks that are drawn."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


@pytest.mark.parametrize("name", DRAWN)
def test_every_text_is_inside_the_picture_and_apart(name: str) -> None:
    """No label is cut off at an edge, and what stands below the axes does not overlap."""
    figure, axes = arranged(DRAWN[name], SIZES.get(name, (5.4, 2.5)))
    ticks = [*in_sight(axes.xaxis), *in_sight(axes.yaxis)]
    below: list[Any] = [*in_sight(axes.xaxis)[:1], axes.xaxis.label, *figure.texts]
    legend = axes.get_legend()
    below += [legend] if legend and legend.get_label() else []
    for text in [*ticks, *axes.texts, axes.yaxis.label, *below]:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, text
    boxes = [one.get_window_extent() for one in below if one is legend or one.get_text()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
