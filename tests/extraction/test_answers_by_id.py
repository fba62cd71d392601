"""What the service answers to an id that its list lacks, and lists that lack many records."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

import svc_analytics as svc
from svc_analytics.extraction import plan, unlisted
from svc_analytics.schema import PAYMENTS
from svc_analytics.warehouse import models
from tests.support.closings import findings_of
from tests.support.desks import Desk
from tests.support.fake_service import (
    MERCHANT_ID,
    NOW,
    FakeService,
    Record,
    ids,
    payment,
    payout,
    refund,
    refusal,
)
from tests.support.receipt_material import SECRET, signed
from tests.support.rings import rings, sample

RULE = "record_is_still_listed"
HELD = payment(1, "2026-10-01T10:00:00Z")
OTHERS = [payment(n, f"2026-10-{n:02}T10:00:00Z") for n in range(2, 6)]


def asked(desk: Desk, answer: httpx.Response | None, *gone: Record) -> Any:
    """Read again without records, by the id of which the service answers so."""
    if not desk.lake.exists:
        desk.service.payments = [HELD, *OTHERS]
        desk.extract()
    names = {record["id"] for record in (gone or (HELD,))}
    desk.service.hidden = names
    desk.service.intercept = lambda request: (
        answer if request.url.path.rpartition("/")[2] in names else None
    )
    return desk.extract(rereads=True)


def told(desk: Desk) -> tuple[str, str]:
    """The state of the one record that is not listed, and what the finding says of it."""
    [state] = desk.lake.sql("select state from stg_unlisted")["state"]
    [detail] = findings_of(desk.lake, RULE)["detail"]
    return state, detail.removeprefix("the service no longer lists it, ")


GONE = {
    "404": refusal(404, "PAY_SESSION_NOT_FOUND"),
    "404 of another code": refusal(404, "PAY_PAYOUT_NOT_FOUND"),
    "410": refusal(410, "GONE"),
    "410 without a code": httpx.Response(410),
}


@pytest.mark.parametrize("answer", GONE.values(), ids=GONE.keys())
def test_no_such_record_is_gone(desk, answer):
    """404 and 410, as the service words them."""
    asked(desk, answer)
    assert told(desk) == ("gone", "and knows no record of this id")


REFUSED = {
    "403 FORBIDDEN": refusal(403, "FORBIDDEN"),
    "403 MERCHANT_DISABLED": refusal(403, "MERCHANT_DISABLED"),
    "409 PAY_SESSION_STATE": refusal(409, "PAY_SESSION_STATE"),
    "400": httpx.Response(400),
    "404": httpx.Response(404, text="<html>no such page</html>"),
    "404 MERCHANT_NOT_FOUND": refusal(404, "MERCHANT_NOT_FOUND"),
    "422 VALIDATION_FAILED, NEW_CODE": refusal(422, "VALIDATION_FAILED", "NEW_CODE"),
    "451": refusal(451),
    "302": httpx.Response(302, headers={"location": "https://elsewhere.example"}),
    "500 INTERNAL_SERVER_ERROR": refusal(500, "INTERNAL_SERVER_ERROR"),
    "503 MAINTENANCE_MODE": refusal(503, "MAINTENANCE_MODE"),
    "429 RATE_LIMITED": refusal(429, "RATE_LIMITED"),
}
SAYS_NOTHING = ", which is not this record and does not say that it is gone"


@pytest.mark.parametrize(("said", "answer"), REFUSED.items(), ids=REFUSED.keys())
def test_any_other_refusal_says_nothing_of_the_record(desk, said, answer):
    """It is not asked, never gone; the run goes on, and the finding says what was answered."""
    assert asked(desk, answer).needs_attention
    assert told(desk) == ("not asked", f"and asked for its id it answered {said}{SAYS_NOTHING}")


JSON = {"content-type": "application/json"}
NO_RECORDS: dict[str, Any] = {
    "an empty object": {},
    "a list": [HELD],
    "null": None,
    "a text": "completed",
    "another record": OTHERS[0],
    "a record within": {"data": HELD},
    "an error": {"statusCode": 404, "errors": {"error": ["PAY_SESSION_NOT_FOUND"]}},
    "no id": {name: value for name, value in HELD.items() if name != "id"},
    "an id alone": {"id": HELD["id"]},
    "no currency": {name: value for name, value in HELD.items() if name != "currency"},
    "currency is null": HELD | {"currency": None},
    "no time": HELD | {"paid_at": ""},
}


@pytest.mark.parametrize("body", NO_RECORDS.values(), ids=NO_RECORDS.keys())
def test_an_answer_that_is_no_record_is_not_set_aside(desk, body):
    """It says nothing of the record: no figure is unknown for it."""
    run = asked(desk, httpx.Response(200, text=json.dumps(body), headers=JSON))
    assert run.published.quarantined == 0 and not [*desk.lake.path.glob("quarantine/*/2*")]
    assert told(desk) == ("not asked", f"and asked for its id it answered 200{SAYS_NOTHING}")


def test_a_record_that_cannot_be_held_is_set_aside(desk):
    """All that the contract requires is there, of this id; its amount is no amount."""
    run = asked(desk, httpx.Response(200, json=HELD | {"amount": "1e3"}))
    assert run.published.quarantined == 1
    assert told(desk)[0] == "known"


@pytest.mark.parametrize("answer", sample([refusal(403), refusal(503)], 2))
def test_a_refusal_takes_no_earlier_word_back(desk, answer):
    """What was gone yesterday is not known today because the service is busy."""
    asked(desk, refusal(404, "PAY_SESSION_NOT_FOUND"))
    assert not asked(desk, answer).needs_attention
    assert told(desk)[0] == "gone"


def test_an_id_that_the_service_fails_at_keeps_no_other_from_its_turn(desk):
    """It is asked for last from then on."""
    answers = {HELD["id"]: refusal(500, "INTERNAL_SERVER_ERROR")}
    asked(desk, refusal(500, "INTERNAL_SERVER_ERROR"), HELD, *OTHERS[:2])
    desk.service.intercept = lambda request: answers.get(request.url.path.rpartition("/")[2])
    desk.extract(rereads=True)
    states = desk.lake.sql("select state from stg_unlisted order by booked_at")["state"]
    assert [*states] == ["not asked", "known", "known"]


def test_only_some_are_asked_for_again(desk, monkeypatch):
    """Of what it has told of, the service is asked for a few at each run."""
    monkeypatch.setattr(unlisted, "AGAIN", 2)
    for _ in range(2):
        asked(desk, None, HELD, *OTHERS)
    asked_for = [path for path in desk.service.paths() if path.startswith("/payments/")]
    assert len(asked_for) == 2


PAID = "2026-10-05T09:30:00Z"
RETURNED = "2026-10-06T00:00:00Z"
Record = dict[str, str]


def capitals(record: Record, *names: str) -> Record:
    return record | {name: record[name].upper() for name in names}


def facts_of(record: Record) -> Record:
    stated = {name: str(record[name]) for name in record}
    return stated | {"payment_id": stated["id"], "merchant_id": MERCHANT_ID}


@pytest.mark.parametrize(
    "names", rings([["id", "payment_id"]], [["id"], ["payment_id"]]), ids=" and ".join
)
def test_a_refund_finds_its_payment_in_either_spelling(service, desk, names):
    """The payment of 10 in capitals, or named so by its refund of 4: nothing is unresolved."""
    paid = payment(1, PAID)
    returned = refund(1, paid, RETURNED, "4")
    service.payments = [capitals(paid, "id") if "id" in names else paid]
    service.payouts = [capitals(returned, "payment_id") if "payment_id" in names else returned]
    desk.extract()
    [row] = desk.lake.sql("from refunds").to_dict("records")
    assert (row["amount"], row["payment_month"]) == (4, "2026-10")


def test_one_payment_listed_in_two_spellings_is_one_record(service, desk):
    """On one page, on two, and in a later run."""
    paid = payment(1, PAID)
    for listed in ([paid, capitals(paid, "id")], [capitals(paid, "id")], [paid]):
        service.payments = [*listed, payment(2, PAID)]
        desk.extract(rereads=True)
        assert len(desk.ids()) == 2
    assert findings_of(desk.lake, "record_was_not_restated").empty


@pytest.mark.parametrize(
    "names", [("payment_id",), ("merchant_id",), ("payment_id", "merchant_id")]
)
def test_a_receipt_in_capitals_proves_its_payment(service, desk, names):
    """The signature is over the text as it came; the facts are compared as ids."""
    paid = payment(1, PAID)
    token = signed(capitals(facts_of(paid), *names))
    service.payments = [paid | {"receipt": token}]
    desk.extract()
    verdicts = svc.verify_receipts([token], secrets=[SECRET], lake=desk.lake)
    assert list(verdicts["verdict"]) == ["valid"]


# ---------- a list that lacks many records: one finding names them, and nothing is lost


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
