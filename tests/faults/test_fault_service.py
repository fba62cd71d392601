"""A service in trouble, and lists that are hard to follow (A, B, D6).

What came is kept once, the rest not claimed: of cursors that cannot be sent back, of pages of any
size, of records that break the contract.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import httpx
import pytest

from svc_analytics import Client, ProtocolError, Request, Unavailable, statement
from svc_analytics.api import transport
from svc_analytics.extraction import paging, update
from svc_analytics.instants import parse_bound, parse_instant
from svc_analytics.schema import PAYMENTS
from tests.support.closings import Closer, findings_of, table
from tests.support.desks import Desk
from tests.support.fake_service import (
    FakeService,
    Handler,
    Record,
    payment,
    refund,
    refusal,
    spread,
)
from tests.support.sandboxes import check_all, check_claims
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
    monkeypatch.setattr(paging, "STALLED_PAGES", 50)
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
        monkeypatch.setattr(paging, "STALLED_PAGES", 50)
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
    assert {100, 12} < {*limits_of(october)}
    check_all(desk.lake, desk.service)


def test_one_record_beyond_the_cap_fails_loudly(october, desk, monkeypatch):
    """D6: what can never be held is said, and its time is not claimed."""
    monkeypatch.setattr(transport, "MAX_BODY", 5_000)
    october.payments[40]["metadata"] = {"note": "x" * 9_000}
    october.page_size = lambda page: 1
    with pytest.raises(ProtocolError, match="was refused, although only one record was asked"):
        desk.extract(workers=1, streams=("payments",))
    check_claims(desk.lake, desk.service)


ORDERS = {
    "oldest first": lambda rows: rows[::-1],
    "by id": lambda rows: sorted(rows, key=lambda row: str(row["id"])),
    "one page too late": lambda rows: rows[:35] + rows[45:] + rows[35:45],
}


@pytest.mark.parametrize("out_of_order", ORDERS.values(), ids=ORDERS.keys())
def test_a_list_that_is_not_newest_first_is_read_to_its_end_and_said(october, desk, out_of_order):
    """B7: what was seen is named in one note, also of two spans; nothing is lost by it."""
    desk.extract(start=parse_bound("2026-10-10"), end=parse_bound("2026-10-12"))
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


LONG = 70_000  # characters; httpx makes no address of more than 65,536


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
def test_a_cursor_too_long_to_send_back_costs_requests_and_no_row(october, desk, length, status):
    """B4: the rest is asked for by time, as after a cursor that expired."""
    october.intercept = lengthening(october, length, status)
    desk.extract(workers=1)
    check_all(desk.lake, desk.service)


@pytest.mark.parametrize(("length", "status"), CURSORS.values(), ids=CURSORS.keys())
def test_where_time_does_not_help_a_long_cursor_breaks_the_contract(october, desk, length, status):
    """B4: eighty payments of one instant on pages of ten; one line says which list and why."""
    for record in october.payments:
        record["paid_at"] = "2026-10-05T00:00:00Z"
    october.intercept = lengthening(october, length, status)
    said = f"^payments of the beginning .* its own cursor, of {length:,} characters"
    with pytest.raises(ProtocolError, match=said) as told:
        desk.extract(workers=1)
    assert told.value.exit_code == 1 and len(october.requests) < 30
    check_claims(desk.lake, desk.service)


def limits_of(service: FakeService) -> list[int]:
    """How many payments each request asked for."""
    requests = [one for one in service.requests if one.url.path.endswith("/payments")]
    return [int(request.url.params["limit"]) for request in requests]


def test_large_records_are_asked_for_a_few_at_a_time_and_small_ones_again_by_the_hundred(
    service, desk, monkeypatch
):
    """D6, H6: what is in memory at once is bounded by bytes, not by records."""
    monkeypatch.setattr(paging, "LARGE", 200_000)
    start = datetime(2026, 10, 3, tzinfo=UTC)
    service.payments = spread(800, start, timedelta(minutes=30))
    for record in service.payments[400:420]:
        record["metadata"] = {"note": "x" * 50_000}
    service.heeds_limit = True
    desk.extract(workers=1)
    limits = limits_of(service)
    assert min(limits) == 1 and limits[0] == limits[-1] == 100 and len(limits) < 80
    check_all(desk.lake, desk.service)


def test_large_and_small_records_of_one_instant_are_read_to_their_end(service, desk, monkeypatch):
    """D6, C4: asking for fewer and for more in turn never goes in circles."""
    monkeypatch.setattr(paging, "LARGE", 200_000)
    service.payments = spread(300, datetime(2026, 10, 3, tzinfo=UTC), timedelta(0))
    for record in service.payments[::30]:
        record["metadata"] = {"note": "x" * 150_000}
    service.heeds_limit = True
    desk.extract(workers=4)
    assert len(limits_of(service)) < 800
    check_all(desk.lake, desk.service)


# ---------- records that break the contract, met in a run


FIRST = "2026-10-01T00:00:00Z"


def serve_texts(desk: Desk, texts: list[str]) -> None:
    """Let the service answer with one page of payments written like this."""

    def answer(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("/payments"):
            return None
        body = f'{{"data":[{",".join(texts)}],"next_cursor":null}}'.encode()
        return httpx.Response(200, content=body, headers={"content-type": "application/json"})

    desk.service.intercept = answer


def with_metadata(record: Record, metadata: str) -> str:
    rest = {name: value for name, value in record.items() if name != "metadata"}
    return f'{json.dumps(rest)[:-1]},"metadata":{metadata}}}'


REWRITTEN: dict[str, tuple[str, str, int]] = {
    "keys in another order": ('{"a":1,"b":2}', '{"b":2,"a":1}', 0),
    "a number of 5000 digits": (f'{{"a":1,"n":{"9" * 5000}}}', f'{{"n":{"9" * 5000},"a":1}}', 0),
    "its last digit": (f'{{"n":{"9" * 5000}}}', f'{{"n":{"9" * 4999}8}}', 1),
    "a float beyond any": ('{"a":1,"n":1e999999}', '{"n":1e999999,"a":1}', 0),
    "a number that becomes a text": ('{"a":1.5}', '{"a":"1.5"}', 1),
    "half of a surrogate pair": (r'{"a":"\ud800","b":1}', r'{"b":1,"a":"\ud800"}', 0),
    "900 levels": (f'{{"a":{"[" * 900}{"]" * 900}}}', f'{{"a": {"[" * 900}{"]" * 900}}}', 0),
}


@pytest.mark.parametrize(("before", "after", "changed"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_metadata_written_differently_stops_no_run(desk, before, after, changed):
    """D6, D7: what a payer may have typed is compared by meaning, whatever it holds."""
    record: Any = payment(1, FIRST)
    serve_texts(desk, [with_metadata(record, before)])
    desk.extract()
    serve_texts(desk, [with_metadata(record, after)])
    assert desk.extract(rereads=True).published.changed == changed
    assert desk.ids() == [record["id"]]


def sale(number: int, **more: Any) -> Record:
    return payment(number, "2026-10-02T00:00:00Z", **more)


def test_a_blocking_finding_keeps_a_statement_from_being_final(desk):
    """D8: the reason says which rule, and the figures are those of the rows."""
    desk.service.payments = [sale(1)]
    desk.service.payouts = [refund(1, sale(1), FIRST, "6"), refund(2, sale(1), FIRST, "5")]
    desk.extract()
    made = statement(desk.lake, "2026-10")
    (reason,) = made.reasons
    assert reason.text == "1 refund returns more than its payment was charged"
    assert made.tables["summary"]["refunds_paid"].to_pylist() == [Decimal(11)]


@pytest.mark.parametrize(
    ("change", "changed"),
    [({}, 0), ({"metadata": {"cart": "other"}}, 1), ({"payer_id": "another"}, 1)],
    ids=["same content", "metadata differs", "identity differs"],
)
def test_one_id_twice_on_a_page_is_one_row(desk, change, changed):
    """D7: which of two versions holds nobody knows; the other is kept beside it and blocks."""
    desk.service.payments = [sale(1), sale(1) | change, sale(2)]
    run = desk.extract()
    assert run.published.changed == changed and len(desk.ids()) == 2
    found = findings_of(desk.lake, "record_was_not_restated")
    assert found["severity"].to_list() == ["blocking"] * ("payer_id" in change)
    assert desk.extract(rereads=True).published.files <= 1


# ---------- time in trouble


def test_a_record_older_than_any_overlap_is_found_by_the_close(desk):
    """C2: daily runs passed it by; closing reads the month anew before it seals."""
    closer = Closer(desk)
    closer.serve()
    for day in range(8, 12):
        desk.service.now = datetime(2026, 11, day, tzinfo=UTC)
        desk.extract()
    desk.service.payments.append(payment(900, "2026-10-20T00:00:00Z", "7", "0"))
    desk.service.now = datetime(2026, 11, 12, tzinfo=UTC)
    desk.extract()
    assert len(desk.ids()) == len(desk.service.payments) - 1
    folder = closer.close("2026-10").folder
    check_all(desk.lake, desk.service)
    sold = {row["currency"]: row["gross_sales"] for row in table(folder, "summary")}
    assert sold["usdt"] == "107"


@pytest.mark.thorough
def test_a_hundred_thousand_records_in_one_microsecond_are_paged_through(desk):
    """C4: no instant splits them, so no worker tries to; each is kept once."""
    text = httpx.Response(200, json=payment(0, "2026-10-01T00:00:00Z")).text

    def page(request: httpx.Request) -> httpx.Response | None:
        if not request.url.path.endswith("/payments"):
            return None
        place = int(request.url.params.get("cursor", "0"))
        ids = (f'{{"id":"{n}"' + text[text.index(",") :] for n in range(place, place + 2_500))
        cursor = "null" if place + 2_500 == 100_000 else f'"{place + 2_500}"'
        body = f'{{"data":[{",".join(ids)}],"next_cursor":{cursor}}}'
        return httpx.Response(200, text=body, headers={"content-type": "application/json"})

    desk.service.intercept = page
    at = parse_instant("2026-10-01T00:00:00Z")[0]
    desk.extract(start=at, end=at + 1, streams=("payments",))
    assert len(desk.service.requests) == 2 + 40
    assert desk.ids() == sorted(map(str, range(100_000)))
    assert desk.lake.coverage(PAYMENTS).complete == ((at, at + 1),)
