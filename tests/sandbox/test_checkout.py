"""Paying a session (contract, States; Payments; Receipts)."""

import base64
import json

import pytest

from svc_analytics.instants import DAY, HOUR
from svc_analytics.signing.receipts import verify_receipt


def test_payment_holds_every_figure_of_the_contract(shop):
    """20 USDT at 1 %: charged 20, fee 0.2, net 19.8, borne by the merchant."""
    payment = shop.paid(metadata={"cart": [1]})
    figures = {
        "amount": "20.000000",
        "charged_amount": "20.000000",
        "fee_amount": "0.200000",
        "net_amount": "19.800000",
        "fee_bearer": "merchant",
        "status": "completed",
        "reference_id": "order-a",
        "payer_id": shop.people["sara"].payer_id,
        "metadata": {"cart": [1]},
        "paid_at": "2026-11-20T12:00:00Z",
    }
    assert {name: payment[name] for name in figures} == figures


def test_payment_is_embedded_in_its_session_and_told_once(shop):
    """open to completed; the event has ids and a status, never an amount."""
    payment = shop.paid(metadata={"cart": 1})
    session = shop.service.sessions.read(shop.checkout, "order-a")
    assert (session["status"], session["payment"]) == ("completed", payment)
    event = shop.events()[-1]
    ids = {"event_id": event["event_id"], "session_id": session["id"], "payment_id": payment["id"]}
    told = {"type": "payment.completed", "reference_id": "order-a", "status": "completed"}
    assert event == {**ids, **told}


def test_receipt_verifies_offline_and_through_the_api(shop):
    """
    The token states all ten facts in the canonical order, and nothing else. It is signed with the
    receipt secret, not with the webhook's, which may be rotated meanwhile.
    """
    payment, account = shop.paid(), shop.service.account
    payload = payment["receipt"].split(".")[1]
    stated = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    names = "payment_id receipt_no merchant_id reference_id currency amount charged_amount"
    assert list(stated) == [*names.split(), "fee_bearer", "net_amount", "paid_at"]
    facts = {**payment, "payment_id": payment["id"], "merchant_id": account.merchant_id}
    assert verify_receipt(payment["receipt"], account.receipt_ring, facts).verdict == "valid"
    other = verify_receipt(payment["receipt"], account.webhook_ring, facts)
    assert other.verdict == "bad_signature"
    shop.platform.signing_secrets.rotate("webhook", shop.clock.now())
    shop.clock.advance(3 * DAY)
    answer = shop.service.verify_receipt(shop.checkout, {"receipt": payment["receipt"]})
    assert answer == {"valid": True, "payment": payment}


def test_quote_holds_until_the_session_expires(shop):
    """The rate of creation, a day and another price later: what was quoted is charged."""
    shop.bind()
    session = shop.session(amounts=None, price_usd="20", ttl_minutes=1440)
    quoted = {quote["currency"]: quote["amount"] for quote in session["amounts"]}
    shop.clock.advance(DAY - 1)
    later = shop.session("order-b", amounts=None, price_usd="20")
    assert later["amounts"] != session["amounts"]
    payment = shop.service.payment(shop.checkout, shop.confirm(session, currency="btc"))
    assert payment["charged_amount"] == quoted["btc"]


def test_receipt_of_every_secret_has_its_own_day(shop, refusal):
    """Delivery 8: a second rotation an hour later takes back nothing that was promised."""
    tokens = [shop.paid()["receipt"]]
    for reference in ("order-b", "order-c"):
        shop.clock.advance(HOUR)
        shop.platform.signing_secrets.rotate("receipt", shop.clock.now())
        tokens.append(shop.paid(reference)["receipt"])

    def verify(token):
        return shop.service.verify_receipt(shop.checkout, {"receipt": token})

    shop.clock.advance(DAY - HOUR - 1)
    assert all(verify(token)["valid"] for token in tokens)
    for expired, passed in enumerate((1, HOUR), start=1):
        shop.clock.advance(passed)
        for token in tokens[:expired]:
            assert refusal(verify, token) == (422, "PAY_RECEIPT_INVALID")
        assert all(verify(token)["valid"] for token in tokens[expired:])
    payments = {each["receipt"] for each in shop.service.records("payments")}
    assert payments >= {*tokens}  # each is still to be read with its payment


def test_payer_picks_one_of_the_sessions_coins(shop, refusal):
    """And pays exactly that figure; another coin is not accepted."""
    shop.bind()
    amounts = [{"currency": "usdt", "amount": "20"}, {"currency": "eth", "amount": "0.01"}]
    session = shop.session(amounts=amounts)
    refused = refusal(shop.confirm, session, currency="btc")
    assert refused == (422, "PAY_CURRENCY_NOT_ACCEPTED")
    payment_id = shop.confirm(session, currency="eth")
    payment = shop.service.payment(shop.checkout, payment_id)
    assert (payment["charged_amount"], payment["currency"]) == ("0.010000000000000000", "eth")


@pytest.mark.parametrize("person", ["sara", "omid", "owner"])
def test_only_the_bound_account_pays(shop, refusal, person):
    """
    Unbound: PAY_BINDING_REQUIRED; another account: MISMATCH; the business itself: SELF_PAYMENT.
    """
    session = shop.session()
    unbound = (422, "PAY_SELF_PAYMENT") if person == "owner" else (403, "PAY_BINDING_REQUIRED")
    assert refusal(shop.confirm, session, person) == unbound
    shop.bind("sara")
    if person == "sara":
        assert shop.confirm(session)
    else:
        own = (422, "PAY_SELF_PAYMENT") if person == "owner" else (403, "PAY_BINDING_MISMATCH")
        assert refusal(shop.confirm, session, person) == own


def test_second_factor_is_asked_for_when_told_so(shop, refusal):
    """TOTP_NOT_ENROLLED, TOTP_REQUIRED, TOTP_INVALID, and at last the payment."""
    shop.platform.settings["asks_totp"] = True
    shop.bind("sara")
    shop.bind("leila", "C-2")
    assert refusal(shop.confirm, shop.session()) == (403, "TOTP_NOT_ENROLLED")
    customer = {"id": "C-2", "name": "Leila Moradi", "email": "l@shop.example"}
    session = shop.session("order-b", customer=customer)
    assert refusal(shop.confirm, session, "leila") == (403, "TOTP_REQUIRED")
    assert refusal(shop.confirm, session, "leila", totp="000000") == (422, "TOTP_INVALID")
    assert shop.confirm(session, "leila", totp="246810")


def test_payer_cannot_spend_what_is_not_there(shop, refusal):
    """The payer's own wallet is checked in the transaction that would move it.

    A suspended business is not paid at all.
    """
    shop.bind()
    session = shop.session(amounts=[{"currency": "usdt", "amount": "10000000"}])
    assert refusal(shop.confirm, session) == (422, "INSUFFICIENT_BALANCE")
    shop.platform.settings["is_suspended"] = True
    assert refusal(shop.confirm, session) == (403, "MERCHANT_DISABLED")


def test_ceremony_belongs_to_an_open_session(shop, refusal):
    """Neither an expired nor a cancelled session links an account."""
    link, payer_id = shop.service.checkout.link, shop.people["sara"].payer_id
    shop.session()
    shop.service.sessions.cancel(shop.checkout, "order-a")
    assert refusal(link, "order-a", payer_id) == (409, "PAY_SESSION_STATE")
    shop.session("order-b")
    shop.clock.advance(HOUR)
    assert refusal(link, "order-b", payer_id) == (422, "PAY_SESSION_EXPIRED")
    assert shop.service.bindings.live("customer_id", "C-1") is None
