"""The pages of a checkout over HTTP as the customer reads them, and in Chromium."""

import re

import httpx
import pytest
from playwright.sync_api import expect

from svc_analytics.instants import MINUTE, SECOND
from svc_analytics.sandbox import Service, serve
from svc_analytics.sandbox.sessions import WRONG_CODES
from tests.sandbox.shop import words
from tests.support.browsers import browser
from tests.support.loopback import Web, serving

SARA = {"as": "sara@customers.example"}
LEILA = {"as": "leila@customers.example"}
SHOP = "https://shop.example"


@pytest.fixture
def own(shop):
    """The headers of a form that a browser posts from the sandbox's own page."""
    return {"origin": shop.platform.base_url, "sec-fetch-site": "same-origin"}


def test_widget_says_why_it_refuses(shop, site):
    """A sentence, the code in small print, the contract's status, and the way back."""
    made = shop.session(cancel_url=f"{SHOP}/cart", title="<b>Tea</b>")
    answer = site.post(made["checkout_url"], data={**SARA, "currency": "usdt"})
    assert answer.status_code == 403
    assert "Link your account to this shop first. Code PAY_BINDING_REQUIRED" in words(answer)
    assert f'href="{SHOP}/cart"' in answer.text
    assert "<b>Tea" not in answer.text
    assert "script" not in answer.text
    barred = site.get(made["checkout_url"], params={"as": "disabled@customers.example"}).text
    assert "This account cannot sign in." in barred and "Sign in</button>" in barred


def test_widget_asks_for_the_second_factor(shop, site):
    """The field is there when the step is asked for, and only then."""
    made = shop.session()
    shop.bind("leila")
    assert "totp" not in site.get(made["checkout_url"], params=LEILA).text
    shop.platform.settings["asks_totp"] = True
    assert "totp" in site.get(made["checkout_url"], params=LEILA).text
    answer = site.post(made["checkout_url"], data={**LEILA, "currency": "usdt", "totp": "246810"})
    assert "completed" in answer.text


def test_unknown_checkout_is_not_found(site, shop):
    """A reference is no address either."""
    shop.session()
    for name in ("nowhere", "order-a"):
        answer = site.get(f"/checkout/{name}")
        assert answer.status_code == 404 and "There is no such checkout." in answer.text


def test_checkout_names_shop_sum_and_time_before_anybody_signs_in(shop, site):
    """The price, each coin exactly and about in USD, and until when, on the sandbox's clock."""
    quotes = [{"currency": "eth", "amount": "0.011281753340202391"}]
    quotes += [{"currency": "usdt", "amount": "1234.5"}]
    made = shop.session(amounts=quotes)
    assert [one["usd_value"] for one in made["amounts"]] == ["26.376279", "1235.609816"]
    said = words(site.get(made["checkout_url"]))
    assert "Saffron & Tile زعفران و کاشی" in said
    assert "0.011281753340202391 ETH ≈ 26.38 USD 1,234.5 USDT ≈ 1,235.61 USD" in said
    assert "Pay by 20 November 2026, 12:30 UTC: 30 minutes left at 12:00 UTC" in said
    priced = shop.session("order-b", amounts=None, price_usd="29")
    assert "To pay 29.00 USD" in words(site.get(priced["checkout_url"]))


def test_checkout_is_loaded_anew_when_it_expires(shop, site):
    """Without a script: a minute before the end, the page reloads after 61 seconds."""
    page = shop.session(ttl_minutes=5)["checkout_url"]
    shop.clock.advance(4 * MINUTE)
    text = site.get(page).text
    assert '<meta http-equiv="refresh" content="61">' in text and "1 minute left" in text
    shop.clock.advance(61 * SECOND)
    assert "refresh" not in site.get(page).text


def test_logo_is_the_one_file_a_page_may_load(shop, site):
    """
    The policy names exactly its address; nothing where that would open more, or where the
    address is made up, as at first: then the shop's initial stands there.
    """
    page, logo = shop.session()["checkout_url"], "https://tile.shop/l.png"
    for url, allowed in ((logo, f" img-src {logo};"), (f"{logo}; b", ""), (f"{SHOP}/l.png", "")):
        shop.platform.settings["logo_url"] = url
        answer = site.get(page)
        policy = answer.headers["content-security-policy"]
        assert policy == (
            f"default-src 'none'; style-src 'unsafe-inline';{allowed} form-action 'self';"
            " frame-ancestors 'none'; base-uri 'none'"
        )
        assert ("<img" in answer.text) == bool(allowed)


def test_merchants_texts_run_in_their_own_direction(shop, site):
    """Persian from right to left, decided by each text."""
    made = shop.session(title="کاشی آبی", description="ارسال رایگان")
    text = site.get(made["checkout_url"]).text
    assert '<h1 dir="auto">کاشی آبی</h1>' in text and '<p dir="auto">ارسال رایگان</p>' in text


def test_merchants_texts_are_never_markup(shop, site):
    """Before paying and on the receipt, in texts and in attributes."""
    odd = '"><img/src=x>'  # without a blank: it may stand in an address
    made = {"title": odd, "description": odd, "customer": shop.order()["customer"] | {"name": odd}}
    open_ = site.get(shop.session(odd, **made, cancel_url=f"{SHOP}/{odd}")["checkout_url"])
    payment = shop.paid(f"{odd}2", **made, return_url=f"{SHOP}/{odd}")
    paid = site.get(f"/checkout/{payment['session_id']}")
    assert "<img/" not in open_.text + paid.text and odd in words(open_) and odd in words(paid)


def test_checkout_of_the_seeded_past_is_a_receipt(shop, site):
    """As far as it is known: the reference stands for the title."""
    payment = next(iter(shop.service.records("payments")))
    said = words(site.get(f"/checkout/{payment['session_id']}"))
    assert f"Receipt number {payment['receipt_no']}" in said and payment["reference_id"] in said


def test_receipt_says_what_was_paid_and_leads_back(shop, site):
    """Amount, coin, value, number, date; the link has the receipt and payment_id appended."""
    payment = shop.paid(return_url=f"{SHOP}/done")
    answer = site.get(f"/checkout/{payment['session_id']}")
    number = payment["receipt_no"]
    assert "Paid. Thank you! This checkout is completed." in words(answer)
    assert "Paid 20 USDT Value ≈ 20.02 USD To Saffron & Tile" in words(answer)
    assert f"Receipt number {number} Date 20 November 2026, 12:00 UTC" in words(answer)
    query = f"?receipt={payment['receipt']}&amp;payment_id={payment['id']}"
    assert f'href="{SHOP}/done{query}"' in answer.text
    assert "<form" not in answer.text


def test_browser_signs_in_once_and_no_later_form_names_the_account(shop, site, own):
    """A signed cookie of this checkout says who pays; the field `as` counts no more."""
    shop.bind()
    page = shop.session()["checkout_url"]
    signed = site.post(page, data={**SARA, "action": "sign-in"}, headers=own)
    assert signed.status_code == 303
    flags = signed.headers["set-cookie"].partition("; ")[2]
    assert flags == f"HttpOnly; Path={httpx.URL(page).path}; SameSite=lax"
    shown = site.get(page)
    assert "Signed in as Sara Rahimi" in words(shown) and "@customers" not in shown.text
    paid = site.post(page, data={**LEILA, "currency": "usdt"}, headers=own)
    assert (paid.status_code, paid.headers["location"]) == (303, httpx.URL(page).path)
    assert shop.events()[-1]["type"] == "payment.completed"


def test_altered_cookie_signs_nobody_in(shop, site, own):
    """Nor does that of another checkout."""
    shop.bind()
    first, second = (shop.session(name)["checkout_url"] for name in ("order-a", "order-b"))
    site.post(first, data={**SARA, "action": "sign-in"}, headers=own)
    [cookie] = site.cookies.jar
    for name, value in ((second, cookie.value), (first, "A" + cookie.value[1:]), (first, "")):
        site.cookies.clear()
        headers = {**own, "cookie": f"{cookie.name}={value}"}
        answer = site.post(name, data={**SARA, "currency": "usdt"}, headers=headers)
        assert answer.status_code == 403 and shop.events()[-1]["type"] == "binding.completed"


def test_customer_who_is_somebody_else_signs_out(shop, site, own):
    """
    "Not you?" leads back to the choice of an account.
    """
    page = shop.session()["checkout_url"]
    assert "Not you?" in site.get(page, params=SARA).text
    assert "Signed in as" in words(site.get(page))
    site.post(page, data={"action": "sign-out"}, headers=own)
    assert "Sign in to pay" in words(site.get(page))


FOREIGN = {
    **{origin: {"origin": origin} for origin in (SHOP, "null", "http://127.0.0.1:1")},
    "no origin": {"sec-fetch-site": "cross-site"},
}


@pytest.mark.parametrize("action", ["sign-in", "link", "pay"])
@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
def test_page_of_another_site_neither_signs_in_nor_links_nor_pays(shop, site, foreign, action):
    """The customer signs in and confirms on the platform's own origin."""
    page = shop.session()["checkout_url"]
    site.get(page, params=SARA)  # the cookie is there
    data = {**SARA, "action": action, "currency": "usdt"}
    answer = site.post(page, data=data, headers=foreign)
    assert answer.status_code == 403 and "Another page sent this" in words(answer)
    assert "set-cookie" not in answer.headers and shop.events() == []


def test_address_on_another_site_signs_nobody_in(shop, site):
    """A link with `as` in it shows the choice of an account."""
    page = shop.session()["checkout_url"]
    answer = site.get(page, params=SARA, headers={"sec-fetch-site": "cross-site"})
    assert "Sign in to pay" in words(answer) and "set-cookie" not in answer.headers


def test_wrong_codes_are_limited(shop, site):
    """After ten the right one waits too, until a quarter of an hour has passed."""
    shop.platform.settings["asks_totp"] = True
    shop.bind("leila")
    page = shop.session()["checkout_url"]
    wrong = {**LEILA, "currency": "usdt", "totp": "000000"}
    tried = [site.post(page, data=wrong).status_code for _ in range(WRONG_CODES)]
    assert tried == [422] * WRONG_CODES
    refused = site.post(page, data=wrong | {"totp": "246810"})
    assert refused.status_code == 429 and "RATE_LIMITED" in refused.text
    shop.clock.advance(15 * MINUTE)
    assert "Paid" in words(site.post(page, data=wrong | {"totp": "246810"}))


def test_right_code_ends_the_count_of_wrong_ones(shop, refusal):
    """Only wrong codes in a row count."""
    shop.platform.settings["asks_totp"] = True
    shop.bind("leila")
    for reference in ("order-a", "order-b"):
        session = shop.session(reference)
        for _ in range(WRONG_CODES - 1):
            assert refusal(shop.confirm, session, "leila", totp="1") == (422, "TOTP_INVALID")
        shop.confirm(session, "leila", totp="246810")


def test_file_of_an_older_sandbox_counts_wrong_codes_too(shop, refusal):
    """It gets what it lacks when it is opened."""
    store = shop.platform.store
    store.fetch("drop table wrong_codes")
    store.fetch("insert or replace into settings values ('asks_totp', 'true')")
    service = Service(store, shop.clock)
    shop.bind("leila")
    session, leila = shop.session(), shop.people["leila"].payer_id
    tried = refusal(service.checkout.confirm, session["id"], leila, "usdt", "0")
    assert tried == (422, "TOTP_INVALID")


def test_chosen_coin_stays_after_a_refusal(shop, site):
    """Only the code is to be typed again."""
    shop.platform.settings["asks_totp"] = True
    shop.bind("leila")
    page = shop.session(amounts=None, price_usd="20")["checkout_url"]
    answer = site.post(page, data={**LEILA, "currency": "eth", "totp": "0"})
    assert '<option value="eth" selected>' in answer.text


def test_linking_says_what_it_means(shop, site):
    """And what the shop will see of the account."""
    said = words(site.get(shop.session()["checkout_url"], params=SARA))
    assert "Link your account to Saffron & Tile" in said
    assert "The shop sees your name as S*** R*** and never your email address." in said


BARRED = {
    "omid@customers.example": "PAY_BINDING_MISMATCH",
    "owner@saffron-tile.example": "PAY_SELF_PAYMENT",
}


@pytest.mark.parametrize("email", BARRED)
def test_account_that_cannot_pay_is_told_so_and_offered_nothing(shop, site, email):
    """Beside the way to another account."""
    shop.bind()
    answer = site.get(shop.session()["checkout_url"], params={"as": email})
    assert words(answer).count(BARRED[email]) == 1
    assert re.findall(r"<button[^>]*>(.*?)</button>", answer.text) == ["Not you?"]


CLOSED = {
    "is_suspended": "This shop cannot take payments now.",
    "is_maintenance": "Payments are under maintenance.",
}


@pytest.mark.parametrize("setting", CLOSED)
def test_closed_shop_says_so_and_offers_no_sign_in(shop, site, setting):
    """Nothing is asked of a customer who cannot pay."""
    page = shop.session(cancel_url=f"{SHOP}/cart")["checkout_url"]
    shop.platform.settings[setting] = True
    answer = site.get(page)
    assert CLOSED[setting] in words(answer) and "<button" not in answer.text
    assert "Back to the store" in words(answer)
    posted = site.post(page, data={**SARA, "action": "link"})
    assert words(posted).count(CLOSED[setting]) <= 1


@pytest.mark.parametrize("post", [False, True], ids=["looked at", "confirmed"])
def test_expired_checkout_says_so_once(shop, site, post):
    """Whether it is looked at or paid too late."""
    page = shop.session(ttl_minutes=5)["checkout_url"]
    shop.clock.advance(5 * MINUTE)
    answer = site.post(page, data={**SARA, "currency": "usdt"}) if post else site.get(page)
    assert words(answer).lower().replace("session_expired", "").count("expired") == 1
    assert answer.status_code == (422 if post else 200)


def test_paying_twice_shows_the_receipt_and_takes_nothing(shop, site):
    """Whoever reloads or presses twice is told that nothing was charged again."""
    payment = shop.paid()
    answer = site.post(f"/checkout/{payment['session_id']}", data={**SARA, "currency": "usdt"})
    assert answer.status_code == 409 and "Nothing was charged again." in words(answer)
    assert payment["receipt_no"] in words(answer)


LABELS = {"Pay 20 USDT": {}, "Pay 29.00 USD": {"amounts": None, "price_usd": "29"}}


@pytest.mark.parametrize("label", LABELS)
def test_embed_button_is_told_shop_and_sum(shop, site, label):
    """On any page, without the customer's cookies; afterwards it says how it ended."""
    made = shop.session(**LABELS[label])
    answer = site.get(f"{made['checkout_url']}/button")
    assert answer.json() == {"label": label, "shop": "Saffron & Tile"}
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    shop.service.sessions.cancel(shop.checkout, made["id"])
    said = site.get(f"{made['checkout_url']}/button").json()["label"]
    assert said == "This checkout is cancelled"


# The widget, the console and the embed script, as a person meets them in Chromium.

# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used


@pytest.fixture
def running(shop):
    with serve(shop.service) as running:
        yield running


@pytest.fixture
def page(browser, running):
    with browser.new_context(viewport={"width": 900, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(60_000)
        yield page


def test_no_page_is_wider_than_a_phone(shop, running, page):
    """Though words, ids, amounts and addresses are as long as they may be."""
    page.set_viewport_size({"width": 360, "height": 760})
    amounts = [{"currency": "eth", "amount": "12345678.123456789012345678"}]
    long = {"title": "W" * 128, "description": "x" * 512, "amounts": amounts}
    session = shop.session("r" * 128, customer=shop.order()["customer"] | {"id": "c" * 128}, **long)
    shop.platform.settings["webhook_url"] = f"https://{'h' * 200}.example/{'p' * 1000}"
    for path in ("?as=omid@customers.example", "?as=sara@customers.example", "/console"):
        base = running.base_url if path == "/console" else session["checkout_url"]
        page.goto(base + path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path
        assert page.evaluate("document.compatMode") == "CSS1Compat"


def test_checkout_is_linked_and_paid_by_keyboard_alone(shop, page):
    """Without a script and without a pointer; back at the shop with receipt and payment_id."""
    session = shop.session(return_url=f"{SHOP}/done?o=1")
    page.goto(session["checkout_url"])
    # The choice of an account, then the button; "Not you?", then the button.
    with page.expect_request(f"{SHOP}/done?**") as returned:
        for button in ("Sign in", "Link my account to this shop", "Pay 20 USDT"):
            page.get_by_role("button", name=button).wait_for()
            for key in ("Tab", "Tab", "Enter"):
                page.keyboard.press(key)
    payment = shop.service.sessions.read(shop.checkout, session["id"])["payment"]
    query = f"?o=1&receipt={payment['receipt']}&payment_id={payment['id']}"
    assert returned.value.url == f"{SHOP}/done{query}"


@pytest.fixture
def shop_page(page):
    """Serves one page of the shop from this machine, opens it, and returns what it logs."""
    said, pages = [], []

    class Pages(Web):
        def get(self):
            self.answer(200, pages[-1].encode(), {"content-type": "text/html"})

    def show(html):
        pages.append(f"<!doctype html>{html}")
        page.goto(f"http://localhost:{port}/cart")
        return said

    page.on("console", lambda message: said.append(message.text))
    with serving(Pages) as port:
        yield show


def embedding(running, session_id):
    """The markup that a shop puts into its page."""
    return f'<script src="{running.base_url}/embed.js" data-session="{session_id}"></script>'


def test_embed_script_opens_the_widget_of_its_session(shop, running, page, shop_page):
    """One button on the shop's page, with sum and shop; behind it the session's checkout_url."""
    session = shop.session()
    shop_page(f"<h1>Your cart</h1>{embedding(running, session['id'])}")
    page.get_by_role("button", name="Pay 20 USDT Saffron & Tile").click()
    page.wait_for_url(session["checkout_url"])
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_embed_script_takes_nothing_but_an_id(running, page, shop_page):
    """Another address in data-session makes no button, and a word on the page's console."""
    said = shop_page(embedding(running, "../console"))
    assert page.get_by_role("button").count() == 0
    assert any("data-session must be the id" in text for text in said)
