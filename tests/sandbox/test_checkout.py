"""Paying a session (contract, States; Payments; Receipts)."""

import base64
import json

import pytest

from svc_analytics.instants import DAY, HOUR
from svc_analytics.sandbox.service import receipt_facts
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import sign_receipt, verify_receipt


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


# ---------- receipts: signed as issued, verified as the contract says


UNPROVEN = (422, "PAY_RECEIPT_INVALID")


@pytest.fixture
def newest(service):
    return list(service.records("payments"))[-1]


@pytest.fixture
def facts(service, store, scenario, newest):
    stored = store.find(PAYMENTS, "id", newest["id"], scenario.until)
    return receipt_facts(stored, service.account)


@pytest.fixture
def secret(service, scenario):
    return service.account.receipt_secret(scenario.until)


@pytest.mark.parametrize("fact", ["amount", "merchant_id", "payment_id", "currency", "paid_at"])
def test_rightly_signed_receipt_with_another_fact_is_refused(
    service, checkout_key, facts, secret, refusal, fact
):
    """Verification also asks for a payment with matching facts."""
    other = {"amount": "1", "paid_at": "2026-01-01T00:00:00Z"}.get(fact, "other")
    token = sign_receipt({**facts, fact: other}, secret)
    assert refusal(service.verify_receipt, checkout_key, {"receipt": token}) == UNPROVEN


@pytest.mark.parametrize("place", [5, -50, -1], ids=["payload", "near_the_dot", "signature"])
def test_tampered_receipt_is_refused(service, checkout_key, newest, refusal, place):
    """One changed letter anywhere spoils a token."""
    letters = list(newest["receipt"])
    letters[place] = "A" if letters[place] != "A" else "B"
    token = "".join(letters)
    assert refusal(service.verify_receipt, checkout_key, {"receipt": token}) == UNPROVEN


def test_padded_receipt_is_refused(service, checkout_key, refusal):
    """The service wrote none of these, though they decode alike; every length is tried."""
    lengths = set()
    for payment in service.records("payments"):
        head, payload, mac = payment["receipt"].split(".")
        if len(payload) % 4 in lengths:
            continue
        lengths.add(len(payload) % 4)
        for end in ("=", "=="):
            for token in (f"{head}.{payload}{end}.{mac}", f"{head}.{payload}.{mac}{end}"):
                assert refusal(service.verify_receipt, checkout_key, {"receipt": token}) == UNPROVEN
    assert lengths == {0, 2, 3}


def test_no_repr_shows_a_key_or_secret(service, payout_key):
    """An account can be logged without giving its secrets away."""
    shown = repr(service.account) + json.dumps(service.me(payout_key))
    values = service.account.environment("x").values()
    assert not [value for value in values if value != "x" and value.partition("@")[0] in shown]


# ---------- bindings (contract, Customers and States)


REASON = {"reason": "the customer asked for it"}


@pytest.fixture
def read(shop):
    def call(customer_id="C-1"):
        return shop.service.bindings.read(shop.checkout, customer_id)

    return call


def test_customer_without_a_binding_has_the_state_none(read):
    """With `binding` null, whether the customer is known or not."""
    assert read("nobody") == {"customer_id": "nobody", "state": "none", "binding": None}


def test_matching_name_binds_at_once(shop, read):
    """none to active; the account shows only as a masked name, never as an email."""
    shop.bind()
    answer = read()
    binding = answer["binding"]
    assert (answer["state"], binding["status"], binding["match_passed"]) == (*["active"] * 2, True)
    assert binding["masked_name"] == "S*** R***"
    assert binding["bound_at"] == binding["created_at"] == "2026-11-20T12:00:00Z"
    assert "customers.example" not in str(answer)


def test_other_name_awaits_the_review(shop, read):
    """none to pending_review, and once approved to active, with its time on record."""
    shop.bind(supplied="Somebody Else")
    binding = read()["binding"]
    assert (binding["status"], binding["match_passed"]) == ("pending_review", False)
    assert (binding["bound_at"], binding["supplied_name"]) == (None, "Somebody Else")
    review = shop.service.bindings.review
    approved = review(shop.checkout, "C-1", {"action": "approve"})["binding"]
    assert (approved["status"], approved["reviewed_at"]) == ("active", "2026-11-20T12:00:00Z")
    assert read()["state"] == "active"


ENDS = {"rejected": "Somebody Else", "revoked": None}


@pytest.mark.parametrize("supplied", ENDS.values(), ids=ENDS.keys())
def test_rejected_or_revoked_binding_is_gone(shop, read, supplied):
    """The reason is on record, no replacement can be named, and a fresh ceremony can follow."""
    shop.bind(supplied=supplied)
    omid, bindings = shop.people["omid"].payer_id, shop.service.bindings
    told = {**REASON, "payer_id": omid, "replacement": omid}
    if supplied:
        ended = bindings.review(shop.checkout, "C-1", {"action": "reject", **told})
        assert ended["binding"]["status"] == "revoked"
    else:
        ended = bindings.revoke(shop.checkout, "C-1", told)
        assert ended == {"customer_id": "C-1", "state": "revoked"}
    assert read()["state"] == "none" and shop.events()[-1]["type"] == "binding.revoked"
    assert shop.platform.store.fetch("select reason from bindings") == [(REASON["reason"],)]
    assert shop.bind("omid").status == "active"


def test_binding_events_have_exactly_their_fields(shop):
    """event_id, type, binding_id, customer_id, status."""
    binding = shop.bind(supplied="Somebody Else")
    shop.service.bindings.review(shop.checkout, "C-1", {"action": "approve"})
    shop.service.bindings.revoke(shop.checkout, "C-1", REASON)
    told = {"review": "pending_review", "completed": "active", "revoked": "revoked"}
    for event, (name, status) in zip(shop.events(), told.items(), strict=True):
        ids = {"event_id": event["event_id"], "binding_id": binding.id, "customer_id": "C-1"}
        assert event == {**ids, "type": f"binding.{name}", "status": status}


def test_the_business_does_not_bind_itself(shop, refusal):
    """It could never pay."""
    assert refusal(shop.bind, "owner") == (422, "PAY_SELF_PAYMENT")


def test_native_name_matches_too(shop, read):
    """A name in its own letters is compared with the account's native name."""
    assert shop.bind(supplied="رحیمی سارا").status == "active"
    binding = read()["binding"]
    assert binding["supplied_name"] == binding["supplied_name_native"] == "رحیمی سارا"
    assert binding["masked_name"] == "S*** R***"
