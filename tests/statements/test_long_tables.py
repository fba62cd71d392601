"""Months of many records are read in parts and rule by rule, into files: the same tables."""

import errno
import io
import tempfile
from typing import Any

import pytest

from svc_analytics import QueryError, Statement, statement
from svc_analytics.lake.lake import Lake
from svc_analytics.statements import rules, tables
from svc_analytics.statements.rules import find_exceptions
from svc_analytics.warehouse import warehouse
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.desks import Desk
from tests.support.forms import FOR_PROGRAMS
from tests.support.prepared import stated
from tests.support.seeded_lakes import make_seeded_lake, state

LEDGER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       1.5     0.03  2026-10-01T00:00      90000
 payment  usdt      100     1     2026-10-05T08:00      100
 refund   btc       0.5           2026-10-07T08:00  1   32000
 payout   usdt      50      0.5   2026-10-09T08:00      50
"""
SEEDS = range(20, 60)


class FullDisk(io.BytesIO):
    """A file on a disk that is full."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()

    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def usual(desk) -> Statement:
    """A statement whose tables are in memory."""
    desk.serve(LEDGER)
    return stated(desk, "2026-10")


def of_a_long_month(made: Statement, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Statement:
    """Make a statement again as if its month had too many records for memory: a part a day."""
    take_for_long(monkeypatch)
    return statement(desk.lake, "2026-10", as_of=made.as_of)


def take_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "SMALL_LAKE", 0)
    monkeypatch.setattr(warehouse, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(tables, "PART", 1)
    monkeypatch.setattr(rules, "STRETCH", 1)


def exceptions(lake: Lake) -> list[dict[str, Any]]:
    """What `check` finds."""
    with open_warehouse(lake) as found:
        rows: list[dict[str, Any]] = find_exceptions(found).to_pylist()
    return rows


def test_a_long_month_has_the_same_tables_and_files(usual, desk, monkeypatch, tmp_path):
    """To the digest, each type and each byte; no file of a table is left in the lake."""
    before = sorted(desk.lake.path.rglob("*"))
    long = of_a_long_month(usual, desk, monkeypatch)
    assert sorted(desk.lake.path.rglob("*")) == before
    assert len(long.tables["lines"]) == 4 and long.lines["gross"].notna().all()
    assert long.content_digest() == usual.content_digest()
    assert {name: table.schema for name, table in long.tables.items()} == {
        name: table.schema for name, table in usual.tables.items()
    }
    in_memory = usual.save(tmp_path / "usual", FOR_PROGRAMS)
    in_files = long.save(tmp_path / "long", FOR_PROGRAMS)
    names = sorted(path.name for path in in_memory.iterdir())
    assert names == sorted(path.name for path in in_files.iterdir())
    for name in names:
        assert (in_files / name).read_bytes() == (in_memory / name).read_bytes()


def test_a_full_disk_is_one_clear_line(usual, desk, monkeypatch):
    """As where a query spills."""
    monkeypatch.setattr(tempfile, "TemporaryFile", FullDisk)
    with pytest.raises(QueryError, match="the disk is full: free some space in "):
        of_a_long_month(usual, desk, monkeypatch)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [7, *SEEDS])
def test_rules_find_the_same_one_after_another(seed, tmp_path, monkeypatch):
    """In lakes with late, lost and restated records: of a month in any zone, and over all time."""
    seeded = make_seeded_lake(tmp_path / "data", seed)
    period = seeded.asked[seed % len(seeded.asked)]
    usual, found = state(seeded, period), exceptions(seeded.lake)
    take_for_long(monkeypatch)
    assert state(seeded, period).content_digest() == usual.content_digest()
    assert found and exceptions(seeded.lake) == found
