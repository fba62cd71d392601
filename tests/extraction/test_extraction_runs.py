"""Runs of an extraction: bounded, broken, repeated, of other keys; what each proves and keeps."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from svc_analytics.errors import ApiError, ConfigError, KeyRefused, Unavailable
from svc_analytics.instants import (
    BEGINNING,
    DAY,
    HOUR,
    MINUTE,
    parse_bound,
    parse_instant,
    to_micros,
)
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS
from tests.support.fake_service import ids, payment, refusal, spread
from tests.support.prepared import extracted
from tests.support.rings import rings, sample


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
