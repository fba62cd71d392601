"""Readable forms of a month that is sealed already: beside the seal, and proven as it is."""

from pathlib import Path

import pytest

from svc_analytics.closing.verification.verify import verify_statement
from tests.support.closings import Closer


def content(folder: Path) -> dict[str, bytes]:
    """The files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.thorough
def test_forms_of_a_sealed_month_are_written_beside_its_seal(closer: Closer) -> None:
    """One after the other; no byte of the sealed folder changes, and both are verified."""
    folder = closer.sealed()
    sealed, beside = content(folder), folder.with_name("2026-10-forms")
    closed = closer.close(formats=("csv", "parquet", "html"))
    assert closed.state == "unchanged" and str(beside) in (closed.note or "")
    closer.close(formats=("xlsx",))
    assert {*content(beside)} >= {"statement.html", "statement.xlsx", "forms.json"}
    assert "sealed, version 1" in (beside / "statement.html").read_text()
    assert content(folder) == sealed and verify_statement(folder, closer.desk.lake).holds


def test_a_derived_form_that_was_altered_does_not_hold(closer: Closer) -> None:
    """It is named; the seal itself still fits."""
    folder = closer.sealed()
    closer.close(formats=("html",))
    page = folder.with_name("2026-10-forms") / "statement.html"
    page.write_text(page.read_text().replace("</main>", "<p>more</p></main>"))
    checked = verify_statement(folder, closer.desk.lake)
    assert not checked.holds and any("2026-10-forms: statement.html" in b for b in checked.broken)


def test_a_close_into_readable_forms_alone_adds_what_the_seal_needs(closer: Closer) -> None:
    """It is sealed with CSV as well."""
    folder = closer.close(formats=("html",)).folder
    assert {"statement.html", "summary.csv"} <= {*content(folder)}
