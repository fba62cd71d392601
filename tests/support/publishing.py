"""One publication that touches all a lake has, the same to the byte each time.

Months are added, rewritten and left by a record; one record is changed, one set aside
and one read rightly at last; leftovers of an earlier run are removed. Time stands still.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import httpx

from svc_analytics import Client, ExtractionResult, Request
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.extraction import paging, update, workers
from svc_analytics.instants import to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing import publisher, spill
from tests.simulation.virtual import World, installed
from tests.support.desks import SETTINGS
from tests.support.fake_service import NOW, FakeService, payment, payout, refund, spread


def before() -> FakeService:
    """The service as it was when the lake was begun."""
    payments = spread(24, datetime(2026, 10, 20, tzinfo=UTC), timedelta(hours=25))
    payments[3]["amount"] = "1e3"  # is set aside
    return FakeService(payments, [refund(n, payments[n], "2026-11-02T00:00:00Z") for n in (5, 6)])


def after() -> FakeService:
    """The service as it is when the publication is made."""
    service = deepcopy(before())
    service.payments[3]["amount"] = "10"  # is resolved
    service.payments[4]["amount"] = "11"  # is restated
    service.payments[20]["paid_at"] = "2026-09-30T12:00:00Z"  # leaves its month for a new one
    service.payments += [
        payment(101, "2026-10-25T00:00:00Z"),
        payment(102, "2026-11-19T00:00:00Z"),
        payment(103, "2026-11-19T01:00:00Z", amount="ten", net_amount="9"),  # is set aside
    ]
    service.payouts.append(payout(104, "2026-11-19T02:00:00Z"))
    return service


@contextmanager
def frozen() -> Iterator[World]:
    """Let the package live in a time that stands still, its threads one after the other."""
    world = World("publishing", to_micros(NOW))
    with installed(world):
        yield world


@contextmanager
def spilling(service: FakeService) -> Iterator[None]:
    """Let pages be small, and the two newest months wait on disk until all is read."""
    service.page_size = lambda page: 9
    with (
        patch.object(publisher, "_is_read", lambda period, read: period.label < "2026-10"),
        patch.object(paging, "BATCH_PAGES", 1),
        patch.object(workers, "BUFFER_LIMIT", 1),
        patch.object(spill, "GROUP_ROWS", 4),
    ):
        yield


def read_again(
    lake: Lake, transport: httpx.BaseTransport, clock: Callable[[], float] = time.monotonic
) -> ExtractionResult:
    """Read everything again and publish it."""
    limiter = RateLimiter(SETTINGS.patience, clock)
    with Client(SETTINGS, limiter=limiter, transport=transport) as client:
        return update.read_missing(lake, SETTINGS, Request(rereads=True), workers=1, client=client)


def read_all(lake: Path, service: FakeService, *, spills: bool = False) -> None:
    """Do so in that time; what waits is spilled, if it is to be."""
    with frozen() as world, spilling(service) if spills else nullcontext():
        try:
            read_again(Lake(lake), service.transport, lambda: world.now)
        finally:
            world.end_run()


def begin(folder: Path) -> Path:
    """Make a lake of what the service was, and leave beside it what a killed run leaves."""
    folder.mkdir(exist_ok=True)
    lake = folder / "data"
    read_all(lake, before())
    (lake / "payments" / ".2026-10.parquet.writing").write_bytes(b"half")
    (lake / ".snapshot-dead" / "payments").mkdir(parents=True)
    (lake / ".snapshot-dead" / "payments" / "2026-10.pq").write_bytes(b"of a reader")
    return lake


def contents(lake: Path) -> dict[str, bytes]:
    """Every file of a lake, but for its lock and the mark of its writer."""
    files = (path for path in lake.rglob("*") if path.is_file())
    found = {path.relative_to(lake).as_posix(): path.read_bytes() for path in files}
    return {name: body for name, body in found.items() if name not in (".lock", ".writer")}
