"""Receipt verdicts: what a ring of secrets with dates and a record together prove."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, format_instant, parse_instant
from svc_analytics.language.catalogue import Language
from svc_analytics.signing.receipt_tokens import FACTS, MONEY_FACTS, WEBHOOK_SIGNED, verify_receipt
from svc_analytics.signing.secrets import parse_secrets
from tests.support.receipt_material import FACTS as RECORD, check, signed, token_of
from tests.support.unit_material import examples

ROTATED = "2026-08-15T00:00:00Z"  # when `new` came into force
ROTATED_AT = parse_instant(ROTATED)[0]
DATED = f"new@{ROTATED},old@2026-01-01T00:00:00Z"
DATED_RING = parse_secrets(DATED)


def paid(at: str) -> dict[str, Any]:
    return RECORD | {"paid_at": at}


BY_DATE = {
    "newest secret": ("new", "2026-09-01T00:00:00Z", "valid"),
    "newest secret, dated before it": ("new", "2026-03-01T00:00:00Z", "valid"),
    "old secret in its time": ("old", "2026-03-01T00:00:00Z", "valid_previous_secret"),
    "old secret at the rotation": ("old", ROTATED, "valid_previous_secret"),
    "old secret within 24 h": ("old", "2026-08-15T23:59:59.999999Z", "valid_previous_secret"),
    "old secret at 24 h": ("old", "2026-08-16T00:00:00Z", "valid_previous_secret"),
    "old secret after 24 h": ("old", "2026-08-16T00:00:00.000001Z", "bad_signature"),
    "older than the ring": ("older", "2025-12-31T23:59:59.999999Z", "proven_by_record"),
    "unknown secret within the ring": ("older", "2026-01-01T00:00:00Z", "bad_signature"),
    "unknown secret today": ("forged", "2026-11-01T00:00:00Z", "bad_signature"),
}
MARCH, NOVEMBER = "2026-03-01T00:00:00Z", "2026-11-01T00:00:00Z"
# A ring need not be dated; then no token is older than it. What was issued before the oldest
# known rotation is never called forged on age alone.
OF_OTHER_RINGS = {
    "newest": ("new", MARCH, "valid", "new,old"),
    "older": ("old", MARCH, "valid_previous_secret", "new,old"),
    "oldest of three": ("oldest", MARCH, "valid_previous_secret", "new,old,oldest"),
    "unknown": ("other", MARCH, "bad_signature", "new,old"),
    "older, the newest dated": ("old", MARCH, "valid_previous_secret", f"new@{ROTATED},old"),
    "the same secret twice": ("new", MARCH, "valid", "new,new"),
    "two rotations old": ("old", NOVEMBER, "bad_signature", f"new@{ROTATED},middle,old"),
    "so, in its time": ("old", ROTATED, "valid_previous_secret", f"new@{ROTATED},middle,old"),
    "ended by the next, not by the newest": (
        *("old", "2026-09-01T00:00:00Z", "bad_signature"),
        f"newest@2026-09-15,new@{ROTATED},old@2026-01-01",
    ),
    "before the oldest date": ("older", MARCH, "proven_by_record", f"new@{ROTATED},old"),
    "at the oldest date": ("older", ROTATED, "bad_signature", f"new@{ROTATED},old"),
}
ALL = {name: (*row, DATED) for name, row in BY_DATE.items()} | OF_OTHER_RINGS


@pytest.mark.parametrize(("secret", "at", "expected", "ring"), ALL.values(), ids=ALL)
def test_secret_verifies_what_its_dates_allow(secret, at, expected, ring):
    """H4: a previous secret counts until 24 h after its successor; before the ring, the record.

    In bulk as alone.
    """
    token, secrets = signed(paid(at), secret), parse_secrets(ring)
    assert verify_receipt(token, secrets, paid(at)).verdict == expected
    assert check([token], [paid(at)], secrets)[0].verdict == expected


def test_a_receipt_that_a_webhook_secret_verifies_tells_of_mixed_up_settings():
    """No receipt secret verifies it: its verdict is the same, and its reason names the setting."""
    token, hooks = token_of(RECORD, "hook"), parse_secrets("hook")
    verdict = verify_receipt(token, DATED_RING, RECORD, webhook_ring=hooks)
    assert (verdict.verdict, verdict.reason) == ("bad_signature", WEBHOOK_SIGNED)
    assert "SVC_RECEIPT_SECRETS" in verdict.reason


def test_no_ring_checks_nothing():
    """Without a receipt secret nothing is valid and nothing is forged."""
    assert verify_receipt(token_of(RECORD, "new"), (), RECORD).verdict == "not_checked"


WITHOUT_PAYMENT = [
    *(("new", ROTATED, "unknown_payment"), ("old", ROTATED, "unknown_payment")),
    *(("x", ROTATED, "bad_signature"), ("older", "2025-01-01T00:00:00Z", "unknown_payment")),
]


@pytest.mark.parametrize(("secret", "at", "expected"), WITHOUT_PAYMENT)
def test_without_a_payment_nothing_is_proven(secret, at, expected):
    """A forged token is forged all the same, ours is its own finding, and age proves nothing."""
    found = verify_receipt(token_of(paid(at), secret), DATED_RING, None)
    assert (found.verdict, found.is_proven) == (expected, False)


def test_bad_signature_tells_whether_the_facts_agree():
    """Beside a wrong secret the reason says whether the record holds the same facts."""
    token = token_of(paid(ROTATED), "forged")
    same = verify_receipt(token, DATED_RING, paid(ROTATED))
    other = verify_receipt(token, DATED_RING, paid(ROTATED) | {"net_amount": "1"})
    assert "the record holds the same facts" in same.reason and not same.differences
    assert "no record holds the same facts" in other.reason
    assert [difference.fact for difference in other.differences] == ["net_amount"]


def test_a_signature_of_a_secret_that_had_ended_is_told_from_that_of_a_stranger():
    """Neither is in force; the first was ours."""
    at = "2026-11-01T00:00:00Z"
    old, stranger = (
        verify_receipt(token_of(paid(at), secret), DATED_RING, paid(at)).reason
        for secret in ("old", "stranger")
    )
    assert old.startswith("signed by an older secret after it had expired")
    assert stranger.startswith("none of the receipt secrets signed it")


OTHER = dict.fromkeys(FACTS, "other") | dict.fromkeys(MONEY_FACTS, "12.500000000000000001")
OTHER["paid_at"] = "2026-10-05T09:30:00.000001Z"


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize("missing", [False, True], ids=["another value", "no value"])
def test_every_fact_is_compared(fact, missing):
    """H4: a right signature with one altered fact is a mismatch that names it and shows both."""
    value = None if missing else OTHER[fact]
    found = verify_receipt(token_of(RECORD, "new"), DATED_RING, RECORD | {fact: value})
    assert found.verdict == "facts_mismatch"
    (told,) = found.differences
    assert (told.fact, told.in_receipt, told.in_record) == (fact, RECORD[fact], value)
    coin = " usdt" if fact in MONEY_FACTS else ""
    stated = f"{RECORD[fact]}{coin}, the record says "
    assert f"{fact.replace('_', ' ')}: the receipt says {stated}" in found.reason
    held = "nothing" if value is None else value
    assert found.reason.endswith(f"the record says {held}")


def test_a_reason_says_what_both_say_of_the_first_facts():
    """In either language; one receipt of another payment differs in nearly all, which are named."""
    record = RECORD | {"charged_amount": "1173.313283"} | dict.fromkeys(FACTS[:3], "other\n\ud800")
    found = verify_receipt(token_of(RECORD, "new"), DATED_RING, record)
    said = "receipt no: the receipt says SVC-000042, the record says other ?"
    assert said in found.reason and found.reason.endswith("the record differs in charged_amount")
    alone = verify_receipt(
        token_of(RECORD, "new"), DATED_RING, RECORD | {"charged_amount": "1173.313283"}
    ).reason
    stated = "charged amount: the receipt says 12.50 usdt, the record says 1,173.313283"
    assert alone == f"correctly signed; {stated}"
    persian = Language("fa", "fa").translation(alone) or ""
    assert "مبلغ دریافتی: رسید \u2066۱۲٫۵۰\u2069 \u2066usdt\u2069 می‌گوید" in persian
    assert "\u2066۱٬۱۷۳٫۳۱۳۲۸۳\u2069" in persian


EQUAL = {
    "trailing zero": {"amount": "12.5"},
    "leading zero": {"amount": "012.50"},
    "decimal": {"amount": Decimal("12.500"), "net_amount": Decimal("12.370")},
    "microseconds": {"paid_at": parse_instant(RECORD["paid_at"])[0]},
    "another offset": {"paid_at": "2026-10-05T13:00:00+03:30"},
    "written with a fraction": {"paid_at": "2026-10-05T09:30:00.000Z"},
    "more zeros than a lake has places for": {"amount": "12.5000000000000000000"},
    "more properties": {"status": "completed", "fee_amount": "0.125"},
}


@pytest.mark.parametrize("record", EQUAL.values(), ids=EQUAL.keys())
def test_facts_compare_by_value(record):
    """`1.50` equals `1.5`, and an instant equals itself in any offset."""
    assert verify_receipt(token_of(RECORD, "new"), DATED_RING, RECORD | record).verdict == "valid"


UNEQUAL = {
    "amount is no number": {"amount": "abc"},
    "amount is a signalling NaN": {"amount": "sNaN"},
    "amount is a JSON number": {"amount": 12.5},
    "amount is a boolean": {"amount": True},
    "amount is a list": {"amount": [1, 2]},
    "amount with a blank": {"amount": " 12.50 "},
    "instant is no instant": {"paid_at": "yesterday"},
    "instant is a list": {"paid_at": []},
    "currency is a number": {"currency": 1},
    "currency in capitals": {"currency": "USDT"},
}


@pytest.mark.parametrize("record", UNEQUAL.values(), ids=UNEQUAL.keys())
def test_odd_record_is_a_mismatch(record):
    """A record that breaks the contract differs from the receipt; it is no exception."""
    found = verify_receipt(token_of(RECORD, "new"), DATED_RING, RECORD | record)
    assert found.verdict == "facts_mismatch"


def test_capitals_are_no_other_id_and_another_reference():
    """Ids are UUIDs in any capitals; what the shop wrote is compared letter by letter."""
    id_ = "389e7951-8625-44a0-a791-6bb5f443105e"
    record = RECORD | {"payment_id": id_, "reference_id": id_}
    token = token_of(record, "new")
    other_id = verify_receipt(token, DATED_RING, record | {"payment_id": id_.upper()})
    other = verify_receipt(token, DATED_RING, record | {"reference_id": id_.upper()})
    assert (other_id.verdict, other.verdict) == ("valid", "facts_mismatch")


@examples
@given(st.sampled_from(["new", "old", "forged"]), st.integers(-400 * DAY, 90 * DAY), st.booleans())
def test_proof_needs_equal_facts(secret, after, is_same):
    """Whatever the secret and the date, nothing is proven while a fact differs."""
    at = format_instant(ROTATED_AT + after)
    record = paid(at) if is_same else paid(at) | {"charged_amount": "99"}
    found = verify_receipt(token_of(paid(at), secret), DATED_RING, record)
    assert is_same or not found.is_proven
    assert secret != "forged" or found.verdict not in ("valid", "valid_previous_secret")


RINGS = {
    "none": ("", []),
    "one": ("a", [("a", None)]),
    "blanks and empty parts": (" a , ,b, ", [("a", None), ("b", None)]),
    "dates": (f"b@{ROTATED},a@1970-01-01T00:00:01Z", [("b", ROTATED_AT), ("a", 1_000_000)]),
    "an @ in a secret": ("p@ss", [("p@ss", None)]),
    "an @ in a dated secret": ("p@ss@1970-01-01T00:00:00Z", [("p@ss", 0)]),
    "one a line": ("b\na\n", [("b", None), ("a", None)]),
    "lines of Windows, and empty ones": ("b\r\n\r\n a \r\n", [("b", None), ("a", None)]),
    "lines and commas": ("c,b\na", [("c", None), ("b", None), ("a", None)]),
    "dates in lines": (f"b@{ROTATED}\na@1970-01-01", [("b", ROTATED_AT), ("a", 0)]),
    "quotes around each": ("\"b\"\n'a'", [("b", None), ("a", None)]),
    "quotes around all": ('"b,a"', [("b", None), ("a", None)]),
    "quotes before a date": ("'a'@1970-01-01", [("a", 0)]),
    "a quote in a secret": ("it's,o'neil", [("it's", None), ("o'neil", None)]),
    "blanks around an @": ("a @ 1970-01-01", [("a", 0)]),
    "an @ at the end": ("a@", [("a@", None)]),
    "an @ before a word": ("p@market", [("p@market", None)]),
    "what a date would be is dated": ("p@2026/01@1970-01-01", [("p@2026/01", 0)]),
    "only the newest dated": ("b@1970-01-01T00:00:00Z,a", [("b", 0), ("a", None)]),
}


@pytest.mark.parametrize(("text", "expected"), RINGS.values(), ids=RINGS.keys())
def test_ring_is_read_newest_first(text, expected):
    """Settings: secrets newest first, comma-separated, each may carry its instant."""
    ring = parse_secrets(text)
    assert [(entry.secret.reveal(), entry.valid_from) for entry in ring] == expected


def test_a_ring_with_an_empty_secret_is_refused():
    """It would verify anyone's MAC."""
    with pytest.raises(ConfigError):
        parse_secrets(f"@{ROTATED}")


NO_INSTANTS = [
    *("yesterday", "today", "Monday", "last week", "Aug", "15 August 2026", "august 15, 2026"),
    *("2026-13-01", "2026-8-15", "2026/08/15", "15.08.2026", "20260815", "2026-08", "2026"),
    *("2026-08-15T00:00:00", "2026-08-15 00:00", "2026-08-15-hush", "10:30", "1786752000"),
    "۱۴۰۵-۰۵-۲۴",
]


@pytest.mark.parametrize("date", NO_INSTANTS)
def test_a_date_that_is_no_instant_is_no_part_of_a_secret(date):
    """A secret of another name would verify nothing; the message shows no part of what may be one.

    Of several, each is looked at.
    """
    with pytest.raises(ConfigError, match="write 2026-08-15 or") as refused:
        parse_secrets(f"new@2026-09-01\ns3cret@{date}")
    shown = str(refused.value).replace("2026-08-15T00:00:00Z", "").replace("2026-08-15", "")
    assert date not in shown and "s3cret" not in shown
