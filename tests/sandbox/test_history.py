"""The seeded past keeps every rule of the contract, to the last digit."""

from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby

import pytest

from svc_analytics.instants import MINUTE, parse_instant
from svc_analytics.periods import month_of
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.coins import COINS

DECIMALS = {coin.slug: coin.decimals for coin in COINS}
ONE_UNIT = {slug: Decimal(1).scaleb(-decimals) for slug, decimals in DECIMALS.items()}


@pytest.fixture(scope="module")
def past():
    """The whole history of a busier merchant, as (payments, payout records)."""
    scenario = Scenario(seed=3, months=5, payments=3000)
    with Store() as store:
        seed(store, scenario)
        service = Service(store, Clock(scenario.current_month.end + MINUTE))
        yield list(service.records("payments")), list(service.records("payout_records"))


@pytest.fixture(scope="module")
def payments(past):
    return past[0]


@pytest.fixture(scope="module")
def refunds(past):
    return [record for record in past[1] if record["kind"] == "refund"]


@pytest.fixture(scope="module")
def payouts(past):
    return [record for record in past[1] if record["kind"] == "payout"]


def test_payment_fee_is_a_tier_of_its_amount_rounded_half_up(payments):
    """fee = amount x tier at the coin's decimals, and net = charged - fee, exactly."""
    for payment in payments:
        unit, charged = ONE_UNIT[payment["currency"]], Decimal(payment["charged_amount"])
        tier = _tier(payment["paid_at"])
        fee = (charged * tier).quantize(unit, ROUND_HALF_UP)
        assert Decimal(payment["fee_amount"]) == fee
        assert Decimal(payment["net_amount"]) == charged - fee
        assert payment["amount"] == payment["charged_amount"]


def test_payout_pays_the_tier_of_that_time_on_top(payouts):
    """Fee rule 1: debited = amount + fee, at the rate the payments pay."""
    for payout in payouts:
        amount, tier = Decimal(payout["amount"]), _tier(payout["created_at"])
        fee = (amount * tier).quantize(ONE_UNIT[payout["currency"]], ROUND_HALF_UP)
        assert Decimal(payout["fee_amount"]) == fee
        assert Decimal(payout["fee_percent"]) == tier * 100
        assert Decimal(payout["debited_amount"]) == amount + fee
        assert payout["payment_id"] is None


def test_refund_costs_nothing_and_goes_back_to_the_payer(payments, refunds):
    """Fee rule 2; and recipient and currency are the payment's own."""
    by_id = {payment["id"]: payment for payment in payments}
    for refund in refunds:
        payment = by_id[refund["payment_id"]]
        assert (refund["fee_amount"], refund["fee_percent"]) == ("0", "0")
        assert refund["debited_amount"] == refund["amount"]
        assert refund["currency"] == payment["currency"]
        assert refund["payer_id"] == payment["payer_id"]
        assert _at(refund["created_at"]) > _at(payment["paid_at"])


def test_refunds_of_a_payment_stay_within_what_was_charged(payments, refunds):
    """Limits: cumulative refunds are at most the charged amount, and some reach it in parts."""
    charged = {payment["id"]: Decimal(payment["charged_amount"]) for payment in payments}
    parts = defaultdict(list)
    for refund in refunds:
        parts[refund["payment_id"]].append(Decimal(refund["amount"]))
    left = {payment_id: charged[payment_id] - sum(parts[payment_id]) for payment_id in parts}
    assert min(left.values()) == 0
    assert max(left.values()) > 0
    assert {len(amounts) for id_, amounts in parts.items() if left[id_] == 0} == {1, 3}


@pytest.mark.parametrize("instant", ["created_at", "settled_at"])
def test_wallet_never_goes_below_zero(past, instant):
    """At no instant has more left a coin's wallet than had come in."""
    payments, payout_records = past
    moves = [(_at(row["paid_at"]), 0, row["currency"], row["net_amount"]) for row in payments]
    moves += [
        (_at(row[instant]), 1, row["currency"], "-" + row["debited_amount"])
        for row in payout_records
    ]
    wallet = defaultdict(Decimal)
    for _, _, currency, amount in sorted(moves):
        wallet[currency] += Decimal(amount)
        assert wallet[currency] >= 0


def test_usd_value_is_the_days_price_times_the_amount(past):
    """All records of a coin on one day agree on a price, each within its own rounding."""
    lowest, highest = defaultdict(Decimal), defaultdict(lambda: Decimal("Infinity"))
    for row in [*past[0], *past[1]]:
        key = row["currency"], row.get("paid_at", row.get("created_at"))[:10]
        usd, amount = Decimal(row["usd_value"]), Decimal(row["amount"])
        half = Decimal(5).scaleb(usd.as_tuple().exponent - 1)
        lowest[key] = max(lowest[key], (usd - half) / amount)
        highest[key] = min(highest[key], (usd + half) / amount)
        assert 2 <= -usd.as_tuple().exponent <= 8
    assert all(lowest[key] <= highest[key] for key in lowest)


def test_ids_receipts_and_references_are_unique(past):
    """No two records share what they are looked up by."""
    payments, payout_records = past
    references = [row["reference_id"] for row in payout_records if row["reference_id"] is not None]
    ids = [row["id"] for row in [*payments, *payout_records]]
    for names in (ids, references, [row["receipt_no"] for row in payments]):
        assert len(set(names)) == len(names)


def test_only_payouts_of_the_console_lack_a_reference(past, refunds):
    """The merchant gives every refund and most payouts an id of its own; the console gives none."""
    assert all(refund["reference_id"] for refund in refunds)
    assert any(record["reference_id"] is None for record in past[1])
    assert any("/" in (record["reference_id"] or "") for record in past[1])


@pytest.mark.parametrize("edge", ["01T00:00:00Z", "T23:59:59.999999Z", "T20:30:00Z"])
def test_every_month_has_payments_on_its_edges(payments, edge):
    """The first and last microsecond of a UTC month, and the month's turn in Tehran."""
    months = {row["paid_at"][:7] for row in payments if row["paid_at"].endswith(edge)}
    assert months >= {"2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11"}


def test_several_payments_share_one_instant(payments):
    """A flash sale: ties that only the id can order."""
    sizes = [len(list(same)) for _, same in groupby(row["paid_at"] for row in payments)]
    assert max(sizes) >= 4


def test_instants_are_written_as_finely_as_they_are(payments):
    """Most instants have milliseconds, some microseconds, some no fraction."""
    digits = [len(row["paid_at"].partition(".")[2].rstrip("Z")) for row in payments]
    counts = {size: digits.count(size) for size in set(digits)}
    assert counts.keys() == {0, 3, 6}
    assert counts[3] > 2 * (counts[0] + counts[6])


def test_some_settlements_fall_into_the_next_month(past):
    """A record created on a month's last instant may settle in the next."""
    crossing = [row for row in past[1] if row["created_at"][:7] != row["settled_at"][:7]]
    assert crossing
    assert all(_at(row["created_at"]) <= _at(row["settled_at"]) for row in past[1])


def test_refunds_fall_into_later_months(payments, refunds):
    """Some refunds come in the month of their payment, some months behind it."""
    paid = {payment["id"]: month_of(_at(payment["paid_at"])) for payment in payments}
    behind = [
        month_of(_at(refund["created_at"])) != paid[refund["payment_id"]] for refund in refunds
    ]
    assert any(behind)
    assert not all(behind)


def test_fee_tier_changes_within_a_month(payments):
    """The last step falls into mid-month, so that one month has two rates."""
    tiers = defaultdict(set)
    for payment in payments:
        tiers[payment["paid_at"][:7]].add(_tier(payment["paid_at"]))
    assert [len(tiers[month]) for month in sorted(tiers)] == [1, 1, 1, 2, 1, 1]


def test_metadata_nests_and_speaks_persian(payments):
    """Metadata is a free-form object, echoed as it was."""
    assert all(isinstance(payment["metadata"], dict) for payment in payments)
    assert any(payment["metadata"].get("campaign") == "نوروز" for payment in payments)
    assert any("items" in payment["metadata"].get("cart", {}) for payment in payments)


def _at(text):
    return parse_instant(text)[0]


def _tier(instant):
    """Return the tier of this scenario: its steps are 1 July and 16 September."""
    if instant < "2026-07-01":
        return Decimal("0.015")
    return Decimal("0.012") if instant < "2026-09-16" else Decimal("0.010")
