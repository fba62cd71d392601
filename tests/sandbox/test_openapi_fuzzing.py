"""The published description attacked from outside: what it promises is what is served."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from svc_analytics.sandbox import create_app
from svc_analytics.sandbox.http.routes import PREFIX, ROUTES

CHECKS = list(HealthCheck)
EXAMPLES = [5, pytest.param(100, marks=pytest.mark.thorough)]  # requests a route


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


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_request_of_the_described_form_breaks_no_schema(attack, route, examples):
    """It may be refused by a rule with a code of its own, but only a cursor may be invalid."""
    answers = attack(route, GenerationMode.POSITIVE, examples)
    refused = [case for case, answer in answers if "VALIDATION_FAILED" in answer.text]
    assert answers and all("cursor" in (case.query or {}) for case in refused)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_request_of_another_form_is_refused_as_described(attack, route, examples):
    """Statuses, types, envelopes and keys are compared with the description."""
    if not (route.filters or route.body or route.id_name):
        assert route.operation == "me"  # the one that takes nothing
        return
    assert attack(route, GenerationMode.NEGATIVE, examples)
