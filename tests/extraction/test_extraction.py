"""Extraction from the model service: every way it may page, bound, fail and change."""

import errno
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count

import httpx
import pytest

from svc_analytics.errors import LakeError, ProtocolError
from svc_analytics.extraction import sweep
from svc_analytics.extraction import workers as workers_module
from svc_analytics.extraction.batches import PageBatch, RowBatch
from svc_analytics.instants import parse_instant
from svc_analytics.lake.writing.publisher import StreamPublisher
from svc_analytics.schema import PAYMENTS, STREAMS
from tests.simulation.disk import Disk, failure
from tests.support.closings import findings_of
from tests.support.fake_service import ids, payment, payout
from tests.support.rings import sample

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

    patch.setattr(sweep, "BATCH_PAGES", 1)
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
