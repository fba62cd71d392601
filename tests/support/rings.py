"""The two rings of tests: what every run shows, and the rest, which `pytest -m thorough` shows."""

from collections.abc import Iterable
from typing import Any

import pytest

# A rest that is longer is not even collected in a usual run: each of its processes would make
# ten thousand tests, only to leave them out.
LONG = 50

_leaves_out_long = False


def leave_out_long() -> None:
    """Collect for a usual run no more than it needs; to be said before any test is imported."""
    global _leaves_out_long
    _leaves_out_long = True


def rings(usual: Iterable[Any], all_of_them: Iterable[Any]) -> list[Any]:
    """Return parameters for a test: a few for every run, the others for the deep ring alone."""
    first = list(usual)
    rest = [value for value in all_of_them if value not in first]
    return first if first and _is_left_out(rest) else [*first, *map(_deep, rest)]


def sample(values: Iterable[Any], step: int) -> list[Any]:
    """Return parameters as they come: each `step`-th for every run, the rest for the deep ring."""
    rows = list(values)
    if _is_left_out(rows):
        return rows[::step]
    return [value if place % step == 0 else _deep(value) for place, value in enumerate(rows)]


def _is_left_out(rest: list[Any]) -> bool:
    return _leaves_out_long and len(rest) > LONG


def _deep(value: Any) -> Any:
    row = value if isinstance(value, tuple) else (value,)
    return pytest.param(*row, marks=pytest.mark.thorough)
