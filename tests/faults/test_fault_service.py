"""A service in trouble, met in a run: what came is kept once, the rest not claimed (A, B)."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
import pytest

from svc_analytics.api import transport
from svc_analytics.api.client import Client
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.errors import (
    ApiError,
    KeyRefused,
    ProtocolError,
    Unavailable,
)
from svc_analytics.extraction import run as run_module
from svc_analytics.extraction import stall
from svc_analytics.extraction.plan import Request
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS
from tests.support.desks import Desk, VirtualTime
from tests.support.fake_service import (
    FakeService,
    Handler,
    Record,
    payment,
    refund,
    refusal,
    spread,
)
from tests.support.model_ledger import assert_no_false_claim, assert_same

JSON = {"content-type": "application/json"}
GZIP = JSON | {"content-encoding": "gzip"}


@pytest.fixture
def october(service: FakeService) -> FakeService:
    """One month: 80 payments in pages of 10, and three refunds."""
    start = datetime(2026, 10, 3, tzinfo=UTC)
    service.payments = spread(80, start, timedelta(hours=3, microseconds=7))
    service.payouts = [refund(n, service.payments[n], "2026-10-20T00:00:00Z") for n in range(3)]
    service.page_size = lambda page: 10
    return service


def is_list(request: httpx.Request) -> bool:
    return request.url.path.endswith("/payments")


def from_page(number: int, answer: Callable[[], httpx.Response | Exception]) -> Handler:
    """Answer every request for payments from a place on with this."""
    asked = count(1)

    def intercept(request: httpx.Request) -> httpx.Response | None:
        return None if not is_list(request) or next(asked) < number else give(answer())

    return intercept


def give(answer: httpx.Response | Exception) -> httpx.Response:
    if isinstance(answer, Exception):
        raise answer
    return answer


class Body(httpx.SyncByteStream):
    """A body that breaks off with an error after its bytes."""

    def __init__(self, data: bytes, error: Exception) -> None:
        self._data, self._error = data, error

    def __iter__(self) -> Iterator[bytes]:
        yield self._data
        raise self._error


RESET = httpx.ReadError("[Errno 104] Connection reset by peer")
CUT = httpx.RemoteProtocolError("peer closed connection without sending complete message body")
# Each is made of the body that the service would have sent.
PASSING: dict[str, Callable[[bytes], httpx.Response | Exception]] = {
    "no connection": lambda body: httpx.ConnectError("[Errno 111] Connection refused"),
    "timeout before the head": lambda body: httpx.ReadTimeout("timed out"),
    "reset before the head": lambda body: RESET,
    "reset within the body": lambda body: httpx.Response(
        200, headers=JSON, stream=Body(body[:200], RESET)
    ),
    "reset behind the last byte": lambda body: httpx.Response(
        200, headers=JSON, stream=Body(body, RESET)
    ),
    "a chunk cut off": lambda body: httpx.Response(
        200, headers=JSON, stream=Body(body[:-1], CUT)
    ),
    "a body cut at a record": lambda body: httpx.Response(
        200, headers=JSON, content=body[: body.rindex(b", {")]
    ),
    "a gzip cut off": lambda body: httpx.Response(
        200, headers=GZIP, content=gzip.compress(body)[:-12]
    ),
    "nothing": lambda body: httpx.Response(200, headers=JSON, content=b""),
    "an empty page of HTML": lambda body: httpx.Response(200, html="<html>[]</html>"),
    "a page said to be HTML": lambda body: httpx.Response(200, html=body.decode()),
    "a BOM": lambda body: httpx.Response(200, headers=JSON, content=b"\xef\xbb\xbf" + body),
    "trailing bytes": lambda body: httpx.Response(200, headers=JSON, content=body + b"]"),
    "two documents": lambda body: httpx.Response(200, headers=JSON, content=body + body),
    "429": lambda body: refusal(429, "RATE_LIMITED"),
    "429, 3 seconds": lambda body: refusal(429, "RATE_LIMITED", retry_after="3"),
    "429, 30 years": lambda body: refusal(429, "RATE_LIMITED", retry_after="1000000000"),
    "429, a date": lambda body: refusal(429, retry_after="Wed, 21 Oct 2099 07:28:00 GMT"),
    "429, a date gone by": lambda body: refusal(429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    "429, below zero": lambda body: refusal(429, "RATE_LIMITED", retry_after="-5"),
    "429, garbage": lambda body: refusal(429, "RATE_LIMITED", retry_after="soon"),
    "500": lambda body: refusal(500, "INTERNAL_SERVER_ERROR"),
    "502": lambda body: httpx.Response(502, html="<html>bad gateway</html>"),
    "503": lambda body: refusal(503, "SERVICE_UNAVAILABLE"),
    "504": lambda body: httpx.Response(504),
    "maintenance": lambda body: refusal(503, "MAINTENANCE_MODE"),
}  # fmt: skip


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_passing_fault_costs_requests_and_no_row(
    october: FakeService, desk: Desk, fault: Callable[[bytes], httpx.Response | Exception]
) -> None:
    """A1 to A3, A5, A6: on the first page, a middle and the last one, three times each."""
    asked, hit = count(1), 0

    def intercept(request: httpx.Request) -> httpx.Response | None:
        nonlocal hit
        if not is_list(request) or next(asked) not in (1, 2, 3, 8, 9, 10, 14, 15, 16):
            return None
        hit += 1
        return give(fault(october._route(request).content))

    october.intercept = intercept
    desk.settings = replace(desk.settings, patience=300)
    desk.extract(workers=1)
    assert hit == 9 and sum(map(is_list, october.requests)) == 8 + 9
    assert_same(desk)


@pytest.mark.parametrize("minutes", [10, 61])
@pytest.mark.parametrize(
    "code", [(429, "RATE_LIMITED"), (503, "MAINTENANCE_MODE")], ids=["429", "maintenance"]
)
def test_an_hour_of_refusals_is_waited_out_and_no_page_read_twice(
    october: FakeService, desk: Desk, code: tuple[int, str], minutes: int
) -> None:
    """A4, A5: inside its patience a run goes on from the page where it was stopped."""
    time, since = VirtualTime(), count(1)
    until: list[float] = []

    def intercept(request: httpx.Request) -> httpx.Response | None:
        if not is_list(request) or next(since) < 4:
            return None
        until[:] = until or [time.now + 60 * minutes]
        return refusal(*code) if time.now < until[0] else None

    october.intercept = intercept
    limiter = RateLimiter(7200, time.clock, time.wait)
    with Client(desk.settings, limiter=limiter, transport=october.transport) as client:
        run_module.extract(desk.lake, desk.settings, Request(), workers=1, client=client)
    refused = sum(map(is_list, october.requests)) - 8
    assert 0 < refused < 60 * minutes / 5 and time.now < 60 * (minutes + 2)
    assert_same(desk)


def test_given_up_it_goes_on_from_what_was_proven(october: FakeService, desk: Desk) -> None:
    """A4, I6: the patience ends with exit code 75; the next run asks for the rest alone."""
    october.intercept = from_page(5, lambda: refusal(429, "RATE_LIMITED"))
    with pytest.raises(Unavailable) as gave_up:
        desk.extract(workers=1)
    assert gave_up.value.exit_code == 75
    assert_no_false_claim(desk)
    kept = set(desk.ids())
    october.intercept = None
    desk.extract(workers=1)
    assert len(kept) == 40 and sum(map(is_list, october.requests)) == 1 + 5
    assert_same(desk)


STAYING = {
    "HTML": lambda: httpx.Response(200, html="<html>sign in</html>"),
    "nothing": lambda: httpx.Response(200, headers=JSON, content=b""),
    "half a page": lambda: httpx.Response(200, headers=JSON, content=b'{"data":['),
    "resets": lambda: httpx.ReadError("reset"),
}


@pytest.mark.parametrize("answer", STAYING.values(), ids=STAYING.keys())
def test_what_is_no_page_is_never_an_empty_page(
    october: FakeService, desk: Desk, answer: Callable[[], httpx.Response | Exception]
) -> None:
    """A6: a proxy's answer for good ends the run; the time is unread, not empty."""
    october.intercept = from_page(1, answer)
    with pytest.raises(Unavailable):
        desk.extract(workers=1)
    assert desk.lake.coverage(PAYMENTS).read == () and desk.ids() == []


FINAL: dict[str, tuple[Callable[[], httpx.Response], type[ApiError], int]] = {
    "401 in the run": (lambda: refusal(401, "UNAUTHORIZED"), KeyRefused, 1),
    "401 without an envelope": (lambda: httpx.Response(401), KeyRefused, 1),
    "disabled": (lambda: refusal(403, "MERCHANT_DISABLED"), ApiError, 1),
    "another key class now": (lambda: refusal(403, "PAY_WRONG_KEY_KIND"), KeyRefused, 1),
    "a code never heard of": (lambda: refusal(400, "PAY_NEW"), ApiError, 1),
    "several codes": (lambda: refusal(422, "PAY_NEW", "VALIDATION_FAILED"), ApiError, 1),
    "no envelope": (lambda: httpx.Response(400, text="no"), ApiError, 1),
    "moved": (lambda: httpx.Response(301, headers={"location": "https://x.example/"}), ApiError, 1),
    "found in the clear": (
        lambda: httpx.Response(302, headers={"location": "http://pay.example/"}), ApiError, 1
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "kind", "code"), FINAL.values(), ids=FINAL.keys())
def test_a_final_refusal_stops_all_workers_and_keeps_what_was_proven(
    october: FakeService,
    desk: Desk,
    answer: Callable[[], httpx.Response],
    kind: type[ApiError],
    code: int,
) -> None:
    """A7 to A10: one clear error, no second try, and the next run goes on."""
    october.page_size = lambda page: 4
    october.intercept = from_page(12, answer)
    with pytest.raises(kind) as refused:
        desk.extract(workers=4, streams=("payments",))
    assert (type(refused.value), refused.value.exit_code) == (kind, code)
    assert sum(map(is_list, october.requests)) <= 11 + 4  # one a worker at the most
    assert {request.url.host for request in october.requests} == {"pay.example"}
    assert desk.ids()
    assert_no_false_claim(desk)
    october.intercept = None
    desk.extract()
    assert_same(desk)


@pytest.mark.parametrize(
    "answer",
    [refusal(403, "PAY_WRONG_KEY_KIND"), refusal(403, "MERCHANT_DISABLED")],
    ids=["another key class", "disabled"],
)
def test_payouts_that_cannot_be_read_are_unknown_not_none(
    october: FakeService, desk: Desk, answer: httpx.Response
) -> None:
    """A8: no figure of refunds is zero because nobody could read them."""
    october.intercept = lambda request: answer if request.url.path.endswith("/payouts") else None
    with pytest.raises(ApiError):
        desk.extract(workers=1)
    desk.extract(workers=1, streams=("payments",))
    assert desk.lake.coverage(PAYOUT_RECORDS).read == ()
    figures = desk.lake.sql("select refunds_paid, refund_ratio_period from refund_ratios_monthly")
    assert figures.isna().all(axis=None) and len(figures) == 1
    assert sum(request.url.path.endswith("/payouts") for request in october.requests) == 0


def test_refunds_come_when_their_key_does(october: FakeService, desk: Desk) -> None:
    """H2: with a payout-class key added later, what was unknown becomes a figure."""
    query = "select refunds_count, refunds_paid from refund_ratios_monthly"
    both, desk.settings = desk.settings, type(desk.settings)(
        desk.settings.base_url, desk.settings.checkout_key
    )  # fmt: skip
    desk.extract()
    assert desk.lake.sql(query).isna().all(axis=None)
    desk.settings = both
    desk.extract()
    assert [str(value) for value in desk.lake.sql(query).iloc[0]] == ["3", "3.000000000000000000"]
    assert_same(desk)


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
def seconds_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a quarter of a second pass whenever anyone looks at the clock."""

    def clock(self: VirtualTime) -> float:
        self.now += 0.25
        return self.now

    monkeypatch.setattr(VirtualTime, "clock", clock)


@pytest.mark.usefixtures("seconds_pass")
@pytest.mark.parametrize("page", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_list_without_an_end_is_noticed(
    october: FakeService, desk: Desk, page: Callable[[int], Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B2, B3: cursors that are always new prove nothing; the run ends, and claims nothing."""
    monkeypatch.setattr(stall, "STALLED_PAGES", 50)
    october.intercept = pages_of(page)
    with pytest.raises(ProtocolError, match=r"^payments of .* \.\. .*--patience") as told:
        desk.extract(workers=4, streams=("payments",))
    assert "pages in a row" in str(told.value) and told.value.exit_code == 1
    assert 50 <= sum(map(is_list, october.requests)) < 800  # some are asked for twice
    assert desk.lake.coverage(PAYMENTS).read == ()


def test_many_empty_pages_are_no_end(
    october: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B2: a service may show nothing for 400 pages and then the rest; it takes no time."""
    monkeypatch.setattr(stall, "STALLED_PAGES", 50)
    october.empty_every, october.page_size = 2, lambda page: 0 if page < 400 else 10
    desk.extract(workers=1)
    assert_same(desk)


@pytest.mark.usefixtures("seconds_pass")
def test_slow_empty_pages_are_no_end(october: FakeService, desk: Desk) -> None:
    """B2: nor is it one if each takes a second, the patience being a minute."""
    october.empty_every, october.page_size = 2, lambda page: 0 if page < 400 else 10
    desk.extract(workers=1)
    assert_same(desk)


def test_a_page_beyond_the_cap_is_asked_for_in_smaller_parts(
    october: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6: metadata knows no bounds; records too large together are read apart."""
    monkeypatch.setattr(transport, "MAX_BODY", 20_000)
    for record in october.payments[::7]:
        record["metadata"] = {"note": "x" * 9_000}

    def heed_the_limit(request: httpx.Request) -> None:
        limit = int(request.url.params.get("limit", "25"))
        october.page_size = lambda page: limit

    october.intercept = heed_the_limit
    desk.extract(workers=1)
    assert {request.url.params.get("limit") for request in october.requests if is_list(request)} > {
        "100",
        "12",
    }
    assert_same(desk)


def test_one_record_beyond_the_cap_fails_loudly(
    october: FakeService, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D6: what can never be held is said, and its time is not claimed."""
    monkeypatch.setattr(transport, "MAX_BODY", 5_000)
    october.payments[40]["metadata"] = {"note": "x" * 9_000}
    october.page_size = lambda page: 1
    with pytest.raises(ProtocolError, match="was refused, although only one record was asked"):
        desk.extract(workers=1, streams=("payments",))
    assert_no_false_claim(desk)


@pytest.mark.parametrize(
    "out_of_order",
    [
        lambda rows: rows[::-1],
        lambda rows: sorted(rows, key=lambda row: str(row["id"])),
        lambda rows: rows[:35] + rows[45:] + rows[35:45],
    ],
    ids=["oldest first", "by id", "one page too late"],
)
def test_a_list_that_is_not_newest_first_is_read_to_its_end_and_said(
    october: FakeService, desk: Desk, out_of_order: Any
) -> None:
    """B7: what was seen is named in a note; nothing is lost by it."""
    october.order = out_of_order
    run = desk.extract(workers=1)
    assert len(run.notes) == 1 and "does not list payments newest first (2026-10" in run.notes[0]
    assert_same(desk)


def test_an_ordered_list_is_said_nothing_of(october: FakeService, desk: Desk) -> None:
    """B7: ties across the edges of pages are in order."""
    for record in october.payments[20:55]:
        record["paid_at"] = october.payments[20]["paid_at"]
    assert desk.extract(workers=1).notes == []
    assert_same(desk)


@pytest.mark.parametrize("depth", [100, 100_000])
@pytest.mark.parametrize("place", ["record", "page", "profile", "error"])
def test_depth_breaks_no_run(october: FakeService, desk: Desk, depth: int, place: str) -> None:
    """D6: brackets a hundred thousand deep, wherever they stand."""
    deep = f'{{"deep":{"[" * depth}{"]" * depth}}}'
    record = json.dumps(payment(900, AT))[:-1] + f',"more":{deep}}}'
    bodies = {
        "record": (200, "/payments", f'{{"data":[{record}],"next_cursor":null}}'),
        "page": (200, "/payments", f'{{"data":[],"more":{deep},"next_cursor":null}}'),
        "profile": (200, "/me", f'{{"id":"{october.merchant["id"]}","more":{deep}}}'),
        "error": (400, "/payments", deep),
    }
    status, path, body = bodies[place]
    answer = httpx.Response(status, headers=JSON, content=body.encode())
    october.intercept = lambda request: answer if request.url.path.endswith(path) else None
    try:
        desk.extract(workers=1)
    except ApiError as error:
        assert place in ("error", "page", "profile") and error.exit_code in (1, 75)
    else:
        assert place != "error"
