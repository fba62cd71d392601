"""A file that is imported twice does no harm, or its preset says what to do against it.

Each system by its own rule, as its source or its vendor's page has it; programs that are here run.
"""

import csv
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest

from svc_analytics.books.accounts import starter
from svc_analytics.books.export import Way, make_books, preset_files
from svc_analytics.books.presets import PRESETS
from tests.support.ledgers import read_ledger
from tests.support.sealed_months import closer_at
from tests.support.seeded_books import SeededMonth, chart_of

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "how-to" / "into-the-books.md"
Row = dict[str, str]


def written(preset: str, seed: int = 3) -> bytes:
    books = make_books(SeededMonth(seed).source(), Way(chart_of(preset)))
    return preset_files(books, PRESETS[preset])[0]


def rows_of(content: bytes) -> list[Row]:
    return [*csv.DictReader(StringIO(content.decode(), newline=""))]


@pytest.mark.parametrize("name", PRESETS)
def test_the_page_says_what_a_second_import_does(name):
    """In the words of the preset, which the command prints."""
    table = PAGE.read_text(encoding="utf-8").partition("## A second import")[2]
    assert PRESETS[name].again in table and name in table


# ---------- systems that know entries by an id


class Odoo:
    """Records by external id, as `_str_to_one2many` has them: without one, it is a new one."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Row]] = {}

    def load(self, content: bytes) -> None:
        entry: dict[str, Row] = {}
        for row in rows_of(content):
            if row["id"]:
                entry = self.entries.setdefault(row["id"], {})
            entry[row["line_ids/id"] or f"new {len(entry)}"] = row

    @property
    def debits(self) -> Decimal:
        lines = [line for entry in self.entries.values() for line in entry.values()]
        return sum((Decimal(line["line_ids/debit"] or 0) for line in lines), Decimal(0))


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_odoo_updates_the_entries_and_their_lines(seed):
    """No entry, no line and no debit more; no two coins share an id."""
    odoo, content = Odoo(), written("odoo", seed)
    odoo.load(content)
    first = odoo.debits, {name: len(entry) for name, entry in odoo.entries.items()}
    lines = sum(first[1].values())
    odoo.load(content)
    assert (odoo.debits, {name: len(entry) for name, entry in odoo.entries.items()}) == first
    assert lines == len(rows_of(content)) and first[0] > 0


def test_a_line_keeps_its_id_in_odoo_whatever_its_account_is(run, books_lake):
    """A chart that is mended moves the line, and adds none."""
    odoo = Odoo()
    for account in ("4000", "4711"):
        chart = f'{starter().replace("4000", account)}\n[odoo]\njournal = "M"\n'
        (books_lake / "books.toml").write_text(chart, encoding="utf-8")
        assert run("books", "2026-10", "--preset", "odoo").code == 0
        odoo.load((books_lake / "books" / "2026-10.odoo.csv").read_bytes())
        count = sum(map(len, odoo.entries.values()))
    assert count == len(rows_of((books_lake / "books" / "2026-10.odoo.csv").read_bytes()))


KEYS = {"erpnext": "name", "netsuite": "External ID", "qbo": "JournalNo"}


@pytest.mark.parametrize("name", KEYS)
def test_a_system_refuses_an_entry_whose_key_is_there(name):
    """ERPNext by its name, NetSuite that is to add, QuickBooks with its warning on."""
    there: set[str] = set()
    keys = {row[KEYS[name]] for row in rows_of(written(name))} - {""}
    for is_first in (True, False):
        assert is_first == (not keys & there)
        there |= keys
    again = make_books(SeededMonth(3).source(), Way(chart_of(name)))
    assert keys == {entry.entry_id for entry in again.journal.entries}


def test_each_entry_of_xero_ends_with_its_id():
    """It is how a person finds the draft that is there already."""
    for row in rows_of(written("xero")):
        assert re.search(r" SVC-\d{4}-\d\d(-\d\d|-R)$", row["*Narration"])


# ---------- programs that read files


def read_twice(folder: Path, ending: str, content: bytes, *, is_copy: bool) -> Path:
    """Return a file that includes the month twice, or the month and a copy of it."""
    (folder / f"month.{ending}").write_bytes(content)
    (folder / f"copy.{ending}").write_bytes(content)
    main, quote = folder / f"main.{ending}", '"' if ending == "beancount" else ""
    names = ("month", "copy" if is_copy else "month")
    chart = chart_of("beancount")
    opened = [*chart.accounts.values(), *chart.wallet.values()] if quote else []
    lines = [f"2025-01-01 open {each}" for each in sorted({*opened})]
    lines += [f"include {quote}{name}.{ending}{quote}" for name in names]
    main.write_text("\n".join([*lines, ""]))
    return main


def ran(*words: str | Path) -> subprocess.CompletedProcess[str]:
    if not shutil.which(words[0]) and os.environ.get("SVC_REQUIRE_LEDGERS") != "1":
        pytest.skip(f"{words[0]} is not installed")
    env = {"LANG": "C.UTF-8", "PATH": os.environ["PATH"]}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


@pytest.mark.parametrize("is_copy", [True, False])
def test_ledger_counts_an_entry_once(tmp_path, is_copy):
    """Its UUID is there already."""
    main = read_twice(tmp_path, "ledger", written("ledger"), is_copy=is_copy)
    once = ran("ledger", "bal", "-f", tmp_path / "month.ledger")
    twice = ran("ledger", "bal", "-f", main)
    assert once.returncode == twice.returncode == 0 and once.stdout == twice.stdout


@pytest.mark.parametrize("is_copy", [True, False])
def test_hledger_refuses_a_file_that_is_read_twice(tmp_path, is_copy):
    """Once it is taken, and its mark is no part of the reports on real postings."""
    main = read_twice(tmp_path, "journal", written("hledger"), is_copy=is_copy)
    assert ran("hledger", "check", "-s", "-f", tmp_path / "month.journal").returncode == 0
    real = ran("hledger", "bal", "-R", "-f", tmp_path / "month.journal")
    assert real.returncode == 0 and "booked" not in real.stdout
    twice = ran("hledger", "bal", "-f", main)
    assert twice.returncode == 1 and "booked:SVC-" in twice.stderr


@pytest.mark.parametrize(
    ("is_copy", "told"), [(True, "Duplicate open directive"), (False, "Duplicate filename parsed")]
)
def test_beancount_names_a_file_that_is_read_twice(tmp_path, is_copy, told):
    main = read_twice(tmp_path, "beancount", written("beancount"), is_copy=is_copy)
    check = Path(sys.executable).with_name("bean-check")
    done = subprocess.run([check, main], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and told in done.stderr


LATE = """
 kind    currency amount fee at               of usd_value fee_bearer
 payment usdt     40     0   2026-10-06T09:00    40        merchant
"""


# ---------- a correction does not take the place of what it corrects


@pytest.mark.parametrize("name", ["hledger", "ledger", "csv"])
def test_a_file_that_is_included_stays_when_its_month_is_corrected(run, books_lake, name):
    """The difference is a file beside it; where a file is uploaded, there is one name."""
    words, ending = ("books", "2026-10", "--preset", name, "--booked"), PRESETS[name].ending
    assert run(*words).code == 0
    file = books_lake / "books" / f"2026-10.{name}.{ending}"
    first = file.read_bytes()
    closer = closer_at(books_lake)
    closer.desk.service.payments += read_ledger(LATE, first=50)[0]
    done = closer.close("2026-10", formats=("csv",))
    assert done.state == "restated", done.reasons
    for _ in range(2):
        assert run(*words).code == 0
    corrected = books_lake / "books" / f"2026-10-C1.{name}.{ending}"
    assert corrected.exists() == PRESETS[name].is_included
    assert (file.read_bytes() == first) == PRESETS[name].is_included
    made = (corrected if corrected.exists() else file).read_text(encoding="utf-8")
    assert "SVC-2026-10-06-C1" in made and "40.00" in made and "16000" not in made
