"""Months of which the service no longer lists a record: not sealed, and said of a sealed one.

And how often each month is read before it is sealed.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from svc_analytics import ExtractionResult, Request, close_all_due, verify_statement
from svc_analytics.closing import close
from svc_analytics.closing.seals import read_manifest, seal_of
from svc_analytics.instants import format_instant
from svc_analytics.lake.status import lake_status
from tests.support.closings import LEDGER, Closer, findings_of, table
from tests.support.fake_service import Record, payment
from tests.support.rings import sample

RULE = "record_is_still_listed"
MORE = " payment  btc       1       0.01  2026-10-15T09:00\n"


@pytest.fixture
def shop(closer) -> Closer:
    """A desk whose service holds two payments, a refund and a payout of October."""
    closer.serve(LEDGER + MORE)
    return closer


def withdraw(closer: Closer) -> Record:
    """Let the service forget the payment of 100 usdt."""
    return closer.desk.service.payments.pop(2)


def hide(closer: Closer) -> Record:
    """Let the service's list leave out the payment of 100 usdt, which it knows by its id."""
    record = closer.desk.service.payments[2]
    closer.desk.service.hidden.add(record["id"])
    return record


ACTS = pytest.mark.parametrize("act", sample([withdraw, hide], 2))


@ACTS
def test_a_month_without_a_record_of_the_lake_is_not_sealed(shop, act):
    """Two readings agree with each other, and not with the lake."""
    shop.desk.extract()
    record = act(shop)
    closed = shop.close()
    [reason] = closed.reasons
    assert closed.state == "provisional"
    assert reason.text == "1 record is no longer listed by the service"
    [finding] = table(closed.folder, "checks")
    assert (finding["record_id"], finding["month"]) == (record["id"], "2026-10")
    assert [row["reading"] for row in table(closed.folder, "reading")] == ["single", "confirmed"]


@pytest.mark.thorough
@ACTS
def test_a_person_may_accept_it(shop, act):
    """The month is sealed with the record, and does not say that it was confirmed."""
    shop.desk.extract()
    shop.accept(RULE, act(shop)["id"], "the service says that it was a test")
    closed = shop.close()
    assert closed.state == "sealed" and not closed.needs_attention
    assert [row["reading"] for row in table(closed.folder, "reading")] == ["single", "confirmed"]
    assert verify_statement(closed.folder).holds


@pytest.mark.thorough
@ACTS
def test_of_a_sealed_month_every_door_says_it(shop, act):
    """Its figures are the same, so nothing is restated; once it is listed again, all holds."""
    sealed = shop.close()
    record = act(shop)
    again = shop.close()
    assert (again.state, again.seal, again.needs_attention) == ("unchanged", sealed.seal, True)
    assert "no longer listed" in again.reasons[0].text
    checked = verify_statement(sealed.folder)
    assert not checked.holds and not checked.broken
    assert "no longer listed" in checked.reasons[0].text
    assert [one.unlisted for one in lake_status(shop.desk.lake).streams] == [{"2026-10": 1}, {}]
    shop.desk.service.hidden.clear()
    shop.desk.service.payments = [
        *{each["id"]: each for each in [*shop.desk.service.payments, record]}.values()
    ]
    assert not shop.close().needs_attention and verify_statement(sealed.folder).holds


@pytest.mark.thorough
def test_a_payment_that_moved_into_a_sealed_month_is_a_finding_of_the_month_it_left(shop):
    """October is not sealed with it: neither of its readings has it."""
    shop.close_all_due(grace_hours=24 * 20)  # August and September
    shop.desk.extract()
    record = shop.desk.service.payments[2]
    record["paid_at"] = "2026-09-20T08:00:00Z"
    closed = shop.close()
    assert closed.state == "provisional" and "changed in money" in closed.reasons[0].text
    assert record["id"] not in [row["record_id"] for row in table(closed.folder, "lines")]


def test_an_empty_list_seals_nothing(shop):
    """Two empty readings agree with each other."""
    shop.desk.extract()
    service = shop.desk.service
    service.hidden = {each["id"] for each in [*service.payments, *service.payouts]}
    closed = shop.close()
    assert closed.state == "provisional" and "no longer listed" in closed.reasons[0].text


# ---------- one id listed twice, and only one version can be read


GOOD, LATER = payment(50, "2026-10-12T12:00:00Z", "9", "0"), "2026-10-13T12:00:00Z"


def unreadable(at: str) -> Record:
    return GOOD | {"paid_at": at, "amount": "1e1"}


def rejected(closer: Closer) -> list[Any]:
    return list(findings_of(closer.desk.lake, "record_could_be_held")["record_id"])


@pytest.mark.parametrize("page_size", sample([2, 1, 100], 3))
@pytest.mark.parametrize("at", sample(["2026-10-11T12:00:00Z", GOOD["paid_at"], LATER], 3))
@pytest.mark.parametrize("is_first", sample([True, False], 2))
def test_a_readable_version_does_not_resolve_one_of_the_same_reading(
    closer, at, page_size, is_first
):
    """In whatever order, and over the edges of pages; closing reads the month twice more."""
    pair = [unreadable(at), GOOD] if is_first else [GOOD, unreadable(at)]
    closer.desk.service.payments += pair
    closer.desk.service.page_size = lambda page: page_size
    closer.desk.extract()
    assert rejected(closer) == [GOOD["id"]]
    closed = closer.close()
    assert closed.state == "provisional" and rejected(closer) == [GOOD["id"]]
    assert any("could not be read exactly" in reason.text for reason in closed.reasons)


@pytest.mark.thorough
def test_a_version_that_a_later_reading_finds_mended_is_resolved(closer):
    """The service lists the readable one alone; listed again, the other is open again."""
    service, bad = closer.desk.service, unreadable("2026-10-11T12:00:00Z")
    service.payments.append(bad)
    assert closer.close().state == "provisional"
    service.payments[-1] = GOOD
    assert closer.close().state == "sealed" and rejected(closer) == []
    service.payments.append(bad)
    assert closer.close().state == "provisional" and rejected(closer) == [GOOD["id"]]


# ---------- how often months are read: the first alone, those behind it together


AUGUST, REST = ("2026-08", "2026-09"), ("2026-09", "2026-11")
SEPTEMBER, OCTOBER = ("2026-09", "2026-10"), ("2026-10", "2026-11")


def spans(asked: list[Request]) -> list[tuple[str, ...]]:
    """From which month to which each reading went, but the first, which brings all up to date."""
    bounds = ((request.start, request.end or 0) for request in asked[1:])
    return [tuple(format_instant(at)[:7] for at in span) for span in bounds]


@pytest.mark.thorough
def test_the_months_behind_the_first_are_read_together(closer):
    """Two readings for September and October, which are sealed as if each had been read alone.

    Each seal is the hash of its manifest, which names the seal of the month before.
    """
    found = closer.close_all_due()
    assert spans(closer.asked) == [AUGUST, AUGUST, REST, REST]
    assert [one.label for one in found] == ["2026-08", "2026-09", "2026-10"]
    assert {one.state for one in found} == {"sealed"}
    assert not [one for one in found if one.needs_attention]  # records without a USD value
    manifests = [read_manifest(one.folder) for one in found]
    assert [manifest["seal"] for manifest in manifests] == [seal_of(m) for m in manifests]
    assert [m["previous_seal"] for m in manifests] == [None, found[0].seal, found[1].seal]
    assert verify_statement(found[-1].folder).holds  # with all that it is chained to


def test_where_the_first_month_cannot_be_sealed_no_other_is_read(closer):
    """Its seal would have to be named by the next; a timer would read them all every day."""
    closer.desk.service.payments[0]["status"] = "disputed"
    assert [one.state for one in closer.close_all_due()] == ["provisional"]
    assert spans(closer.asked) == [AUGUST, AUGUST]


@pytest.mark.thorough
def test_months_that_move_while_they_are_read_together_are_read_alone(closer):
    """No two readings of both agree, but two of each do."""

    def read(request: Request) -> ExtractionResult:
        found = closer.read(request)
        found.is_confirmed &= spans([request, request]) != [REST]
        return found

    found = close_all_due(closer.desk.lake, read=read)
    assert spans(closer.asked)[2:] == [REST] * 3 + [SEPTEMBER] * 2 + [OCTOBER] * 2
    assert [one.state for one in found] == ["sealed"] * 3


@pytest.mark.thorough
def test_a_month_that_moves_at_each_reading_is_not_sealed(closer):
    """Nor are those behind it, although each other month was read twice alike."""

    def read(request: Request) -> ExtractionResult:
        found = closer.read(request)
        found.is_confirmed &= spans([request, request]) not in ([REST], [SEPTEMBER])
        return found

    found = close_all_due(closer.desk.lake, read=read)
    assert [one.state for one in found] == ["sealed", "provisional"]
    assert "it still changes" in found[-1].reasons[0].text


@pytest.mark.thorough
def test_a_month_behind_a_sealed_one_is_not_read_with_those_before(closer):
    """September has its seal and still holds: it is not read again for the sake of October."""
    closer.sealed("2026-09")
    closer.asked.clear()
    assert [one.state for one in closer.close_all_due()] == ["sealed", "unchanged", "sealed"]
    assert spans(closer.asked) == [AUGUST, AUGUST, OCTOBER, OCTOBER]


@pytest.mark.thorough
def test_months_of_many_records_are_read_alone(closer, monkeypatch):
    """A year of millions is sealed month by month: what is sealed stays, if the service fails."""
    monkeypatch.setattr(close, "MOST_TOGETHER", 2)
    closer.close_all_due()
    assert spans(closer.asked)[2:] == [SEPTEMBER] * 2 + [OCTOBER] * 2


def test_a_month_without_the_key_of_payouts_has_that_one_reason(closer):
    """While time passes, nothing changes between its readings, and nothing says that it did."""
    closer.desk.settings = replace(closer.desk.settings, payout_key=None)

    def read(request: Request) -> ExtractionResult:
        closer.desk.service.now += timedelta(minutes=1)
        return closer.read(request)

    [closed] = close_all_due(closer.desk.lake, read=read)
    said = "payout records were never extracted: every figure that needs them is unknown"
    assert [reason.text for reason in closed.reasons] == [said]


def test_a_month_whose_payouts_cannot_be_read_again_says_why(closer):
    """They were read once, with a key that is gone."""
    closer.desk.extract()
    closer.desk.settings = replace(closer.desk.settings, payout_key=None)
    [reason] = closer.close("2026-10").reasons
    assert reason.text.startswith("payout records could not be read again: it needs a payout")
