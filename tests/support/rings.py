"""The two rings of tests: what every run shows, and the rest, which `pytest -m thorough` shows."""

from collections.abc import Iterable
from typing import Any

import pytest


def rings(usual: Iterable[Any], all_of_them: Iterable[Any]) -> list[Any]:
    """Return parameters for a test: a few for every run, the others for the deep ring alone."""
    first = list(usual)
    rest = [value for value in all_of_them if value not in first]
    rows = [value if isinstance(value, tuple) else (value,) for value in rest]
    return [*first, *(pytest.param(*row, marks=pytest.mark.thorough) for row in rows)]


def sample(values: Iterable[Any], step: int) -> list[Any]:
    """Return parameters as they come: each `step`-th for every run, the rest for the deep ring."""
    rows = [(value, value if isinstance(value, tuple) else (value,)) for value in values]
    return [
        value if place % step == 0 else pytest.param(*row, marks=pytest.mark.thorough)
        for place, (value, row) in enumerate(rows)
    ]
