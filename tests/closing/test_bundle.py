"""A bundle: all views as tables of one DuckDB file that stands alone."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import yaml
from click.testing import CliRunner

from svc_analytics import ConfigError, Lakehouse, NoLake
from svc_analytics.cli.app import cli
from svc_analytics.closing.handover.bundle import ABOUT, write_bundle
from svc_analytics.instants import now
from svc_analytics.lake.writing.writer import open_writer
from svc_analytics.warehouse.connection import STORAGE_VERSION
from svc_analytics.warehouse.view_builder import public_models
from svc_analytics.warehouse.warehouse import describe_views, open_warehouse
from tests.support.rings import rings
from tests.warehouse.test_warehouse import LEDGER, extracted

COLUMNS = (
    "select table_name, column_name, data_type, comment from duckdb_columns() where not internal"
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Lakehouse:
    """A lake; tests only look at it."""
    return extracted(LEDGER, tmp_path_factory.mktemp("bundled")).lake


@pytest.fixture(scope="module")
def file(lake, tmp_path_factory) -> Path:
    """Its bundle, written while a run holds the lake."""
    file = tmp_path_factory.mktemp("given") / "lake.duckdb"
    with open_writer(lake, lake.merchant, now()):
        write_bundle(lake, file)
    return file


@pytest.fixture(scope="module")
def views(lake) -> list[tuple[str, str, str, str]]:
    """Each column of each view, with its type and meaning."""
    return [
        (view["view"], column["name"], column["type"], column["comment"])
        for view in describe_views(lake)
        for column in view["columns"]
        if "(" not in view["view"]
    ]


@pytest.fixture
def bundle(file) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(file, read_only=True) as connection:
        connection.execute("SET TimeZone='UTC'")
        yield connection


def test_each_view_is_a_table_of_its_types_and_meanings(bundle, views):
    """Money as DECIMAL(38,18), instants with their zone, a comment on every column."""
    found = [row for row in bundle.execute(COLUMNS).fetchall() if row[0] != ABOUT.name]
    assert sorted(found) == sorted(views)
    kinds = bundle.execute("select distinct table_type from information_schema.tables").fetchall()
    assert kinds == [("BASE TABLE",)]
    uncommented = "select count(*) from duckdb_tables() where comment is null"
    assert bundle.execute(uncommented).fetchone() == (0,)


NAMES = [model.name for model, _ in public_models() if not model.signature]
FEW = ["payments", "ledger_entries", "coverage"]  # records, money, states


@pytest.mark.parametrize("names", rings([FEW], [NAMES]), ids=["few", "all"])
def test_each_table_has_the_rows_of_its_view(bundle, lake, names):
    """Every value, to the last digit: as text, none is read as a float."""
    with open_warehouse(lake) as warehouse:
        for name in names:
            query = f"select columns(*)::varchar from {name} order by all"
            rows = [[*row.values()] for row in warehouse.query(query).to_pylist()]
            assert [[*row] for row in bundle.execute(query).fetchall()] == rows, name


def test_a_bundle_says_whose_records_it_holds(bundle, lake):
    """And up to when they were read: a file goes round without its lake."""
    [found] = bundle.execute("select merchant_id, read_to is not null from about").fetchall()
    assert found == (lake.merchant_id, True)


def test_a_bundle_holds_no_path_of_this_machine(file, lake):
    """So it answers wherever it is, and tells nobody how this machine is laid out."""
    content = file.read_bytes()
    for path in (lake.path, file.parent, Path.home()):
        assert str(path).encode() not in content, path


def test_a_bundle_answers_without_its_lake(bundle, lake):
    """Which lies elsewhere meanwhile."""
    elsewhere = lake.path.rename(lake.path.with_name("elsewhere"))
    query = "select sum(net)::varchar from ledger_entries where currency = 'sol'"
    assert bundle.execute(query).fetchone() == ("-7.070000000000000000",)
    elsewhere.rename(lake.path)


def test_the_first_duckdb_of_its_storage_opens_it(bundle, file):
    """A command line of version 1, where there is one, reads every digit."""
    query = "select tags['storage_version'] from duckdb_databases() where path is not null"
    [[version]] = bundle.execute(query).fetchall()
    assert version.startswith(STORAGE_VERSION)
    if command := shutil.which("duckdb"):
        query = "select sum(net) from ledger_entries where currency = 'sol'"
        done = subprocess.run([command, "-readonly", "-csv", file, query], capture_output=True)
        assert done.stdout.split()[-1] == b"-7.070000000000000000"


PLACES = [
    *(("lake.zip", "suffix"), ("data/x.duckdb", "in the lake")),
    ("missing/lake.duckdb", r"missing/lake\.duckdb: there is no folder"),
]


@pytest.mark.parametrize(("name", "why"), PLACES)
def test_a_bundle_has_its_own_name_and_place(lake, name, why):
    """It never takes the place of the lake's own files; a folder that is not there is told."""
    with pytest.raises(ConfigError, match=why):
        write_bundle(lake, lake.path.parent / name)


def test_without_a_lake_the_old_bundle_stays(file, tmp_path):
    """No file is half written."""
    target = tmp_path / "lake.duckdb"
    shutil.copy(file, target)
    with pytest.raises(NoLake):
        write_bundle(Lakehouse(tmp_path / "none"), target)
    assert target.read_bytes() == file.read_bytes()


@pytest.mark.thorough
def test_dbt_finds_every_view_as_a_source(lake, views):
    """With the types and the meanings that the views have themselves."""
    done = CliRunner().invoke(cli, ["views", "--dbt", "--data-dir", str(lake.path)])
    [source] = yaml.safe_load(done.stdout)["sources"]
    found = [
        (table["name"], column["name"], column["data_type"], column["description"])
        for table in source["tables"]
        for column in table["columns"]
    ]
    assert found == views
