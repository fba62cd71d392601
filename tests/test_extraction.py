"""Extraction from the model service: every way it may page, bound, fail and change."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from desks import Desk
from fake_service import FakeService, ids, once, payment, payout, refund, refusal, spread

from svc_analytics.errors import ApiError, ConfigError, KeyRefused, ProtocolError, Unavailable
from svc_analytics.periods import BEGINNING, DAY, HOUR, MINUTE, parse_instant, to_micros
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS

START = datetime(2026, 8, 25, tzinfo=UTC)


@pytest.fixture
def history(service: FakeService) -> FakeService:
    """Three months of payments, some of them at one instant, and refunds of a few."""
    service.payments = spread(400, START, timedelta(hours=5, microseconds=3))
    same = service.payments[200]["paid_at"]
    for record in service.payments[201:230]:
        record["paid_at"] = same
    service.payouts = [refund(n, service.payments[n], "2026-10-05T00:00:00Z") for n in range(9)]
    return service


PAGE_SIZES: dict[str, Callable[[int], int]] = {
    "one row a page": lambda page: 1,
    "seven rows": lambda page: 7,
    "a hundred rows": lambda page: 100,
    "a thousand rows": lambda page: 1000,
    "any number of rows": lambda page: random.Random(page).randint(1, 60),
}


@pytest.mark.parametrize("page_size", PAGE_SIZES.values(), ids=PAGE_SIZES.keys())
def test_page_size_means_nothing(
    history: FakeService, desk: Desk, page_size: Callable[[int], int]
) -> None:
    """B5: however many rows a page holds, every row is kept once."""
    history.page_size = page_size
    desk.extract()
    assert desk.ids() == ids(history.payments)
    assert desk.ids("payout_records") == ids(history.payouts)


@pytest.mark.parametrize("bounds", ["[]", "()", "[)", "(]", ""])
@pytest.mark.parametrize("workers", [1, 8])
def test_bounds_may_be_inclusive_exclusive_or_not_heeded(
    history: FakeService, desk: Desk, bounds: str, workers: int
) -> None:
    """B8, C5: the same lake whatever the service makes of from and to."""
    history.bounds, history.page_size = bounds, lambda page: 9
    edges = ["2026-09-30T23:59:59.999999Z", "2026-10-01T00:00:00Z", "2026-10-31T23:59:59.999999Z"]
    history.payments += [payment(900 + n, at) for n, at in enumerate(edges)]
    desk.extract(workers=workers)
    assert desk.ids() == ids(history.payments)


def test_an_empty_page_with_a_cursor_goes_on(history: FakeService, desk: Desk) -> None:
    """B2: only a null cursor ends a list."""
    history.empty_every, history.page_size = 2, lambda page: 11
    desk.extract()
    assert desk.ids() == ids(history.payments)


@pytest.mark.parametrize(
    ("cursor", "said"),
    [
        ({}, "no next_cursor"),
        ({"next_cursor": ""}, "neither a text nor null"),
        ({"next_cursor": 7}, "neither a text nor null"),
        ({"next_cursor": "9.9"}, "same cursor twice"),
    ],
    ids=["missing", "empty", "a number", "repeated"],
)
def test_a_broken_cursor_fails_the_segment_and_nothing_is_claimed(
    history: FakeService, desk: Desk, cursor: dict[str, Any], said: str
) -> None:
    """B1, B3: where a list cannot be followed to its end, its time is not marked as read."""
    page = httpx.Response(200, json={"data": history.payments[:3]} | cursor)
    history.intercept = lambda request: page if request.url.path.endswith("/payments") else None
    with pytest.raises(ProtocolError, match=said):
        desk.extract()
    assert desk.lake.coverage(PAYMENTS).read == ()
    assert desk.ids("payout_records") == ids(history.payouts)


def test_a_cycle_of_cursors_is_noticed(history: FakeService, desk: Desk) -> None:
    """B3: pages that lead back to one another end the sweep, and prove nothing."""
    history.page_size = lambda page: 50

    def cycle(request: httpx.Request) -> httpx.Response | None:
        is_far = request.url.params.get("cursor", "").startswith("150.")
        return httpx.Response(200, json={"data": [], "next_cursor": "50.1"}) if is_far else None

    history.intercept = cycle
    with pytest.raises(ProtocolError, match="same cursor twice"):
        desk.extract(workers=1, streams=("payments",))
    assert desk.lake.coverage(PAYMENTS).read == ()


def test_an_expired_cursor_reopens_the_rest_by_time(history: FakeService, desk: Desk) -> None:
    """B4: a refused cursor costs a request, never a row."""
    history.page_size = lambda page: 20

    def expire(request: httpx.Request) -> httpx.Response | None:
        is_old = request.url.params.get("cursor", "").endswith(".3")
        return refusal(422, "VALIDATION_FAILED") if is_old else None

    history.intercept = expire
    desk.extract()
    assert desk.ids() == ids(history.payments)


def test_without_order_only_the_end_of_the_list_proves_anything(
    history: FakeService, desk: Desk
) -> None:
    """B7: pages that are not newest first are read to null before their time is claimed."""
    history.order = lambda rows: sorted(rows, key=lambda row: str(row["id"]))
    history.page_size = lambda page: 30
    desk.extract()
    assert desk.ids() == ids(history.payments)
    assert desk.lake.coverage(PAYMENTS).complete[0][0] == BEGINNING


def test_without_order_a_broken_run_claims_nothing(history: FakeService, desk: Desk) -> None:
    """B7: what was claimed before the disorder showed is taken back."""
    history.page_size = lambda page: 30
    history.order = lambda rows: rows[:60] + rows[:59:-1]

    def away(request: httpx.Request) -> httpx.Response | None:
        is_late = request.url.params.get("cursor", "").startswith("210.")
        return refusal(503, "SERVICE_UNAVAILABLE") if is_late else None

    history.intercept = away
    with pytest.raises(Unavailable):
        desk.extract(workers=1, streams=("payments",))
    assert desk.lake.coverage(PAYMENTS).read == ()


def test_rows_inserted_while_paging_are_not_doubled_and_push_none_out(
    history: FakeService, desk: Desk
) -> None:
    """B6: with cursors that count places, new rows shift the pages; nothing is lost."""
    history.bounds, history.page_size = "", lambda page: 10

    def insert(request: httpx.Request) -> None:
        number = 5000 + len(history.requests)
        at = datetime(2026, 11, 20, 11, 59, 59, number, tzinfo=UTC)
        history.payments.append(payment(number, at.isoformat().replace("+00:00", "Z")))

    before = ids(history.payments)
    history.intercept = insert
    desk.extract(workers=1)
    assert set(before) <= set(desk.ids())
    history.intercept = None
    desk.extract()
    assert desk.ids() == ids(history.payments)


def test_a_second_run_asks_little_and_rewrites_only_what_it_touched(
    history: FakeService, desk: Desk, file_times: Callable[[], dict[str, int]]
) -> None:
    """Right after a run, the next makes at most 8 requests and leaves old months alone."""
    desk.extract()
    before = file_times()
    history.now = datetime(2026, 11, 20, 12, 1, tzinfo=UTC)
    desk.extract()
    after = file_times()
    changed = {name for name in after if after[name] != before[name]}
    assert len(history.requests) <= 8
    assert changed == {"payments/2026-11.parquet", "payout_records/2026-11.parquet"}


def test_a_late_row_within_the_overlap_is_found(history: FakeService, desk: Desk) -> None:
    """C1: a row that becomes listable 20 hours after its instant is read by the next run."""
    desk.extract()
    late = payment(7000, "2026-11-19T16:00:00Z")
    history.payments.append(late)
    desk.extract()
    assert late["id"] in desk.ids()


def test_the_beginning_is_proven_and_old_empty_time_makes_no_files(
    history: FakeService, desk: Desk
) -> None:
    """The oldest segment reads to null; the origin's file carries the proof."""
    desk.extract()
    coverage = desk.lake.coverage(PAYMENTS)
    assert coverage.complete == ((BEGINNING, to_micros(history.now or START) - 5 * MINUTE),)
    assert desk.lake.months(PAYMENTS) == ["2026-08", "2026-09", "2026-10", "2026-11"]
    assert desk.lake.footers(PAYMENTS)["0000-00"].coverage.complete[0][0] == BEGINNING


def test_a_merchant_without_payments_is_read_to_the_beginning(desk: Desk) -> None:
    """An empty history is complete and empty, which is not the same as unread."""
    desk.extract()
    assert desk.rows() == []
    assert desk.lake.coverage(PAYMENTS).complete[0][0] == BEGINNING
    assert desk.lake.months(PAYMENTS) == ["2026-11"]


def test_from_and_to_bound_a_run(history: FakeService, desk: Desk) -> None:
    """Only the interval asked for is read and claimed; each of its months gets a file."""
    start, end = parse_instant("2026-09-10T00:00:00Z")[0], parse_instant("2026-11-01T00:00:00Z")[0]
    desk.extract(start=start, end=end)
    wanted = [p for p in history.payments if "2026-09-10" <= p["paid_at"] < "2026-11-01"]
    assert desk.ids() == ids(wanted)
    assert desk.lake.coverage(PAYMENTS).complete == ((start, end),)
    assert desk.lake.months(PAYOUT_RECORDS) == ["2026-09", "2026-10"]
    desk.extract()
    assert desk.ids() == ids(history.payments)


def test_from_after_to_is_refused(desk: Desk) -> None:
    """An interval without time is a mistake, not an empty answer."""
    with pytest.raises(ConfigError, match="--from is not before --to"):
        desk.extract(start=DAY, end=HOUR)


def test_a_broken_run_keeps_what_it_proved_and_the_next_goes_on(
    history: FakeService, desk: Desk
) -> None:
    """A4, I6, I7: coverage claims only what was read, and a later run completes it."""
    history.page_size = lambda page: 10
    history.intercept = lambda request: (
        refusal(503, "MAINTENANCE_MODE") if len(history.requests) > 12 else None
    )
    with pytest.raises(Unavailable):
        desk.extract(workers=1, streams=("payments",))
    read = desk.lake.coverage(PAYMENTS).read
    inside = [p for p in history.payments if _is_in(p, read)]
    assert inside and set(ids(inside)) <= set(desk.ids())
    history.intercept = None
    desk.extract(workers=1)
    pages = sum(path == "/payments" for path in history.paths())
    assert desk.ids() == ids(history.payments) and pages < 40


def _is_in(record: dict[str, Any], spans: tuple[tuple[int, int], ...]) -> bool:
    instant = parse_instant(record["paid_at"])[0]
    return any(start <= instant < end for start, end in spans)


def test_a_key_revoked_during_the_run_stops_it_and_keeps_what_was_proven(
    history: FakeService, desk: Desk
) -> None:
    """A7: 401 stops every worker at once."""
    history.page_size = lambda page: 10
    history.intercept = lambda request: (
        refusal(401, "UNAUTHORIZED") if len(history.requests) > 15 else None
    )
    with pytest.raises(KeyRefused, match="allowlist"):
        desk.extract()
    assert desk.rows()


def test_failures_in_between_change_nothing(history: FakeService, desk: Desk) -> None:
    """A1, A2, A5, A6: resets, half bodies, HTML and 5xx are retried to the same rows."""
    history.page_size = lambda page: 40
    trouble: list[httpx.Response | Exception] = [
        httpx.ReadTimeout("late"),
        httpx.RemoteProtocolError("cut"),
        httpx.Response(200, content=b'{"data": ['),
        httpx.Response(200, html="<html>proxy</html>"),
        httpx.Response(502, html="<html>bad gateway</html>"),
        refusal(500, "INTERNAL_SERVER_ERROR"),
        refusal(429, "RATE_LIMITED", retry_after="0"),
    ]
    history.intercept = once(*trouble, path="/payments")
    desk.extract(workers=1)
    assert desk.ids() == ids(history.payments)


def test_without_a_payout_key_payout_records_are_not_extracted(
    history: FakeService, desk: Desk
) -> None:
    """A8, H2: what needs the missing key is unknown; given the key later, it is back-filled."""
    both, desk.settings = (
        desk.settings,
        type(desk.settings)(desk.settings.base_url, desk.settings.checkout_key),
    )
    run = desk.extract()
    assert "SVC_PAYOUT_KEY" in run.not_extracted["payout_records"] and run.needs_attention
    assert desk.lake.coverage(PAYOUT_RECORDS).read == ()
    desk.settings = both
    assert not desk.extract().needs_attention
    assert desk.ids("payout_records") == ids(history.payouts)


def test_keys_of_two_merchants_are_refused_before_anything_is_written(
    history: FakeService, desk: Desk
) -> None:
    """H1: both keys must belong to one merchant."""
    key = desk.settings.payout_key
    history.merchant_of_key = {key.reveal() if key else "": "another-merchant"}
    with pytest.raises(ConfigError, match="two merchants"):
        desk.extract()
    assert not desk.lake.path.exists()


def test_another_merchants_keys_are_refused_on_an_existing_lake(
    history: FakeService, desk: Desk, file_times: Callable[[], dict[str, int]]
) -> None:
    """H1: a lake holds one merchant's records."""
    desk.extract()
    before = file_times()
    history.merchant = {"id": "another-merchant"}
    with pytest.raises(ConfigError, match="another --data-dir"):
        desk.extract()
    assert file_times() == before


def test_a_record_that_cannot_be_held_is_set_aside_with_its_bytes(
    history: FakeService, desk: Desk
) -> None:
    """D1, I4: the rest of the page lives, and a person is told."""
    history.payments[50]["amount"] = 1.5
    run = desk.extract()
    assert run.published.quarantined == 1 and run.needs_attention
    kept = desk.lake.sql("select record_id, reason from stg_quarantine").to_dict("records")
    assert kept == [
        {"record_id": history.payments[50]["id"], "reason": "amount is not a text: 1.5"}
    ]
    assert len(desk.rows()) == len(history.payments) - 1


def test_a_record_set_aside_is_resolved_once_it_reads_right(
    history: FakeService, desk: Desk
) -> None:
    """A mended record takes its place; the quarantine keeps the old bytes, resolved."""
    history.payments[-1]["amount"] = "1e3"
    desk.extract()
    history.payments[-1]["amount"] = "10"
    run = desk.extract(rereads=True)
    assert run.published.quarantined == 0
    assert desk.ids() == ids(history.payments)
    assert len(desk.lake.sql("from stg_quarantine")) == 0


def test_an_identical_reread_keeps_when_content_was_first_seen(
    history: FakeService, desk: Desk, file_times: Callable[[], dict[str, int]]
) -> None:
    """D7: the same content is the same row; nothing is rewritten for it."""
    desk.extract()
    rows, files = desk.rows(), file_times()
    assert desk.extract(rereads=True).published.changed == 0
    assert desk.rows() == rows and file_times() == files


def test_a_changed_amount_wins_and_the_older_version_is_kept(
    history: FakeService, desk: Desk
) -> None:
    """D7: the newer observation stands, the older one is evidence, and a check blocks."""
    desk.extract()
    history.payments[-1]["amount"] = "11"
    run = desk.extract(rereads=True)
    assert (run.published.changed, run.published.restated) == (1, 1)
    found = desk.lake.sql(
        "select record_id, severity from exceptions where check_name = $name",
        {"name": "record_was_not_restated"},
    ).to_dict("records")
    assert found == [{"record_id": history.payments[-1]["id"], "severity": "blocking"}]
    assert len(desk.rows()) == len(history.payments)


def test_changed_metadata_is_kept_but_blocks_nothing(history: FakeService, desk: Desk) -> None:
    """D7: a note may change; money and identity did not."""
    desk.extract()
    history.payments[-1]["metadata"] = {"cart": "renamed"}
    run = desk.extract(rereads=True)
    assert (run.published.changed, run.published.restated) == (1, 0)


def test_metadata_in_another_key_order_is_no_change(history: FakeService, desk: Desk) -> None:
    """JSON objects have no order: writing one differently changes nothing."""
    history.payments[-1]["metadata"] = {"a": 1, "b": 2}
    desk.extract()
    history.payments[-1]["metadata"] = {"b": 2, "a": 1}
    assert desk.extract(rereads=True).published.changed == 0


def test_a_row_that_moves_to_another_month_leaves_the_old_one(
    history: FakeService, desk: Desk
) -> None:
    """One row per id in the whole folder, even if its instant is restated across months."""
    desk.extract()
    history.payments[10]["paid_at"] = "2026-11-02T00:00:00Z"
    run = desk.extract(rereads=True)
    assert desk.ids() == ids(history.payments)
    assert run.published.restated == 1
    assert desk.lake.coverage(PAYMENTS).complete[0][0] == BEGINNING


def test_unknown_properties_values_and_kinds_are_kept(history: FakeService, desk: Desk) -> None:
    """D4: additions to the contract cost nothing: they are kept, and figures stay right."""
    history.payments[3] |= {"tip": 1.10, "currency": "new_coin", "status": "disputed"}
    history.payouts.append(payout(77, "2026-10-06T00:00:00Z", kind="chargeback"))
    desk.extract()
    row = next(row for row in desk.rows() if row["id"] == history.payments[3]["id"])
    assert row["extra"] == '{"tip":1.1}'
    names = desk.lake.sql("select distinct check_name from exceptions")["check_name"].to_list()
    assert {"status_is_known", "kind_is_known"} <= set(names)


def test_an_unknown_refusal_ends_the_run_with_its_code(history: FakeService, desk: Desk) -> None:
    """A9: codes are append-only; one never heard of is reported, not guessed at."""
    history.intercept = once(refusal(418, "PAY_TEAPOT"), path="/payments")
    with pytest.raises(ApiError) as caught:
        desk.extract(workers=1)
    assert caught.value.codes == ("PAY_TEAPOT",)


def test_ten_thousand_rows_at_one_instant_are_paged_through(desk: Desk) -> None:
    """C4: time cannot split them, and need not."""
    desk.service.payments = [payment(n, "2026-10-01T00:00:00Z") for n in range(2_000)]
    desk.extract()
    assert desk.ids() == ids(desk.service.payments)
