"""Bindings (contract, Customers and States)."""

import pytest

WRONG_STATE = (409, "PAY_BINDING_STATE")
REASON = {"reason": "the customer asked for it"}


@pytest.fixture
def read(shop):
    def call(customer_id="C-1"):
        return shop.service.bindings.read(shop.checkout, customer_id)

    return call


@pytest.fixture
def review(shop):
    def call(action, customer_id="C-1", **more):
        body = {"action": action, **more}
        return shop.service.bindings.review(shop.checkout, customer_id, body)

    return call


@pytest.fixture
def revoke(shop):
    def call(body=REASON, customer_id="C-1"):
        return shop.service.bindings.revoke(shop.checkout, customer_id, body)

    return call


def types(shop):
    return [event["type"] for event in shop.events()]


def test_customer_without_a_binding_has_the_state_none(read):
    """With `binding` null, whether the customer is known or not."""
    assert read("nobody") == {"customer_id": "nobody", "state": "none", "binding": None}


def test_matching_name_binds_at_once(shop, read):
    """none to active; the account shows only as a masked name, never as an email."""
    shop.bind()
    answer = read()
    binding = answer["binding"]
    assert (answer["state"], binding["status"], binding["match_passed"]) == ("active",) * 2 + (
        True,
    )
    assert binding["masked_name"] == "S*** R***"
    assert binding["bound_at"] == binding["created_at"] == "2026-11-20T12:00:00Z"
    assert "customers.example" not in str(answer) and "Sara" not in binding["masked_name"]
    assert types(shop) == ["binding.completed"]


def test_other_name_awaits_the_review(shop, read):
    """none to pending_review."""
    shop.bind(supplied="Somebody Else")
    binding = read()["binding"]
    assert (binding["status"], binding["match_passed"]) == ("pending_review", False)
    assert (binding["bound_at"], binding["supplied_name"]) == (None, "Somebody Else")
    assert types(shop) == ["binding.review"]


def test_binding_events_have_exactly_their_fields(shop):
    """event_id, type, binding_id, customer_id, status."""
    binding = shop.bind(supplied="Somebody Else")
    shop.service.bindings.review(shop.checkout, "C-1", {"action": "approve"})
    shop.service.bindings.revoke(shop.checkout, "C-1", REASON)
    told = {"review": "pending_review", "completed": "active", "revoked": "revoked"}
    for event, (name, status) in zip(shop.events(), told.items(), strict=True):
        ids = {"event_id": event["event_id"], "binding_id": binding.id, "customer_id": "C-1"}
        assert event == {**ids, "type": f"binding.{name}", "status": status}


def test_approved_binding_is_active(shop, read, review):
    """pending_review to active, with its time on record."""
    shop.bind(supplied="Somebody Else")
    answer = review("approve")
    assert answer["binding"]["status"] == "active"
    assert answer["binding"]["reviewed_at"] == "2026-11-20T12:00:00Z"
    assert read()["state"] == "active"
    assert types(shop) == ["binding.review", "binding.completed"]


def test_rejected_binding_is_gone(shop, read, review):
    """pending_review to revoked; a fresh ceremony can follow."""
    shop.bind(supplied="Somebody Else")
    assert review("reject", **REASON)["binding"]["status"] == "revoked"
    assert read()["state"] == "none"
    assert types(shop) == ["binding.review", "binding.revoked"]
    assert shop.bind().status == "active"


def test_revoked_binding_is_gone(shop, read, revoke):
    """active to revoked, the reason on record; a fresh ceremony can follow."""
    shop.bind()
    assert revoke() == {"customer_id": "C-1", "state": "revoked"}
    assert read()["state"] == "none"
    assert types(shop) == ["binding.completed", "binding.revoked"]
    [(reason,)] = shop.platform.store.fetch("select reason from bindings")
    assert reason == REASON["reason"]
    assert shop.bind("omid").status == "active"


def test_revoking_names_no_replacement(shop, read, revoke):
    """Whatever stands beside the reason: the next payment runs a ceremony."""
    shop.bind()
    omid = shop.people["omid"].payer_id
    assert revoke({**REASON, "payer_id": omid, "replacement": omid})["state"] == "revoked"
    assert read()["state"] == "none"


@pytest.mark.parametrize("body", [None, {}, {"reason": ""}, {"reason": 7}], ids=str)
def test_revoking_takes_a_reason(shop, revoke, refusal, body):
    """Required, and a text."""
    shop.bind()
    assert refusal(revoke, body) == (422, "VALIDATION_FAILED")


@pytest.mark.parametrize(
    "body",
    [{"action": "reject"}, {"action": "reject", "reason": ""}, {"action": "keep"}, {}],
    ids=str,
)
def test_review_takes_an_action_and_rejecting_a_reason(shop, refusal, body):
    """approve or reject; the latter with a reason that says something."""
    shop.bind(supplied="Somebody Else")
    call = shop.service.bindings.review
    assert refusal(call, shop.checkout, "C-1", body) == (422, "VALIDATION_FAILED")


def test_only_what_awaits_review_is_reviewed(shop, review, refusal):
    """Neither an active binding nor none at all."""
    assert refusal(review, "approve") == WRONG_STATE
    shop.bind()
    assert refusal(review, "approve") == WRONG_STATE


def test_only_an_active_binding_is_revoked(shop, revoke, refusal):
    """Neither one under review nor none at all."""
    assert refusal(revoke) == WRONG_STATE
    shop.bind(supplied="Somebody Else")
    assert refusal(revoke) == WRONG_STATE


@pytest.mark.parametrize("supplied", [None, "Somebody Else"], ids=["active", "pending"])
def test_customer_and_account_hold_one_live_binding_each(shop, refusal, supplied):
    """PAY_BINDING_CONFLICT for the same customer id, and for the same account."""
    shop.bind(supplied=supplied)
    assert refusal(shop.bind, "omid", "C-1") == (409, "PAY_BINDING_CONFLICT")
    assert refusal(shop.bind, "sara", "C-2") == (409, "PAY_BINDING_CONFLICT")


def test_the_business_does_not_bind_itself(shop, refusal):
    """It could never pay."""
    assert refusal(shop.bind, "owner") == (422, "PAY_SELF_PAYMENT")


def test_native_name_matches_too(shop, read):
    """A name in its own letters is compared with the account's native name."""
    assert shop.bind(supplied="رحیمی سارا").status == "active"
    binding = read()["binding"]
    assert binding["supplied_name"] == binding["supplied_name_native"] == "رحیمی سارا"
    assert binding["masked_name"] == "S*** R***"
