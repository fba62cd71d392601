"""Receipts: signed as issued, verified as the contract says."""

import json

import pytest

from svc_analytics.instants import parse_instant
from svc_analytics.sandbox.state.records import receipt_facts
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipts import sign_receipt, verify_receipt
from svc_analytics.signing.secrets import SigningSecret, parse_secrets

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


def test_every_receipt_is_proven_by_the_ring_of_the_environment(service):
    """The settings handed out verify all tokens, those of before the rotation too."""
    ring = parse_secrets(service.account.environment("x")["SVC_RECEIPT_SECRETS"])
    verdicts = {
        verify_receipt(payment["receipt"], ring, _facts(service, payment)).verdict
        for payment in service.records("payments")
    }
    assert verdicts == {"valid", "valid_previous_secret"}


def test_good_receipt_answers_with_its_payment(service, checkout_key, newest):
    """POST /receipts/verify returns valid and the authoritative record."""
    answer = service.verify_receipt(checkout_key, {"receipt": newest["receipt"]})
    assert answer == {"valid": True, "payment": newest}


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


def test_rotation_has_one_dated_successor(service, scenario):
    """The ring is newest first, and both secrets carry the instant they came into force."""
    ring = service.account.receipt_ring
    assert [entry.valid_from for entry in ring] == [
        scenario.receipt_secrets_since[0],
        scenario.start,
    ]
    assert all(isinstance(entry, SigningSecret) for entry in ring)


def test_no_repr_shows_a_key_or_secret(service, payout_key):
    """An account can be logged without giving its secrets away."""
    shown = repr(service.account) + json.dumps(service.me(payout_key))
    values = service.account.environment("x").values()
    assert not [value for value in values if value != "x" and value.partition("@")[0] in shown]


def _facts(service, payment):
    paid_at = parse_instant(payment["paid_at"])[0]
    merchant_id = service.account.merchant_id
    return {**payment, "payment_id": payment["id"], "merchant_id": merchant_id, "paid_at": paid_at}
