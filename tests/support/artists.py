"""What is drawn on axes, as tests read it."""

from typing import Any

from matplotlib.axes import Axes


def hatched_places(axes: Axes) -> list[float]:
    """Return the middles of what is hatched as unknown, over the whole height of the axes."""
    found: list[Any] = [one for one in axes.collections if one.get_label() == "unknown"]
    paths = [path for one in found if one.get_hatch() for path in one.get_paths()]
    boxes = [path.get_extents() for path in paths]
    return [round((box.x0 + box.x1) / 2, 2) for box in boxes if (box.y0, box.y1) == (0, 1)]
