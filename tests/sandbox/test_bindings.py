"""Bindings (contract, Customers and States)."""

import pytest

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


def test_customer_without_a_binding_has_the_state_none(read):
    """With `binding` null, whether the customer is known or not."""
    assert read("nobody") == {"customer_id": "nobody", "state": "none", "binding": None}


def test_matching_name_binds_at_once(shop, read):
    """none to active; the account shows only as a masked name, never as an email."""
    shop.bind()
    answer = read()
    binding = answer["binding"]
    assert (answer["state"], binding["status"], binding["match_passed"]) == (*["active"] * 2, True)
    assert binding["masked_name"] == "S*** R***"
    assert binding["bound_at"] == binding["created_at"] == "2026-11-20T12:00:00Z"
    assert "customers.example" not in str(answer)


def test_other_name_awaits_the_review(shop, read, review):
    """none to pending_review, and once approved to active, with its time on record."""
    shop.bind(supplied="Somebody Else")
    binding = read()["binding"]
    assert (binding["status"], binding["match_passed"]) == ("pending_review", False)
    assert (binding["bound_at"], binding["supplied_name"]) == (None, "Somebody Else")
    approved = review("approve")["binding"]
    assert (approved["status"], approved["reviewed_at"]) == ("active", "2026-11-20T12:00:00Z")
    assert read()["state"] == "active"


ENDS = {"rejected": "Somebody Else", "revoked": None}


@pytest.mark.parametrize("supplied", ENDS.values(), ids=ENDS.keys())
def test_rejected_or_revoked_binding_is_gone(shop, read, review, revoke, supplied):
    """The reason is on record, no replacement can be named, and a fresh ceremony can follow."""
    shop.bind(supplied=supplied)
    omid = shop.people["omid"].payer_id
    told = {**REASON, "payer_id": omid, "replacement": omid}
    if supplied:
        assert review("reject", **told)["binding"]["status"] == "revoked"
    else:
        assert revoke(told) == {"customer_id": "C-1", "state": "revoked"}
    assert read()["state"] == "none" and shop.events()[-1]["type"] == "binding.revoked"
    assert shop.platform.store.fetch("select reason from bindings") == [(REASON["reason"],)]
    assert shop.bind("omid").status == "active"


def test_binding_events_have_exactly_their_fields(shop):
    """event_id, type, binding_id, customer_id, status."""
    binding = shop.bind(supplied="Somebody Else")
    shop.service.bindings.review(shop.checkout, "C-1", {"action": "approve"})
    shop.service.bindings.revoke(shop.checkout, "C-1", REASON)
    told = {"review": "pending_review", "completed": "active", "revoked": "revoked"}
    for event, (name, status) in zip(shop.events(), told.items(), strict=True):
        ids = {"event_id": event["event_id"], "binding_id": binding.id, "customer_id": "C-1"}
        assert event == {**ids, "type": f"binding.{name}", "status": status}


def test_the_business_does_not_bind_itself(shop, refusal):
    """It could never pay."""
    assert refusal(shop.bind, "owner") == (422, "PAY_SELF_PAYMENT")


def test_native_name_matches_too(shop, read):
    """A name in its own letters is compared with the account's native name."""
    assert shop.bind(supplied="رحیمی سارا").status == "active"
    binding = read()["binding"]
    assert binding["supplied_name"] == binding["supplied_name_native"] == "رحیمی سارا"
    assert binding["masked_name"] == "S*** R***"
