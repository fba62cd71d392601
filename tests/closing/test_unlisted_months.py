"""Months of which the service no longer lists a record: not sealed, and said of a sealed one."""

from collections.abc import Callable

import pytest

from svc_analytics import verify_statement
from svc_analytics.errors import IncompleteList
from svc_analytics.lake.status import lake_status
from tests.support.closings import LEDGER, Closer, table
from tests.support.fake_service import Record
from tests.support.rings import sample

RULE = "record_is_still_listed"
MORE = " payment  btc       1       0.01  2026-10-15T09:00\n"


@pytest.fixture
def shop(closer: Closer) -> Closer:
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


Act = Callable[[Closer], Record]
ACTS = pytest.mark.parametrize("act", sample([withdraw, hide], 2))


@ACTS
def test_a_month_without_a_record_of_the_lake_is_not_sealed(shop: Closer, act: Act) -> None:
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
def test_a_person_may_accept_it(shop: Closer, act: Act) -> None:
    """The month is sealed with the record, and does not say that it was confirmed."""
    shop.desk.extract()
    shop.accept(RULE, act(shop)["id"], "the service says that it was a test")
    closed = shop.close()
    assert closed.state == "sealed" and not closed.needs_attention
    assert [row["reading"] for row in table(closed.folder, "reading")] == ["single", "confirmed"]
    assert verify_statement(closed.folder).holds


@pytest.mark.thorough
@ACTS
def test_of_a_sealed_month_every_door_says_it(shop: Closer, act: Act) -> None:
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
def test_a_payment_that_moved_into_a_sealed_month_is_a_finding_of_the_month_it_left(
    shop: Closer,
) -> None:
    """October is not sealed with it: neither of its readings has it."""
    shop.close_all_due(grace_hours=24 * 20)  # August and September
    shop.desk.extract()
    record = shop.desk.service.payments[2]
    record["paid_at"] = "2026-09-20T08:00:00Z"
    closed = shop.close()
    assert closed.state == "provisional" and "record_was_not_restated" in closed.reasons[0].text
    assert record["id"] not in [row["record_id"] for row in table(closed.folder, "lines")]


def test_an_empty_list_seals_nothing(shop: Closer) -> None:
    """Two empty readings agree with each other."""
    shop.desk.extract()
    service = shop.desk.service
    service.hidden = {each["id"] for each in [*service.payments, *service.payouts]}
    with pytest.raises(IncompleteList):
        shop.close()
    assert not (shop.desk.lake.path / "statements").exists()
