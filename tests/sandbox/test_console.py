"""The console as the business reads it over HTTP, and the keys it mints."""

import re
from operator import attrgetter

import pytest

from svc_analytics.sandbox.account import PresentedKey, account_of
from svc_analytics.sandbox.console_pages import ACTIONS, ACTS
from svc_analytics.sandbox.routes import ROUTES
from svc_analytics.sandbox.scenario import Scenario
from tests.sandbox.shop import refused, words

MONEY_OR_FOR_GOOD = {"pay-out", "suspend", "maintain", "revoke", "rotate-receipt", "rotate-webhook"}


@pytest.fixture
def press(site):
    """Posts a console form and follows to the page that says what was done."""

    def call(action, **fields):
        return site.post(f"/console/{action}", data=fields, follow_redirects=True)

    return call


def once(page):
    """The number of the form on a page that asks."""
    [number] = re.findall(r'name="once" value="([^"]+)"', page)
    return number


def test_console_shows_a_minted_key_once(site, press):
    """On the page that the redirect leads to, not on its reload and not later."""
    shown = press("mint-payout")
    [key] = re.findall(r"svc_payout_[0-9a-f]{64}", shown.text)
    assert "A payout key is minted. It is shown only now" in words(shown)
    assert key not in site.get(shown.url).text and key not in site.get("/console").text


def test_console_mints_a_key_with_an_allowlist(shop, press):
    """Its addresses stand beside it; what is no address is refused in a sentence."""
    form = {"class": "payout", "allowlist": "203.0.113.9, 10.0.0.0/8"}
    assert "from 203.0.113.9, 10.0.0.0/8 alone" in press("mint", **form).text
    assert shop.platform.api_keys.all()[-1]["allowlist"] == ["203.0.113.9", "10.0.0.0/8"]
    refused = press("mint", **form | {"allowlist": "here"})
    assert "No key was minted: an address is" in words(refused)
    assert "VALIDATION_FAILED" in refused.text and 'value="here"' in refused.text


def test_console_lists_the_newest_hundred_events(shop, site):
    """A year of them would bury the page; the control API has them all."""
    with shop.platform.store.transaction():
        for _ in range(101):
            shop.platform.outbox.emit("test.ping", shop.clock.now(), source="console")
    page = site.get("/console").text
    newest, *_, oldest = shop.service.webhooks.log()
    assert newest["event_id"] in page and oldest["event_id"] not in page
    assert "The newest 100 of 101" in page
    assert len(site.get("/control/deliveries").json()["data"]) == 101


def test_console_says_of_an_event_when_what_and_how_often(shop, site):
    """Time, type, what it is about, and each attempt with its reason."""
    payment = shop.paid()
    shop.service.webhooks.deliver_due()
    said = words(site.get("/console")).partition("Time Event What Attempts ")[2]
    assert said.startswith("2026-11-20 12:00:00 UTC payment.completed session_id")
    assert f"reference_id order-a payment_id {payment['id']} status completed" in said
    reason = "not sent: no receiver on this machine is set"
    assert f"pending 2026-11-20 12:00:00 UTC: {reason} next at 2026-11-20 12:00:10 UTC" in said


def test_console_sets_what_the_shop_may_do(shop, press):
    """Each form says what is set now."""
    coins = press("accept", coin=["btc", "eth"])
    assert "The shop accepts btc, eth now." in words(coins)
    url = press("webhook-url", url="https://shop.example/hook")
    assert "Webhooks are for https://shop.example/hook now." in words(url)
    terms = {"scope": "any", "payout_max_usd": "50", "payout_day_usd": ""}
    assert "The payout terms are set: payouts are off now." in words(press("payout-terms", **terms))
    settings = shop.platform.settings
    assert settings["accepted_currencies"] == ["btc", "eth"]
    assert settings["webhook_url"] == "https://shop.example/hook"
    names = ("payouts_armed", "payout_scope", "payout_max_usd", "payout_day_usd")
    assert [settings[name] for name in names] == [False, "any", 50, None]


@pytest.mark.parametrize("limit", ["much", "9" * 5000, "٣"], ids=["word", "long", "foreign"])
def test_refused_form_keeps_what_was_typed(shop, press, limit):
    """Every field of it, ticks too; nothing is set."""
    typed = {"scope": "any", "payout_max_usd": "77", "payout_day_usd": limit}
    answer = press("payout-terms", **typed)
    text = answer.text
    assert answer.status_code == 422 and "VALIDATION_FAILED" in text
    assert "Nothing was set: a limit is" in words(answer)
    assert shop.platform.settings["payout_max_usd"] != 77
    assert f'name="payout_day_usd" value="{limit}"' in text
    assert 'name="payout_max_usd" value="77"' in text
    assert '<option value="any" selected>' in text and 'value="armed" checked' not in text


def test_no_coin_ticked_is_said_clearly(shop, site, press):
    """Once as the answer, and above every page for as long as it is so."""
    assert "No coin is ticked: the shop accepts none now" in words(press("accept"))
    assert shop.platform.settings["accepted_currencies"] == []
    for page in ("/console", "/console/suspend"):
        assert "No coin is accepted: no checkout can be made." in words(site.get(page))


def test_console_pays_a_customer(shop, press):
    """The page says what was paid; a refusal is a sentence with its code."""
    payer_id = shop.paid()["payer_id"]
    sent = {"currency": "usdt", "payer_id": payer_id, "amount": "5"}
    paid = words(press("pay-out", **sent))
    assert f"Paid 5 USDT to {payer_id}; 5.05 USDT left the wallet, fee included." in paid
    assert shop.events()[-1]["type"] == "payout.completed"
    refused = press("pay-out", **sent | {"amount": "5000000"})
    assert "Nothing was paid: this goes beyond the limits" in words(refused)
    assert "PAY_PAYOUT_LIMIT" in refused.text and 'value="5000000"' in refused.text


def test_a_form_of_the_console_pays_once(site, shop):
    """Pressed twice, gone back to, or loaded anew: the answer leads to what was done."""
    payer_id = shop.paid()["payer_id"]
    form = site.get("/console").text.partition('action="/console/pay-out"')[2]
    number = once(form.partition("</form>")[0])
    sent = {"currency": "usdt", "payer_id": payer_id, "amount": "1", "comment": "", "once": number}
    asked = [once(site.get("/console/pay-out", params=sent).text) for _ in range(2)]
    first, again = (site.post("/console/pay-out", data={**sent, "once": one}) for one in asked)
    assert (first.status_code, again.status_code) == (303, 409)
    assert "nothing was done a second time" in words(again)
    site.get(first.headers["location"]), site.get(first.headers["location"])
    made = [row for row in shop.service.records("payout_records") if row["amount"] == "1.000000"]
    assert len(made) == 1


def test_reload_of_a_refused_payout_pays_nothing_later(shop, site):
    """Even when what stood in its way is gone."""
    shop.platform.settings["payouts_armed"] = False
    sent = {"currency": "usdt", "payer_id": shop.paid()["payer_id"], "amount": "3"}
    form = {**sent, "once": once(site.get("/console/pay-out", params=sent).text)}
    assert site.post("/console/pay-out", data=form).status_code == 403
    shop.platform.settings["payouts_armed"] = True
    assert site.post("/console/pay-out", data=form).status_code == 409
    assert shop.events()[-1]["type"] == "payment.completed"


def test_what_moves_money_or_stays_is_marked_and_asks_once(site):
    """Its button looks different and leads to a question; nothing is done before the answer."""
    assert {name for name, action in ACTIONS.items() if action.ask} == MONEY_OR_FOR_GOOD
    assert ACTIONS.keys() == ACTS.keys()
    page = site.get("/console").text
    for name in MONEY_OR_FOR_GOOD:
        form = page.partition(f'<form method="get" action="/console/{name}">')[2]
        assert '<button class="danger"' in form.partition("</form>")[0], name
        asked = site.get(f"/console/{name}")
        assert f'method="post" action="/console/{name}"' in asked.text
        assert "No, back to the console" in words(asked)


def test_a_path_of_the_console_names_every_method_that_it_has(site):
    """Allow, of a path that is read and posted to."""
    assert site.put("/console/suspend").headers["allow"] == "GET, HEAD, POST"


def test_asking_changes_nothing(shop, site):
    """
    A question is only read, and repeats what was typed; one that another site leads to is not
    shown, and whoever asks for the address that a form was posted to gets the console.
    """
    sent = {"currency": "btc", "payer_id": "who", "amount": "0.5", "comment": "<b>thanks"}
    asked = site.get("/console/pay-out", params=sent)
    assert "Coin btc Recipient (payer_id) who Amount 0.5 Comment <b>thanks" in words(asked)
    for name in MONEY_OR_FOR_GOOD:
        site.get(f"/console/{name}")
        led = site.get(f"/console/{name}", headers={"sec-fetch-site": "cross-site"})
        assert (led.status_code, led.headers["location"]) == (303, "/console")
    for name in ("accept", "mint-checkout", "nothing"):
        assert site.get(f"/console/{name}").headers["location"] == "/console"
    settings = shop.platform.settings
    assert not settings["is_suspended"] and not settings["is_maintenance"]
    assert len(shop.service.account.webhook_ring) == 1 and shop.events() == []


BANNERS = {
    "maintain": ("every call to the API is refused", "reopen", "Maintenance has ended", 503),
    "suspend": ("it takes no payments and", "resume", "The business is active again.", 200),
}


@pytest.mark.parametrize("begin", BANNERS)
def test_maintenance_and_suspension_stand_above_every_page_until_they_end(shop, site, press, begin):
    """And the API says so; the button turns into the way back."""
    banner, end, said, status = BANNERS[begin]
    begun, me = words(press(begin)), "/api/pay/v1/me"
    assert banner in begun and f'action="/console/{end}"' in site.get("/console").text
    headers = {"authorization": f"Bearer {shop.checkout}"}
    answer = site.get(me, headers=headers)
    assert answer.status_code == status
    assert "MAINTENANCE_MODE" in answer.text or answer.json()["status"] == "suspended"
    for page in ("/console", "/console/suspend", "/console/pay-out"):
        assert banner in words(site.get(page))
    ended = words(press(end))
    assert said in ended and banner not in ended
    assert site.get(me, headers=headers).json()["status"] == "active"


def test_revoked_key_stands_in_the_console_as_one_and_opens_nothing(shop, site, press):
    """Its button goes with it; pressed again, it says that it was revoked before."""
    [key] = [key for key in shop.platform.api_keys.all() if key["class"] == "checkout"]
    headers = {"authorization": f"Bearer {shop.checkout}"}
    assert site.get("/api/pay/v1/me", headers=headers).json()["status"] == "active"
    assert "The key is revoked." in words(press("revoke", id=key["id"]))
    assert site.get("/api/pay/v1/me", headers=headers).status_code == 401
    assert site.get("/console").text.count('aria-label="Revoke') == 1
    assert "This key was revoked before. Code CONFLICT" in words(press("revoke", id=key["id"]))


def test_rotated_secret_is_shown_with_what_it_means(shop, site, press):
    """The question says what ends; the answer shows the new secret once."""
    asked = words(site.get("/console/rotate-receipt"))
    assert "The previous one is accepted for 24 hours more, then never again" in asked
    shown = press("rotate-receipt")
    secret = shop.service.account.receipt_ring[0].secret.reveal()
    assert secret in shown.text and secret not in site.get(shown.url).text


def test_form_of_another_site_presses_no_button(shop, site):
    """Whatever it says of its origin."""
    for origin in ("https://evil.example", "null", "http://127.0.0.1:1", "http://["):
        answer = site.post("/console/suspend", headers={"origin": origin})
        assert answer.status_code in (403, 404)  # 403 for what is no origin at all
        assert not shop.platform.settings["is_suspended"]


def test_every_field_has_a_label(site):
    """On the console: a screen reader reads each, of which key a button is, and all sections."""
    page = site.get("/console").text
    listed = re.findall(r'<a href="#([^"]+)"', page)
    assert listed == re.findall(r'<h2 id="([^"]+)"', page) and len(listed) > 5
    names = re.findall(r'aria-label="(Revoke… \w+ \w{8}),', page)
    assert len(names) == len(set(names)) == 2
    page = re.sub(r"<input[^>]*hidden[^>]*>", "", page)
    fields = len(re.findall(r"<(?:input|select)\b", page))
    assert fields and fields == len(re.findall(r"<label>[^/]*<(?:input|select)\b", page))


# Keys, addresses and the state of the account behind them (contract, Authentication).

UNAUTHORIZED = (401, "UNAUTHORIZED")


@pytest.fixture
def console(shop):
    return shop.console


@pytest.mark.parametrize(("kind", "prefix"), [("checkout", "svc_live_"), ("payout", "svc_payout_")])
def test_minted_key_is_shown_once_and_works(shop, console, kind, prefix):
    """Authentication 2 and 3: its form, its class; no list and no table holds its value."""
    key = console.mint_key({"class": kind})["key"]
    assert re.fullmatch(prefix + "[0-9a-f]{64}", key)
    assert shop.service.me(key)["status"] == "active"
    assert key not in str(shop.platform.api_keys.all())
    assert key not in str(shop.platform.store.fetch("select * from api_keys"))


def test_five_keys_of_a_class_can_be_enabled(console, refusal, shop):
    """The sixth is MERCHANT_KEY_LIMIT; the other class has its own five; revoking makes room."""
    minted = [console.mint_key({"class": "checkout"}) for _ in range(4)]
    limit = (422, "MERCHANT_KEY_LIMIT")
    assert refusal(console.mint_key, {"class": "checkout"}) == limit
    assert console.mint_key({"class": "payout"})
    console.revoke_key(minted[0]["id"])
    assert console.mint_key({"class": "checkout"})
    assert refusal(console.mint_key, {"class": "checkout"}) == limit


def arguments_of(route):
    """Some that a route takes, whatever is wrong with them."""
    return ["x"] * bool(route.id_name) + [{}] * bool(route.filters or route.body)


def test_revoked_key_is_refused_for_good(shop, console, refusal):
    """On every route, before its query is looked at, be it the scenario's; the others go on."""
    [first, _] = shop.platform.api_keys.all()
    console.revoke_key(first["id"])
    for route in ROUTES:
        operation = attrgetter(route.operation)(shop.service)
        assert refusal(operation, shop.checkout, *arguments_of(route)) == UNAUTHORIZED
    assert refusal(shop.service.payments, None, {"limit": "0"}) == UNAUTHORIZED
    assert shop.service.me(shop.payout)
    assert refusal(console.revoke_key, first["id"]) == (409, "CONFLICT")
    assert refusal(console.revoke_key, "nothing") == (404, "NOT_FOUND")


ALLOWED = ([], ["203.0.113.9"], ["203.0.113.0/24", "::1"])


@pytest.mark.parametrize("allowlist", [*ALLOWED, ["203.0.113.8"]], ids=str)
def test_key_is_bound_to_its_addresses(shop, console, refusal, allowlist):
    """Authentication 7: an unlisted address is UNAUTHORIZED, an empty list no restriction."""
    key = console.mint_key({"class": "payout", "allowlist": allowlist})["key"]
    expected = () if allowlist in ALLOWED else UNAUTHORIZED
    assert refusal(shop.service.me, PresentedKey(key, "203.0.113.9")) == expected
    expected = UNAUTHORIZED if allowlist else ()
    assert refusal(shop.service.me, PresentedKey(key, "")) == expected


@pytest.mark.parametrize("body", [{}, {"class": "root"}, {"class": "payout", "allowlist": ["x"]}])
def test_key_of_no_class_or_address_is_not_minted(console, refusal, body):
    """The console takes the two classes, and addresses or networks."""
    assert refusal(console.mint_key, body) == (422, "VALIDATION_FAILED")


REACH = [
    (route, {"checkout", "payout"})
    if route.path.startswith(("/payments", "/me")) and route.method == "GET"
    else (route, {"payout"} if "payout" in route.path or "refund" in route.path else {"checkout"})
    for route in ROUTES
]


@pytest.mark.parametrize(("route", "classes"), REACH, ids=[one.operation for one, _ in REACH])
def test_each_route_is_reached_by_its_classes_only(shop, route, classes):
    """Authentication 4 and 5; whatever else is wrong with the request."""
    operation = attrgetter(route.operation)(shop.service)
    for key_class, key in (("checkout", shop.checkout), ("payout", shop.payout)):
        codes = refused(operation, key, *arguments_of(route))
        assert ("PAY_WRONG_KEY_KIND" in codes) == (key_class not in classes)
    assert set(route.classes) == classes  # as the description says


def test_maintenance_turns_reads_and_writes_off(shop, refusal):
    """MAINTENANCE_MODE (503) for everyone, the customer in the widget too."""
    session = shop.session()
    shop.bind()
    shop.platform.settings["is_maintenance"] = True
    assert refusal(shop.confirm, session) == (503, "MAINTENANCE_MODE")
    for call, arguments in ((shop.service.me, ()), (shop.service.pay_out, ({},))):
        assert refusal(call, shop.payout, *arguments) == (503, "MAINTENANCE_MODE")


def test_account_that_is_no_business_is_not_found(shop, refusal):
    """Authentication 9."""
    shop.platform.settings["is_business"] = False
    assert refusal(shop.service.me, shop.checkout) == (404, "MERCHANT_NOT_FOUND")
    assert refusal(shop.service.me, "unknown") == UNAUTHORIZED


def test_another_scenario_is_another_business(shop):
    """Merchant, keys and secrets all differ when any parameter of the scenario does."""
    other, own = account_of(Scenario(seed=8, months=2, payments=60)), shop.service.account
    assert other.merchant_id != own.merchant_id
    theirs, ours = other.environment("theirs"), own.environment("ours")
    assert set(theirs.values()).isdisjoint(ours.values())
