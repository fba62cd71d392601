"""A list that lacks many records: new money is read, one finding names them, nothing is lost.

What was not read before stays provisional until they are listed again or a person accepts it.
"""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.extraction import plan
from svc_analytics.schema import PAYMENTS
from svc_analytics.warehouse import models
from tests.support.closings import findings_of
from tests.support.desks import Desk
from tests.support.fake_service import NOW, FakeService, Record, ids, payment, payout
from tests.support.rings import sample

EACH, MANY = "record_is_still_listed", "listed_records_remain"
TODAY = "2026-11-20"


def day(number: int, count: int, date: str = TODAY) -> list[Record]:
    """Payments of one day, one a minute."""
    times = (f"{date}T{minute // 60:02}:{minute % 60:02}:00Z" for minute in range(count))
    return [payment(number + place, at) for place, at in enumerate(times)]


def found(desk: Desk, *rules: str) -> list[dict[str, Any]]:
    return findings_of(desk.lake, *(rules or (EACH, MANY))).to_dict("records")


def accept(desk: Desk, *findings: dict[str, Any]) -> None:
    """Write by hand what a person accepts, as `check --json` prints it."""
    rows = [
        f"{each['check_name']},{each['record_id']},tests,Mina,2026-11-21,{each['content']}"
        for each in findings
    ]
    lines = ["check,record_id,reason,by,at,content", *rows]
    Path(desk.lake.path, "acknowledgements.csv").write_text("\n".join(lines) + "\n")


def next_day(desk: Desk, **request: Any) -> Any:
    """Let a day pass on which one more payment is made, and read."""
    assert desk.service.now
    desk.service.now += timedelta(days=1)
    made = desk.service.now - timedelta(hours=1)
    desk.service.payments.append(payment(9_000 + made.day, f"{made:%Y-%m-%dT%H:%M:%SZ}"))
    return desk.extract(**request)


@pytest.fixture
def purged(desk) -> Desk:
    """25 of 30 payments of the newest day are removed for good, once they were read."""
    desk.service.payments = [payment(1_000, "2026-10-05T10:00:00Z"), *day(0, 30)]
    desk.extract()
    desk.service.payments = desk.service.payments[:1] + desk.service.payments[26:]
    return desk


def test_new_money_is_read_behind_a_purge_and_nothing_is_removed(purged):
    """Eight days: each run ends with 3 and reads the day's payment, and one finding stands."""
    for number in range(1, 9):
        run = next_day(purged)
        assert run.needs_attention and len(purged.ids()) == 31 + number
        said = f"the service no longer lists 25 of the {30 + number} payments of 2026-11"
        assert run.short_lists["payments"].text.startswith(said)
    [finding] = found(purged)
    assert (finding["check_name"], finding["record_id"]) == (MANY, "payments 2026-11")
    assert (finding["severity"], finding["month"]) == ("blocking", "2026-11")
    assert "no longer lists 25 records" in finding["detail"]
    assert "it knows 0, does not know 25, and did not say of 0" in finding["detail"]


def test_on_the_word_of_a_short_list_nothing_more_is_complete(purged):
    """The days behind the hole are read, provisionally, until a person accepts it."""
    [before] = purged.lake.coverage(PAYMENTS).complete
    next_day(purged), next_day(purged)
    coverage = purged.lake.coverage(PAYMENTS)
    assert coverage.complete == (before,) and len(coverage.read) == 1
    accept(purged, *found(purged))
    run = next_day(purged)
    assert not run.needs_attention and not run.short_lists
    assert not purged.lake.coverage(PAYMENTS).provisional[0][0] < before[1]


def test_once_they_are_listed_again_all_is_as_before(purged):
    """A list that was broken for a while needs no person, and nothing is missing."""
    gone = day(0, 25)
    next_day(purged)
    purged.service.payments += gone
    assert not next_day(purged).needs_attention
    assert found(purged) == [] and purged.ids() == ids(purged.service.payments)
    [complete] = purged.lake.coverage(PAYMENTS).complete
    assert complete[1] > purged.lake.coverage(PAYMENTS).read[0][1] - 10**9


def test_what_vanishes_behind_an_acceptance_is_another_finding(purged):
    """The digest is of each id and of what the service says of it."""
    next_day(purged)
    [first] = found(purged)
    accept(purged, first)
    purged.service.payments.remove(day(0, 30)[27])
    assert purged.extract(rereads=True).short_lists
    [second] = found(purged)
    assert second["record_id"] == first["record_id"] and second["content"] != first["content"]
    accept(purged, second)
    assert not purged.extract(rereads=True).needs_attention
    purged.service.payments += day(0, 30)[:26]
    purged.service.hidden = set(ids(day(0, 26)))  # known by their ids, and not listed
    assert purged.extract(rereads=True).short_lists
    assert found(purged)[0]["content"] != second["content"]


def test_who_accepts_without_a_digest_accepts_what_was_seen_by_then(purged):
    """A line of five columns, as earlier releases wrote it."""
    next_day(purged)
    line = f"{MANY},payments 2026-11,tests,Mina,2026-11-23"
    Path(purged.lake.path, "acknowledgements.csv").write_text(
        f"check,record_id,reason,by,at\n{line}\n"
    )
    assert not next_day(purged).short_lists
    purged.service.now += timedelta(days=3)
    purged.service.payments.remove(day(0, 30)[27])
    assert purged.extract(rereads=True).short_lists


def cut(service: FakeService, count: int) -> None:
    del service.payments[:count]


PURGES: dict[str, tuple[int, Callable[[FakeService], object], int, bool]] = {
    "20 of 30": (30, lambda service: cut(service, 20), 20, False),
    "21 of 30": (30, lambda service: cut(service, 21), 1, True),
    "21 of 400": (400, lambda service: cut(service, 21), 1, True),
    "21 of 1,400": (1_400, lambda service: cut(service, 21), 1, True),
    "a whole month": (40, lambda service: cut(service, 40), 1, True),
    "1,200 of 1,201": (1_201, lambda service: cut(service, 1_200), 1, True),
}


@pytest.mark.parametrize(
    ("count", "purge", "findings", "is_short"), sample(PURGES.values(), 2), ids=PURGES.keys()
)
def test_more_than_twenty_of_a_month_are_one_finding_and_a_short_list(
    desk, count, purge, findings, is_short
):
    """Of few records each is a finding of its own, and the list counts as whole."""
    desk.service.payments = [*day(0, count, "2026-10-05"), payment(9_999, f"{TODAY}T10:00:00Z")]
    desk.extract()
    purge(desk.service)
    run = desk.extract(rereads=True)
    assert run.needs_attention and bool(run.short_lists) == is_short
    assert len(found(desk)) == findings and len(desk.ids()) == count + 1
    assert len(run.unlisted["payments"]) == count + 1 - len(desk.service.payments)


def test_each_stream_and_month_has_its_own_finding(desk):
    """A person may accept one and not the other."""
    months = ("2026-08", "2026-09", "2026-10")
    service = desk.service
    for place, label in enumerate(months):
        service.payments += day(100 * place, 30, f"{label}-10")
        service.payouts += [
            payout(100 * place + n, f"{label}-1{n % 9}T10:00:00Z") for n in range(30)
        ]
    desk.extract()
    service.payments, service.payouts = service.payments[60:62], service.payouts[:30]
    run = desk.extract(rereads=True)
    names = [f"{name} {label}" for name in ("payments", "payout_records") for label in months]
    assert sorted(each["record_id"] for each in found(desk)) == sorted({*names} - {names[3]})
    assert "of 2026-08 to 2026-10" in run.short_lists["payments"].text
    accept(desk, *(each for each in found(desk) if "payout" in each["record_id"]))
    assert [*desk.extract(rereads=True).short_lists] == ["payments"]


def test_what_was_accepted_one_by_one_stays_accepted(purged):
    """Those that nobody has accepted are not enough for one finding then."""
    purged.service.payments += day(0, 25)[5:]
    purged.extract()
    accept(purged, *found(purged))
    del purged.service.payments[-20:]
    run = purged.extract()
    assert [each["check_name"] for each in found(purged)] == [EACH] * 25
    assert len(run.unlisted["payments"]) == 20 and not run.short_lists


def test_an_empty_list_of_what_it_knows_by_id_is_short(desk):
    """The service contradicts itself, of however few records; it mends itself."""
    desk.service.payments = day(0, 3)
    desk.extract()
    desk.service.hidden = set(ids(desk.service.payments))
    desk.service.now = NOW + timedelta(days=1)
    said = "the service no longer lists 3 of the 3 payments"
    assert desk.extract().short_lists["payments"].text.startswith(said)
    assert len(found(desk, EACH)) == 3
    desk.service.hidden.clear()
    assert not desk.extract().needs_attention and found(desk) == []


def test_the_rule_and_the_run_call_as_many_many():
    """One counts in SQL, the other in Python."""
    sql = next(each.sql for each in models.read_all_models() if each.name == "stg_unlisted")
    assert f"> {plan.FEW}\n" in sql and f"'{plan.EACH}'" in sql
    assert {plan.EACH, plan.MANY} <= {rule.name for rule in models.read_checks()}
