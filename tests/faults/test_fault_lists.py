# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""Lists that are hard to follow: cursors that cannot be sent back, pages of any size (B, D6)."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

from svc_analytics.errors import ProtocolError
from svc_analytics.extraction import sweep
from svc_analytics.instants import parse_instant
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.statement import statement
from tests.faults.test_fault_service import october
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
    monkeypatch.setattr(sweep, "LARGE", 200_000)
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
    monkeypatch.setattr(sweep, "LARGE", 200_000)
    service.payments = spread(300, datetime(2026, 10, 3, tzinfo=UTC), timedelta(0))
    for record in service.payments[::30]:
        record["metadata"] = {"note": "x" * 150_000}
    service.heeds_limit = True
    desk.extract(workers=4)
    assert len(limits_of(service)) < 800
    check_all(desk.lake, desk.service)


# ---------- records that break the contract, met in a run


AT = "2026-10-01T00:00:00Z"


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
    record: Any = payment(1, AT)
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
    desk.service.payouts = [refund(1, sale(1), AT, "6"), refund(2, sale(1), AT, "5")]
    desk.extract()
    made = statement(desk.lake, "2026-10")
    assert [reason.text for reason in made.reasons] == [
        "1 refund returns more than its payment was charged (refunds_stay_within_charged_amount)"
    ]
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
