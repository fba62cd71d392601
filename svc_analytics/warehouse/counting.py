"""The views of a lake, opened to be queried: by DuckDB here, or by the engine that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from svc_analytics.bucket.mirror import Replaced
from svc_analytics.coverage import Span
from svc_analytics.errors import LakeChanged
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

_MOST_SNAPSHOTS = 5
_T = TypeVar("_T")


def count(
    lake: Lake,
    names: frozenset[str] | None,
    work: Callable[[Warehouse], _T],
    *,
    period: Span | None = None,
    wider: Span | None = None,
    as_written: bool = False,
) -> _T:
    """Return the result of `work` on the views of a lake, all of it of one snapshot.

    Where an object of a bucket was replaced while an engine read it, all work is done again.
    Raises `LakeChanged` where that happens again and again.
    """

    def done() -> _T:
        with open_counted(
            lake, names, period=period, wider=wider, as_written=as_written
        ) as warehouse:
            return work(warehouse)

    return of_one_snapshot(done)


def of_one_snapshot(work: Callable[[], _T]) -> _T:
    """Return the result of `work`, done again where an object was replaced while it was read."""
    place = ""
    for _ in range(_MOST_SNAPSHOTS):
        try:
            return work()
        except Replaced as error:
            place = error.place
    raise LakeChanged(f"{place} changes faster than the engine counts it: try again later")


@contextmanager
def open_counted(
    lake: Lake,
    names: frozenset[str] | None = None,
    *,
    period: Span | None = None,
    wider: Span | None = None,
    as_written: bool = False,
) -> Iterator[Warehouse]:
    """Open the views of a lake; the engine that the lake names counts its records."""
    if engine := lake.connect():
        with engine.open_views([lake], names, period=period) as warehouse:
            yield warehouse
    else:
        with open_warehouse(
            lake, names, period=period, wider=wider, as_written=as_written
        ) as warehouse:
            yield warehouse
