"""A statement as one JSON document."""

import json
from pathlib import Path

from svc_analytics.formatting.tables import to_objects
from tests.support.form_material import Make, Save


def test_the_document_holds_every_table_exactly(make: Make, tmp_path: Path) -> None:
    """Each table is an array of objects whose decimals are the texts of the CSV."""
    made = make()
    folder = made.save(tmp_path / "out", ("json",))
    document = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
    assert document["tables"] == {name: to_objects(table) for name, table in made.tables.items()}
    eth = next(row for row in document["tables"]["summary"] if row["currency"] == "eth")
    assert eth["gross_sales"] == "1.000000000000000003" and eth["usd_gross"] is None


def test_the_document_says_what_it_is(make: Make, tmp_path: Path) -> None:
    """The header facts are the manifest's."""
    made = make()
    folder = made.save(tmp_path / "out", ("json",))
    document = json.loads((folder / "statement.json").read_text(encoding="utf-8"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for name in ("merchant", "label", "zone", "start", "end", "as_of", "coverage", "status"):
        assert document[name] == manifest[name], name
    assert document["reasons"] == [] and document["calendar"] == "gregorian"


def test_an_empty_month_is_a_document_too(save: Save) -> None:
    """No rows are empty arrays, not missing ones; that nothing was there to read is told."""
    folder = save("json", month="2026-08")
    tables = json.loads((folder / "statement.json").read_text(encoding="utf-8"))["tables"]
    assert [row["read_count"] for row in tables.pop("reading")] == [0, 0]
    assert "lines" in tables and not any(tables.values())
