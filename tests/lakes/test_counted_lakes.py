"""Several merchants whose records an engine counts: one query over all of them, the same digits."""

from typing import Any

import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError, QueryError
from svc_analytics.lakes import Lakes, query_lakes
from svc_analytics.warehouse.several_lakes import public_views
from tests.lakes.conftest import MERCHANTS, run
from tests.support.engines import DuckEngine, let_duckdb_count
from tests.support.rings import sample

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
