"""Payouts, refunds and recipient lookups (contract, Payouts and refunds)."""

import base64
import hashlib
import hmac
from collections import defaultdict
from decimal import Decimal

import pytest

from svc_analytics.instants import DAY, MINUTE
from svc_analytics.sandbox.customers import BUSINESS, OUTSIDE

NOBODY = "7c3a2828-e243-4264-94c9-68ce0bd58683"
NO_RECIPIENT = (422, "PAY_RECIPIENT_INVALID")
DISABLED = (403, "MERCHANT_PAYOUTS_DISABLED")
POOR = (422, "INSUFFICIENT_BALANCE")


@pytest.fixture
def look_up(shop):
    """Recipient lookup of one of the platform's people, with the email path open."""
    shop.platform.settings["payout_scope"] = "any"

    def call(name="sara"):
        body = {"email": f"{name}@customers.example"}
        return shop.service.lookups.create(shop.payout, body)

    return call


def by_token(found, **changes):
    body = {
        "recipient_token": found["recipient_token"],
        "recipient_confirm": found["masked_name"],
        "payer_id": None,
    }
    return {**body, **changes}


def test_payout_charges_its_fee_on_top(shop):
    """5 USDT at 1 %: who paid gets 5, the wallet loses 5.05; the shop need not accept the coin."""
    payer_id = shop.paid()["payer_id"]
    shop.platform.settings["accepted_currencies"] = ["btc"]
    record = shop.pay_out(comment="thanks", payer_id=payer_id)
    figures = {
        "payer_id": payer_id,
        "currency": "usdt",
        "kind": "payout",
        "status": "completed",
        "amount": "5.000000",
        "fee_amount": "0.050000",
        "fee_percent": "1.00",
        "debited_amount": "5.050000",
        "payment_id": None,
        "comment": "thanks",
        "reference_id": "out-a",
        "created_at": record["settled_at"],
    }
    assert {name: record[name] for name in figures} == figures
    assert shop.service.payouts(shop.payout, {"limit": "1"})["data"] == [record]
    for name in ("id", "reference_id"):
        assert shop.service.payout(shop.payout, record[name]) == record


def test_refund_costs_nothing_and_names_its_payment(shop):
    """Debited what is refunded; the fee is kept, and no request field can redirect the money."""
    payment, other = shop.paid(), shop.people["omid"].payer_id
    record = shop.refund(payment, "7.5", comment="broken", payer_id=other, currency="btc")
    figures = {
        "kind": "refund",
        "amount": "7.500000",
        "debited_amount": "7.500000",
        "fee_amount": "0",
        "fee_percent": "0",
        "payment_id": payment["id"],
        "payer_id": payment["payer_id"],
        "currency": "usdt",
        "comment": "broken",
    }
    assert {name: record[name] for name in figures} == figures


@pytest.mark.parametrize("kind", ["payout", "refund"])
def test_each_outflow_tells_one_event(shop, kind):
    """payout.completed with the kind, also for refunds."""
    record = shop.pay_out() if kind == "payout" else shop.refund(shop.paid(), "1")
    event = shop.events()[-1]
    ids = {"event_id": event["event_id"], "payout_id": record["id"]}
    told = {"reference_id": record["reference_id"], "kind": kind, "status": "completed"}
    assert event == {**ids, "type": "payout.completed", **told}


def test_reference_of_the_past_or_of_a_refund_is_taken(shop, refusal):
    """Payouts and refunds share one space of references."""
    past = next(row for row in shop.service.records("payout_records") if row["reference_id"])
    shop.refund(shop.paid(), "1")
    for reference in (past["reference_id"], "back-a"):
        assert refusal(shop.pay_out, reference) == (409, "PAY_DUPLICATE_REFERENCE")


@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        ({"amount": "0"}, (422, "PAY_AMOUNT_INVALID")),
        ({"amount": "-5"}, (422, "PAY_AMOUNT_INVALID")),
        ({"amount": "5.0000001"}, (422, "PAY_AMOUNT_INVALID")),
        ({"currency": "irt"}, (422, "PAY_CURRENCY_NOT_ACCEPTED")),
        ({"currency": "xmr"}, (422, "PAY_CURRENCY_NOT_ACCEPTED")),
        ({"payer_id": None, "recipient_token": "x"}, NO_RECIPIENT),
        ({"payer_id": NOBODY}, NO_RECIPIENT),
        ({"payer_id": None}, NO_RECIPIENT),
        ({"payer_id": NOBODY, "recipient_token": "x"}, NO_RECIPIENT),
    ],
    ids=lambda value: str(value)[:50],
)
def test_each_rule_of_a_payout_has_its_code(shop, refusal, changes, answer):
    """Amount, coin and recipient; neither way to one is refused like both."""
    assert refusal(shop.pay_out, **changes) == answer


@pytest.mark.parametrize(
    ("name", "value", "answer"),
    [
        *(("is_rail_enabled", False, DISABLED), ("is_suspended", True, DISABLED)),
        *((name, None, DISABLED) for name in ("payout_max_usd", "payout_day_usd")),
        ("payouts_armed", False, DISABLED),
        ("absent_rates", ["usdt"], (503, "PAY_RATE_UNAVAILABLE")),
    ],
)
def test_payouts_that_are_not_armed_are_refused(shop, refusal, name, value, answer):
    """Rule 5, each of its causes; and rule 9: without a rate none is sent unmetered."""
    shop.platform.settings[name] = value
    assert refusal(shop.pay_out) == answer


def test_payouts_are_held_to_both_limits(shop, refusal):
    """Rule 7: per payout, and over the trailing 24 hours; a day later there is room again."""
    shop.platform.settings["payout_max_usd"] = 10
    shop.platform.settings["payout_day_usd"] = 15
    over = (422, "PAY_PAYOUT_LIMIT")
    assert refusal(shop.pay_out, amount="11") == over
    shop.pay_out("out-a", "9")
    assert refusal(shop.pay_out, "out-b", "9") == over
    shop.clock.advance(DAY - 1)
    assert refusal(shop.pay_out, "out-b", "9") == over
    shop.clock.advance(1)
    assert shop.pay_out("out-b", "9")["amount"] == "9.000000"


def test_wallet_must_cover_amount_and_fee(shop, refusal):
    """Rule 8: with 1.01 TON at a fee of 1 % it is 1 TON that can be sent, and not a unit more."""
    assert refusal(shop.pay_out, currency="ton", amount="1") == POOR
    flows = {OUTSIDE: -1_010_000_000, BUSINESS: 1_010_000_000}
    shop.platform.wallet.move("deposit", shop.clock.now(), "ton", flows)
    assert refusal(shop.pay_out, currency="ton", amount="1.000000001") == POOR
    assert shop.pay_out(currency="ton", amount="1")["debited_amount"] == "1.010000000"


def test_wallet_must_cover_a_refund(shop, refusal):
    """What was paid in may have been sent on since."""
    payment, held = shop.paid(), shop.balance(BUSINESS)
    shop.platform.wallet.move("sent on", shop.clock.now(), "usdt", {BUSINESS: -held, OUTSIDE: held})
    assert refusal(shop.refund, payment, "0.000001") == POOR


def test_each_rule_of_a_refund_has_its_code(shop, refusal):
    """Cap and amount; a payment that is not there is told like any other object."""
    number = {"id": shop.paid()["receipt_no"]}
    assert refusal(shop.refund, number, "20.000001") == (422, "PAY_REFUND_EXCEEDS_PAYMENT")
    assert refusal(shop.refund, number, "0") == (422, "PAY_AMOUNT_INVALID")
    unknown = refusal(shop.refund, {"id": "SVC-999999999"}, "1")
    assert unknown == (404, "PAY_SESSION_NOT_FOUND")


def test_refund_of_the_past_counts_what_was_refunded_then(shop, refusal):
    """A payment fully refunded in the seeded past has nothing left."""
    payment = shop.service.payment(shop.payout, _fully_refunded(shop)[0])
    decimals = len(payment["charged_amount"].partition(".")[2])
    answer = refusal(shop.refund, payment, f"0.{1:0{decimals}}")
    assert answer == (422, "PAY_REFUND_EXCEEDS_PAYMENT")


def test_suspended_business_refunds_nothing(shop, refusal):
    """But payouts need not be armed for a refund, nor its coin have a rate."""
    payment = shop.paid()
    shop.platform.settings["payouts_armed"] = False
    shop.platform.settings["absent_rates"] = ["usdt"]
    assert shop.refund(payment, "1")["usd_value"] is None
    shop.platform.settings["is_suspended"] = True
    assert refusal(shop.refund, payment, "1", "later") == (403, "MERCHANT_DISABLED")


def test_looked_up_recipient_is_paid(shop, look_up):
    """The token with the masked name echoed; no email stands in token or answer."""
    found = look_up()
    assert found["masked_name"] == "S*** R***" and shop.events() == []
    assert found["expires_at"] == "2026-11-20T12:10:00Z"
    record = shop.pay_out(**by_token(found))
    assert record["payer_id"] == shop.people["sara"].payer_id


def test_token_expires_after_ten_minutes(shop, look_up, refusal):
    """Valid until then, refused from then on."""
    found = look_up()
    shop.clock.advance(10 * MINUTE - 1)
    shop.pay_out(**by_token(found))
    shop.clock.advance(1)
    assert refusal(lambda: shop.pay_out("out-b", **by_token(found))) == NO_RECIPIENT


@pytest.mark.parametrize("flaw", ["confirm", "altered", "respelt", "foreign", "garbage"])
def test_token_must_be_ours_and_confirmed(shop, look_up, refusal, flaw):
    """Rule 3: one code for a mismatch, a forgery and another merchant's token."""
    found = look_up()
    token = found["recipient_token"]
    changes = {
        "confirm": {"recipient_confirm": "s*** R***"},
        "altered": {"recipient_token": ("A" if token[0] != "A" else "B") + token[1:]},
        "respelt": {"recipient_token": f"{token}!"},  # what a lax decoder skips
        "foreign": {"recipient_token": _foreign(shop, token)},
        "garbage": {"recipient_token": "€"},
    }
    assert refusal(lambda: shop.pay_out(**by_token(found, **changes[flaw]))) == NO_RECIPIENT


def test_token_path_needs_the_scope(shop, look_up, refusal):
    """Rule 2: also for a token minted while it was open."""
    found = look_up()
    shop.platform.settings["payout_scope"] = "payers"
    assert refusal(lambda: shop.pay_out(**by_token(found))) == DISABLED
    assert refusal(look_up) == DISABLED


@pytest.mark.parametrize("name", ["nobody", "disabled", "unverified", "owner"])
def test_recipients_that_cannot_be_paid_answer_alike(look_up, refusal, name):
    """One code, so that nobody learns who has an account."""
    assert refusal(look_up, name) == NO_RECIPIENT


def test_lookups_are_metered_by_minute_and_day(shop, look_up, refusal):
    """10 a minute and 12 a day here; payouts by payer_id are unaffected."""
    shop.platform.settings["lookups_per_day"] = 12
    throttled = (429, "PAY_LOOKUP_THROTTLED")
    for _ in range(10):
        look_up()
    assert refusal(look_up) == throttled
    shop.clock.advance(MINUTE)
    assert look_up() and look_up()
    assert refusal(look_up) == throttled
    assert shop.pay_out()
    shop.clock.advance(DAY)
    assert look_up()


def _fully_refunded(shop):
    left = {row["id"]: Decimal(row["charged_amount"]) for row in shop.service.records("payments")}
    refunds = defaultdict(Decimal)
    for row in shop.service.records("payout_records"):
        if row["kind"] == "refund":
            refunds[row["payment_id"]] += Decimal(row["amount"])
    return [payment_id for payment_id, sum_ in refunds.items() if left[payment_id] == sum_]


def _foreign(shop, token):
    """The same claim, sealed by another merchant."""
    raw = base64.urlsafe_b64decode(token)
    seal = hmac.new(b"recipient:another merchant", raw[32:], hashlib.sha256).digest()
    return base64.urlsafe_b64encode(seal + raw[32:]).decode()
