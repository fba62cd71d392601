"""A record of the lake that the service's list lacks: looked up, noted, never removed (J10)."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest

from svc_analytics.extraction import unlisted
from svc_analytics.instants import parse_instant
from svc_analytics.schema import PAYMENTS
from tests.support.closings import findings_of
from tests.support.desks import Desk
from tests.support.fake_service import FakeService, Record, ids, payment, payout, refund
from tests.support.prepared import extracted
from tests.support.rings import sample

RULE = "record_is_still_listed"
OCTOBER = tuple(parse_instant(f"2026-{month}-01T00:00:00Z")[0] for month in (10, 11))


@pytest.fixture(autouse=True)
def october(service) -> None:
    """Nine payments of October and one of the newest day, two payouts and a refund."""
    service.payments = [payment(day, f"2026-10-{day:02}T10:00:00Z") for day in range(1, 10)]
    service.payments.append(payment(20, "2026-11-20T09:00:00Z"))
    service.payouts = [payout(n, f"2026-10-{n:02}T12:00:00.000001Z") for n in (3, 4)]
    service.payouts.append(refund(5, service.payments[4], "2026-10-31T23:59:59.9Z"))


def findings(desk: Desk) -> list[tuple[str, str]]:
    found = findings_of(desk.lake, RULE)
    assert set(found["severity"]) <= {"blocking"}
    return sorted(zip(found["record_id"], found["month"], strict=True))


def reread(desk: Desk, **request: Any) -> Any:
    return desk.extract(rereads=True, **request)


def states(desk: Desk) -> list[str]:
    return [*desk.lake.sql("select state from stg_unlisted")["state"]]


GONE: dict[str, Callable[[FakeService], Record]] = {
    "payment": lambda service: service.payments.pop(3),
    "payout": lambda service: service.payouts.pop(0),
    "refund": lambda service: service.payouts.pop(),
    "the newest payment": lambda service: service.payments.pop(),
}


@pytest.mark.parametrize("gone", sample(GONE.values(), 4), ids=GONE.keys())
def test_a_record_that_is_gone_stays_and_blocks_its_month(desk, gone):
    """No reading takes money out of the lake; a person is told, once."""
    extracted(desk)
    held = desk.rows(), desk.rows("payout_records")
    record = gone(desk.service)
    run = reread(desk)
    assert run.needs_attention and [record["id"]] in run.unlisted.values()
    assert findings(desk) == [(record["id"], (record.get("paid_at") or record["settled_at"])[:7])]
    assert (desk.rows(), desk.rows("payout_records")) == held
    assert not reread(desk).needs_attention


def test_what_is_read_again_for_late_records_is_compared_too(desk):
    """The newest day is part of each run."""
    extracted(desk)
    record = desk.service.payments.pop()
    assert desk.extract().unlisted["payments"] == [record["id"]]


def test_a_record_that_is_known_by_its_id_alone_says_so(desk):
    """The list is not whole: that is another thing than a record that is gone."""
    extracted(desk)
    desk.service.hidden = {desk.service.payments[2]["id"]}
    desk.service.payments.pop(5)
    reread(desk)
    details = findings_of(desk.lake, RULE)["detail"]
    said = "the service no longer lists it, "
    assert sorted(details) == [
        f"{said}and knows no record of this id",
        f"{said}but knows it by its id",
    ]


def test_once_it_is_listed_again_the_finding_is_gone(desk):
    """And the month can be confirmed as before."""
    extracted(desk)
    desk.service.hidden = {desk.service.payments[2]["id"], desk.service.payouts[0]["id"]}
    reread(desk)
    assert len(findings(desk)) == 2
    desk.service.hidden.clear()
    assert not reread(desk).needs_attention
    assert findings(desk) == []


@pytest.mark.thorough
def test_a_reading_of_other_time_lets_a_finding_stand(desk):
    """What was not read again proves nothing."""
    extracted(desk)
    record = desk.service.payments.pop(2)
    reread(desk)
    desk.extract()
    assert findings(desk) == [(record["id"], "2026-10")]


MOVES: dict[str, dict[str, str]] = {
    "a day": {"paid_at": "2026-10-18T10:00:00Z"},
    "a month": {"paid_at": "2026-09-18T10:00:00Z"},
    "a microsecond": {"paid_at": "2026-10-03T10:00:00.000001Z"},
    "its amount": {"amount": "11", "charged_amount": "11", "net_amount": "10.9"},
    "its coin": {"currency": "btc"},
}


@pytest.mark.parametrize("change", sample(MOVES.values(), 9), ids=MOVES.keys())
def test_what_the_service_says_of_the_id_counts(desk, change):
    """October lists it no more: it is held as it is now, and its older version is a finding."""
    extracted(desk)
    record = desk.service.payments[2]
    desk.service.hidden = {record["id"]}
    record |= change
    run = reread(desk, start=OCTOBER[0], end=OCTOBER[1])
    assert (run.published.changed, run.published.restated) == (1, 1)
    [held] = [row for row in desk.rows() if row["id"] == record["id"]]
    facts = Decimal(record["amount"]), record["currency"]
    assert (held["amount"], held["currency"]) == facts
    assert f"{held['paid_at']:%Y-%m-%dT%H:%M:%S}" == record["paid_at"][:19]
    moved = "2026-09" in record["paid_at"]
    assert findings(desk) == ([] if moved else [(record["id"], "2026-10")])
    assert len(desk.lake.coverage(PAYMENTS).complete) == 1  # the time that it left and entered


@pytest.mark.thorough
def test_an_empty_list_of_what_it_knows_no_more_is_ten_findings(desk):
    """Both say the same: that is for a person to judge."""
    extracted(desk)
    gone = ids(desk.service.payments)
    desk.service.payments.clear()
    assert sorted(reread(desk).unlisted["payments"]) == gone
    assert [record_id for record_id, _ in findings(desk)] == gone


def test_look_ups_are_bounded_and_go_on_with_the_next_run(desk, monkeypatch):
    """What could not be asked for is noted all the same."""
    monkeypatch.setattr(unlisted, "LOOK_UPS", 2)
    extracted(desk)
    gone, desk.service.payments = desk.service.payments[:5], desk.service.payments[5:]
    counts = []
    for _ in range(3):
        reread(desk)
        counts.append(states(desk).count("gone"))
    assert counts == [2, 4, 5] and len(findings(desk)) == len(gone)


def answered(desk: Desk, record: Record, answer: Record) -> None:
    """Let the service list a record no more, and answer something when asked for its id."""

    def intercept(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(200, json=answer) if request.url.path.endswith(record["id"]) else None

    desk.service.hidden, desk.service.intercept = {record["id"]}, intercept
    reread(desk)


def test_a_record_that_cannot_be_held_when_it_is_asked_for_is_set_aside(desk):
    """With its bytes, at the instant that it names, else at that of the row that is held."""
    extracted(desk)
    record = desk.service.payments[2]
    for number, instant in enumerate((record["paid_at"], "soon"), 1):
        answered(desk, record, record | {"amount": "0." + "1" * 19, "paid_at": instant})
        aside = desk.lake.sql("from stg_quarantine order by first_seen_at")
        assert [*aside["record_id"]] == [record["id"]] * number
        assert f"{aside['booked_from'].iloc[-1]:%Y-%m-%d}" == "2026-10-03"
        assert states(desk) == ["known"]


def test_a_list_without_the_only_record_contradicts_nothing(desk):
    """One of one may be hidden; all of two or more, known by their ids, are no list."""
    desk.service.payouts = []
    desk.service.payments = desk.service.payments[:1]
    extracted(desk)
    desk.service.hidden = set(ids(desk.service.payments))
    assert not reread(desk).short_lists and len(findings(desk)) == 1


def test_a_row_that_a_moving_list_passed_over_is_no_finding(desk):
    """The newest rows vanish once they were read: the next pages begin a row too far."""
    extracted(desk)
    newest = iter(ids(desk.service.payments[-2:]))
    desk.service.page_size = lambda page: 2

    def vanish(request: httpx.Request) -> None:
        if "cursor" in str(request.url) and (record_id := next(newest, None)):
            desk.service.hidden.add(record_id)

    desk.service.intercept = vanish
    run = reread(desk, workers=1, streams=("payments",))
    assert run.rows["payments"] == 8 and not run.unlisted["payments"]


NATURES: dict[str, dict[str, Any]] = {
    **{
        f"bounds {bounds or 'ignored'}": {"bounds": bounds}
        for bounds in ("[]", "()", "[)", "(]", "")
    },
    "pages of one": {"page_size": lambda page: 1},
    "empty pages": {"page_size": lambda page: 2, "empty_every": 2},
    "no order": {
        "order": lambda rows: sorted(rows, key=lambda row: row["id"]),
        "page_size": lambda page: 4,
    },
    "oldest first": {"order": lambda rows: rows[::-1], "page_size": lambda page: 2},
    "no clock": {"now": None},
    "an earlier clock": {"now": datetime(2026, 11, 20, 9, 30, tzinfo=UTC)},
}


@pytest.mark.parametrize("nature", sample(NATURES.values(), 5), ids=NATURES.keys())
def test_a_service_that_lists_everything_has_no_finding(desk, nature):
    """Whatever its bounds, pages, order and clock are: nobody is asked for by an id."""
    extracted(desk)
    for name, value in nature.items():
        setattr(desk.service, name, value)
    for request in (
        {},
        {"rereads": True},
        {"start": OCTOBER[0], "end": OCTOBER[1], "rereads": True},
    ):
        run = desk.extract(**request)
        assert not any(run.unlisted.values()) and not run.published.changed
        assert not [path for path in desk.service.paths() if path.count("/") > 1]


def test_what_is_listed_and_cannot_be_read_is_listed(desk):
    """It is set aside under its id, and says nothing of being gone."""
    extracted(desk)
    desk.service.payments[2]["amount"] = "1e3"
    run = reread(desk)
    assert run.published.quarantined == 1 and not any(run.unlisted.values())


def test_a_stream_without_a_key_is_compared_with_nothing(desk):
    """What was not read may be there."""
    extracted(desk)
    desk.service.payouts.clear()
    settings = desk.settings
    desk.settings = type(settings)(settings.base_url, settings.checkout_key)
    assert not any(reread(desk).unlisted.values())
    assert findings(desk) == []
