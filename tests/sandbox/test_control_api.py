"""The control API over HTTP, and odd input to everything that is served."""

import json
import random
import re
import time
from urllib.parse import quote, urlencode

import httpx
import pytest

from svc_analytics.sandbox import serve
from svc_analytics.sandbox.console import ControlApi, control_routes
from tests.sandbox.shop import answered


@pytest.fixture
def control(site):
    """Posts to the control API and returns the answer's JSON."""
    return lambda path, **body: site.post(f"/control/{path}", json=body).json()


def test_session_is_created_paid_and_refunded_over_http(shop, site, control, api):
    """The whole way of an order, with the statuses of the contract.

    Only a reference_id makes two requests one, whatever header stands beside it.
    """
    made = api("POST", "/sessions", json=shop.order())
    assert made.status_code == 201
    who = {"session": made.json()["id"], "email": "sara@customers.example"}
    assert control("bind", **who)["status"] == "active"
    payment = control("confirm", **who, currency="usdt")
    headers = {"authorization": f"Bearer {shop.payout}", "idempotency-key": "same"}
    path = f"/api/pay/v1/payments/{payment['receipt_no']}/refund"
    body = {"reference_id": "back/1", "amount": "5"}
    refunded = site.post(path, json=body, headers=headers)
    assert (refunded.status_code, refunded.json()["payment_id"]) == (201, payment["id"])
    again = site.post(path, json=body, headers=headers)
    assert (again.status_code, again.json()) == (201, refunded.json())  # as the original
    other = site.post(path, json=body | {"reference_id": "back/2"}, headers=headers)
    assert other.json()["id"] != refunded.json()["id"]
    read = site.get("/api/pay/v1/payouts/back%2F1", headers=headers)
    assert read.json() == refunded.json()


def test_body_is_read_whatever_its_content_type(shop, api):
    """The contract asks clients to send it, and does not say what happens without it."""
    content = json.dumps(shop.order())
    answer = api("POST", "/sessions", content=content, headers={"content-type": "text/plain"})
    assert answer.status_code == 201


def test_clock_is_set_moved_and_released(control, api, shop):
    """Sessions expire on it; released, it follows this machine again."""
    api("POST", "/sessions", json=shop.order())
    assert control("clock", set="2026-11-21T00:00:00Z") == {"now": "2026-11-21T00:00:00Z"}
    assert api("GET", "/sessions/order-a").json()["status"] == "expired"
    assert control("clock", advance_seconds=60) == {"now": "2026-11-21T00:01:00Z"}
    assert control("clock", run=True)["now"] > "2026"
    for bad in ({"jump": 1}, {"set": "9999-12-31T00:00:00Z"}, {"advance_seconds": 10**12}):
        assert control("clock", **bad)["statusCode"] == 422


def test_faults_come_and_go(control, api):
    """Faults by name; an empty body ends them; the control API itself never fails."""
    control("quirks", fail_every=1, failures=["503"])
    assert api("GET", "/me").status_code == 503
    control("quirks")
    assert api("GET", "/me").status_code == 200
    nothing_to_fail_by = {"fail_every": 1, "failures": []}
    wrong = ({"nonsense": 1}, {"latency": "slow"}, {"page_size": [5, 2]}, nothing_to_fail_by)
    for faults in (*wrong, {"fail_every": -1}):
        assert control("quirks", **faults)["errors"]["error"] == ["VALIDATION_FAILED"]
    assert api("GET", "/me").status_code == 200


def test_rows_can_become_visible_late_and_have_unknown_values(shop, site, api, control):
    """Listed only after their delay, read by id at once; a new kind changes nothing else."""
    payment, record = shop.paid(), shop.pay_out()
    control("quirks", visible_after=60_000_000, unknown_status=1)
    newest = api("GET", "/payments").json()["data"][0]
    assert newest["id"] != payment["id"] and newest["status"] == "under_observation"
    control("clock", advance_seconds=60)
    assert api("GET", "/payments").json()["data"][0]["id"] == payment["id"]
    control("quirks", unknown_kind=1)
    headers = {"authorization": f"Bearer {shop.payout}"}
    shown = site.get("/api/pay/v1/payouts/out-a", headers=headers).json()
    assert shown == record | {"kind": "adjustment"}


def test_settings_are_changed_all_or_none(control, api):
    """Unknown names and wrong kinds are refused, and then nothing changes."""
    assert control("settings", is_suspended=True)["is_suspended"] is True
    assert api("GET", "/me").json()["status"] == "suspended"
    for bad in ({"nonsense": 1}, {"is_suspended": "no"}, {"deliver_to": "https://shop.example/"}):
        answer = control("settings", **{"is_rail_enabled": False, **bad})
        assert answer["errors"]["error"] == ["VALIDATION_FAILED"]
    assert control("settings", payout_max_usd=None)["is_rail_enabled"] is True


def test_allowlist_holds_over_http(shop, control):
    """Another address than the key's own is UNAUTHORIZED, as named by the proxy before us."""
    body = {"class": "checkout", "allowlist": ["203.0.113.9"]}
    headers = {"authorization": f"Bearer {control('keys', **body)['key']}"}
    with serve(shop.service) as running:  # it is the server that reads the header
        me = f"{running.base_url}/api/pay/v1/me"
        assert httpx.get(me, headers=headers).json()["errors"]["error"] == ["UNAUTHORIZED"]
        headers["x-forwarded-for"] = "203.0.113.9"
        assert httpx.get(me, headers=headers).status_code == 200


def test_keys_and_secrets_are_managed_over_http(site, control, api):
    """Minted and revoked, opened and rotated; the overview holds none of them."""
    minted = control("keys", **{"class": "payout"})
    opened = control("secrets/webhook/open")["secret"]
    rotated = control("secrets/webhook/rotate")["secret"]
    overview = site.get("/control").text
    assert not any(text in overview for text in (minted["key"], opened, rotated))
    assert site.delete(f"/control/keys/{minted['id']}").status_code == 200
    assert control("test-event")["event_id"] in site.get("/control/deliveries").text


REFUSED = {
    "logo": (
        *({"content_type": "text/html", "size": 1}, {"content_type": "image/png", "size": 10**7}),
        *({"content_type": [["image/png"]], "size": 1}, {"content_type": "image/png", "size": "1"}),
    ),
    "convert-target": ({"currency": "irt"}, {"currency": ["btc"]}, {}),
    "promote": ({},),
}
CODES = {
    "logo": (422, "MERCHANT_LOGO_INVALID"),
    "convert-target": (422, "MERCHANT_CONVERT_TARGET_INVALID"),
    "promote": (409, "MERCHANT_EXISTS"),
}


@pytest.mark.parametrize("path", REFUSED)
def test_codes_of_the_console_share_the_envelope(site, path):
    """Merchant account, the last rows of the table."""
    for body in REFUSED[path]:
        assert answered(site.post(f"/control/{path}", json=body)) == CODES[path], body


def test_branding_and_conversion_are_kept(site, control, api):
    """
    The profile shows the logo's new address; the target stands in the console until taken back.
    """
    logo = control("logo", content_type="image/webp", size=512)["logo_url"]
    assert logo.endswith(".webp") and api("GET", "/me").json()["logo_url"] == logo
    for target in ("btc", None):
        assert control("convert-target", currency=target) == {"currency": target}
        assert site.get("/control").json()["settings"]["convert_target"] == target
    assert "errors" in control("settings", logo_url="x")


def test_served_shop_expires_and_delivers_unasked(shop):
    """Within a moment, without any request; a busy machine may take longer."""
    shop.session(ttl_minutes=5)
    shop.clock.advance(10**9)
    with serve(shop.service):
        for _ in range(3_000):
            if shop.service.webhooks.log() and shop.service.webhooks.log()[0]["attempts"]:
                break
            time.sleep(0.02)
    assert shop.service.webhooks.log()[0]["type"] == "session.expired"
    assert shop.service.webhooks.log()[0]["attempts"]


def test_faults_do_not_reach_the_control_api(shop, control):
    """A payment and a payout are told as they are, whatever the API shows of them."""
    shop.bind()
    control("quirks", unknown_status=1, unknown_kind=1, extra_properties=True)
    who = {"session": shop.session()["id"], "email": "sara@customers.example"}
    payment = control("confirm", **who, currency="usdt")
    payout = control("payouts", currency="usdt", payer_id=payment["payer_id"], amount="1")
    assert (payment["status"], payout["status"], payout["kind"]) == (*["completed"] * 2, "payout")
    assert "risk" not in payment and "risk" not in payout


@pytest.mark.parametrize(
    ("kind", "other", "status"),
    [
        ("Application/JSON", {}, 200),
        ("application/json", {"origin": "https://evil.example"}, 403),
        ("application/json", {"sec-fetch-site": "cross-site"}, 403),
        ("text/plain", {}, 422),
    ],
)
def test_only_our_own_pages_and_scripts_use_the_control_api(site, kind, other, status):
    """A media type has no case; a page of another site gets nothing."""
    headers = {"content-type": kind, **other}
    assert site.post("/control/quirks", content=b"{}", headers=headers).status_code == status


def test_a_webhook_never_leads_to_the_sandbox_itself(shop, control):
    """Its own events would press its own buttons."""
    shop.platform.base_url = "http://127.0.0.1:8700"
    for url in ("http://127.0.0.1:8700/console/suspend", "http://localhost:8700/control"):
        refused = control("webhook-url", url=url), control("settings", deliver_to=url)
        codes = [answer["errors"]["error"] for answer in refused]
        assert codes == [["MERCHANT_WEBHOOK_URL_INVALID"], ["VALIDATION_FAILED"]]
    assert control("webhook-url", url="http://127.0.0.1:8701/hook")["webhook_url"]


@pytest.mark.parametrize("email", ["nobody@customers.example", "", None, ["sara"], 7], ids=str)
def test_only_people_of_the_platform_link_and_pay(shop, control, email):
    """Whoever is unknown is no recipient; what is no text is not even looked for."""
    who = {"session": shop.session()["id"], "email": email}
    code = "PAY_RECIPIENT_INVALID" if isinstance(email, str) else "VALIDATION_FAILED"
    for path in ("bind", "confirm"):
        answer = control(path, **who, currency="usdt")
        assert answer == {"statusCode": 422, "errors": {"error": [code]}}


def test_a_suspended_shop_links_no_customer(shop, control):
    """The widget offers no sign-in then either."""
    who = {"session": shop.session()["id"], "email": "sara@customers.example"}
    control("settings", is_suspended=True)
    assert control("bind", **who)["errors"]["error"] == ["MERCHANT_DISABLED"]


# What nobody should send: kept as it came or refused by its code, and never a 500.

ENDS = (
    *("\n", "\r", "\r\n", "\t", "\x0b", "\x85", "\u2028", "\0", "/", "//", "..", "%", "%2F"),
    *("?", "#", "\\", "&", ";", " ", "é", "چای", "😀"),
)


@pytest.fixture
def site(site, shop):
    """A browser at the site of a shop, and a client of its API."""
    site.headers["authorization"] = f"Bearer {shop.checkout}"
    return site


@pytest.fixture
def api(site):
    """Calls the API."""
    return lambda method, path, **more: site.request(method, f"/api/pay/v1{path}", **more)


@pytest.mark.parametrize("end", ENDS, ids=ascii)
def test_whatever_id_is_taken_is_found_again(shop, api, end):
    """A session, a payout and a customer by the merchant's own ids, line breaks included."""
    name = f"{end}x{end}"
    path = quote(name, safe="")
    assert api("POST", "/sessions", json=shop.order(name)).status_code == 201
    assert api("GET", f"/sessions/{path}").json()["reference_id"] == name
    assert api("POST", f"/sessions/{path}/cancel").json()["status"] == "cancelled"
    shop.bind(customer_id=name)
    assert api("GET", f"/customers/{path}/binding").json()["state"] == "active"
    revoked = api("DELETE", f"/customers/{path}/binding", json={"reason": "asked"})
    assert revoked.json() == {"customer_id": name, "state": "revoked"}
    shop.paid()
    made = shop.pay_out(name)
    paid = {"authorization": f"Bearer {shop.payout}"}
    assert api("GET", f"/payouts/{path}", headers=paid).json() == made


@pytest.mark.parametrize("path", ["/me%0A", "/sessions%0A", "/%0Ame", "/payments/%0A/refund%0A"])
def test_line_break_makes_another_path(api, path):
    """Only an id may hold one."""
    assert api("GET", path).json()["errors"]["error"] == ["NOT_FOUND"]


NUMBERS = (
    *("0", "-0", "1", "1.0", "1.50", "0.1", "1e5", "1E+5", "1.0e-5", "-0.0", "1e16", "1e400"),
    *("0.12345678901234567890123", "123456789.123456789123456789", "9007199254740993"),
    *("9223372036854775808", "1" + "0" * 40, "7" * 4300, "7" * 5000, f"0.{'3' * 5000}"),
)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number[:24])
def test_metadata_passes_through_digit_by_digit(shop, api, number):
    """Free-form passthrough: in the session, its replay, its payment and every list."""
    held = f'{{"n":{number},"deep":[{{"n":{number}}}]}}'
    body = json.dumps(shop.order(metadata="here")).replace('"here"', held)
    made = api("POST", "/sessions", content=body)
    assert f'"metadata":{held}' in made.text
    again = api("POST", "/sessions", content=body)
    assert (again.status_code, again.text) == (201, made.text)
    shop.bind()
    session_id = made.text[7:43]  # no reader of JSON in Python takes 5,000 digits
    payment_id = shop.confirm({"id": session_id})
    for path in ("/sessions/order-a", f"/payments/{payment_id}", "/payments?limit=1"):
        assert f'"metadata":{held}' in api("GET", path).text


def test_metadata_in_another_order_is_the_same_request(shop, api):
    """But another digit is not."""
    texts = ['{"a":1.10,"b":{"c":2,"d":3}}', '{ "b":{"d":3,"c":2}, "a":1.10 }', '{"a":1.1}']
    body = json.dumps(shop.order(metadata="here"))
    answers = [api("POST", "/sessions", content=body.replace('"here"', text)) for text in texts]
    assert [answer.status_code for answer in answers] == [201, 201, 409]


@pytest.mark.parametrize(
    "metadata",
    ["NaN", '{"n":NaN}', '{"n":-Infinity}', '{"n":01}', '{"n":1.}', '{"s":"\\ud800"}', "[1]", "7"],
)
def test_metadata_that_is_no_json_object_is_refused(shop, api, metadata):
    """VALIDATION_FAILED, as for every other member."""
    body = json.dumps(shop.order(metadata="here")).replace('"here"', metadata)
    assert answered(api("POST", "/sessions", content=body)) == (422, "VALIDATION_FAILED")


def test_unknown_members_may_hold_any_number_too(shop, api):
    """Beside the known ones of the request and of its customer, which a binding keeps."""
    order = shop.order(unknown="here")
    order["customer"] |= {"rank": "here"}
    made = api("POST", "/sessions", content=json.dumps(order).replace('"here"', "1e400"))
    shop.service.checkout.link(made.json()["id"], shop.people["sara"].payer_id)
    assert api("GET", "/customers/C-1/binding").json()["state"] == "active"


@pytest.mark.parametrize(
    ("minutes", "status"), [("30.0", 201), ("3e1", 201), ("30.5", 422), ("1e400", 422)]
)
def test_lifetime_is_a_whole_number_however_it_is_written(shop, api, minutes, status):
    """JSON knows no integers, only numbers."""
    body = json.dumps(shop.order(ttl_minutes="here")).replace('"here"', minutes)
    answer = api("POST", "/sessions", content=body)
    assert answer.status_code == status
    if status == 201:
        assert answer.json()["expires_at"] == "2026-11-20T12:30:00Z"


ODD = (
    *(None, True, False, 0, -1, 1, 2.5, 1e300, 10**9, 10**18, 10**30, 10**400, "", "x", "0"),
    *("usdt", "checkout", "any", "é", "☃", "\0", "\n", "x\r\nInjected: 1", "9" * 5000, "x" * 3000),
    *([], [[]], [{}], ["usdt"], ["usdt", "usdt"], [None, 1], [[["x"]]], {}, {"a": {}}, {"": []}),
    *("https://[", "http://[", "http://127.0.0.1:9/☃", "2026-11-20T00:00:60Z", "-", "1e400"),
    *(["10.0.0.0/" + "9" * 5000], ["fe80::1%x"], [1], {"x": 10**400}),
)
NAMES = (
    *("set", "advance_seconds", "run", "email", "session", "currency", "totp", "class"),
    *("allowlist", "url", "content_type", "size", "payer_id", "amount", "comment", "id"),
)


def some_bodies(shop, count):
    """Odd bodies, always the same: each a few known members with values of any type."""
    chance = random.Random(1313)
    state = ControlApi(shop.service).state()
    # Two faults that break or delay answers by themselves are tried elsewhere.
    names = [*NAMES, *state["settings"], *sorted({*state["quirks"]} - {"latency", "fail_every"})]
    for _ in range(count):
        chosen = chance.sample(names, chance.choice((1, 1, 2, 3)))
        yield {name: chance.choice(ODD) for name in chosen}


def fails(answer):
    """Tell whether the service itself failed."""
    return answer.status_code >= 500 and "INTERNAL_SERVER_ERROR" in answer.text


@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.thorough)])
def test_no_input_of_the_control_api_breaks_the_service(shop, site, api, count):
    """Every path takes every body: refused or obeyed, and then the API still answers."""
    paths = [route.path.replace("{id}", "x") for route in control_routes(shop.service)]
    for body in some_bodies(shop, count):
        for path in paths:
            assert not fails(site.post(path, json=body)), (path, body)
        for call in (("GET", "/payments"), ("GET", "/me"), ("GET", "/sessions/order-a")):
            assert not fails(api(*call)), body
        assert not fails(api("POST", "/sessions", json=shop.order())), body
        assert not fails(site.get("/control")), body
        site.post("/control/quirks", json={})
        site.post("/control/settings", json={"is_maintenance": False})


@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.thorough)])
def test_no_input_of_the_console_or_widget_breaks_the_service(shop, site, count):
    """Every form takes every field, in every encoding."""
    checkout = shop.session()["checkout_url"]
    page = site.get("/console").text
    fields = sorted(set(re.findall(r'name="(\w+)"', page)) | {"as", "action", "totp", "code"})
    actions = sorted({checkout, *re.findall(r'action="([^"]+)"', page)})
    assert len(actions) > 5
    chance = random.Random(1313)
    texts = [value if isinstance(value, str) else repr(value)[:9000] for value in ODD if value]
    for _ in range(count):
        given = {name: chance.choice(texts) for name in chance.sample(fields, 3)}
        content = chance.choice((urlencode(given).encode(), b"\xff=%ff&%zz;=&=", b"&" * 500))
        for action in actions:
            answer = site.post(action, content=content)
            assert not fails(answer) and answer.status_code != 500, (action, given)


def test_last_day_of_the_clock_is_a_day_like_any_other(site, shop, api):
    """A session made then expires in the year after, which can still be written."""
    site.post("/control/settings", json={"session_minutes": 1440})
    site.post("/control/clock", json={"set": "9998-12-31T23:59:59Z"})
    made = api("POST", "/sessions", json=shop.order())
    assert made.json()["expires_at"] == "9999-01-01T23:59:59Z"


def test_clock_before_the_first_record_sells_too(site, shop):
    """At the first fee tier: 1.5 % of 20."""
    site.post("/control/clock", json={"set": "1970-01-01T00:00:00Z"})
    assert shop.paid()["fee_amount"] == "0.300000"
