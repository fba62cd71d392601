# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""The widget, the console and the embed script, as a person meets them in Chromium."""

import pytest
from playwright.sync_api import expect

from svc_analytics.sandbox import serve
from tests.support.browsers import browser
from tests.support.loopback import Web, serving

SHOP = "https://shop.example"


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
