"""A service in trouble, met in a run: what came is kept once, the rest not claimed (A, B)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import httpx
import pytest

from svc_analytics.api import transport
from svc_analytics.api.client import Client
from svc_analytics.errors import ProtocolError, Unavailable
from svc_analytics.extraction import sweep, update
from svc_analytics.extraction.plan import Request
from svc_analytics.schema import PAYMENTS
from tests.support.fake_service import (
    FakeService,
    Handler,
    Record,
    payment,
    refund,
    refusal,
    spread,
)
from tests.support.served import check_all, check_claims
from tests.support.unit_material import Hours


@pytest.fixture
def october(service) -> FakeService:
    """One month: 80 payments in pages of 10, and three refunds."""
    start = datetime(2026, 10, 3, tzinfo=UTC)
    service.payments = spread(80, start, timedelta(hours=3, microseconds=7))
    service.payouts = [refund(n, service.payments[n], "2026-10-20T00:00:00Z") for n in range(3)]
    service.page_size = lambda page: 10
    return service


def is_list(request: httpx.Request) -> bool:
    return request.url.path.endswith("/payments")


@pytest.mark.parametrize("minutes", [10, 61])
@pytest.mark.parametrize(
    "code", [(429, "RATE_LIMITED"), (503, "MAINTENANCE_MODE")], ids=["429", "maintenance"]
)
def test_an_hour_of_refusals_is_waited_out_and_no_page_read_twice(october, desk, code, minutes):
    """A4, A5: inside its patience a run goes on from the page where it was stopped."""
    time, since = Hours(), count(1)
    until: list[float] = []

    def intercept(request: httpx.Request) -> httpx.Response | None:
        if not is_list(request) or next(since) < 4:
            return None
        until[:] = until or [time.now + 60 * minutes]
        return refusal(*code) if time.now < until[0] else None

    october.intercept = intercept
    with Client(desk.settings, limiter=time.limiter(7200), transport=october.transport) as client:
        update.read_missing(desk.lake, desk.settings, Request(), workers=1, client=client)
    refused = sum(map(is_list, october.requests)) - 8
    assert 0 < refused < 60 * minutes / 5 and time.now < 60 * (minutes + 2)
    check_all(desk.lake, desk.service)


def test_given_up_it_goes_on_from_what_was_proven(october, desk):
    """A4, I6: the patience ends with exit code 75; the next run asks for the rest alone."""
    asked, refused = count(1), refusal(429, "RATE_LIMITED")
    october.intercept = lambda request: refused if is_list(request) and next(asked) > 4 else None
    with pytest.raises(Unavailable) as gave_up:
        desk.extract(workers=1)
    assert gave_up.value.exit_code == 75
    check_claims(desk.lake, desk.service)
    kept = set(desk.ids())
    october.intercept = None
    desk.extract(workers=1)
    assert len(kept) == 40 and sum(map(is_list, october.requests)) == 1 + 5
    check_all(desk.lake, desk.service)


# ---------- pages


def pages_of(answer: Callable[[int], Record]) -> Handler:
    """Answer every request for payments with the next made-up page."""
    number = count()

    def intercept(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(200, json=answer(next(number))) if is_list(request) else None

    return intercept


AT = "2026-10-05T00:00:00Z"
ENDLESS: dict[str, Callable[[int], Record]] = {
    "empty pages": lambda n: {"data": [], "next_cursor": f"c{n}"},
    "one page again and again": lambda n: {"data": [payment(1, AT)], "next_cursor": f"c{n}"},
    "three pages in a circle": lambda n: {
        "data": [payment(n % 3, AT)], "next_cursor": f"c{n}"
    },
    "ever new mixtures of the same": lambda n: {
        "data": [payment(place, AT) for place in range(12) if n >> place & 1],
        "next_cursor": f"c{n}",
    },
    "records nobody can hold": lambda n: {"data": [{"n": n}], "next_cursor": f"c{n}"},
}  # fmt: skip


@pytest.fixture
def seconds_pass(monkeypatch) -> None:
    """Let a quarter of a second pass whenever anyone looks at the clock."""

    def clock(self: Hours) -> float:
        self.now += 0.25
        return self.now

    monkeypatch.setattr(Hours, "clock", clock)


@pytest.mark.usefixtures("seconds_pass")
@pytest.mark.parametrize("page", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_list_without_an_end_is_noticed(october, desk, page, monkeypatch):
    """B2, B3: cursors that are always new prove nothing; the run ends, and claims nothing."""
    monkeypatch.setattr(sweep, "STALLED_PAGES", 50)
    october.intercept = pages_of(page)
    with pytest.raises(ProtocolError, match=r"^payments of .* \.\. .*--patience") as told:
        desk.extract(workers=4, streams=("payments",))
    assert "pages in a row" in str(told.value) and told.value.exit_code == 1
    assert 50 <= sum(map(is_list, october.requests)) < 800  # some are asked for twice
    assert desk.lake.coverage(PAYMENTS).read == ()


@pytest.mark.parametrize(
    ("is_slow", "pages"), [(False, 120), (True, 400)], ids=["at once", "a second each"]
)
def test_many_empty_pages_are_no_end(october, desk, request, monkeypatch, is_slow, pages):
    """B2: a service may show nothing for so many pages, then the rest; the patience is a minute."""
    if is_slow:
        request.getfixturevalue("seconds_pass")
    else:
        monkeypatch.setattr(sweep, "STALLED_PAGES", 50)
    october.empty_every, october.page_size = 2, lambda page: 0 if page < pages else 10
    desk.extract(workers=1)
    check_all(desk.lake, desk.service)


def test_a_page_beyond_the_cap_is_asked_for_in_smaller_parts(october, desk, monkeypatch):
    """D6: metadata knows no bounds; records too large together are read apart."""
    monkeypatch.setattr(transport, "MAX_BODY", 20_000)
    for record in october.payments[::7]:
        record["metadata"] = {"note": "x" * 9_000}
    october.page_size, october.heeds_limit = lambda page: 100, True
    desk.extract(workers=1)
    assert {request.url.params.get("limit") for request in october.requests if is_list(request)} > {
        "100",
        "12",
    }
    check_all(desk.lake, desk.service)


def test_one_record_beyond_the_cap_fails_loudly(october, desk, monkeypatch):
    """D6: what can never be held is said, and its time is not claimed."""
    monkeypatch.setattr(transport, "MAX_BODY", 5_000)
    october.payments[40]["metadata"] = {"note": "x" * 9_000}
    october.page_size = lambda page: 1
    with pytest.raises(ProtocolError, match="was refused, although only one record was asked"):
        desk.extract(workers=1, streams=("payments",))
    check_claims(desk.lake, desk.service)


@pytest.mark.parametrize(
    "out_of_order",
    [
        lambda rows: rows[::-1],
        lambda rows: sorted(rows, key=lambda row: str(row["id"])),
        lambda rows: rows[:35] + rows[45:] + rows[35:45],
    ],
    ids=["oldest first", "by id", "one page too late"],
)
def test_a_list_that_is_not_newest_first_is_read_to_its_end_and_said(october, desk, out_of_order):
    """B7: what was seen is named in a note; nothing is lost by it."""
    october.order = out_of_order
    run = desk.extract(workers=1)
    assert len(run.notes) == 1 and "does not list payments newest first (2026-10" in run.notes[0]
    check_all(desk.lake, desk.service)


def test_an_ordered_list_is_said_nothing_of(october, desk):
    """B7: ties across the edges of pages are in order."""
    for record in october.payments[20:55]:
        record["paid_at"] = october.payments[20]["paid_at"]
    assert desk.extract(workers=1).notes == []
    check_all(desk.lake, desk.service)
