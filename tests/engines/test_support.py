"""What leaves this machine: what reads records and means the same on every engine."""

import pytest

from svc_analytics.engines.compiler import (
    SqlSupport,
    count_to_the_middle,
    guard_sums,
    is_counted,
    models,
    reads_records,
)
from svc_analytics.engines.trees import DIALECTS, inner_steps, parse

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
    from tests.support.engines import DuckEngine

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
