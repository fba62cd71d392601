"""Keys, addresses and the state of the account behind them (contract, Authentication)."""

import re
from operator import attrgetter

import pytest

from svc_analytics.sandbox.account import PresentedKey, account_of
from svc_analytics.sandbox.console import Console
from svc_analytics.sandbox.routes import ROUTES
from svc_analytics.sandbox.scenario import Scenario
from tests.sandbox.shop import refused

UNAUTHORIZED = (401, "UNAUTHORIZED")


@pytest.fixture
def console(shop):
    return Console(shop.service)


@pytest.mark.parametrize(
    ("key_class", "form"),
    [("checkout", r"svc_live_[0-9a-f]{64}"), ("payout", r"svc_payout_[0-9a-f]{64}")],
)
def test_minted_key_is_shown_once_and_works(shop, console, key_class, form):
    """Authentication 2 and 3: its form, its class; no list and no table holds its value."""
    minted = console.mint_key({"class": key_class})
    assert re.fullmatch(form, minted["key"])
    assert shop.service.me(minted["key"])["status"] == "active"
    assert minted["key"] not in str(shop.platform.api_keys.all())
    assert minted["key"] not in str(shop.platform.store.fetch("select * from api_keys"))


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


@pytest.mark.parametrize(
    ("allowlist", "address", "is_allowed"),
    [
        ([], "203.0.113.9", True),
        (["203.0.113.9"], "203.0.113.9", True),
        (["203.0.113.0/24", "::1"], "203.0.113.9", True),
        (["203.0.113.8"], "203.0.113.9", False),
        (["203.0.113.9"], "", False),
    ],
)
def test_key_is_bound_to_its_addresses(shop, console, refusal, allowlist, address, is_allowed):
    """Authentication 7: an unlisted address is UNAUTHORIZED, an empty list no restriction."""
    minted = console.mint_key({"class": "payout", "allowlist": allowlist})
    presented = PresentedKey(minted["key"], address)
    if is_allowed:
        assert shop.service.me(presented)
    else:
        assert refusal(shop.service.me, presented) == UNAUTHORIZED


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
