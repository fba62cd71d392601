"""What leaves this machine for an engine: what it can count alike, and what it is asked for."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn

import pytest
from click.testing import CliRunner

from svc_analytics.cli.app import cli
from svc_analytics.closing.stated import compare, statement
from svc_analytics.engines.compiler import (
    SqlSupport,
    count_to_the_middle,
    guard_sums,
    is_counted,
    models,
    reads_records,
)
from svc_analytics.engines.trees import DIALECTS, inner_steps, parse
from svc_analytics.errors import ConfigError, EngineError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.statements.explain import explain
from svc_analytics.warehouse.warehouse import open_counted
from tests.support.engines import DuckEngine, let_duckdb_count
from tests.support.rings import rings, sample
from tests.support.seeded_lakes import Seeded, make_seeded_lake

SUPPORT = SqlSupport("spark")
# Of these a quotient, a footer or a sealed list of values stays here; their steps go.
STAYING = {
    *("customers", "exceptions", "fees_monthly", "int_figures", "int_period_payouts"),
    *("int_period_usd", "int_worth", "statement_payouts"),
    *("refund_cohorts", "refund_ratios_monthly", "statement_checks", "statement_cohorts"),
    *("statement_exposure", "statement_figures", "statement_summary", "usd_exposure"),
}


def test_models_that_divide_stay_and_all_others_go():
    """The compiler decides it, by what each model is made of."""
    staying = {name for name in models() if reads_records(name) and not SUPPORT.can_count(name)}
    assert staying == STAYING


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select ratio(sum(fee), sum(base)) from fees", "ratio"),
        ("select avg(fee) from fees", "avg"),
        ("select median(fee) from fees", "median"),
        ("select sum(fee) / 2 from fees", "div"),
        ("select fee::double from fees", "DOUBLE"),
        ("select currency || fee from fees", "dpipe"),
        ("select footer from stg_files, payments", "stg_files"),
        ("select * from somewhere", "the table 'somewhere'"),
    ],
)
def test_what_engines_count_in_their_own_way_stays(query, why):
    """A person's query goes only where it is made of words that mean the same everywhere."""
    found = SUPPORT.unsupported_part(parse(query), is_ours=False)
    assert (found == why) if why != "stg_files" else found is None  # its few rows are handed over


def test_sums_and_counts_of_records_go():
    """Groups, joins, filters, windows, minima and exact sums."""
    query = "select currency, sum(net) as net, count(*) filter (where kind = 'refund') as n "
    query += "from ledger_entries where month >= '2026-10' group by currency order by currency"
    assert SUPPORT.unsupported_part(parse(query), is_ours=False) is None and is_counted(
        "net_settlement_daily"
    )


def test_no_step_has_the_name_of_a_model_that_is_read_too():
    """So a name within a query is either, and never both."""
    taken = {
        (name, step)
        for name, model in models().items()
        for step in inner_steps(parse(model.sql)) & {*model.sources} & models().keys()
    }
    assert not taken


def test_a_sum_that_wraps_around_raises_an_error():
    """Beside it runs one in floats, which cannot wrap: the two agree, or nothing is answered."""
    engine = DuckEngine()
    engine.connection.execute(
        "create or replace macro raise_error(words) as error(words);"
        "create table t as select unnest([1.5, 2.25, 99999999999999999990])::decimal(38,18) as x"
    )
    sql = guard_sums(parse("select sum(x) as total from t"), "spark").sql("duckdb")
    assert str(engine.query(sql)["total"][0]) == "99999999999999999993.750000000000000000"
    wrapping = sql.replace("SUM(x)", "(SUM(x) - 80000000000000000000)")
    with pytest.raises(Exception, match="the engine wrapped it around"):
        engine.query(wrapping)


def test_a_median_is_made_of_the_places_in_the_middle():
    """By `row_number`, which every engine counts alike."""
    found = count_to_the_middle(parse("select c, middle18(x) as m from t group by c"))
    sql = found.sql("duckdb")
    assert "ROW_NUMBER() OVER (PARTITION BY c ORDER BY x" in sql and "MIDDLE18(MAX(" in sql


def test_the_dialects_are_the_documented_ones():
    """`sql --print --dialect` takes these."""
    assert DIALECTS == ("databricks", "spark", "trino")


# ---------- long periods, explanations, comparisons, findings
#
# DuckDB stands for the engine: what leaves this machine is the same, and asked for as often.

ADDRESS = "sc://engine.example:15002"
COIN = "$.x"  # of the seeded lake
EXPLAINED = ("net_settlement", "refund_ratio_period", "closing_position", "payers_count")


@pytest.fixture
def engine(monkeypatch) -> DuckEngine:
    return let_duckdb_count(monkeypatch)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory) -> Seeded:
    return make_seeded_lake(tmp_path_factory.mktemp("lake") / "data", 5)


@pytest.fixture
def lakes(seeded) -> tuple[Lakehouse, Lakehouse]:
    """The same lake, counted here and by the engine."""
    return Lakehouse(seeded.lake.path), Lakehouse(seeded.lake.path, engine=ADDRESS)


def digests(lakes: tuple[Lakehouse, Lakehouse], label: str, zone: str, now: int) -> list[Any]:
    return [statement(lake, label, zone=zone, now=now).content_digest() for lake in lakes]


@pytest.mark.thorough
def test_a_longer_period_asks_for_all_its_months_at_once(
    engine, lakes, seeded, tmp_path, monkeypatch
):
    """A year asks for no more than a quarter, and nothing twice; neither has a cached trend."""
    counts = {}
    for label in ("2026-Q4", "2026"):
        engine.asked.clear()
        monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / label))
        here, there = digests(lakes, label, "UTC", seeded.now)
        assert here == there and len(engine.asked) == len(set(engine.asked))
        counts[label] = len(engine.asked)
    assert counts["2026-Q4"] == counts["2026"] > 10


@pytest.mark.parametrize("figure", sample(EXPLAINED, 4))
def test_a_figure_is_explained_by_the_same_value_and_records(engine, lakes, figure):
    """The records behind it too, in the same order."""
    here, there = (explain(lake, "2026-10", COIN, figure) for lake in lakes)
    assert (there.value, there.sql) == (here.value, here.sql) and engine.asked
    assert there.table.equals(here.table)


@pytest.mark.parametrize(
    "value", [Decimal("-0.5"), 0.1, 1e-7, "0.1", datetime(2026, 10, 1, tzinfo=UTC)], ids=str
)
def test_a_query_with_a_value_beside_it_has_the_same_rows(engine, lakes, value):
    """Written into the engine's query; of a kind that cannot be, the answer is made here."""
    column = "occurred_at" if isinstance(value, datetime) else "net"
    query = f"select kind, count(*) as n, sum(fee) as fee from ledger_entries where {column} > $v "
    here, there = (lake.sql(query + "group by kind order by kind", {"v": value}) for lake in lakes)
    assert len(here) and there.equals(here)


@pytest.mark.thorough
def test_two_months_and_their_trend_compare_to_the_same_rows(engine, lakes, seeded):
    """The trend asks for several intervals, one after the other."""
    here, there = (compare(lake, "2026-09", "2026-10", now=seeded.now) for lake in lakes)
    assert there.table.equals(here.table)
    asked = len(engine.asked)
    assert there.trend_table(["net_sales"], 2).equals(here.trend_table(["net_sales"], 2))
    assert len(engine.asked) > asked


@pytest.mark.thorough
def test_check_finds_the_same_rows(engine, lakes):
    """The rules of statements, and those of the lake alone."""
    query = "from exceptions order by all"
    found = []
    for lake in lakes:
        with open_counted(lake) as warehouse:
            found.append(warehouse.query(query))
    assert found[1].equals(found[0]) and len(found[0]) and engine.asked


def refuse(*_: object) -> NoReturn:
    raise EngineError("it was shown the files, and is asked nothing")


EXPLAIN = ("statement", "2026-10", "--explain", "net_settlement", "--currency", COIN)


@pytest.mark.parametrize(
    "words", rings([["sql", "from refunds"]], [["check"], ["compare", "2026-10"], [*EXPLAIN]])
)
def test_commands_take_the_engine_and_where_it_finds_the_lake(
    engine, lakes, tmp_path, monkeypatch, words
):
    """Each command that counts reads the files below the folder that --engine-data names."""
    monkeypatch.setattr(DuckEngine, "query", refuse)  # what it would count is tested above
    place = lakes[0].path
    (tmp_path / "seen").symlink_to(place)
    given = ["--data-dir", str(place), "--engine", ADDRESS, "--engine-data", str(tmp_path / "seen")]
    CliRunner().invoke(cli, [*words, *given])
    assert engine.read_from
    assert all(path.startswith(f"{tmp_path}/seen/") for path in engine.read_from)


def test_one_lake_has_one_place_on_the_engine(lakes):
    """A second --engine-data has no lake."""
    given = ["--data-dir", str(lakes[0].path), "--engine-data", "/mnt/a", "--engine-data", "/mnt/b"]
    found = CliRunner().invoke(cli, ["check", *given])
    assert isinstance(found.exception, ConfigError)
    assert "--engine-data is given several times for one lake" in str(found.exception)
