"""What a shell offers behind Tab: figures, months of the lake, notebooks."""

from contextlib import suppress
from typing import Any

import click

from svc_analytics.config import read_data_dir
from svc_analytics.lake.lake import Lake, known_months


def figures(context: click.Context, parameter: Any, begun: str) -> list[str]:
    """Return the figures that a statement explains."""
    from svc_analytics.warehouse.figures import read_figures  # not before it is asked for

    return [
        name for name, figure in read_figures().items() if figure.is_stated and _fits(name, begun)
    ]


def months(context: click.Context, parameter: Any, begun: str) -> list[str]:
    """Return the months that the lake knows, newest first; none where there is no lake."""
    labels: list[str] = []
    with suppress(Exception):  # a shell shows no error here; the command itself will
        folders = context.params.get("data_dir")  # one, or those of a command that takes several
        folders = folders[0] if folders and not isinstance(folders, str) else folders or None
        lake = Lake(read_data_dir(folders))
        labels = known_months(lake, context.params.get("zone") or "UTC")
    return [label for label in labels if _fits(label, begun)]


def notebooks(context: click.Context, parameter: Any, begun: str) -> list[str]:
    """Return the notebooks by name."""
    from svc_analytics.notebook.runner import notebook_folder

    with suppress(Exception):
        names = sorted(path.stem for path in notebook_folder().glob("*.ipynb"))
        return [name for name in names if _fits(name, begun)]
    return []


def _fits(name: str, begun: str) -> bool:
    return name.startswith(begun)
