"""Extract into a lake: several workers sweep segments, one writer publishes their rows."""

import time
from typing import Any

from svc_analytics.api.client import Client, open_client
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request, plan_segments
from svc_analytics.extraction.workers import WorkerPool
from svc_analytics.instants import BEGINNING, MINUTE, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writer import open_writer

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
    with open_client(settings, workers, client) as service:
        profile, clock = read_merchant(service, settings)
        now = time.time_ns() // 1000
        watermark = (now - UNKNOWN_CLOCK if clock is None else clock) - SETTLE_LAG
        run = ExtractionResult(profile["id"], now if clock is None else clock)
        if request.start >= run.read_to:
            message = f"--from is later than the service's clock, {format_instant(run.read_to)}"
            raise ConfigError(message)
        with open_writer(lake, profile, now) as writer:
            is_open, lookback = request.start == BEGINNING, request.overlap
            writer.begin_run(watermark=watermark, is_open_ended=is_open, lookback=lookback)
            segments = plan_segments(writer, settings, request, run)
            WorkerPool(service, writer, segments, run, on_page).work(workers)
    return run


def read_merchant(client: Client, settings: Settings) -> tuple[dict[str, Any], int | None]:
    """Return the merchant's profile and the service's clock; refuse keys of two merchants."""
    answers = [client.me(name) for name in settings.key_classes]
    ids = sorted({profile["id"] for profile, _ in answers})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    clocks = [clock for _, clock in answers if clock is not None]
    return answers[0][0], max(clocks, default=None)
