"""Statements against all rows: what `check --deep` finds, and what it does not."""

from pathlib import Path

import pytest

from svc_analytics.lake import month_file
from svc_analytics.lake.footer import read_footer
from svc_analytics.lake.month_file import read_groups, write_month_file
from svc_analytics.periods import month
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements import deep_check
from svc_analytics.statements.deep_check import DIFFERENT, Note, check_deeply
from svc_analytics.warehouse.other_months import OtherPayments
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.desks import Desk
from tests.support.fake_service import payment
from tests.support.seeded_lakes import make_seeded_lake

TEHRAN = ["2026-11@Asia-Tehran", "1405-08@Asia-Tehran"]


def findings(path: Path, told: Note = lambda text: None) -> list[tuple[str, str]]:
    """What a deep check finds in a lake of several months."""
    lake = make_seeded_lake(path, 0).lake
    with open_warehouse(lake) as warehouse:
        none = warehouse.query("from exceptions limit 0").drop(["occurred_at"])
    found = check_deeply(lake, none, told).to_pylist()
    return [(each["check_name"], each["detail"]) for each in found]


@pytest.mark.thorough
def test_a_sound_lake_gives_the_same_statements_from_all_rows(tmp_path: Path) -> None:
    """No table of any month differs by a cell; the last two months are of Tehran."""
    held: list[str] = []
    assert findings(tmp_path / "data", held.append) == []
    assert [text.split()[4] for text in held[-2:]] == TEHRAN


def test_a_month_that_differs_is_told_with_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_a_file_with_other_totals_than_its_rows_is_named_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_one_statement_in_some_holds_another_month_against_its_totals(tmp_path: Path) -> None:
    """Chance decides by what is stated: the same each time, and never a month that is read."""
    lake = make_seeded_lake(tmp_path / "data", 0).lake
    footers, folder = lake.footers(PAYMENTS), lake.folder(PAYMENTS)
    near = [frozenset({month}) for month in footers]
    chosen = [OtherPayments(lake, folder, footers, months).audited(1) for months in near]
    assert chosen == [OtherPayments(lake, folder, footers, months).audited(1) for months in near]
    assert all(
        len(audited) == 1 and not audited & month
        for audited, month in zip(chosen, near, strict=True)
    )
    rare = [
        OtherPayments(lake, folder, footers, frozenset({f"{n}"})).audited(8) for n in range(200)
    ]
    assert 10 < sum(map(bool, rare)) < 45
