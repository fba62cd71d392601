"""Months of which the service no longer lists a record: not sealed, and said of a sealed one."""

from typing import Any

import pytest

from svc_analytics import verify_statement
from svc_analytics.errors import IncompleteList
from svc_analytics.lake.status import lake_status
from tests.support.closings import LEDGER, Closer, table
from tests.support.fake_service import Record, payment
from tests.support.findings import findings_of
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
    assert reason.text == f"1 record is no longer listed by the service ({RULE})"
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
    assert RULE in again.reasons[0].text
    checked = verify_statement(sealed.folder)
    assert not checked.holds and not checked.broken and RULE in checked.reasons[0].text
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
    assert closed.state == "provisional" and "record_was_not_restated" in closed.reasons[0].text
    assert record["id"] not in [row["record_id"] for row in table(closed.folder, "lines")]


def test_an_empty_list_seals_nothing(shop):
    """Two empty readings agree with each other."""
    shop.desk.extract()
    service = shop.desk.service
    service.hidden = {each["id"] for each in [*service.payments, *service.payouts]}
    with pytest.raises(IncompleteList):
        shop.close()
    assert not (shop.desk.lake.path / "statements").exists()


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
    assert any("record_could_be_held" in reason.text for reason in closed.reasons)


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
