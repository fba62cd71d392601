"""The next page is asked for before the one that came is read: sooner, and nothing else changes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest

from svc_analytics.errors import KeyRefused, ProtocolError
from svc_analytics.extraction import paging, workers
from svc_analytics.extraction.segments import Segment, SegmentQueue
from svc_analytics.schema import PAYMENTS
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, ids, payment, refusal, spread
from tests.support.prepared import extracted

START = datetime(2026, 10, 2, tzinfo=UTC)
STEP = timedelta(hours=2)
Answer = Callable[[httpx.Request], httpx.Response | None]


@pytest.fixture(autouse=True)
def october(service) -> FakeService:
    """350 payments of October, ten on a page: 35 pages."""
    service.payments = spread(350, START, STEP)
    service.page_size = lambda page: 10
    return service


def read(desk: Desk, **request: Any) -> Any:
    return desk.extract(workers=1, streams=("payments",), **request)


def cursors(service: FakeService) -> list[str]:
    """What pages of payments were asked for with."""
    pages = [each for each in service.requests if each.url.path.endswith("/payments")]
    return [each.url.params.get("cursor", "") for each in pages]


def once(place: str, answer: httpx.Response) -> Answer:
    """Answer so the first time that the page at this cursor is asked for."""
    times = count()

    def intercept(request: httpx.Request) -> httpx.Response | None:
        is_there = request.url.params.get("cursor", "").startswith(f"{place}.")
        return answer if is_there and next(times) == 0 else None

    return intercept


@pytest.fixture
def scanned(monkeypatch, service) -> list[int]:
    """How many pages of payments were asked for when each was read."""
    numbers: list[int] = []
    scan_page = paging.scan_page

    def scan(*page: Any) -> Any:
        numbers.append(len(cursors(service)))
        return scan_page(*page)

    monkeypatch.setattr(paging, "scan_page", scan)
    return numbers


def test_one_page_is_asked_for_ahead_and_none_behind_the_last(desk, scanned):
    """When the first page is read the second is on its way; 35 pages take 35 requests."""
    read(desk)
    assert scanned == [*range(2, 36), 35]
    assert desk.ids() == ids(desk.service.payments)


def test_where_the_service_knows_the_bounds_no_page_too_many_is_asked_for(desk, scanned):
    """100 payments from the 3rd of October at 8:00 on, and those within the second beside them."""
    start = datetime(2026, 10, 3, 8, tzinfo=UTC)
    bounds = (round(at.timestamp()) * 1_000_000 for at in (start, start + 100 * STEP))
    read(desk, **dict(zip(("start", "end"), bounds, strict=True)))
    assert len(cursors(desk.service)) == len(scanned) == 11


BAD = {
    "no page": httpx.Response(200, json={"error": "none"}),
    "no JSON": httpx.Response(200, content=b'{"data": [', headers={"content-type": "text/json"}),
    "away": refusal(503, "SERVICE_UNAVAILABLE"),
    "too many calls": refusal(429, "RATE_LIMITED"),
    "no such cursor": refusal(422, "VALIDATION_FAILED"),
}


@pytest.mark.parametrize("bad", [*BAD][1:])
def test_a_bad_page_that_was_asked_for_ahead_is_asked_for_again(desk, bad):
    """The page before it is read all the same, and each row comes once."""
    desk.service.intercept = once("100", BAD[bad])
    read(desk)
    assert desk.ids() == ids(desk.service.payments)
    assert desk.lake.coverage(PAYMENTS) == read_whole(desk)


def read_whole(desk: Desk) -> Any:
    """Return the coverage of a lake that nothing happened to."""
    desk.service.intercept = None
    other = Desk(desk.service, desk.settings, type(desk.lake)(desk.lake.path.parent / "other"))
    read(other)
    return other.lake.coverage(PAYMENTS)


@pytest.mark.parametrize(
    ("answer", "error"),
    [(refusal(401, "UNAUTHORIZED"), KeyRefused), (BAD["no page"], ProtocolError)],
    ids=["a refused key", "no page"],
)
def test_what_was_read_before_a_page_that_cannot_be_is_kept(desk, answer, error):
    """Ten pages of ten; a list that is broken proves nothing of its time, but its rows stay."""
    desk.service.intercept = once("100", answer)
    with pytest.raises(error):
        read(desk)
    newest = sorted(desk.service.payments, key=lambda row: str(row["paid_at"]))[-100:]
    assert desk.ids() == ids(newest)
    assert bool(desk.lake.coverage(PAYMENTS).read) == (error is KeyRefused)


def test_an_irregular_page_is_read_though_the_next_is_on_its_way(desk):
    """Its one bad record is set aside, all others are held."""
    desk.service.payments[200]["amount"] = "1e3"
    read(desk)
    assert len(desk.ids()) == 349 and len(desk.lake.sql("from stg_quarantine")) == 1


def test_once_calls_were_too_many_none_is_made_ahead(desk, scanned):
    """From the eleventh page on each waits until the one before was read."""
    desk.service.intercept = once("100", BAD["too many calls"])
    read(desk)
    assert scanned[:10] == [*range(2, 12)] and scanned[10:] == [*range(12, 37)]


def test_a_page_beyond_what_another_worker_took_is_dropped(desk, monkeypatch):
    """The segment is split while its next page is on its way: nothing comes twice, or is lost."""
    advance, drop, dropped = SegmentQueue.advance, paging.Sweep._drop_ahead, list[bool]()
    splits = list[int]()

    def split_first(queue: SegmentQueue, segment: Any, *page: Any) -> Any:
        progress = advance(queue, segment, *page)
        if segment.pages == 5 and not splits:  # just what is read by now stays its own
            splits.append(segment.end)
            queue.add(Segment.of(PAYMENTS, (segment.start, segment.end)))
            segment.start = segment.end
        return progress

    def note(sweep: paging.Sweep) -> None:
        dropped.append(sweep._ahead is not None)
        drop(sweep)

    monkeypatch.setattr(SegmentQueue, "advance", split_first)
    monkeypatch.setattr(paging.Sweep, "_drop_ahead", note)
    desk.extract(workers=1, streams=("payments",))
    assert any(dropped)
    assert desk.ids() == ids(desk.service.payments)
    assert desk.lake.coverage(PAYMENTS).read[0][0] < 0


def test_near_a_boundary_that_the_service_does_not_know_none_is_made_ahead(desk):
    """However often the rest is split among workers, few are wasted: 35 pages are least."""
    extracted(desk)
    desk.extract(workers=8, streams=("payments",), rereads=True)
    assert len(cursors(desk.service)) <= 35 + 8 + 3


def test_an_interruption_keeps_what_came_while_the_next_page_was_on_its_way(desk, monkeypatch):
    """Ctrl-C upon the fourth page: three are proven, and the page ahead is not waited for."""
    monkeypatch.setattr(paging, "BATCH_PAGES", 1)
    take, pages = workers.WorkerPool._take, count(1)

    def stop(pool: workers.WorkerPool, batch: Any) -> None:
        if next(pages) == 4:
            raise KeyboardInterrupt
        take(pool, batch)

    monkeypatch.setattr(workers.WorkerPool, "_take", stop)
    with pytest.raises(KeyboardInterrupt):
        read(desk)
    assert len(desk.ids()) == 30


def test_a_record_that_appears_behind_a_page_ahead_is_found(desk):
    """The list moves while pages are on their way: what was pushed on is told by the next seam."""
    late = payment(5_000, "2026-10-31T01:00:00Z")

    def appear(request: httpx.Request) -> None:
        if request.url.params.get("cursor", "").startswith("60.") and late not in added:
            added.append(late)
            desk.service.payments.append(late)

    added: list[Any] = []
    desk.service.intercept = appear
    read(desk)
    assert late["id"] in desk.ids() and desk.ids() == ids(desk.service.payments)
