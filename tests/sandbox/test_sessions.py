"""Sessions, payments, receipts and bindings (contract, Sessions to Customers, States)."""

import base64
import json

import pytest

from svc_analytics.instants import DAY, HOUR, MINUTE, SECOND
from svc_analytics.signing.receipt_tokens import sign_receipt, verify_receipt


@pytest.fixture
def refused(shop, refusal):
    """What a session request is refused with, by the members it changes."""
    create = shop.service.sessions.create
    return lambda **changes: refusal(create, shop.checkout, shop.order(**changes))


def test_session_holds_what_was_asked(shop):
    """Amounts come back with all of a coin's decimals, optional members as they were sent.

    It is read by its UUID, in letters of any case, or by its reference_id.
    """
    sent = {"description": "Green", "return_url": "https://shop.example/a", "metadata": {"n": 1}}
    session = shop.session(**sent)
    asked = {"status": "open", "title": "Tea", "pricing_mode": "amounts", **sent}
    assert session.items() >= asked.items()
    [amount] = session["amounts"]
    assert (amount["currency"], amount["amount"]) == ("usdt", "20.000000") and len(amount) == 3
    assert session["checkout_url"].endswith(f"/checkout/{session['id']}")
    assert not {"price_usd", "payment", "cancel_url"} & session.keys()
    for name in (session["id"], session["id"].upper(), session["reference_id"]):
        assert shop.service.sessions.read(shop.checkout, name) == session


def priced(coin, amount):
    return {"amounts": [{"currency": coin, "amount": amount}]}


BROKEN = {
    "PAY_CUSTOMER_REQUIRED": [{"customer": None}],
    "PAY_AMOUNT_INVALID": [
        *({"price_usd": "1"}, {"amounts": None}, {"amounts": priced("usdt", "1")["amounts"] * 2}),
        *({"amounts": None, "price_usd": price} for price in ("0", "-1", "1.123456789")),
        *(priced("usdt", "0"), priced("usdt", "1.0000001"), priced("btc", "1000000001")),
    ],
    "PAY_CURRENCY_NOT_ACCEPTED": [priced(coin, "1") for coin in ("ton", "xmr", "irt", "USDT")],
}


@pytest.mark.parametrize("code", BROKEN)
def test_each_rule_of_a_request_has_its_code(refused, code):
    """Sessions rules 1 and 2, and the mandatory customer."""
    for changes in BROKEN[code]:
        assert refused(**changes) == (422, code), changes


def test_a_body_that_breaks_several_rules_gets_every_code(refused):
    """The array of codes holds all of them at once."""
    amounts = [{"currency": "irt", "amount": "1"}, {"currency": "usdt", "amount": "-1"}]
    codes = refused(title=7, customer=None, amounts=amounts)
    money = ("PAY_AMOUNT_INVALID", "PAY_CURRENCY_NOT_ACCEPTED")
    assert codes == (422, *money, "PAY_CUSTOMER_REQUIRED", "VALIDATION_FAILED")


def test_identical_request_returns_the_original(shop):
    """Rule 4: member order does not matter, later settings neither."""
    session = shop.session(metadata={"a": 1, "b": 2})
    shop.platform.settings["accepted_currencies"] = ["btc"]
    shop.clock.advance(MINUTE)
    assert shop.session(metadata={"b": 2, "a": 1}) == session


@pytest.mark.parametrize("reference", ["order-a", "order-0000001"], ids=["ours", "of the past"])
def test_other_payload_under_a_used_reference_is_refused(shop, refused, reference):
    """Rule 4, also by a member nobody knows; orders of the seeded past have used theirs too."""
    shop.session()
    for change in ({"title": "Coffee"}, {"surprise": "more"}):
        answer = refused(reference_id=reference, **change)
        assert answer == (409, "PAY_DUPLICATE_REFERENCE")


def test_price_in_usd_is_quoted_into_every_accepted_coin(shop):
    """At the live rate of creation; the quotes stay when the rate moves on."""
    session = shop.session(amounts=None, price_usd="20.00")
    assert (session["pricing_mode"], session["price_usd"]) == ("usd", "20.00")
    assert [quote["currency"] for quote in session["amounts"]] == ["usdt", "btc", "sol", "eth"]
    assert {quote["usd_value"][:5] for quote in session["amounts"]} <= {"20.00", "19.99"}
    shop.clock.advance(20 * MINUTE)
    again = shop.service.sessions.read(shop.checkout, session["id"])
    assert again["amounts"] == session["amounts"]
    assert shop.session("order-b", amounts=None, price_usd="0.00000001")["status"] == "open"


def test_price_that_no_coin_can_quote_is_unavailable(shop, refused):
    """
    Rule 3: 503, and the same request succeeds later. A coin without a rate is omitted from the
    quotes; where the merchant named the figure it can be paid, and has no value in USD.
    """
    shop.platform.settings["absent_rates"] = ["usdt", "btc", "sol", "eth"]
    assert refused(amounts=None, price_usd="20") == (503, "PAY_RATE_UNAVAILABLE")
    named = shop.session("order-b")["amounts"]
    assert named == [{"currency": "usdt", "amount": "20.000000"}]
    shop.platform.settings["absent_rates"] = ["btc", "eth"]
    quoted = shop.session(amounts=None, price_usd="20")["amounts"]
    assert [quote["currency"] for quote in quoted] == ["usdt", "sol"]


@pytest.mark.parametrize("setting", [("is_suspended", True), ("is_rail_enabled", False)])
def test_business_that_cannot_take_payments_makes_no_session(shop, refused, setting):
    """MERCHANT_DISABLED, suspended or with the rail off; it can still read and cancel."""
    session = shop.session()
    shop.platform.settings[setting[0]] = setting[1]
    assert refused(reference_id="order-b") == (403, "MERCHANT_DISABLED")
    assert shop.service.sessions.read(shop.checkout, session["id"]) == session
    assert shop.service.sessions.cancel(shop.checkout, session["id"])["status"] == "cancelled"


def test_session_lives_as_long_as_asked(shop):
    """`ttl_minutes` overrides the configured lifetime, 30 minutes here."""
    made, asked = shop.session(), shop.session("order-b", ttl_minutes=5)
    assert made["expires_at"] == "2026-11-20T12:30:00Z"
    assert asked["expires_at"] == "2026-11-20T12:05:00Z"


def test_unpaid_session_expires_on_the_clock_and_says_so_once(shop, refusal):
    """open to expired at `expires_at`, not before, with one event of exactly its fields."""
    session = shop.session(ttl_minutes=5)
    shop.clock.advance(5 * MINUTE - SECOND)
    assert shop.service.sessions.read(shop.checkout, session["id"])["status"] == "open"
    shop.clock.advance(SECOND)
    for _ in range(2):
        assert shop.service.sessions.read(shop.checkout, session["id"])["status"] == "expired"
    [event] = shop.events()
    ids = {"event_id": event["event_id"], "session_id": session["id"]}
    told = {"type": "session.expired", "reference_id": "order-a", "status": "expired"}
    assert event == {**ids, **told}


def test_cancelling_twice_is_cancelling_once(shop):
    """open to cancelled; cancelled is returned unchanged; neither tells an event."""
    session = shop.session()
    first = shop.service.sessions.cancel(shop.checkout, "order-a")
    assert (first["status"], first["id"]) == ("cancelled", session["id"])
    assert shop.service.sessions.cancel(shop.checkout, session["id"]) == first
    assert shop.events() == []


def test_orders_of_the_seeded_past_are_sessions_too(shop):
    """By session id and by reference, completed, with their payment embedded."""
    payment = next(shop.service.records("payments"))
    for name in ("session_id", "reference_id"):
        session = shop.service.sessions.read(shop.checkout, payment[name])
        assert (session["status"], session["payment"]) == ("completed", payment)


def test_reference_that_looks_like_anothers_id_names_its_own(shop):
    """The answer to a request is always its own object, whatever the merchant calls it."""
    first = shop.session()
    assert shop.session(first["id"])["reference_id"] == first["id"]
    record = shop.pay_out()
    assert shop.pay_out(record["id"], "4")["amount"] == "4.000000"


GOOD_URLS = ("https://shop.example:8443/done?a=چای#top", "HTTPS://me@10.0.0.1", "https://h:65535/")
BAD_URLS = (
    *("http://shop.example/", "https:///done", "https://[48]/", "https://shop.example/a b", "shop"),
    *("https://shop.example:port/", "https://shop.example:123456/", "https://@/", "https://:1/"),
    *("https://[::1]/", "https://a:b:c/", "https://", "", 7, ["https://shop.example/"], {"a": 1}),
)


@pytest.mark.parametrize("name", ["return_url", "cancel_url"])
def test_urls_of_a_session_are_https_uris(shop, refused, name):
    """A name or an IPv4 address behind https; what could not be parsed later is refused now."""
    for number, url in enumerate(GOOD_URLS):
        assert shop.session(f"good-{number}", **{name: url})[name] == url
    for url in BAD_URLS:
        assert refused(**{name: url}) == (422, "VALIDATION_FAILED"), url


# Paying a session (contract, States; Payments; Receipts).


def test_payment_holds_every_figure_of_the_contract(shop):
    """20 USDT at 1 %: charged 20, fee 0.2, net 19.8, borne by the merchant."""
    payment = shop.paid(metadata={"cart": [1]})
    figures = {"amount": "20.000000", "charged_amount": "20.000000", "fee_amount": "0.200000"}
    figures |= {"net_amount": "19.800000", "fee_bearer": "merchant", "status": "completed"}
    figures |= {"reference_id": "order-a", "payer_id": shop.people["sara"].payer_id}
    figures |= {"metadata": {"cart": [1]}, "paid_at": "2026-11-20T12:00:00Z"}
    assert payment.items() >= figures.items()


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


# Receipts: signed as issued, verified as the contract says.

UNPROVEN = (422, "PAY_RECEIPT_INVALID")


@pytest.fixture
def verify(service, checkout_key, refusal):
    """What a receipt is refused with, if it is."""
    return lambda token: refusal(service.verify_receipt, checkout_key, {"receipt": token})


@pytest.mark.parametrize("fact", ["amount", "merchant_id", "payment_id", "currency", "paid_at"])
def test_rightly_signed_receipt_with_another_fact_is_refused(service, scenario, verify, fact):
    """Verification also asks for a payment with matching facts."""
    [*_, payment] = service.records("payments")
    facts = {**payment, "payment_id": payment["id"], "merchant_id": service.account.merchant_id}
    other = {"amount": "1", "paid_at": "2026-01-01T00:00:00Z"}.get(fact, "other")
    secret = service.account.receipt_secret(scenario.until)
    assert verify(sign_receipt(facts, secret)) == ()
    assert verify(sign_receipt({**facts, fact: other}, secret)) == UNPROVEN


@pytest.mark.parametrize("place", [5, -50, -1], ids=["payload", "near_the_dot", "signature"])
def test_tampered_receipt_is_refused(service, verify, place):
    """One changed letter anywhere spoils a token."""
    [*_, payment] = service.records("payments")
    letters = list(payment["receipt"])
    letters[place] = "A" if letters[place] != "A" else "B"
    assert verify("".join(letters)) == UNPROVEN


def test_padded_receipt_is_refused(service, verify):
    """The service wrote none of these, though they decode alike; every length is tried."""
    receipts = [payment["receipt"].split(".") for payment in service.records("payments")]
    by_length = {len(payload) % 4: (head, payload, mac) for head, payload, mac in receipts}
    assert by_length.keys() == {0, 2, 3}
    for head, payload, mac in by_length.values():
        for end in ("=", "=="):
            for token in (f"{head}.{payload}{end}.{mac}", f"{head}.{payload}.{mac}{end}"):
                assert verify(token) == UNPROVEN


def test_no_repr_shows_a_key_or_secret(service, payout_key):
    """An account can be logged without giving its secrets away."""
    shown = repr(service.account) + json.dumps(service.me(payout_key))
    values = service.account.environment("x").values()
    assert not [value for value in values if value != "x" and value.partition("@")[0] in shown]


# Bindings (contract, Customers and States).

REASON = {"reason": "the customer asked for it"}


@pytest.fixture
def read(shop):
    return lambda name="C-1": shop.service.bindings.read(shop.checkout, name)


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
