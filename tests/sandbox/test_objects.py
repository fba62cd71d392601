"""Single objects: both forms of their ids, and one answer for all that is not there."""

import pytest

from svc_analytics.instants import DAY, parse_instant

MISSING = (404, "PAY_SESSION_NOT_FOUND")


def test_payment_is_found_by_uuid_and_by_receipt_number(service, checkout_key):
    """Payment id lookups: UUID, or a receipt number."""
    for payment in list(service.records("payments"))[::50]:
        assert service.payment(checkout_key, payment["id"]) == payment
        assert service.payment(checkout_key, payment["id"].upper()) == payment
        assert service.payment(checkout_key, payment["receipt_no"]) == payment


def test_payout_is_found_by_uuid_and_by_reference(service, payout_key):
    """Payout id lookups: UUID, or the merchant's own reference_id where there is one."""
    for record in service.records("payout_records"):
        assert service.payout(payout_key, record["id"]) == record
        if record["reference_id"] is not None:
            assert service.payout(payout_key, record["reference_id"]) == record


@pytest.mark.parametrize("unknown", ["", "SVC-999999999", "0" * 36, "order-0000001", "x" * 500])
def test_unknown_objects_are_one_refusal(service, payout_key, checkout_key, refusal, unknown):
    """What does not exist answers like what belongs to another business."""
    assert refusal(service.payment, payout_key, unknown) == MISSING
    assert refusal(service.payout, payout_key, unknown) == MISSING
    if unknown != "order-0000001":  # a session of the past
        for call in (service.sessions.read, service.sessions.cancel):
            assert refusal(call, checkout_key, unknown) == MISSING


def test_payment_of_tomorrow_is_not_there_yet(service, checkout_key, refusal):
    """A payment can be read from its instant on, not before."""
    service.clock.advance(5 * DAY)
    newest = list(service.records("payments"))[-1]
    service.clock.set(parse_instant(newest["paid_at"])[0] - 1)
    assert refusal(service.payment, checkout_key, newest["id"]) == MISSING


def test_profile_lists_the_coins_that_are_sold(service, checkout_key):
    """GET /me names the merchant in two scripts and every coin of its payments."""
    profile = service.me(checkout_key)
    assert profile["id"] == service.account.merchant_id
    assert profile["display_name"].isascii()
    assert not profile["display_name_fa"].isascii()
    sold = {payment["currency"] for payment in service.records("payments")}
    assert set(profile["accepted_currencies"]) == sold == {"usdt", "btc", "sol", "eth"}
