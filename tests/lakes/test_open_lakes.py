"""Several merchants together: every key has its merchant, and sums are exact or unknown."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError, NoLake, QueryError
from svc_analytics.instants import to_micros
from svc_analytics.lakes import GroupStatement, Lakes
from tests.lakes.conftest import FIRST, MERCHANTS, NOW, SECOND, run
from tests.support.rings import sample


@pytest.fixture
def both(folders) -> Lakes:
    return svc.open_lakes(folders)


def october(lakes: Lakes) -> GroupStatement:
    return lakes.statement("2026-10", now=to_micros(NOW))


def value(made: GroupStatement, coin: str, figure: str, merchant: str = "all merchants") -> Any:
    [found] = [
        row["value"]
        for row in made.table.to_pylist()
        if (row["merchant_id"], row["currency"], row["figure"]) == (merchant, coin, figure)
    ]
    return found


VIEWS = ["payments", "ledger_entries", "net_settlement_monthly", "coverage", "exceptions"]


@pytest.mark.parametrize("view", sample(VIEWS, 5))
def test_each_view_has_its_merchant_first(both, view):
    """And the rows of each lake, none twice, though their ids are the same."""
    found = both.sql(f"select * from {view}")
    assert found.columns[0] == "merchant_id"
    own = [len(lake.sql(f"select * from {view}")) for lake in both.lakes]
    assert [int((found["merchant_id"] == one).sum()) for one in MERCHANTS] == own


def test_a_refund_finds_the_payment_of_its_own_merchant(both):
    """Payment 2 of the first is of 2 btc; that of the second has the same id, and is in usdt."""
    assert len(both.sql("select distinct payment_id from payments")) == 2
    [row] = both.sql("select * from refunds").to_dict("records")
    assert (row["merchant_id"], row["payment_currency"]) == (MERCHANTS[0], "btc")


def test_one_query_sums_over_all_lakes(both):
    """Net sales in btc are 2.97 + 1.98 at the one, 0.96 at the other."""
    found = both.sql(
        "select sum(net_sales) as n from net_settlement_monthly where currency = $c", {"c": "btc"}
    )
    assert found["n"].tolist() == [Decimal("5.91")]


@pytest.mark.parametrize("query", sample(["from payments, 'other.csv'", "drop view payments"], 2))
def test_a_query_that_writes_or_reads_other_files_is_refused(both, query):
    """The lakes are read-only together too."""
    Path("other.csv").write_text("a\n1\n")
    with pytest.raises(QueryError):
        both.sql(query)


def test_figures_stand_per_merchant_and_are_summed_per_coin(both):
    """By hand: gross 5 + 1 btc, fees 0.05 + 0.04, net settlement 4.45 + 0.96."""
    made = october(both)
    gross = [value(made, "btc", "gross_sales", one) for one in (*MERCHANTS, "all merchants")]
    assert gross == [5, 1, 6]
    assert value(made, "btc", "payment_fees") == Decimal("0.09")
    assert value(made, "btc", "net_settlement") == Decimal("5.41")
    assert value(made, "usdt", "payouts_debited") == Decimal("50.5")
    assert made.status == "final"


@pytest.mark.thorough
@pytest.mark.parametrize("period", sample(["2026-Q4", "2026", "2026-10-ytd", "1405", "1405-Q3"], 5))
def test_longer_periods_are_of_all_merchants_too(both, period):
    """All of both is of October: gross 5 + 1 btc, in whatever period October is."""
    made = both.statement(period, now=to_micros(NOW))
    gross = [value(made, "btc", "gross_sales", one) for one in (*MERCHANTS, "all merchants")]
    assert gross == [5, 1, 6] and period in str(made)
    assert all("months" in own.tables for own in made.statements.values())


def test_a_ratio_is_made_of_sums_and_never_averaged(both):
    """0.09 of 6 is 1.5%; the average of 1% and 4% would be 2.5%."""
    made = october(both)
    rates = [value(made, "btc", "effective_fee_rate", one) for one in MERCHANTS]
    assert rates == [Decimal("0.01"), Decimal("0.04")]
    assert value(made, "btc", "effective_fee_rate") == Decimal("0.015")
    assert value(made, "btc", "refund_ratio_cohort") == Decimal("0.08333333")  # 0.5 of 6


def test_people_medians_and_rates_are_not_summed(both):
    """One customer may buy of both merchants; a sum of medians is none."""
    made = october(both)
    summed = {
        row["figure"] for row in made.table.to_pylist() if row["merchant_id"] == "all merchants"
    }
    assert not summed & {"payers_count", "ticket_median", "ticket_max", "implied_rate"}


MOST = "99999999999999999999"
PRICED = f"""
 kind     currency  amount                fee   at                of  usd_value
 payment  btc       3                     0.03  2026-10-10T09:00      300
 refund   btc       1                           2026-10-12T08:00  1   100
 payment  big       {MOST}  0     2026-10-10T09:00
"""
OTHERS = f"""
 kind     currency  amount                fee   at
 payment  sol       1                     0.04  2026-10-10T09:00
 payment  big       {MOST}  0     2026-10-11T09:00
"""
LATER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  eth       2       0     2026-11-10T09:00      20
"""


@pytest.mark.parametrize("other", sample([OTHERS, LATER], 2), ids=["other coins", "another month"])
def test_a_merchant_without_a_row_of_a_coin_adds_nothing_to_it(make, other):
    """By hand: 3 - 0.03 - 1 are left of 3 btc, at 100 USD; 2 can be refunded, 0.01 was kept."""
    both = svc.open_lakes([make(MERCHANTS[0], PRICED), make(MERCHANTS[1], other)])
    made = october(both)
    assert value(made, "btc", "closing_position") == Decimal("1.97")
    assert value(made, "btc", "usd_exposure") == 197
    assert value(made, "btc", "open_refundable") == 2
    assert value(made, "btc", "fee_leakage") == Decimal("0.01")
    assert value(made, "btc", "refunds_prior_period") == 0
    assert value(made, "btc", "refund_ratio_cohort") == Decimal("0.33333333")
    assert value(made, "btc", "receipts_checked") is None  # nobody verified the first one's


def test_a_merchant_whose_history_was_not_read_leaves_positions_unknown(make):
    """Of October it has no row of btc, and of earlier time nobody knows."""
    unread = make(MERCHANTS[1], LATER, start=to_micros(datetime(2026, 9, 1, tzinfo=UTC)))
    made = october(svc.open_lakes([make(MERCHANTS[0], PRICED), unread]))
    assert value(made, "btc", "gross_sales") == 3
    assert value(made, "btc", "closing_position") is value(made, "btc", "usd_exposure") is None


def test_a_sum_with_an_unknown_part_is_unknown_and_names_the_merchant(make):
    """The second merchant's payouts were never read: sales have a sum, settlement has none."""
    folders = [make(MERCHANTS[0], FIRST), make(MERCHANTS[1], SECOND, streams=("payments",))]
    made = october(svc.open_lakes(folders))
    assert value(made, "btc", "net_sales") == Decimal("5.91")
    assert value(made, "btc", "net_settlement") is None
    assert f"unknown of {MERCHANTS[1]}" in str(made) and made.status == "provisional"
    why = {
        row["figure"]: row["note"]
        for row in made.table.to_pylist()
        if row["merchant_id"] == "all merchants" and "refund_ratio" in row["figure"]
    }
    for name, part in (("period", "Refunds paid"), ("cohort", "Refunded to date")):
        said = f"{part} or Total charged is unknown, or Total charged is zero"
        assert why[f"refund_ratio_{name}"] == said


def test_a_sum_of_more_than_38_digits_is_unknown_and_stops_nothing(make):
    """Never wrapped, and never rounded: counts and other coins are stated."""
    made = october(svc.open_lakes([make(MERCHANTS[0], PRICED), make(MERCHANTS[1], OTHERS)]))
    assert value(made, "big", "gross_sales") is None
    assert value(made, "big", "payments_count") == 2 and value(made, "sol", "gross_sales") == 1
    assert "the sum reaches 1e20" in str(made.table["note"].to_pylist())


def test_a_merchant_or_a_folder_given_twice_is_refused(make, folders):
    """Its money would be counted twice."""
    for given in ([folders[0], folders[0]], [folders[0], folders[0] / ".." / folders[0].name]):
        with pytest.raises(ConfigError, match="its money would be counted twice"):
            svc.open_lakes(given)
    for wrong in ([], "data"):
        with pytest.raises(ConfigError):
            svc.open_lakes(wrong)
    with pytest.raises(NoLake):
        svc.open_lakes([folders[0], folders[0] / "none"])


def test_the_commands_take_several_lakes_or_refuse_in_one_line(folders):
    """`sql` and `statement` take them; what writes a lake is of one."""
    query = "select merchant_id, count(*) as n from payments group by all order by all"
    found = run(folders, "sql", query, "--csv")
    assert found.stdout.splitlines()[1:] == [f"{MERCHANTS[0]},2", f"{MERCHANTS[1]},2"]
    stated = run(folders, "statement", "2026-10", "--csv")
    assert "all merchants,btc,gross_sales,Gross sales,coin,6," in stated.stdout
    refused = run(folders, "extract")
    assert str(refused.exception).startswith("extract works on one lake: give --data-dir once")


def test_status_and_views_show_each_merchant(folders):
    """What a lake holds stands below another; each lake gets a file for other tools."""
    shown = run(folders, "status")
    assert [shown.stdout.count(merchant) for merchant in MERCHANTS] == [1, 1]
    listed = json.loads(run(folders, "status", "--json").stdout)["lakes"]
    assert [each["merchant"]["id"] for each in listed] == [*MERCHANTS]
    paths = json.loads(run(folders, "views", "--json").stdout)["paths"]
    assert paths == [str(folder / "analytics.duckdb") for folder in folders]
    assert all((folder / "analytics.duckdb").is_file() for folder in folders)


@pytest.mark.thorough
def test_check_ends_with_the_worst_of_all_lakes(make):
    """The second merchant has a payment of a status that nobody knows, which blocks."""
    odd = """
 kind     currency  amount  fee   status  at
 payment  btc       1       0.01  odd     2026-10-12T08:00
"""
    folders = [make(MERCHANTS[0], FIRST), make(MERCHANTS[1], odd)]
    assert [run([folder], "check").exit_code for folder in folders] == [0, 3]
    found = run(folders, "check", "--json")
    merchants = {row["merchant_id"] for row in json.loads(found.stdout)["findings"]}
    assert found.exit_code == 3 and merchants == {MERCHANTS[1]}


@pytest.mark.thorough
def test_compare_sets_each_merchant_beside_the_others(folders):
    """Each is compared with itself; rows say whose they are."""
    text = run(folders, "compare", "2026-09", "2026-10", "--only", "gross_sales")
    assert text.stdout.count("September 2026 and October 2026 of") == 2
    found = run(folders, "compare", "2026-09", "2026-10", "--only", "gross_sales", "--json")
    own = json.loads(found.stdout)["merchants"]
    assert [each["merchant_id"] for each in own] == [*MERCHANTS]
    assert [row["new"] for each in own for row in each["rows"]] == ["5", "1", "100"]


@pytest.mark.thorough
def test_compare_without_a_month_refuses_lakes_read_up_to_different_months(make):
    """October of one merchant beside September of another would mislead."""
    early = make(MERCHANTS[1], SECOND, end=to_micros(datetime(2026, 10, 15, tzinfo=UTC)))
    found = run([make(MERCHANTS[0], FIRST), early], "compare")
    assert "the last full months of these lakes differ (2026-09, 2026-10)" in str(found.exception)


@pytest.mark.parametrize(
    "words", [("--format", "xlsx"), ("--explain", "net_sales"), ("--digits", "latin")], ids=" ".join
)
def test_what_is_of_one_merchant_is_refused_of_several(folders, words):
    """A form that nobody gets must not be asked for in vain."""
    refused = run(folders, "statement", "2026-10", *words)
    assert str(refused.exception) == f"{words[0]} is of one merchant: give --data-dir once"
