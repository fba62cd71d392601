"""The published description, compared with real answers."""

from pathlib import Path

import pytest

from svc_analytics.sandbox.http.openapi import describe
from svc_analytics.sandbox.http.routes import PREFIX, ROUTES

DOCUMENT = describe(ROUTES)
SCHEMAS = DOCUMENT["components"]["schemas"]
CODES = set((Path(__file__).parent / "codes.txt").read_text().split())
# What only widget and console answer, which are no part of the description.
BESIDE = {code for code in CODES if code.startswith(("TOTP_", "MERCHANT_"))} | {
    *("PAY_SESSION_EXPIRED", "PAY_SELF_PAYMENT", "FORBIDDEN", "CONFLICT"),
    *("PAY_BINDING_REQUIRED", "PAY_BINDING_REVIEW", "PAY_BINDING_MISMATCH", "PAY_BINDING_CONFLICT"),
}


def conforms(value, schema):
    """Tell whether a value has exactly the described shape: no member more, none less."""
    if "$ref" in schema:
        return conforms(value, SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return any(conforms(value, one) for one in schema["anyOf"])
    kinds = {"string": str, "object": dict, "array": list, "boolean": bool, "null": type(None)}
    named = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if not isinstance(value, tuple(kinds[name] for name in named)):
        return False
    if isinstance(value, list):
        return all(conforms(item, schema["items"]) for item in value)
    if not isinstance(value, dict) or "properties" not in schema:
        return True
    described = schema["properties"]
    is_whole = set(schema["required"]) <= value.keys() <= described.keys()
    return is_whole and all(conforms(value[name], described[name]) for name in value)


@pytest.fixture
def answers(shop):
    """One real answer of every operation."""
    service, checkout, payout = shop.service, shop.checkout, shop.payout
    shop.platform.settings["payout_scope"] = "any"
    payment = shop.paid(cancel_url="https://shop.example/", description="Green")
    shop.bind("omid", "C-2", supplied="Somebody Else")
    customer = {"id": "C-3", "name": "x", "email": "y"}
    return {
        "me": service.me(payout),
        "payments": service.payments(payout, {}),
        "payment": payment,
        "pay_out": shop.pay_out(),
        "refund": shop.refund(payment, "1"),
        "payouts": service.payouts(payout, {}),
        "payout": service.payout(payout, "out-a"),
        "verify_receipt": service.verify_receipt(checkout, {"receipt": payment["receipt"]}),
        "sessions.create": shop.session("order-b", amounts=None, price_usd="1", customer=customer),
        "sessions.read": service.sessions.read(checkout, "order-a"),
        "sessions.cancel": service.sessions.cancel(checkout, "order-b"),
        "lookups.create": service.lookups.create(payout, {"email": "sara@customers.example"}),
        "bindings.read": service.bindings.read(checkout, "C-1"),
        "bindings.review": service.bindings.review(checkout, "C-2", {"action": "approve"}),
        "bindings.revoke": service.bindings.revoke(checkout, "C-2", {"reason": "asked"}),
    }


def test_every_answer_has_exactly_the_described_shape(answers):
    """No property is missing from the description, and none is promised that does not come."""
    assert answers.keys() == {route.operation for route in ROUTES}
    for route in ROUTES:
        responses = DOCUMENT["paths"][PREFIX + route.path][route.method.lower()]["responses"]
        schema = responses[str(route.status)]["content"]["application/json"]["schema"]
        assert conforms(answers[route.operation], schema), route.operation


def refusals(route):
    """Each code that the description names for a route, with its status and envelope."""
    responses = DOCUMENT["paths"][PREFIX + route.path][route.method.lower()]["responses"]
    for status, response in responses.items():
        for code, example in response["content"]["application/json"].get("examples", {}).items():
            yield code, (status, example["value"])


def test_each_refusal_names_the_codes_of_its_route():
    """As examples of the envelope: every code of the contract, but those of widget and console."""
    named = set()
    for route in ROUTES:
        told = dict(refusals(route))
        assert set(route.codes.split()) <= told.keys()
        for code, (status, example) in told.items():
            assert example == {"statusCode": int(status), "errors": {"error": [code]}}
        named |= told.keys()
    merchant = {"MERCHANT_NOT_FOUND", "MERCHANT_DISABLED", "MERCHANT_PAYOUTS_DISABLED"}
    of_http = {"BAD_GATEWAY", "BAD_REQUEST", "METHOD_NOT_ALLOWED", "PAYLOAD_TOO_LARGE"}
    assert named == CODES - BESIDE | merchant | of_http


@pytest.mark.parametrize(
    ("operation", "status"),
    [("sessions.create", 201), ("pay_out", 201), ("refund", 201), ("sessions.cancel", 200)],
)
def test_what_is_made_is_a_201(operation, status):
    """Sessions, payouts and refunds are created; a cancelled session is not."""
    [route] = [route for route in ROUTES if route.operation == operation]
    assert route.status == status
