"""The control API over HTTP."""

import json
import time

import httpx
import pytest

from svc_analytics.sandbox import serve


@pytest.fixture
def control(site):
    """Posts to the control API and returns the answer's JSON."""

    def call(path, **body):
        answer = site.post(f"/control/{path}", json=body)
        return answer.json()

    return call


@pytest.fixture
def api(site, shop):
    """Calls the API with a checkout key."""

    def call(method, path, **options):
        headers = {"authorization": f"Bearer {shop.checkout}", **options.pop("headers", {})}
        return site.request(method, f"/api/pay/v1{path}", headers=headers, **options)

    return call


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


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("logo", {"content_type": "text/html", "size": 1}, 422, "MERCHANT_LOGO_INVALID"),
        ("logo", {"content_type": "image/png", "size": 10**7}, 422, "MERCHANT_LOGO_INVALID"),
        ("logo", {"content_type": [["image/png"]], "size": 1}, 422, "MERCHANT_LOGO_INVALID"),
        ("logo", {"content_type": "image/png", "size": "1"}, 422, "MERCHANT_LOGO_INVALID"),
        ("convert-target", {"currency": "irt"}, 422, "MERCHANT_CONVERT_TARGET_INVALID"),
        ("convert-target", {"currency": ["btc"]}, 422, "MERCHANT_CONVERT_TARGET_INVALID"),
        ("convert-target", {}, 422, "MERCHANT_CONVERT_TARGET_INVALID"),
        ("promote", {}, 409, "MERCHANT_EXISTS"),
    ],
)
def test_codes_of_the_console_share_the_envelope(site, path, body, status, code):
    """Merchant account, the last rows of the table."""
    answer = site.post(f"/control/{path}", json=body)
    assert answer.status_code == status
    assert answer.json() == {"statusCode": status, "errors": {"error": [code]}}


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
    ("headers", "status"),
    [
        ({"content-type": "Application/JSON"}, 200),
        ({"content-type": "application/json", "origin": "https://evil.example"}, 403),
        ({"content-type": "application/json", "sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 422),
    ],
    ids=lambda value: str(value)[:60],
)
def test_only_our_own_pages_and_scripts_use_the_control_api(site, headers, status):
    """A media type has no case; a page of another site gets nothing."""
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
