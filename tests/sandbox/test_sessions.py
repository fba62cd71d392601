"""Checkout sessions (contract, Sessions and States)."""

import pytest

from svc_analytics.instants import MINUTE, SECOND

ALL_CODES = (
    *(422, "PAY_AMOUNT_INVALID", "PAY_CURRENCY_NOT_ACCEPTED", "PAY_CUSTOMER_REQUIRED"),
    "VALIDATION_FAILED",
)


@pytest.fixture
def refused(shop, refusal):
    """What a session request is refused with, by the members it changes."""

    def call(**changes):
        return refusal(shop.service.sessions.create, shop.checkout, shop.order(**changes))

    return call


def test_session_holds_what_was_asked(shop):
    """Amounts come back with all of a coin's decimals, optional members as they were sent.

    It is read by its UUID, in letters of any case, or by its reference_id.
    """
    sent = {"description": "Green", "return_url": "https://shop.example/a", "metadata": {"n": 1}}
    session = shop.session(**sent)
    assert {name: session[name] for name in sent} == sent
    assert session["amounts"] == [
        {"currency": "usdt", "amount": "20.000000", "usd_value": session["amounts"][0]["usd_value"]}
    ]
    assert (session["status"], session["title"]) == ("open", "Tea")
    assert session["pricing_mode"] == "amounts" and "price_usd" not in session
    assert session["checkout_url"].endswith(f"/checkout/{session['id']}")
    assert "payment" not in session and "cancel_url" not in session
    for name in (session["id"], session["id"].upper(), session["reference_id"]):
        assert shop.service.sessions.read(shop.checkout, name) == session


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"customer": None}, "PAY_CUSTOMER_REQUIRED"),
        ({"price_usd": "1"}, "PAY_AMOUNT_INVALID"),
        ({"amounts": None}, "PAY_AMOUNT_INVALID"),
        ({"amounts": None, "price_usd": "0"}, "PAY_AMOUNT_INVALID"),
        ({"amounts": None, "price_usd": "-1"}, "PAY_AMOUNT_INVALID"),
        ({"amounts": None, "price_usd": "1.123456789"}, "PAY_AMOUNT_INVALID"),
        ({"amounts": [{"currency": "usdt", "amount": "0"}]}, "PAY_AMOUNT_INVALID"),
        ({"amounts": [{"currency": "usdt", "amount": "1.0000001"}]}, "PAY_AMOUNT_INVALID"),
        ({"amounts": [{"currency": "usdt", "amount": "1"}] * 2}, "PAY_AMOUNT_INVALID"),
        ({"amounts": [{"currency": "btc", "amount": "1000000001"}]}, "PAY_AMOUNT_INVALID"),
        ({"amounts": [{"currency": "ton", "amount": "1"}]}, "PAY_CURRENCY_NOT_ACCEPTED"),
        ({"amounts": [{"currency": "xmr", "amount": "1"}]}, "PAY_CURRENCY_NOT_ACCEPTED"),
        ({"amounts": [{"currency": "irt", "amount": "1"}]}, "PAY_CURRENCY_NOT_ACCEPTED"),
        ({"amounts": [{"currency": "USDT", "amount": "1"}]}, "PAY_CURRENCY_NOT_ACCEPTED"),
    ],
    ids=str,
)
def test_each_rule_of_a_request_has_its_code(refused, changes, code):
    """Sessions rules 1 and 2, and the mandatory customer."""
    assert refused(**changes) == (422, code)


def test_a_body_that_breaks_several_rules_gets_every_code(refused):
    """The array of codes holds all of them at once."""
    amounts = [{"currency": "irt", "amount": "1"}, {"currency": "usdt", "amount": "-1"}]
    assert refused(title=7, customer=None, amounts=amounts) == ALL_CODES


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
