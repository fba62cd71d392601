"""`analytics.duckdb` of a lake that was moved or copied answers from the lake that it lies in."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse import images
from svc_analytics.warehouse.images import write_views
from tests.support.rings import rings
from tests.warehouse.test_warehouse import LEDGER, extracted

LESS = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       7       0.07  2026-10-01T00:00      455000
"""
SUM = "select sum(amount) from {}payments where currency = 'btc'"


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Lakehouse:
    """A lake with payments of 3.50000001 btc; tests only copy it."""
    lake = extracted(LEDGER, tmp_path_factory.mktemp("moved")).lake
    write_views(lake)
    return lake


@pytest.fixture
def copy(lake, tmp_path) -> Path:
    """A copy of it whose month of payments holds 7 btc, so that each answer tells its lake."""
    copy = tmp_path / "it's a copy"
    shutil.copytree(lake.path, copy)
    other = extracted(LESS, tmp_path).lake
    shutil.rmtree(copy / "payments")
    shutil.copytree(other.path / "payments", copy / "payments")
    return copy


def opened(folder: Path) -> str:
    with duckdb.connect(folder / "analytics.duckdb", read_only=True) as connection:
        [[found]] = connection.execute(SUM.format("")).fetchall()
    return f"{found.normalize():f}"


def attached(*folders: Path) -> str:
    """Ask the first of the lakes that are attached to a database in memory."""
    with duckdb.connect() as connection:
        for place, folder in enumerate(folders):
            path = str(folder / "analytics.duckdb").replace("'", "''")
            connection.execute(f"attach '{path}' as lake_{place} (read_only)")
        [[found]] = connection.execute(SUM.format("lake_0.")).fetchall()
    return f"{found.normalize():f}"


def test_a_copied_lake_answers_from_itself(lake, copy):
    """Though the original lies where it was, and its paths stand in the copied file."""
    assert opened(copy) == "7"
    assert opened(lake.path) == "3.50000001"


@pytest.mark.parametrize("name", rings(["stg_%"], ["%"]))
def test_every_view_of_a_moved_lake_answers(copy, tmp_path, name):
    """Those that read files, each kind of them; all others, which read these, in the deep ring."""
    moved = copy.rename(tmp_path / "elsewhere")
    with duckdb.connect(moved / "analytics.duckdb", read_only=True) as connection:
        connection.execute("PRAGMA disable_optimizer")  # it takes longer than the answer
        views = "select view_name from duckdb_views() where not internal and view_name like ?"
        for [view] in connection.execute(views, [name]).fetchall():
            assert connection.execute(f"select count(*) from {view}").fetchone(), view


def test_an_attached_lake_answers_where_it_was_made(lake):
    """As tools do that open more than one database."""
    assert attached(lake.path) == "3.50000001"


def test_an_attached_copy_says_what_to_do_and_never_answers_for_another(copy):
    """Attached, it cannot tell where it lies."""
    with pytest.raises(duckdb.Error, match="run svc-analytics views"):
        attached(copy)
    write_views(Lakehouse(copy))
    assert attached(copy) == "7"


def test_a_database_opened_by_its_bare_name_answers(copy, monkeypatch):
    """From within the folder of the lake, as a person does who went there."""
    monkeypatch.chdir(copy)
    assert opened(Path()) == "7"


# ---------- the databases of views


_HELD = (
    "select view_name, sql, comment from duckdb_views() where not internal order by all",
    "select function_name, parameters, macro_definition, comment from duckdb_functions() "
    "where not internal order by all",
    "select table_name, column_name, data_type, comment from duckdb_columns() "
    "where not internal order by all",
)


def held_in(path: Path) -> list[list[Any]]:
    path.write_bytes(images._make_image())
    with duckdb.connect(path, read_only=True) as connection:
        return [connection.execute(query).fetchall() for query in _HELD]


@pytest.mark.thorough
def test_models_bound_to_stand_ins_are_the_same_models(tmp_path, monkeypatch):
    """Views, their columns' types, macros and comments; of the stand-ins nothing is left."""
    quick = held_in(tmp_path / "quick.duckdb")
    monkeypatch.setattr(images, "_stand_in", lambda *made: None)
    assert quick == held_in(tmp_path / "slow.duckdb")
