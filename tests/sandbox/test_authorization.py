"""Who may call what (contract, Authentication)."""

import pytest

from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.state.account import account_of

REFUSED = (401, "UNAUTHORIZED")
OPERATIONS = {
    "me": (),
    "payments": ({},),
    "payment": ("SVC-000000001",),
    "payouts": ({},),
    "payout": ("out/000001",),
    "verify_receipt": ({"receipt": "v1.e30.x"},),
}
every_operation = pytest.mark.parametrize("operation", OPERATIONS)


@every_operation
def test_revoked_key_answers_like_an_unknown_one(service, payout_key, refusal, operation):
    """A revoked key is refused at once, on every route."""
    service.revoke("payout")
    assert refusal(getattr(service, operation), payout_key, *OPERATIONS[operation]) == REFUSED


def test_key_is_judged_before_the_query(service, refusal):
    """Without a good key a bad request learns nothing about its query."""
    assert refusal(service.payments, None, {"limit": "0"}) == REFUSED


def test_another_scenario_is_another_business(service):
    """Merchant, keys and secrets all differ when any parameter of the scenario does."""
    other = account_of(Scenario(seed=8, months=4, payments=300))
    assert other.merchant_id != service.account.merchant_id
    theirs, ours = other.environment("theirs"), service.account.environment("ours")
    assert set(theirs.values()).isdisjoint(ours.values())
