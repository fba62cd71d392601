"""What the service answers to an id that its list lacks: gone, known, or nothing at all."""

import json
from typing import Any

import httpx
import pytest

import svc_analytics as svc
from svc_analytics.extraction import unlisted
from tests.support.closings import findings_of
from tests.support.desks import Desk
from tests.support.fake_service import MERCHANT_ID, Record, payment, refund, refusal
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
