"""The same digits: what Spark counts is, cell by cell, what DuckDB counts."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from svc_analytics.closing.stated import statement
from svc_analytics.engines.connect import connect
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes import open_lakes, query_lakes
from svc_analytics.periods import Period
from svc_analytics.statements.statement import Statement
from svc_analytics.statements.tables import TABLES
from svc_analytics.statements.trend import monthly_figures
from svc_analytics.warehouse.view_builder import public_models
from svc_analytics.warehouse.warehouse import open_counted, open_warehouse
from tests.support.engines import spark_address
from tests.support.rings import rings
from tests.support.seeded_lakes import MERCHANT, Seeded, make_seeded_lake, state

# Two lakes that together have late and restated records, gaps, NULL values, rejected records and
# amounts of many digits.
SMALL = (5, 11)
ASKED = ((11, 2), (5, 1), *((seed, seed) for seed in range(40)))
OVER_BOTH = (
    "select merchant_id, currency, count(*) as n, sum(net) as net from ledger_entries "
    "group by all order by all",
    "select merchant_id, month, currency, effective_fee_rate from fees_monthly order by all",
    "select currency, sum(net_settlement), count(*) from net_settlement_monthly "
    "group by currency order by currency",
)
LONG = (("2026-Q3", "UTC"), ("2026", "UTC"), ("2026-10-ytd", "UTC"), ("1405-Q2", "Asia/Tehran"))
VIEWS = [model.name for model, _ in public_models() if not model.signature]


def made(seeded: Seeded, period: Period, engine: str) -> Statement:
    """The statement of a period, its records counted by an engine or here."""
    return state(replace(seeded, lake=Lakehouse(seeded.lake.path, engine=engine)), period)


def differing(seed: int, place: int, folder: Path) -> list[str]:
    """The tables of a statement that are not the same by both engines."""
    address = spark_address()
    seeded = make_seeded_lake(folder / "data", seed)
    period = seeded.asked[place % len(seeded.asked)]
    here, there = made(seeded, period, ""), made(seeded, period, address)
    different = [name for name in TABLES if here.controls[name] != there.controls[name]]
    assert different or here.content_digest() == there.content_digest()
    return different


def test_spark_in_ansi_mode_passes_the_probe():
    """With the settings that we give to our session, and no others; once, for all tests below."""
    assert not connect(spark_address()).engine.is_gone


@pytest.mark.thorough
@pytest.mark.parametrize(("seed", "place"), ASKED)
def test_statements_of_many_lakes_have_the_same_digest(seed, place, tmp_path):
    """Table by table, order included, whoever counted the records; another sort of month each time.

    A Jalali month of one of the two lakes above, a month of Tehran of the other, and of forty more.
    """
    assert differing(seed, place, tmp_path) == []


def test_spark_tells_the_sizes_of_the_files_it_sees(tmp_path):
    """So an older copy of a bucket is found out before it is counted."""
    for name, size in (("a.parquet", 3), ("b.parquet", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    engine = connect(spark_address()).engine
    paths = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    assert engine.sizes(paths) == {"a.parquet": 3, "b.parquet": 5}


def rows(table: pa.Table) -> list[str]:
    """The rows of an answer as text, whatever their order: that of a view may be any."""
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("views", rings([["payouts"]], [VIEWS]), ids=len)
def test_public_views_have_the_same_rows(views, tmp_path):
    """The views that people query, types included; in the deep ring every one."""
    lake = Lakehouse(make_seeded_lake(tmp_path / "data", 5).lake.path, engine=spark_address())
    with open_warehouse(lake) as here:
        wanted = {name: here.query(f"from {name}") for name in views}
    with open_counted(lake) as there:
        found = {name: there.query(f"from {name}") for name in views}
    for name in views:
        assert found[name].schema.equals(wanted[name].schema), name
        assert rows(found[name]) == rows(wanted[name]), name


def test_figures_by_month_have_the_same_rows(tmp_path):
    """Their queries are made for the months that there are, so that they stand in no view."""
    seeded = make_seeded_lake(tmp_path / "data", 11)
    lakes = (Lakehouse(seeded.lake.path, engine=each) for each in ("", spark_address()))
    last = seeded.asked[0].months[-1]
    here, there = (monthly_figures(lake, ["usd_exposure"], last, 2, seeded.now) for lake in lakes)
    assert len(here) and there.equals(here)


@pytest.mark.thorough
def test_one_query_over_two_lakes_has_the_same_rows(tmp_path, monkeypatch):
    """Sums that Spark makes over both, and quotients that are made lake by lake."""
    folders = []
    for number, seed in enumerate(SMALL):
        monkeypatch.setitem(MERCHANT, "id", f"merchant {number}")
        folders.append(make_seeded_lake(tmp_path / str(number), seed).lake.path)
    here, there = open_lakes(folders), open_lakes(folders, engine=spark_address())
    for query in OVER_BOTH:
        wanted = query_lakes(here.lakes, query)
        assert len(wanted) and query_lakes(there.lakes, query).equals(wanted), query


@pytest.mark.thorough
@pytest.mark.parametrize(("label", "zone"), LONG, ids=[label for label, _ in LONG])
def test_long_periods_have_the_same_digest(label, zone, tmp_path):
    """A quarter, a year, a year to date; of both calendars, and of another zone."""
    seeded = make_seeded_lake(tmp_path / "data", 5)
    found = [
        statement(Lakehouse(seeded.lake.path, engine=each), label, zone=zone, now=seeded.now)
        for each in ("", spark_address())
    ]
    assert found[0].content_digest() == found[1].content_digest()
