"""All forms in one folder: the manifest over them, and the same bytes each time."""

import csv
import hashlib
import importlib.util
import json
from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.render import formats
from svc_analytics.render.page import pdf
from svc_analytics.warehouse.definitions import definitions_table
from tests.support.form_material import Make, Save

FORMS = ("csv", "parquet", "xlsx", "html", "json", "journal")
HAS_PRINTER = importlib.util.find_spec("weasyprint") is not None


def test_two_runs_write_the_same_bytes(make: Make, tmp_path: Path) -> None:
    """Nothing in any form depends on when it was made."""
    first = make().save(tmp_path / "a", FORMS)
    second = make().save(tmp_path / "b", FORMS)
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_the_manifest_covers_every_file(save: Save) -> None:
    """Hash and rows of each: 7 lines, and with the opening 8 entries of 21 postings."""
    folder = save(*FORMS)
    files = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"]
    assert {*files, "manifest.json"} == {path.name for path in folder.iterdir()}
    for name, said in files.items():
        assert said["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()
    assert files["lines.csv"]["rows"] == 7 and files["journal.beancount"]["rows"] == 8
    assert files["journal.csv"]["rows"] == 21


@pytest.mark.parametrize(("form", "is_there"), [("csv", 1), ("parquet", 1), ("json", 0)])
def test_beside_tables_lies_what_their_figures_mean(save: Save, form: str, is_there: int) -> None:
    """One line for each figure, readable in any spreadsheet; whole documents say it themselves."""
    path = save(form) / "definitions.csv"
    assert path.exists() == is_there
    if is_there:
        with path.open(encoding="utf-8", newline="") as file:
            rows = {row["name"]: row for row in csv.DictReader(file)}
        assert rows["net_settlement"]["label"] == "Net settlement"
        assert rows["net_settlement"]["formula"] == "net sales - refunds debited"
        assert len(rows) == len(definitions_table())


def test_a_form_asked_for_twice_is_written_once(save: Save) -> None:
    """`--format json,json` is not an error."""
    assert len(list(save("json", "json").iterdir())) == 2


def test_without_its_printer_pdf_is_refused_before_anything_is_made(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is the command that helps."""
    monkeypatch.setattr(formats.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r'pip install "svc-analytics\[pdf\]"'):
        make().save(tmp_path / "out", ("csv", "pdf"))
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not HAS_PRINTER, reason="the extra pdf is not installed")
def test_a_pdf_has_the_same_bytes_each_time(save: Save) -> None:
    """The page goes to paper without the time of day, and the environment stays as it was."""
    first = (save("pdf") / "statement.pdf").read_bytes()
    assert first.startswith(b"%PDF-") and (save("pdf") / "statement.pdf").read_bytes() == first


@pytest.mark.skipif(not HAS_PRINTER, reason="the extra pdf is not installed")
def test_printing_reads_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Even a page that asks for a file does not get it."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    with pytest.raises(ValueError, match="must not load"):
        pdf._refuse(secret.as_uri())
