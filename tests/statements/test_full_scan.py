"""Statements of seeded lakes, compared with a full scan in plain Python: every cell of every table.

Whatever a statement spares itself to read must not show in a figure.
"""

from collections import Counter
from dataclasses import replace
from decimal import localcontext
from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import BEGINNING, from_micros
from svc_analytics.periods import Period
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.full_scan.comparison import differences, full_scan
from tests.support.full_scan.knowledge import View
from tests.support.full_scan.quotients import EXACT
from tests.support.full_scan.rows import Books
from tests.support.full_scan.rules import RULES
from tests.support.rings import rings
from tests.support.seeded_lakes import Seeded, make_seeded_lake, state

SEEDS = 200
QUICK = [(0, 0), (2, 2)]  # seed and period: another sort of month each time


def compare(seeded: Seeded, period: Period, books: Books) -> list[str]:
    """Return where a statement differs from the full scan.

    As of an instant within the period, both end there; as of an earlier one there is none.
    """
    as_of = seeded.as_of
    if as_of is not None and as_of <= period.start:
        with pytest.raises(ConfigError):
            state(seeded, period)
        return []
    made = state(seeded, period)
    until = period if as_of is None else replace(period, end=min(period.end, as_of))
    return differences(made, full_scan(books, until, made.as_of, as_of or seeded.now))


@pytest.mark.parametrize(("seed", "asked"), rings(QUICK, ((n, None) for n in range(SEEDS))))
def test_every_cell_is_that_of_a_full_scan(seed: int, asked: int | None, tmp_path: Path) -> None:
    """A statement of a month, of whatever zone and calendar, has the figures of all rows.

    In the deep ring each sort of month of 200 lakes, also before the first record and the running
    one.
    """
    seeded = make_seeded_lake(tmp_path / "data", seed)
    books = Books(seeded.lake.path)
    periods = seeded.asked if asked is None else [seeded.asked[asked]]
    assert [found for period in periods for found in compare(seeded, period, books)] == []


@pytest.mark.parametrize("seed", rings((14,), range(40)))
def test_every_finding_of_all_time_is_that_of_a_full_scan(seed: int, tmp_path: Path) -> None:
    """
    Each with its record, coin, detail and instant; the lakes of the deep ring break every rule.
    """
    seeded = make_seeded_lake(tmp_path / "data", seed)
    books = Books(seeded.lake.path)
    always = replace(seeded.asked[0], start=BEGINNING, end=seeded.now)
    view = View(books, always, books.read_to, books.read_to)
    with localcontext(EXACT):
        expected = [
            (rule.__name__, record, None if at is None else from_micros(at), *rest)
            for rule in RULES
            for record, at, *rest in rule(view)
        ]
    with open_warehouse(seeded.lake) as warehouse:
        rows = warehouse.query("from exceptions").to_pylist()
    columns = ("check_name", "record_id", "occurred_at", "currency", "detail")
    found = [tuple(row[name] for name in columns) for row in rows]
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.thorough
def test_the_seeded_lakes_break_every_rule(tmp_path: Path) -> None:
    """The lakes hold all that the full scan is written for: each of its rules finds something."""
    found: Counter[str] = Counter()
    for seed in range(SEEDS // 2):
        seeded = make_seeded_lake(tmp_path / str(seed), seed)
        found.update(state(seeded, seeded.asked[0]).tables["checks"]["check_name"].to_pylist())
    assert {rule.__name__ for rule in RULES} <= {*found}


def test_a_difference_in_one_cell_is_told(tmp_path: Path) -> None:
    """The comparison itself sees a figure that is off by one unit of its last place."""
    seeded = make_seeded_lake(tmp_path / "data", 0)
    made = state(seeded, seeded.asked[0])
    expected = full_scan(Books(seeded.lake.path), made.period, made.as_of, seeded.now)
    expected["daily"][0]["currency"] += "x"
    assert len(differences(made, expected)) == 1
