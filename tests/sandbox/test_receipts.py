"""Receipts: signed as issued, verified as the contract says."""

import json

import pytest

from svc_analytics.sandbox.state.records import receipt_facts
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import sign_receipt

UNPROVEN = (422, "PAY_RECEIPT_INVALID")


@pytest.fixture
def newest(service):
    return list(service.records("payments"))[-1]


@pytest.fixture
def facts(service, store, scenario, newest):
    stored = store.find(PAYMENTS, "id", newest["id"], scenario.until)
    return receipt_facts(stored, service.account)


@pytest.fixture
def secret(service, scenario):
    return service.account.receipt_secret(scenario.until)


@pytest.mark.parametrize("fact", ["amount", "merchant_id", "payment_id", "currency", "paid_at"])
def test_rightly_signed_receipt_with_another_fact_is_refused(
    service, checkout_key, facts, secret, refusal, fact
):
    """Verification also asks for a payment with matching facts."""
    other = {"amount": "1", "paid_at": "2026-01-01T00:00:00Z"}.get(fact, "other")
    token = sign_receipt({**facts, fact: other}, secret)
    assert refusal(service.verify_receipt, checkout_key, {"receipt": token}) == UNPROVEN


@pytest.mark.parametrize("place", [5, -50, -1], ids=["payload", "near_the_dot", "signature"])
def test_tampered_receipt_is_refused(service, checkout_key, newest, refusal, place):
    """One changed letter anywhere spoils a token."""
    letters = list(newest["receipt"])
    letters[place] = "A" if letters[place] != "A" else "B"
    token = "".join(letters)
    assert refusal(service.verify_receipt, checkout_key, {"receipt": token}) == UNPROVEN


def test_padded_receipt_is_refused(service, checkout_key, refusal):
    """The service wrote none of these, though they decode alike; every length is tried."""
    lengths = set()
    for payment in service.records("payments"):
        head, payload, mac = payment["receipt"].split(".")
        if len(payload) % 4 in lengths:
            continue
        lengths.add(len(payload) % 4)
        for end in ("=", "=="):
            for token in (f"{head}.{payload}{end}.{mac}", f"{head}.{payload}.{mac}{end}"):
                assert refusal(service.verify_receipt, checkout_key, {"receipt": token}) == UNPROVEN
    assert lengths == {0, 2, 3}


def test_no_repr_shows_a_key_or_secret(service, payout_key):
    """An account can be logged without giving its secrets away."""
    shown = repr(service.account) + json.dumps(service.me(payout_key))
    values = service.account.environment("x").values()
    assert not [value for value in values if value != "x" and value.partition("@")[0] in shown]
