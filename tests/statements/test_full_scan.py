"""Statements of seeded lakes, compared with a full scan in plain Python: every cell of every table.

Whatever a statement spares itself to read must not show in a figure.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.lake import month_file
from svc_analytics.lake.coverage_footer import read_footer
from svc_analytics.lake.month_file import read_groups, write_month_file
from svc_analytics.periods import Period, month
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements import deep_check
from svc_analytics.statements.deep_check import DIFFERENT, Note, check_deeply
from svc_analytics.warehouse.other_months import OtherPayments
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.fake_service import payment
from tests.support.full_scan.comparison import differences, full_scan
from tests.support.full_scan.rows import Books
from tests.support.full_scan.rules import RULES, as_found, findings_of_all_time
from tests.support.rings import rings
from tests.support.seeded_lakes import Seeded, make_seeded_lake, state

SEEDS = 200
QUICK = [(0, 0), (1, 4), (2, 2)]  # seed and period: another sort of month each time


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
def test_every_cell_is_that_of_a_full_scan(seed, asked, tmp_path):
    """A statement of a month, of whatever zone and calendar, has the figures of all rows.

    In the deep ring each sort of month of 200 lakes, also before the first record and the running
    one.
    """
    seeded = make_seeded_lake(tmp_path / "data", seed)
    books = Books(seeded.lake.path)
    periods = seeded.asked if asked is None else [seeded.asked[asked]]
    assert [found for period in periods for found in compare(seeded, period, books)] == []


@pytest.mark.parametrize("seed", rings((14,), range(40)))
def test_every_finding_of_all_time_is_that_of_a_full_scan(seed, tmp_path):
    """
    Each with its record, coin, detail and instant; the lakes of the deep ring break every rule.
    """
    seeded = make_seeded_lake(tmp_path / "data", seed)
    expected = findings_of_all_time(Books(seeded.lake.path))
    with open_warehouse(seeded.lake) as warehouse:
        found = as_found(warehouse.query("from exceptions").to_pylist())
    assert sorted(found, key=str) == sorted(expected, key=str)


@pytest.mark.thorough
def test_the_seeded_lakes_break_every_rule(tmp_path):
    """The lakes hold all that the full scan is written for: each of its rules finds something."""
    found: Counter[str] = Counter()
    for seed in range(SEEDS // 2):
        seeded = make_seeded_lake(tmp_path / str(seed), seed)
        found.update(state(seeded, seeded.asked[0]).tables["checks"]["check_name"].to_pylist())
    assert {rule.__name__ for rule in RULES} <= {*found}


def test_a_difference_in_one_cell_is_told(tmp_path):
    """The comparison itself sees a figure that is off by one unit of its last place."""
    seeded = make_seeded_lake(tmp_path / "data", 0)
    made = state(seeded, seeded.asked[0])
    expected = full_scan(Books(seeded.lake.path), made.period, made.as_of, seeded.now)
    expected["daily"][0]["currency"] += "x"
    assert len(differences(made, expected)) == 1


# ---------- statements against all rows


TEHRAN = ["2026-11@Asia-Tehran", "1405-08@Asia-Tehran"]


def findings(path: Path, told: Note = lambda text: None) -> list[tuple[str, str]]:
    """What a deep check finds in a lake of several months."""
    lake = make_seeded_lake(path, 0).lake
    with open_warehouse(lake) as warehouse:
        none = warehouse.query("from exceptions limit 0").drop(["occurred_at"])
    found = check_deeply(lake, none, told).to_pylist()
    return [(each["check_name"], each["detail"]) for each in found]


@pytest.mark.thorough
def test_a_sound_lake_gives_the_same_statements_from_all_rows(tmp_path):
    """No table of any month differs by a cell; the last two months are of Tehran."""
    held: list[str] = []
    assert findings(tmp_path / "data", held.append) == []
    assert [text.split()[4] for text in held[-2:]] == TEHRAN


def test_a_month_that_differs_is_told_with_its_tables(tmp_path, monkeypatch):
    """A statement without the rows of other months that it needs is found out."""
    read = deep_check.read_tables

    def without_last_line(warehouse, *given, **more):  # type: ignore[no-untyped-def]
        tables = read(warehouse, *given, **more)
        return tables | ({"lines": tables["lines"][:-1]} if warehouse.sources.whole_months else {})

    monkeypatch.setattr(deep_check, "read_tables", without_last_line)
    monkeypatch.setattr(deep_check, "_periods", lambda lake: [month("2026-10")])
    [(name, detail)] = findings(tmp_path / "data")
    assert name == DIFFERENT and detail.startswith("differs in lines:")


@pytest.mark.thorough
def test_a_file_with_other_totals_than_its_rows_is_named_once(desk, monkeypatch):
    """Later months would all differ: their rows are summed, and each opens with that file's."""
    desk.service.payments = [payment(n, f"2026-{8 + n:02}-03T00:00:00Z") for n in range(3)]
    desk.extract()
    lake, path = desk.lake, desk.lake.month_path(PAYMENTS, "2026-08")
    of_rows, of_both = month_file.control_totals, month_file.totals_and_ends
    rows, footer = [*read_groups(path)], read_footer(path)
    with monkeypatch.context() as patched:
        patched.setattr(month_file, "control_totals", lambda *of: of_rows(*of) + of_rows(*of))
        patched.setattr(
            month_file,
            "totals_and_ends",
            lambda *of: (of_rows(*of) + of_rows(*of), of_both(*of)[1]),
        )
        write_month_file(lake.storage, path, PAYMENTS, rows, footer)
    monkeypatch.setattr(deep_check, "_periods", lambda lake: [month("2026-10")])
    with open_warehouse(lake) as warehouse:
        found = warehouse.query("from exceptions").drop(["occurred_at"])
    [of_file] = check_deeply(lake, found).to_pylist()
    assert of_file["record_id"] == "2026-08" and "move the file away" in of_file["detail"]
    [of_month] = check_deeply(lake, found.slice(0, 0)).to_pylist()
    assert of_month["record_id"] == "2026-10" and "position" in of_month["detail"]


def test_one_statement_in_some_holds_another_month_against_its_totals(tmp_path):
    """Chance decides by what is stated: the same each time, and never a month that is read."""
    lake = make_seeded_lake(tmp_path / "data", 0).lake
    footers, folder = lake.footers(PAYMENTS), lake.folder(PAYMENTS)
    near = [frozenset({month}) for month in footers]
    chosen = [OtherPayments(lake, folder, footers, months).audited(1) for months in near]
    assert chosen == [OtherPayments(lake, folder, footers, months).audited(1) for months in near]
    for audited, read in zip(chosen, near, strict=True):
        assert len(audited) == 1 and not audited & read
    rare = [
        OtherPayments(lake, folder, footers, frozenset({f"{n}"})).audited(8) for n in range(200)
    ]
    assert 10 < sum(map(bool, rare)) < 45
