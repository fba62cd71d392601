"""Find the engine at an address, and probe it before anything is asked of it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit

from svc_analytics.bucket.mirror import Replaced
from svc_analytics.config import check_engine
from svc_analytics.coverage import Span
from svc_analytics.engines.engine import Engine
from svc_analytics.errors import EngineUnavailable, LakeChanged, needs_extra
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

_PORT = 15002  # of a Spark Connect server
_PATIENCE = 10  # seconds until something must answer
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
        how = {"period": period, "wider": wider}
        with open_counted(lake, names, **how, as_written=as_written) as warehouse:
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
    engine = connect(lake.engine)
    if engine is None:
        how = {"period": period, "wider": wider}
        with open_warehouse(lake, names, **how, as_written=as_written) as warehouse:
            yield warehouse
        return
    from svc_analytics.engines.warehouse import open_on_engine

    with open_on_engine(lake, engine, names, period=period) as warehouse:
        yield warehouse


def connect(address: str) -> Engine | None:
    """Return the engine at an address, found exact; None for DuckDB, which is here.

    One that is gone, as when its server was started again, is connected to and probed anew.
    Raises `EngineUnavailable` when nothing answers there, and `EngineRefused` when it fails a line
    of the probe.
    """
    if not check_engine(address):
        return None
    if _connected(address).is_gone:
        _connected.cache_clear()
    return _connected(address)


@cache
def _connected(address: str) -> Engine:
    with needs_extra("spark"):
        from svc_analytics.engines.probe import require_exact
        from svc_analytics.engines.spark import SparkConnect
    _require_listener(address)
    engine = SparkConnect(address)
    require_exact(engine)
    return engine


def _require_listener(address: str) -> None:
    """Find out at once that nobody listens: the client would try again for minutes."""
    parts = urlsplit(address)
    place = (parts.hostname or "", parts.port or _PORT)
    try:
        socket.create_connection(place, timeout=_PATIENCE).close()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"no Spark Connect server answers at {place[0]}:{place[1]} ({reason})"
        raise EngineUnavailable(f"{message}: start it, or choose --engine duckdb") from error
