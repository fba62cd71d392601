"""Bringing a lake up to date: segments swept by several workers, published by one writer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from svc_analytics.api.client import Client
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request, plan_segments
from svc_analytics.extraction.workers import WorkerPool
from svc_analytics.instants import BEGINNING, MINUTE, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writer import check_merchant, open_writer

SETTLE_LAG = 5 * MINUTE  # nothing newer than this is called complete (design 7)
UNKNOWN_CLOCK = 15 * MINUTE  # allowed for a local clock that the service does not confirm


def extract(
    lake: Lake,
    settings: Settings,
    request: Request | None = None,
    *,
    workers: int = 8,
    client: Client | None = None,
    on_page: OnPage | None = None,
) -> ExtractionResult:
    """Read what a lake lacks and publish it; return what was done.

    `on_page` is called with the stream and the count of rows of every page read.
    Raises `ConfigError` before anything is written when the keys belong to two
    merchants or not to the lake's; after any other error, what was covered is kept.
    """
    request = request or Request()
    with _session(client, settings, workers) as service:
        profile, clock = read_merchant(service, settings)
        check_merchant(lake, profile)
        now = time.time_ns() // 1000
        read_to = now if clock is None else clock
        watermark = (now - UNKNOWN_CLOCK if clock is None else clock) - SETTLE_LAG
        if request.start >= read_to:
            message = f"--from is later than the service's clock, {format_instant(read_to)}"
            raise ConfigError(message)
        run = ExtractionResult(profile["id"], read_to)
        with open_writer(lake, profile, now) as writer:
            writer.begin_run(
                watermark=watermark,
                is_open_ended=request.start == BEGINNING,
                lookback=request.overlap,
            )
            segments = plan_segments(writer, settings, request, run)
            WorkerPool(service, writer, segments, run, on_page).work(workers)
    return run


def read_merchant(client: Client, settings: Settings) -> tuple[dict[str, Any], int | None]:
    """Return the merchant all keys belong to, and the service's clock if it tells it."""
    found = {name: client.me(name) for name in settings.key_classes}
    ids = sorted({profile["id"] for profile, _ in found.values()})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    profile = next(iter(found.values()))[0]
    clocks = [clock for _, clock in found.values() if clock is not None]
    return profile, max(clocks, default=None)


@contextmanager
def _session(client: Client | None, settings: Settings, workers: int) -> Iterator[Client]:
    if client is not None:
        yield client
        return
    with Client(settings, workers=workers) as own:
        yield own
