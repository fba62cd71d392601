"""Extraction from the model service: every way it may page, bound, fail and change."""

import errno
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import httpx
import pytest

from svc_analytics.errors import (
    ApiError,
    ConfigError,
    KeyRefused,
    LakeError,
    ProtocolError,
    Unavailable,
)
from svc_analytics.extraction import paging, workers as workers_module
from svc_analytics.extraction.batches import PageBatch, RowBatch
from svc_analytics.instants import (
    BEGINNING,
    DAY,
    HOUR,
    MINUTE,
    parse_bound,
    parse_instant,
    to_micros,
)
from svc_analytics.lake.writing.publisher import StreamPublisher
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS
from tests.simulation.disk import Disk, failure
from tests.support.closings import findings_of
from tests.support.fake_service import ids, payment, payout, refusal, spread
from tests.support.prepared import extracted
from tests.support.rings import rings, sample

NUMBER = {payment(n, "")["id"]: n for n in range(400)}


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
def test_a_broken_cursor_fails_the_segment_and_nothing_is_claimed(history, desk, cursor, said):
    """B1, B3: where a list cannot be followed to its end, its time is not marked as read."""
    page = httpx.Response(200, json={"data": history.payments[:3]} | cursor)
    history.intercept = lambda request: page if request.url.path.endswith("/payments") else None
    with pytest.raises(ProtocolError, match=said):
        desk.extract()
    assert desk.lake.coverage(PAYMENTS).read == ()
    assert desk.ids("payout_records") == ids(history.payouts)


def test_a_record_without_an_instant_is_counted_where_its_neighbours_are(history, desk):
    """D5: its month's footer and the finding agree, and so one statement is in doubt, not all."""
    history.payments[200]["paid_at"] = None
    history.order = lambda rows: sorted(rows, key=lambda row: -NUMBER.get(row["id"], 0))
    desk.extract(workers=1)
    month = findings_of(desk.lake, "record_could_be_held")
    footers = desk.lake.footers(PAYMENTS)
    counted = [label for label in footers if footers[label].quarantined]
    assert counted == month["month"].to_list() == ["2026-10"]


def test_a_record_that_reads_right_in_another_month_is_resolved_too(history, desk):
    """The same id, wherever it turns up, settles what was set aside."""
    history.payments[-1]["amount"] = "1e3"
    desk.extract()
    history.payments[-1] |= {"amount": "10", "paid_at": "2026-09-09T00:00:00Z"}
    desk.extract(rereads=True)
    assert len(desk.lake.sql("from stg_quarantine")) == 0
    assert not [f for f in desk.lake.footers(PAYMENTS).values() if f.quarantined]


@pytest.mark.parametrize("place", ["payments/2026-10.parquet", "quarantine/payments/rejected"])
def test_a_record_is_resolved_only_once_its_good_version_is_published(history, desk, place):
    """E1: whichever of the two writes fails, the record is neither lost nor set aside for ever."""
    history.payments[200]["amount"] = "1e3"
    desk.extract()
    history.payments[200]["amount"] = "10"
    history.now = datetime.now(UTC) + timedelta(hours=1)  # records have the time of this machine

    def fate(number: int, kind: str, path: str) -> None:
        if kind == "replace" and place in path:
            raise failure(errno.EIO)

    with Disk(desk.lake.path, fate).installed(), pytest.raises(LakeError):
        desk.extract(rereads=True)
    desk.extract()  # its overlap does not reach back to the record
    is_held = history.payments[200]["id"] in desk.ids()
    assert is_held != bool(desk.lake.footers(PAYMENTS)["2026-10"].quarantined)
    desk.extract(rereads=not is_held)
    assert desk.ids() == ids(history.payments)
    assert len(desk.lake.sql("from stg_quarantine")) == 0
    assert not [f for f in desk.lake.footers(PAYMENTS).values() if f.quarantined]


def test_an_identical_reread_keeps_when_content_was_first_seen(history, desk, file_times):
    """D7: the same content is the same row; nothing is rewritten for it."""
    desk.extract()
    rows, files = desk.rows(), file_times()
    assert desk.extract(rereads=True).published.changed == 0
    assert desk.rows() == rows and file_times() == files


def test_unknown_properties_values_and_kinds_are_kept(history, desk):
    """D4: additions to the contract cost nothing: they are kept, and figures stay right."""
    history.payments[3] |= {"tip": 1.10, "currency": "new_coin", "status": "disputed"}
    history.payouts.append(payout(77, "2026-10-06T00:00:00Z", kind="chargeback"))
    desk.extract()
    row = next(row for row in desk.rows() if row["id"] == history.payments[3]["id"])
    assert row["extra"] == '{"tip":1.1}'
    assert all(len(findings_of(desk.lake, name)) for name in ("status_is_known", "kind_is_known"))


def stop_at(patch: pytest.MonkeyPatch, is_time: Callable[[PageBatch], bool]) -> None:
    """Deliver page by page; Ctrl-C arrives while the one that is told becomes rows."""
    to_row_batches = PageBatch.to_row_batches

    def parse_or_stop(batch: PageBatch) -> list[RowBatch]:
        if is_time(batch):
            raise KeyboardInterrupt
        return to_row_batches(batch)

    patch.setattr(paging, "BATCH_PAGES", 1)
    patch.setattr(PageBatch, "to_row_batches", parse_or_stop)


def test_an_interruption_loses_only_the_pages_it_came_upon(history, desk, monkeypatch):
    """What was made into rows before is kept, with the proof of its time and no more."""
    history.page_size = lambda page: 30
    pages = count()
    stop_at(monkeypatch, lambda _: next(pages) == 3)
    with pytest.raises(KeyboardInterrupt):
        desk.extract(workers=1, streams=("payments",))
    newest = sorted(history.payments, key=lambda row: str(row["paid_at"]))[-90:]
    assert desk.ids() == ids(newest)
    oldest = parse_instant(newest[0]["paid_at"])[0]
    assert desk.lake.coverage(PAYMENTS).read[0][0] == oldest + 1


def test_an_interruption_of_a_doubt_publishes_nothing_that_it_doubts(history, desk, monkeypatch):
    """B7: out_of_order had shown, so what was covered before must be read again."""
    history.page_size = lambda page: 30
    history.order = lambda rows: rows[:60] + rows[:59:-1]
    stop_at(monkeypatch, lambda batch: batch.retracts)
    with pytest.raises(KeyboardInterrupt):
        desk.extract(workers=1, streams=("payments",))
    assert desk.lake.coverage(PAYMENTS).read == ()


@pytest.mark.parametrize("error", sample([KeyboardInterrupt, MemoryError], 2))
def test_a_publication_cut_short_proves_nothing(history, desk, monkeypatch, error):
    """Its rows are gone from memory: their time is unread, and the next run brings them."""

    def stop(*_: object) -> None:
        patched.undo()  # the next publication would succeed
        raise error

    history.page_size = lambda page: 9
    monkeypatch.setattr(workers_module, "BUFFER_LIMIT", 1)
    with monkeypatch.context() as patched:
        patched.setattr(StreamPublisher, "_publish_month", stop)
        with pytest.raises(error):
            desk.extract()
    assert not any(desk.lake.coverage(stream).read for stream in STREAMS.values())
    desk.extract()
    assert desk.ids() == ids(history.payments)
    assert desk.ids("payout_records") == ids(history.payouts)


def test_without_order_a_broken_run_claims_nothing(history, desk):
    """B7: what was claimed before the out_of_order showed is taken back."""
    history.page_size = lambda page: 30
    history.order = lambda rows: rows[:60] + rows[:59:-1]

    def away(request: httpx.Request) -> httpx.Response | None:
        is_late = request.url.params.get("cursor", "").startswith("210.")
        return refusal(503, "SERVICE_UNAVAILABLE") if is_late else None

    history.intercept = away
    with pytest.raises(Unavailable):
        desk.extract(workers=1, streams=("payments",))
    assert desk.lake.coverage(PAYMENTS).read == ()


@pytest.mark.parametrize("workers", rings([4], [1]))
def test_a_late_record_is_found_though_a_run_between_was_cut_short(history, desk, workers):
    """C1: what a run had no time to look at again is looked at by the next, however new its end.

    The second run publishes newer time and fails before it comes to the late record.
    """
    desk.extract(workers=workers)
    late = payment(901, "2026-11-19T20:00:00Z")
    newer = spread(40, datetime(2026, 11, 21, tzinfo=UTC), timedelta(hours=1, seconds=1))
    for number, record in enumerate(newer):
        history.payments.append(record | {"id": f"newer-{number}"})
    history.payments.append(late)
    history.now, history.page_size = datetime(2026, 11, 23, tzinfo=UTC), lambda page: 5
    stop = iter([None] * 6)

    def cut_short(request: httpx.Request) -> httpx.Response | None:
        return next(stop, refusal(401, "UNAUTHORIZED"))

    history.intercept = cut_short
    with pytest.raises(ApiError):
        desk.extract(workers=workers, streams=("payments",))
    history.intercept = None
    assert any(record_id.startswith("newer") for record_id in desk.ids())
    desk.extract(workers=workers)
    assert late["id"] in desk.ids()


def test_the_beginning_is_proven_and_old_empty_time_makes_no_files(history, desk):
    """The oldest segment reads to null; the origin's file carries the proof."""
    extracted(desk)
    coverage = desk.lake.coverage(PAYMENTS)
    assert coverage.complete == (
        (BEGINNING, to_micros(datetime(2026, 11, 20, 12, tzinfo=UTC)) - 5 * MINUTE),
    )
    assert desk.lake.months(PAYMENTS) == ["2026-08", "2026-09", "2026-10", "2026-11"]
    assert desk.lake.footers(PAYMENTS)["0000-00"].coverage.complete[0][0] == BEGINNING


def test_a_merchant_without_payments_is_read_to_the_beginning(desk):
    """An empty history is complete and empty, which is not the same as unread."""
    desk.extract()
    assert desk.rows() == []
    assert desk.lake.coverage(PAYMENTS).complete[0][0] == BEGINNING
    assert desk.lake.months(PAYMENTS) == ["2026-11"]


def test_from_and_to_bound_a_run(history, desk):
    """Only the interval asked for is read and claimed; each of its months gets a file."""
    start, end = parse_instant("2026-09-10T00:00:00Z")[0], parse_instant("2026-11-01T00:00:00Z")[0]
    desk.extract(start=start, end=end)
    wanted = [p for p in history.payments if "2026-09-10" <= p["paid_at"] < "2026-11-01"]
    assert desk.ids() == ids(wanted)
    assert desk.lake.coverage(PAYMENTS).complete == ((start, end),)
    assert desk.lake.months(PAYOUT_RECORDS) == ["2026-09", "2026-10"]
    desk.extract()
    assert desk.ids() == ids(history.payments)


def test_from_after_to_or_in_the_future_is_refused(desk):
    """An interval without time is a mistake, not an empty answer, which would look like success."""
    with pytest.raises(ConfigError, match="--from must be before --to"):
        desk.extract(start=DAY, end=HOUR)
    with pytest.raises(ConfigError, match="later than the service's clock"):
        desk.extract(start=parse_instant("2030-01-01T00:00:00Z")[0])


def test_a_key_revoked_during_the_run_stops_it_and_keeps_what_was_proven(history, desk):
    """A7: 401 stops every worker at once."""
    history.page_size = lambda page: 10
    history.intercept = lambda request: (
        refusal(401, "UNAUTHORIZED") if len(history.requests) > 15 else None
    )
    with pytest.raises(KeyRefused, match="allowlist"):
        desk.extract()
    assert desk.rows()


def test_without_a_payout_key_payout_records_are_not_extracted(history, desk):
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


def test_keys_of_two_merchants_are_refused_before_anything_is_written(history, desk):
    """H1: both keys must belong to one merchant."""
    key = desk.settings.payout_key
    history.merchant_of_key = {key.reveal() if key else "": "another-merchant"}
    with pytest.raises(ConfigError, match="two merchants"):
        desk.extract()
    assert not desk.lake.path.exists()


def test_another_merchants_keys_are_refused_on_an_existing_lake(history, desk, file_times):
    """H1: a lake holds one merchant's records."""
    extracted(desk)
    before = file_times()
    history.merchant = {"id": "another-merchant"}
    with pytest.raises(ConfigError, match="another --data-dir"):
        desk.extract()
    assert file_times() == before


@pytest.mark.parametrize(
    ("first", "second"),
    sample(
        [
            ((None, "2026-10-01"), ("2026-10-01", None)),
            ((None, "2026-10-01"), ("2026-10-01", "2026-11-01")),
            (("2026-09-01", "2026-10-01T12:00:00Z"), ("2026-10-01T18:00:00Z", None)),
            (("2026-09-01", "2026-10-01"), ("2026-10-15", None)),
        ],
        2,
    ),
    ids=["all the rest", "a month more", "a few hours left out", "weeks left out"],
)
def test_what_was_read_long_after_it_passed_stays_complete(history, desk, first, second):
    """Read weeks later, the last day before the bound needs no second look: nothing is late."""
    for start, end in (first, second):
        bounds = {"start": start, "end": end}
        desk.extract(**{name: parse_bound(text) for name, text in bounds.items() if text})
    watermark = to_micros(datetime(2026, 11, 20, 11, 55, tzinfo=UTC))
    for stream in (PAYMENTS, PAYOUT_RECORDS):
        assert all(start >= watermark for start, _ in desk.lake.coverage(stream).provisional)


def test_what_was_read_at_once_is_provisional_until_it_is_read_again(history, desk):
    """Also where the file of its month was written anew meanwhile, without reading it again."""
    noon = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    end = to_micros(noon) - 6 * MINUTE
    desk.extract(end=end)
    history.now = noon + timedelta(days=3)
    history.payments[-20]["amount"] = "11"  # of November: its file is written anew
    bounds = parse_bound("2026-11-01"), parse_bound("2026-11-19")
    assert desk.extract(start=bounds[0], end=bounds[1], rereads=True).published.files
    desk.extract(start=end)
    assert (to_micros(noon) - DAY, end) in desk.lake.coverage(PAYMENTS).provisional
    desk.extract()
    assert not [span for span in desk.lake.coverage(PAYMENTS).provisional if span[0] < end]
