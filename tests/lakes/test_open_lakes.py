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
from svc_analytics.lakes import GroupStatement, Lakes, query_lakes
from svc_analytics.warehouse.several_lakes import public_views
from tests.lakes.conftest import FIRST, MERCHANTS, NOW, SECOND, run
from tests.support.engines import DuckEngine, let_duckdb_count
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


# ---------- an engine counts their records: one query over all of them, the same digits


ADDRESS = "sc://engine.example:15002"
# Whole on the engine; a quotient above a sum; a model with quotients; a step of its own.
QUERIES = {
    "sums": "select merchant_id, currency, sum(net) as n from ledger_entries group by all",
    "a join": "select r.merchant_id, p.amount from refunds r join payments p "
    "on p.merchant_id = r.merchant_id and p.payment_id = r.payment_id",
    "a quotient": "select payment_id, ratio(fee_amount, amount) as rate from payments",
    "a view that divides": "select merchant_id, currency, effective_fee_rate from fees_monthly",
    "a step": "with s as (select merchant_id, sum(fee) as fee, sum(base) as base from fees "
    "group by merchant_id) select merchant_id, ratio(fee, base) as rate from s",
    "a step named as a view": "with payments as (select * from net_settlement_daily) "
    "select merchant_id, sum(net_sales) as n from payments group by merchant_id",
    "no records": "select merchant_id, stream, state from coverage",
    "a parameter": "select count(*) as n from payments where currency = $coin",
    "without names": "select currency, sum(net_settlement), count(*), max(month) "
    "from net_settlement_monthly group by currency",
    "within": "select * from (select currency, sum(fee) from fees group by currency)",
}


@pytest.fixture
def engine(monkeypatch) -> DuckEngine:
    return let_duckdb_count(monkeypatch)


@pytest.fixture
def counted(folders, engine) -> Lakes:
    return svc.open_lakes(folders, engine=ADDRESS)


@pytest.fixture
def here(folders) -> Lakes:
    return svc.open_lakes(folders)


def rows(lakes: Lakes, query: str) -> Any:
    values = {"coin": "btc"} if "$coin" in query else {}
    found = query_lakes(lakes.lakes, query, values)
    return found.schema, sorted(map(repr, found.to_pylist()))


@pytest.mark.parametrize("query", sample(QUERIES.values(), 10), ids=QUERIES.keys())
def test_a_query_over_all_lakes_has_the_same_answer(here, counted, query):
    """Types included, whatever of it the engine counts."""
    assert rows(counted, query) == rows(here, query)


@pytest.mark.thorough
def test_every_view_of_all_lakes_has_the_same_rows(here, counted, engine):
    """The merchant stands before all columns, and no query of the engine is of one merchant."""
    for view in public_views(None):
        assert rows(counted, f"from {view}") == rows(here, f"from {view}"), view
    assert all_of_both(engine.asked)


def all_of_both(asked: list[str]) -> bool:
    """Whether each of these queries is over both merchants."""
    return bool(asked) and all(merchant in query for query in asked for merchant in MERCHANTS)


def test_one_query_of_the_engine_counts_all_lakes(counted, engine):
    """The sums are made there, over the union of both merchants' views."""
    found = counted.sql(QUERIES["sums"])
    assert len(found) == 3 and len(engine.asked) == 1 and all_of_both(engine.asked)


def test_a_view_that_divides_asks_for_the_sums_of_all_lakes_at_once(counted, engine):
    """Refund ratios are made here, of two sums: two queries, however many merchants there are."""
    found = counted.sql("select merchant_id, month, refund_ratio_period from refund_ratios_monthly")
    assert {*found["merchant_id"]} == {*MERCHANTS}
    assert len(engine.asked) == 2 and all_of_both(engine.asked)


@pytest.mark.thorough
def test_what_an_engine_would_be_asked_over_several_lakes_is_printed(folders, engine):
    """With the name of each lake's tables, and in the SQL that is wanted; nobody is asked."""
    words = ("sql", "--print", "--dialect", "trino", QUERIES["a view that divides"])
    notes, *asked = run(folders, *words).stdout.split("\nWITH ")
    for number, merchant in enumerate(MERCHANTS, 1):
        assert f"-- lake_{number}: merchant {merchant}\n" in notes
        assert f"-- lake_{number}_payments: " in notes
    assert len(asked) == 2 and all_of_both(asked) and "AT_TIMEZONE(" in asked[0]
    assert engine.asked == []


@pytest.mark.thorough
def test_each_merchants_statement_has_the_same_digest(here, counted, engine):
    """And the sums of both are the same too."""
    wanted, found = (lakes.statement("2026-10") for lakes in (here, counted))
    digests = [
        {name: each.content_digest() for name, each in made.statements.items()}
        for made in (wanted, found)
    ]
    assert digests[0] == digests[1] and len(engine.asked) > 2
    assert found.table.equals(wanted.table)


@pytest.mark.thorough
def test_what_several_lakes_do_not_have_is_refused_before_the_engine_is_asked(counted, engine):
    """A macro is of one lake, a model of ours is no view, and nothing can be written."""
    bounds = "('2026-10-01', '2026-11-01')"
    for query in (f"from statement_lines{bounds}", "from int_omissions", "drop view payments"):
        with pytest.raises(QueryError):
            counted.sql(query)
    assert engine.asked == []


def test_the_engine_is_told_of_each_lakes_folder_or_of_none(folders):
    """One folder cannot stand for two lakes."""
    with pytest.raises(ConfigError, match="the engine is told of 1 folder: give --engine-data"):
        svc.open_lakes(folders, engine=ADDRESS, engine_data=["/mnt/a"])
    seen = svc.open_lakes(folders, engine=ADDRESS, engine_data=["/mnt/a", "/mnt/b"])
    assert [lake.engine_data for lake in seen.lakes] == ["/mnt/a", "/mnt/b"]


@pytest.mark.parametrize(
    "words",
    [
        ("sql", QUERIES["sums"] + " order by all", "--csv"),
        pytest.param(("statement", "2026-10", "--csv"), marks=pytest.mark.thorough),
        pytest.param(("check", "--json"), marks=pytest.mark.thorough),
        pytest.param(("compare", "2026-09", "2026-10", "--csv"), marks=pytest.mark.thorough),
    ],
    ids=lambda words: words[0],
)
def test_commands_over_several_lakes_print_the_same_with_an_engine(folders, engine, words):
    """To the letter, and with the same exit code."""
    here, there = run(folders, *words), run(folders, *words, "--engine", ADDRESS)
    assert here.stdout and (there.stdout, there.exit_code) == (here.stdout, here.exit_code)
    assert engine.asked
