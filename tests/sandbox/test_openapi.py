"""The published description, compared with real answers."""

from operator import attrgetter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings, strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from svc_analytics.sandbox import create_app
from svc_analytics.sandbox.routes import PREFIX, ROUTES, describe
from tests.sandbox.shop import refused
from tests.support.rings import rings

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
        assert set(route.codes) <= told.keys()
        for code, (status, example) in told.items():
            assert example == {"statusCode": int(status), "errors": {"error": [code]}}
        named |= told.keys()
    merchant = {"MERCHANT_NOT_FOUND", "MERCHANT_DISABLED", "MERCHANT_PAYOUTS_DISABLED"}
    of_http = {"BAD_GATEWAY", "BAD_REQUEST", "METHOD_NOT_ALLOWED", "PAYLOAD_TOO_LARGE"}
    assert named == CODES - BESIDE | merchant | of_http


def test_what_is_made_is_a_201():
    """Sessions, payouts and refunds are created; a cancelled session is not."""
    made = {route.operation for route in ROUTES if route.status == 201}
    assert made == {"sessions.create", "pay_out", "refund"}
    assert {route.status for route in ROUTES} == {200, 201}


def least(schema):
    """The smallest value that a schema allows."""
    if "$ref" in schema:
        return least(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "properties" in schema:
        return {name: least(schema["properties"][name]) for name in schema["required"]}
    if "items" in schema:
        return [least(schema["items"])]
    return schema.get("const", "1")


def edges(field):
    """Values at the limits of a member and just beyond them, each with whether it is allowed."""
    if "maxLength" in field:
        start, most = "https://h/" if "pattern" in field else "", field["maxLength"]
        yield from [(f"{start:x<{most}}", True), (f"{start:x<{most + 1}}", False)]
        yield "", not field.get("minLength", "pattern" in field)
    elif "const" in field or "pattern" in field or field.get("format") == "uuid":
        yield "five", False
    if "maximum" in field:
        lowest, highest = field["minimum"], field["maximum"]
        yield from [(lowest, True), (highest, True), (lowest - 1, False), (highest + 1, False)]
    if "items" in field:
        yield from [([], False), (least(field) * (field["maxItems"] + 1), False)]
        item = least(field)[0]
        yield from [([{**item, name: 7}], False) for name in item]
    yield from [(7 if "integer" not in field["type"] else "7", False)]
    yield None, "null" in field["type"]


def changed(schema):
    """Bodies in which one member is at an edge, each with whether the schema allows it."""
    good = least(schema)
    for name, field in schema["properties"].items():
        yield from [({**good, name: value}, is_allowed) for value, is_allowed in edges(field)]
        if "properties" in field:
            yield from [({**good, name: inner}, is_good) for inner, is_good in changed(field)]


WRITES = [route for route in ROUTES if route.body]


@pytest.mark.parametrize("route", WRITES, ids=lambda route: route.operation)
def test_each_member_of_a_body_is_held_to_its_described_limits(shop, route):
    """Length, range, count, form and type of each: what is at a limit passes, what is not fails."""
    shop.platform.settings["payout_scope"] = "any"
    names = [shop.paid()["id"]] * bool(route.id_name)
    key = shop.payout if route.classes == ("payout",) else shop.checkout
    schema = SCHEMAS[route.body]
    for each in schema.get("oneOf", [schema]):
        for body, is_allowed in [(None, False), *changed(each)]:
            codes = refused(attrgetter(route.operation)(shop.service), key, *names, body)
            flaws = {"VALIDATION_FAILED", "PAY_CUSTOMER_REQUIRED"} & {*codes}
            assert (not flaws) == is_allowed, (body, codes)


# The published description attacked from outside.

CHECKS = list(HealthCheck)
EVERY = [(route, 100) for route in ROUTES]  # and how many requests are sent to it


def some(first):
    """Parameters: a few requests to every third route, and in the deep ring many to each."""
    return rings([(route, 5) for route in ROUTES[first::3]], EVERY)


def named(value):
    return getattr(value, "operation", value)


@pytest.fixture
def description(shop):
    """The description as the app serves it, to be used with the key that reaches a route."""
    description = schemathesis.openapi.from_asgi("/openapi.json", create_app(shop.service))

    @description.auth()
    class Keys:
        def get(self, case, _):
            pays_out = "/payouts" in case.path or case.path.endswith("/refund")
            return shop.payout if pays_out else shop.checkout

        def set(self, case, key, _):
            case.headers["authorization"] = f"Bearer {key}"

    return description


@pytest.fixture
def attack(shop, description):
    """Sends requests to one operation of a shop where things have happened; returns the answers."""
    shop.platform.settings["payout_scope"] = "any"
    known = st.sampled_from([shop.paid()["id"], "order-a", shop.pay_out()["id"], "C-1"])

    def run(route, mode, examples):
        operation, answers = description[PREFIX + route.path][route.method], []

        @seed(1405)
        @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=CHECKS)
        @given(operation.as_strategy(generation_mode=mode), st.none() | known)
        def send(case, name):
            if name and route.id_name and mode is GenerationMode.POSITIVE:
                case.path_parameters[route.id_name] = name
            # A request of the described form may break a rule of the contract; see below.
            answer = case.call_and_validate(excluded_checks=[positive_data_acceptance])
            if answer.status_code != route.status:
                codes = set(answer.json()["errors"]["error"])
                assert codes <= set(route.refusals[answer.status_code])
            answers.append((case, answer))

        send()
        return answers

    return run


@pytest.mark.parametrize(("route", "examples"), some(1), ids=named)
def test_request_of_the_described_form_breaks_no_schema(attack, route, examples):
    """It may be refused by a rule with a code of its own, but only a cursor may be invalid."""
    answers = attack(route, GenerationMode.POSITIVE, examples)
    refused = [case for case, answer in answers if "VALIDATION_FAILED" in answer.text]
    assert answers and all("cursor" in (case.query or {}) for case in refused)


@pytest.mark.parametrize(("route", "examples"), some(2), ids=named)
def test_request_of_another_form_is_refused_as_described(attack, route, examples):
    """Statuses, types, envelopes and keys are compared with the description."""
    if not (route.filters or route.body or route.id_name):
        assert route.operation == "me"  # the one that takes nothing
        return
    assert attack(route, GenerationMode.NEGATIVE, examples)
