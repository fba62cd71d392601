"""Lists that are hard to follow: cursors that cannot be sent back, pages of any size (B, D6)."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from svc_analytics.errors import ProtocolError
from svc_analytics.extraction import page_size
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, Handler, refusal, spread
from tests.support.model_ledger import assert_no_false_claim, assert_same

LONG = 70_000  # characters; httpx makes no address of more than 65,536


@pytest.fixture
def october(service: FakeService) -> FakeService:
    """One month: 80 payments in pages of 10."""
    start = datetime(2026, 10, 3, tzinfo=UTC)
    service.payments = spread(80, start, timedelta(hours=3, microseconds=7))
    service.page_size = lambda page: 10
    return service


def lengthening(service: FakeService, length: int, status: int = 414) -> Handler:
    """Write each cursor with so many leading zeros; refuse addresses of more than 8,000."""

    def intercept(request: httpx.Request) -> httpx.Response | None:
        if len(request.url.raw_path) > 8_000:
            return refusal(status)
        document = json.loads(service._route(request).content)
        if document.get("next_cursor"):
            document["next_cursor"] = document["next_cursor"].rjust(length, "0")
        return httpx.Response(200, json=document)

    return intercept


CURSORS = {"fits no address": (LONG, 414), "414": (9_000, 414), "431": (9_000, 431)}


@pytest.mark.parametrize(("length", "status"), CURSORS.values(), ids=CURSORS.keys())
def test_a_cursor_too_long_to_send_back_costs_requests_and_no_row(
    october: FakeService, desk: Desk, length: int, status: int
) -> None:
    """B4: the rest is asked for by time, as after a cursor that expired."""
    october.intercept = lengthening(october, length, status)
    desk.extract(workers=1)
    assert_same(desk)


@pytest.mark.parametrize(("length", "status"), CURSORS.values(), ids=CURSORS.keys())
def test_where_time_does_not_help_a_long_cursor_breaks_the_contract(
    october: FakeService, desk: Desk, length: int, status: int
) -> None:
    """B4: eighty payments of one instant on pages of ten; one line says which list and why."""
    for record in october.payments:
        record["paid_at"] = "2026-10-05T00:00:00Z"
    october.intercept = lengthening(october, length, status)
    said = f"^payments of the beginning .* its own cursor, of {length:,} characters"
    with pytest.raises(ProtocolError, match=said) as told:
        desk.extract(workers=1)
    assert told.value.exit_code == 1 and len(october.requests) < 30
    assert_no_false_claim(desk)


def limits_of(service: FakeService) -> list[int]:
    """How many payments each request asked for."""
    requests = [one for one in service.requests if one.url.path.endswith("/payments")]
    return [int(request.url.params["limit"]) for request in requests]


def heeding(service: FakeService) -> Handler:
    """Let a page hold as many records as are asked for."""

    def intercept(request: httpx.Request) -> None:
        service.page_size = lambda page: int(request.url.params.get("limit", "25"))

    return intercept


def test_large_records_are_asked_for_a_few_at_a_time_and_small_ones_again_by_the_hundred(
    service: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6, H6: what is in memory at once is bounded by bytes, not by records."""
    monkeypatch.setattr(page_size, "LARGE", 200_000)
    start = datetime(2026, 10, 3, tzinfo=UTC)
    service.payments = spread(800, start, timedelta(minutes=30))
    for record in service.payments[400:420]:
        record["metadata"] = {"note": "x" * 50_000}
    service.intercept = heeding(service)
    desk.extract(workers=1)
    limits = limits_of(service)
    assert min(limits) == 1 and limits[0] == limits[-1] == 100 and len(limits) < 80
    assert_same(desk)


def test_large_and_small_records_of_one_instant_are_read_to_their_end(
    service: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6, C4: asking for fewer and for more in turn never goes in circles."""
    monkeypatch.setattr(page_size, "LARGE", 200_000)
    service.payments = spread(300, datetime(2026, 10, 3, tzinfo=UTC), timedelta(0))
    for record in service.payments[::30]:
        record["metadata"] = {"note": "x" * 150_000}
    service.intercept = heeding(service)
    desk.extract(workers=4)
    assert len(limits_of(service)) < 800
    assert_same(desk)
