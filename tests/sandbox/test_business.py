"""Scenarios that are told otherwise than usual, and the files that tell of them."""

from collections import Counter

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, parse_instant
from svc_analytics.periods import month_of
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.scenario import Business, read_scenario_file
from svc_analytics.signing.receipts import verify_receipt
from svc_analytics.signing.secrets import parse_secrets


def lived(**told):
    """A service whose merchant does business as told, and all of its records."""
    scenario = Scenario(seed=5, months=3, payments=120, business=Business(**told))
    store = Store()
    seed(store, scenario)
    service = Service(store, Clock(scenario.current_month.end))
    return service, list(service.records("payments")), list(service.records("payout_records"))


def verdict_of(service, payment):
    ring = parse_secrets(service.account.environment("x")["SVC_RECEIPT_SECRETS"])
    merchant_id = service.account.merchant_id
    facts = {**payment, "payment_id": payment["id"], "merchant_id": merchant_id}
    return verify_receipt(payment["receipt"], ring, facts).verdict


def test_tampered_receipts_are_of_three_kinds_and_of_the_full_months():
    """
    About every fourth: another's signature, an altered fact, a lost end. The service
    refuses each; what was paid since then has a good receipt.
    """
    service, payments, _ = lived(tampered_one_in=4)
    verdicts = Counter(verdict_of(service, payment) for payment in payments[:120])
    bad = {name: verdicts.pop(name) for name in ("bad_signature", "facts_mismatch", "malformed")}
    assert set(verdicts) == {"valid", "valid_previous_secret"} and 15 < sum(bad.values()) < 45
    assert {verdict_of(service, payment) for payment in payments[120:]} == {"valid"}


def test_receipt_secret_can_have_been_rotated_several_times():
    """On the 12th of each of the last months; the ring handed out verifies every receipt."""
    service, payments, _ = lived(receipt_rotations=3)
    since = [entry.valid_from for entry in service.account.receipt_ring]
    texts = ("2026-10-12T08:00:00Z", "2026-09-12T08:00:00Z", "2026-08-12T08:00:00Z")
    assert since[:3] == [parse_instant(text)[0] for text in texts]
    verdicts = {verdict_of(service, payment) for payment in payments}
    assert verdicts == {"valid", "valid_previous_secret"}


def test_without_a_rotation_there_is_one_secret():
    """In force since the beginning."""
    service, payments, _ = lived(receipt_rotations=0)
    assert len(service.account.receipt_ring) == 1
    assert {verdict_of(service, payment) for payment in payments} == {"valid"}


def test_a_shop_sells_for_the_coins_it_is_told():
    """And accepts no other, until its console says otherwise."""
    service, payments, records = lived(coins=("eth", "btc"))
    assert {row["currency"] for row in (*payments, *records)} == {"btc", "eth"}
    key = service.account.checkout_key.reveal()
    assert service.me(key)["accepted_currencies"] == ["eth", "btc"]


def test_busy_months_hold_more():
    """August a hundred times as busy as September and October."""
    _, payments, _ = lived(season=(1, 1, 1, 1, 1, 1, 1, 100, 1, 1, 1, 1))
    months = Counter(payment["paid_at"][:7] for payment in payments)
    assert months["2026-08"] > 100
    assert sum(months[name] for name in ("2026-08", "2026-09", "2026-10")) == 120


def test_fee_tiers_follow_each_other():
    """Two of them: 3 % from the start, 2 % from the middle of the second month on."""
    scenario = Scenario(months=3, business=Business(fee_tiers=(300, 200)))
    changed = month_of(scenario.start).shift(1).start + 15 * DAY
    assert scenario.fee_tiers == ((scenario.start, 300), (changed, 200))
    assert [scenario.fee_tier(changed - 1), scenario.fee_tier(changed)] == [300, 200]


@pytest.mark.parametrize(("one_in", "least", "most"), [(0, 0, 0), (1, 120, 10_000)])
def test_refunds_are_as_frequent_as_told(one_in, least, most):
    """Never, or every payment; on the next day."""
    _, payments, records = lived(refunded_one_in=one_in, refund_days=(1,))
    refunds = [row for row in records if row["kind"] == "refund"]
    assert least <= len(refunds) <= most
    paid = {row["id"]: row["paid_at"][:10] for row in payments}
    days = {row["payment_id"]: row["created_at"][:10] for row in refunds[:20]}
    assert all(days[id_] > paid[id_] for id_ in days)


def test_what_is_told_is_part_of_who_it_is(tmp_path):
    """Another habit, another merchant; the file remembers it, and the usual one needs no word."""
    usual, other = Scenario(), Scenario(business=Business(refunded_one_in=10))
    spelt = Business(coins=("usdt", "btc", "sol", "eth"), refunded_one_in=24)
    assert usual.identity == Scenario(business=spelt).identity == "1/7/12/20000/2026-11"
    assert other.identity == usual.identity + '/{"refunded_one_in":10}'
    with Store(tmp_path / "shop.db") as store:
        scenario = Scenario(months=1, payments=5, business=Business(coins=("sol",)))
        seed(store, scenario)
        assert store.scenario() == Scenario.of_month(7, 1, 5, "2026-11", '{"coins":["sol"]}')


def test_a_file_of_before_such_words_is_the_usual_merchant(tmp_path):
    """Its row has no column for them."""
    with Store(tmp_path / "shop.db") as store:
        seed(store, Scenario(months=1, payments=5))
        store.fetch("alter table scenario drop column business")
        assert store.scenario().business == Business()


@pytest.mark.parametrize(
    "text",
    [
        *("payments = ", 'payments = "many"', "seed = true", "colour = 1", 'coins = ["irt"]'),
        *("coins = []", "season = [1, 2]", "fee_tiers = []", "refund_days = [0]"),
        "tampered_one_in = -1",
    ],
)
def test_a_file_that_describes_no_scenario_is_an_error(tmp_path, text):
    """Told with the file's name, whatever is wrong with it."""
    path = tmp_path / "shop.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"shop\.toml"):
        read_scenario_file(path)


def test_more_rotations_than_months_or_no_file_is_an_error(tmp_path):
    """One rotation a month; and a file that is not there is named."""
    with pytest.raises(ConfigError, match="receipt_rotations"):
        Scenario(months=1, business=Business(receipt_rotations=2))
    with pytest.raises(ConfigError, match="cannot read"):
        read_scenario_file(tmp_path / "none.toml")
