"""Statements against all rows: what `check --deep` finds, and what it does not."""

from pathlib import Path

import pytest

from svc_analytics.schema import PAYMENTS
from svc_analytics.statements import deep_check
from svc_analytics.statements.deep_check import DIFFERENT, check_deeply
from svc_analytics.warehouse.neighbourhood import Elsewhere
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.seeded_lakes import make_seeded_lake


def findings(path: Path) -> list[tuple[str, str]]:
    """What a deep check finds in a lake of several months."""
    lake = make_seeded_lake(path, 0).lake
    with open_warehouse(lake) as warehouse:
        schema = warehouse.query("from exceptions limit 0").drop(["occurred_at"]).schema
    found = check_deeply(lake, schema).to_pylist()
    return [(each["check_name"], each["detail"]) for each in found]


def test_a_sound_lake_gives_the_same_statements_from_all_rows(tmp_path: Path) -> None:
    """No table of any month differs by a cell."""
    assert findings(tmp_path / "data") == []


def test_a_month_that_differs_is_told_with_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement without the rows of other months that it needs is found out."""
    read = deep_check.read_tables

    def without_last_line(warehouse, *given):  # type: ignore[no-untyped-def]
        tables = read(warehouse, *given)
        return tables | ({"lines": tables["lines"][:-1]} if warehouse.sources.near else {})

    monkeypatch.setattr(deep_check, "read_tables", without_last_line)
    found = findings(tmp_path / "data")
    assert found
    assert {name for name, _ in found} == {DIFFERENT}
    assert all(detail.startswith("differs in lines:") for _, detail in found)


def test_one_statement_in_some_holds_another_month_against_its_totals(tmp_path: Path) -> None:
    """Chance decides by what is stated: the same each time, and never a month that is read."""
    lake = make_seeded_lake(tmp_path / "data", 0).lake
    footers, folder = lake.footers(PAYMENTS), lake.folder(PAYMENTS)
    near = [frozenset({month}) for month in footers]
    chosen = [Elsewhere(lake, folder, footers, months).audited(1) for months in near]
    assert chosen == [Elsewhere(lake, folder, footers, months).audited(1) for months in near]
    assert all(
        len(audited) == 1 and not audited & month
        for audited, month in zip(chosen, near, strict=True)
    )
    rare = [Elsewhere(lake, folder, footers, frozenset({f"{n}"})).audited(8) for n in range(200)]
    assert 10 < sum(map(bool, rare)) < 45
