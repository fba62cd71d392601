"""Scenarios: what they say of a merchant, its seeded past, and the commands that seed it."""

import signal
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import ExitStack
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from itertools import groupby
from typing import NamedTuple

import httpx
import pytest
from click.testing import CliRunner

from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, MINUTE, parse_instant
from svc_analytics.periods import month, month_of
from svc_analytics.sandbox import Clock, Scenario, Service, Store, seed
from svc_analytics.sandbox.cli import sandbox
from svc_analytics.sandbox.coins import COINS
from svc_analytics.sandbox.sales import history
from svc_analytics.sandbox.scenario import Business, read_scenario_file
from svc_analytics.sandbox.store import Slice
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipt_tokens import verify_receipt
from svc_analytics.signing.secrets import parse_secrets

SMALL = Scenario(seed=5, months=2, payments=40)


def test_later_now_in_the_same_month_changes_nothing():
    """Of `until` only the month matters to the records."""
    early, late = (
        Scenario(until=parse_instant(text)[0], payments=40)
        for text in ("2026-11-01T00:00:00Z", "2026-11-30T23:59:59Z")
    )
    assert list(history(early)) == list(history(late))
    assert early.identity == late.identity


OTHERS = {"seed": 6, "months": 3, "payments": 41, "until": SMALL.until + 31 * DAY}


@pytest.mark.parametrize("name", OTHERS)
def test_store_of_another_scenario_is_refused(tmp_path, name):
    """A file is never filled twice, nor taken for what it is not."""
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL)
        with pytest.raises(ConfigError, match="holds another scenario"):
            seed(store, replace(SMALL, **{name: OTHERS[name]}))


@pytest.mark.parametrize(
    "change", ["update scenario set version = 0", "alter table payments drop column metadata"]
)
def test_a_store_of_another_sandbox_is_refused(change):
    """Its past was drawn otherwise, or its records lack a column."""
    with Store() as store:
        seed(store, SMALL)
        store.fetch(change)
        with pytest.raises(ConfigError, match="was seeded by another version of the sandbox"):
            seed(store, SMALL)


def test_a_property_that_a_record_lacks_is_null():
    """So a column that the sandbox does not know yet breaks nothing."""
    with Store() as store:
        seed(store, SMALL)
        [newest] = store.page(Slice(PAYMENTS, 0, (SMALL.until, "")), SMALL.until, 1)
        del newest["usd_value"]
        store.add(PAYMENTS, newest | {"id": "other", "receipt_no": "other"})
        other = store.find(PAYMENTS, "id", "other", SMALL.until)
    assert other == newest | {"id": "other", "receipt_no": "other", "usd_value": None}


def test_seeded_store_is_used_as_it_is(tmp_path):
    """Seeding again writes nothing, whoever opens the file."""
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL)
        before = _records(store)
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL, on_progress=lambda *_: pytest.fail("seeded again"))
        assert _records(store) == before


def test_seeding_cut_short_leaves_an_empty_store(tmp_path):
    """An interrupted seeding leaves nothing half-done behind; the next one does it all."""
    with Store(tmp_path / "sandbox.db") as store:
        with pytest.raises(KeyboardInterrupt):
            seed(store, SMALL, on_progress=_interrupt)
        assert store.scenario() is None
        seed(store, SMALL)
        assert store.scenario().identity == SMALL.identity


def test_seeded_store_has_its_books_open(tmp_path):
    """Summing up a long past is the seeding's work: no payment has to wait for it."""
    with Store(tmp_path / "sandbox.db") as store:
        seed(store, SMALL)
        booked = store.fetch("select count(*), max(at) from entries")
        assert booked[0][0] > 0
        Service(store, Clock(SMALL.until + DAY)).platform.open_wallets()
        assert store.fetch("select count(*), max(at) from entries") == booked


def test_payments_are_those_of_the_full_months():
    """`payments` counts the full months; the current one comes on top."""
    paid_at = [record["paid_at"] for day in history(SMALL) for record in day.payments]
    current = month("2026-11")
    assert sum(at < current.start for at in paid_at) == 40
    assert any(current.start <= at < current.end for at in paid_at)
    assert all(SMALL.start <= at < current.end for at in paid_at)


def test_progress_counts_up_to_all_payments():
    """Progress is told in payments, and ends at their number."""
    told = []
    with Store() as store:
        seed(store, SMALL, on_progress=lambda done, total: told.append((done, total)))
        [(count,)] = store.fetch("select count(*) from payments")
    assert told[-1] == (count, count)
    assert told == sorted(told)


@pytest.mark.parametrize("parameters", [{"months": 0}, {"months": 241}, {"payments": -1}], ids=str)
def test_impossible_scenario_is_refused(parameters):
    """Parameters out of range are a setting's error, told by name."""
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        Scenario(**parameters)


def test_file_that_is_no_database_is_refused(tmp_path):
    """A wrong --db is named, and left untouched."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to look at\n" * 40)
    with Store(file) as store, pytest.raises(ConfigError, match=r"notes\.txt"):
        seed(store, SMALL)
    assert file.read_text().startswith("not a database")


def test_empty_store_cannot_be_served():
    """A service needs a scenario to know its merchant."""
    with Store() as store, pytest.raises(ConfigError, match="seed it first"):
        Service(store)


def _records(store):
    service = Service(store, Clock(SMALL.until))
    return [*service.records("payments"), *service.records("payout_records")]


def _interrupt(done, total):
    if 2 * done > total:
        raise KeyboardInterrupt


# Scenarios that are told otherwise than usual, and the files that tell of them.


@pytest.fixture
def lived():
    """A service whose merchant does business as told, and all of its records."""
    with ExitStack() as stores:

        def live(**told):
            scenario = Scenario(seed=5, months=3, payments=120, business=Business(**told))
            store = stores.enter_context(Store())
            seed(store, scenario)
            service = Service(store, Clock(scenario.current_month.end))
            return service, *(
                list(service.records(name)) for name in ("payments", "payout_records")
            )

        yield live


def verdict_of(service, payment):
    ring = parse_secrets(service.account.environment("x")["SVC_RECEIPT_SECRETS"])
    merchant_id = service.account.merchant_id
    facts = {**payment, "payment_id": payment["id"], "merchant_id": merchant_id}
    return verify_receipt(payment["receipt"], ring, facts).verdict


def test_tampered_receipts_are_of_three_kinds_and_of_the_full_months(lived):
    """
    About every fourth: another's signature, an altered fact, a lost end. The service
    refuses each; what was paid since then has a good receipt.
    """
    service, payments, _ = lived(tampered_one_in=4)
    verdicts = Counter(verdict_of(service, payment) for payment in payments[:120])
    bad = {name: verdicts.pop(name) for name in ("bad_signature", "facts_mismatch", "malformed")}
    assert set(verdicts) == {"valid", "valid_previous_secret"} and 15 < sum(bad.values()) < 45
    assert {verdict_of(service, payment) for payment in payments[120:]} == {"valid"}


def test_receipt_secret_can_have_been_rotated_several_times(lived):
    """On the 12th of each of the last months; the ring handed out verifies every receipt."""
    service, payments, _ = lived(receipt_rotations=3)
    since = [entry.valid_from for entry in service.account.receipt_ring]
    texts = ("2026-10-12T08:00:00Z", "2026-09-12T08:00:00Z", "2026-08-12T08:00:00Z")
    assert since[:3] == [parse_instant(text)[0] for text in texts]
    verdicts = {verdict_of(service, payment) for payment in payments}
    assert verdicts == {"valid", "valid_previous_secret"}


def test_without_a_rotation_there_is_one_secret(lived):
    """In force since the beginning."""
    service, payments, _ = lived(receipt_rotations=0)
    assert len(service.account.receipt_ring) == 1
    assert {verdict_of(service, payment) for payment in payments} == {"valid"}


def test_a_shop_sells_for_the_coins_it_is_told(lived):
    """And accepts no other, until its console says otherwise."""
    service, payments, records = lived(coins=("eth", "btc"))
    assert {row["currency"] for row in (*payments, *records)} == {"btc", "eth"}
    key = service.account.checkout_key.reveal()
    assert service.me(key)["accepted_currencies"] == ["eth", "btc"]


def test_busy_months_hold_more(lived):
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
def test_refunds_are_as_frequent_as_told(lived, one_in, least, most):
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


# The seeded past keeps every rule of the contract, to the last digit.

DECIMALS = {coin.slug: coin.decimals for coin in COINS}
ONE_UNIT = {slug: Decimal(1).scaleb(-decimals) for slug, decimals in DECIMALS.items()}


class Past(NamedTuple):
    """The whole history of a busier merchant."""

    payments: list
    records: list

    def of(self, kind):
        return [record for record in self.records if record["kind"] == kind]


@pytest.fixture(scope="module")
def past():
    scenario = Scenario(seed=3, months=5, payments=3000)
    with Store() as store:
        seed(store, scenario)
        service = Service(store, Clock(scenario.current_month.end + MINUTE))
        yield Past(*(list(service.records(name)) for name in ("payments", "payout_records")))


def test_payment_fee_is_a_tier_of_its_amount_rounded_half_up(past):
    """fee = amount x tier at the coin's decimals, and net = charged - fee, exactly."""
    for payment in past.payments:
        unit, charged = ONE_UNIT[payment["currency"]], Decimal(payment["charged_amount"])
        tier = _tier(payment["paid_at"])
        fee = (charged * tier).quantize(unit, ROUND_HALF_UP)
        assert Decimal(payment["fee_amount"]) == fee
        assert Decimal(payment["net_amount"]) == charged - fee
        assert payment["amount"] == payment["charged_amount"]


def test_payout_pays_the_tier_of_that_time_on_top(past):
    """Fee rule 1: debited = amount + fee, at the rate the payments pay."""
    for payout in past.of("payout"):
        amount, tier = Decimal(payout["amount"]), _tier(payout["created_at"])
        fee = (amount * tier).quantize(ONE_UNIT[payout["currency"]], ROUND_HALF_UP)
        assert Decimal(payout["fee_amount"]) == fee
        assert Decimal(payout["fee_percent"]) == tier * 100
        assert Decimal(payout["debited_amount"]) == amount + fee
        assert payout["payment_id"] is None


def test_refund_costs_nothing_and_goes_back_to_the_payer(past):
    """Fee rule 2; and recipient and currency are the payment's own."""
    by_id = {payment["id"]: payment for payment in past.payments}
    for refund in past.of("refund"):
        payment = by_id[refund["payment_id"]]
        assert (refund["fee_amount"], refund["fee_percent"]) == ("0", "0")
        assert refund["debited_amount"] == refund["amount"]
        assert refund["currency"] == payment["currency"]
        assert refund["payer_id"] == payment["payer_id"]
        assert _at(refund["created_at"]) > _at(payment["paid_at"])


def test_refunds_of_a_payment_stay_within_what_was_charged(past):
    """Limits: cumulative refunds are at most the charged amount, and some reach it in parts."""
    charged = {payment["id"]: Decimal(payment["charged_amount"]) for payment in past.payments}
    parts = defaultdict(list)
    for refund in past.of("refund"):
        parts[refund["payment_id"]].append(Decimal(refund["amount"]))
    left = {payment_id: charged[payment_id] - sum(parts[payment_id]) for payment_id in parts}
    assert min(left.values()) == 0
    assert max(left.values()) > 0
    assert {len(amounts) for id_, amounts in parts.items() if left[id_] == 0} == {1, 3}


@pytest.mark.parametrize("instant", ["created_at", "settled_at"])
def test_wallet_never_goes_below_zero(past, instant):
    """At no instant has more left a coin's wallet than had come in."""
    moves = [(_at(row["paid_at"]), 0, row["currency"], row["net_amount"]) for row in past.payments]
    moves += [
        (_at(row[instant]), 1, row["currency"], "-" + row["debited_amount"]) for row in past.records
    ]
    wallet = defaultdict(Decimal)
    for _, _, currency, amount in sorted(moves):
        wallet[currency] += Decimal(amount)
        assert wallet[currency] >= 0


def test_usd_value_is_the_days_price_times_the_amount(past):
    """All records of a coin on one day agree on a price, each within its own rounding."""
    lowest, highest = defaultdict(Decimal), defaultdict(lambda: Decimal("Infinity"))
    for row in [*past.payments, *past.records]:
        key = row["currency"], row.get("paid_at", row.get("created_at"))[:10]
        usd, amount = Decimal(row["usd_value"]), Decimal(row["amount"])
        half = Decimal(5).scaleb(usd.as_tuple().exponent - 1)
        lowest[key] = max(lowest[key], (usd - half) / amount)
        highest[key] = min(highest[key], (usd + half) / amount)
        assert 2 <= -usd.as_tuple().exponent <= 8
    assert all(lowest[key] <= highest[key] for key in lowest)


def test_ids_receipts_and_references_are_unique(past):
    """No two records share what they are looked up by."""
    references = [row["reference_id"] for row in past.records if row["reference_id"] is not None]
    ids = [row["id"] for row in [*past.payments, *past.records]]
    for names in (ids, references, [row["receipt_no"] for row in past.payments]):
        assert len(set(names)) == len(names)


def test_only_payouts_of_the_console_lack_a_reference(past):
    """The merchant gives every refund and most payouts an id of its own; the console gives none."""
    assert all(refund["reference_id"] for refund in past.of("refund"))
    assert any(record["reference_id"] is None for record in past.records)
    assert any("/" in (record["reference_id"] or "") for record in past.records)


@pytest.mark.parametrize("edge", ["01T00:00:00Z", "T23:59:59.999999Z", "T20:30:00Z"])
def test_every_month_has_payments_on_its_edges(past, edge):
    """The first and last microsecond of a UTC month, and the month's turn in Tehran."""
    months = {row["paid_at"][:7] for row in past.payments if row["paid_at"].endswith(edge)}
    assert months >= {"2026-06", "2026-07", "2026-08", "2026-09", "2026-10", "2026-11"}


def test_several_payments_share_one_instant(past):
    """A flash sale: ties that only the id can order."""
    sizes = [len(list(same)) for _, same in groupby(row["paid_at"] for row in past.payments)]
    assert max(sizes) >= 4


def test_instants_are_written_as_finely_as_they_are(past):
    """Most instants have milliseconds, some microseconds, some no fraction."""
    digits = [len(row["paid_at"].partition(".")[2].rstrip("Z")) for row in past.payments]
    counts = {size: digits.count(size) for size in set(digits)}
    assert counts.keys() == {0, 3, 6}
    assert counts[3] > 2 * (counts[0] + counts[6])


def test_some_settlements_fall_into_the_next_month(past):
    """A record created on a month's last instant may settle in the next."""
    crossing = [row for row in past.records if row["created_at"][:7] != row["settled_at"][:7]]
    assert crossing
    assert all(_at(row["created_at"]) <= _at(row["settled_at"]) for row in past.records)


def test_refunds_fall_into_later_months(past):
    """Some refunds come in the month of their payment, some months behind it."""
    paid = {payment["id"]: month_of(_at(payment["paid_at"])) for payment in past.payments}
    refunds = past.of("refund")
    behind = {month_of(_at(row["created_at"])) != paid[row["payment_id"]] for row in refunds}
    assert behind == {True, False}


def test_metadata_nests_and_speaks_persian(past):
    """Metadata is a free-form object, echoed as it was."""
    assert all(isinstance(payment["metadata"], dict) for payment in past.payments)
    assert any(payment["metadata"].get("campaign") == "نوروز" for payment in past.payments)
    assert any("items" in payment["metadata"].get("cart", {}) for payment in past.payments)


def _at(text):
    return parse_instant(text)[0]


def _tier(instant):
    """Return the tier of this scenario: its steps are 1 July and 16 September."""
    if instant < "2026-07-01":
        return Decimal("0.015")
    return Decimal("0.012") if instant < "2026-09-16" else Decimal("0.010")


# `sandbox seed` and `sandbox serve`, as a person runs them.

SIZES = ["--months", "2", "--payments", "30"]
EARLIER = parse_instant("2024-05-10T12:00:00Z")[0]


def run(*arguments):
    result = CliRunner().invoke(sandbox, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_importing_the_package_and_its_commands_is_cheap():
    """Neither loads the web framework, the server or Arrow."""
    heavy = "{'uvicorn', 'starlette', 'pyarrow', 'msgspec', 'tqdm'}"
    code = (
        "import sys, svc_analytics.sandbox, svc_analytics.sandbox.cli;"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_public_names_are_there():
    """Every exported name can be loaded, and no other."""
    import svc_analytics.sandbox as package

    assert all(getattr(package, name) for name in package.__all__)
    with pytest.raises(AttributeError):
        _ = package.nothing


def test_seed_fills_a_file_and_says_so(tmp_path):
    """
    Named on stdout with what it holds; a second run leaves it as it is. It holds rotated secrets
    in clear, and so is for its user alone.
    """
    path = tmp_path / "s.db"
    arguments = ["seed", "--db", str(path), *SIZES]
    for _ in range(2):
        stdout = run(*arguments)
        assert "s.db holds seed 7, 2 months" in stdout
    assert path.stat().st_mode & 0o777 == 0o600


def test_seed_takes_a_scenario_file(tmp_path):
    """Its sizes and habits; an option on the command line comes before it."""
    path = tmp_path / "shop.toml"
    path.write_text('months = 2\npayments = 9000\ncoins = ["btc"]\nfee_tiers = [90]\n')
    arguments = ["seed", "--db", str(tmp_path / "s.db"), "--scenario", str(path)]
    stdout = run(*arguments, "--payments", "30")
    assert "seed 7, 2 months" in stdout
    assert '30 payments, {"coins":["btc"],"fee_tiers":[90]}' in stdout


@pytest.mark.parametrize("told", [[], SIZES], ids=["nothing told", "the same told"])
def test_filled_file_goes_on_as_what_it_holds(tmp_path, told):
    """Also in a later month than the one it was filled in, and without a word about its sizes."""
    with Store(tmp_path / "s.db") as store:
        seed(store, Scenario(months=2, payments=30, until=EARLIER))
    arguments = ["seed", "--db", str(tmp_path / "s.db"), *told]
    stdout = run(*arguments)
    assert "holds seed 7, 2 months before 2024-05, 30 payments" in stdout


def test_serve_answers_until_interrupted(tmp_path):
    """It prints where it answers, but no key; the key is in the env file; Ctrl-C ends it."""
    env_file = tmp_path / "sandbox.env"
    code = "from svc_analytics.sandbox.cli import sandbox; sandbox()"
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--env-file", str(env_file)]
    with subprocess.Popen([*command, *SIZES], stdout=subprocess.PIPE, text=True) as process:
        printed = process.stdout.readline() + process.stdout.readline()
        settings = dict(line.split("=", 1) for line in env_file.read_text().splitlines())
        headers = {"authorization": f"Bearer {settings['SVC_CHECKOUT_KEY']}"}
        answer = httpx.get(f"{settings['SVC_BASE_URL']}/api/pay/v1/me", headers=headers)
        process.send_signal(signal.SIGINT)
    assert answer.json()["status"] == "active"
    assert settings["SVC_BASE_URL"] in printed
    assert "svc_" not in printed
    assert process.returncode == 0


def test_a_revoked_key_is_not_written_into_the_settings_again(tmp_path):
    """Served once more, the settings hold the keys that work."""
    with Store(tmp_path / "shop.db") as store:
        seed(store, Scenario(months=1, payments=5))
        service = Service(store)
        [held] = [key for key in service.platform.api_keys.all() if key["class"] == "payout"]
        service.platform.api_keys.revoke(held["id"], service.clock.now())
        names = service.environment("http://127.0.0.1:1")
        assert "SVC_PAYOUT_KEY" not in names and "SVC_CHECKOUT_KEY" in names
