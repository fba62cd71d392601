"""Files that hold a whole statement: JSON, Excel, HTML, PDF, a journal and books.

Every writer takes the statement, its facts (the manifest without files and seal) and
the folder, and returns the number of rows in each file it wrote. Those of what people read
take a language too; what programs read is the same in every language.
"""

import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.books.accounts import NeutralAccounts
from svc_analytics.books.export import BooksSource, make_books, preset_files
from svc_analytics.books.presets import PRESETS
from svc_analytics.errors import ConfigError, install
from svc_analytics.formatting.tables import to_json, to_objects
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.log import FORM_LOG
from svc_analytics.messages import Message
from svc_analytics.render import journal
from svc_analytics.render.document import Document

Facts = dict[str, Any]
Rows = dict[str, int]
_CHUNK = 10_000


def write_json(statement: Document, facts: Facts, folder: Path) -> Rows:
    """Write `statement.json`: the facts, and every table as an array of objects."""
    path = folder / "statement.json"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(to_json(facts).removesuffix("\n}") + ',\n  "tables": {')
        for place, (name, table) in enumerate(statement.tables.items()):
            file.write(f"{',' if place else ''}\n    {json.dumps(name)}: [")
            file.writelines(_json_rows(table))
            file.write("\n    ]" if table.num_rows else "]")
        file.write("\n  }\n}\n")
    return {path.name: _all_rows(statement)}


def _json_rows(table: pa.Table) -> Iterator[str]:
    """Yield a table's rows as JSON one by one: a long table does not fill the memory."""
    for start in range(0, table.num_rows, _CHUNK):
        for place, row in enumerate(to_objects(table.slice(start, _CHUNK)), start):
            yield f"{',' if place else ''}\n      {json.dumps(row, ensure_ascii=False)}"


def write_xlsx(
    statement: Document, facts: Facts, folder: Path, language: Language = ENGLISH
) -> Rows:
    """Write `statement.xlsx`: a sheet of provenance and one per table."""
    from svc_analytics.render.workbook.workbook import write_workbook  # loads xlsxwriter

    write_workbook(statement, facts, folder / "statement.xlsx", language)
    return {"statement.xlsx": _all_rows(statement)}


def write_html(
    statement: Document, facts: Facts, folder: Path, language: Language = ENGLISH
) -> Rows:
    """Write `statement.html`: one page for screen and paper that loads nothing."""
    from svc_analytics.render.page import make_page  # loads matplotlib

    page, rows = make_page(statement, facts, language)
    (folder / "statement.html").write_text(page, encoding="utf-8", newline="")
    return {"statement.html": rows}


def write_journal(statement: Document, facts: Facts, folder: Path) -> Rows:
    """Write `journal.csv` and `journal.beancount`: movements as balanced entries."""
    ledger = journal.make_journal(statement)
    journal.check_balanced(ledger)
    postings = journal.write_postings(ledger, folder / "journal.csv")
    journal.write_beancount(ledger, facts, folder / "journal.beancount")
    return {"journal.csv": postings, "journal.beancount": len(ledger.entries)}


def write_books(statement: Document, facts: Facts, folder: Path) -> Rows:
    """Write `books.csv`: an entry a day in US dollars, the accounts called as the figures are.

    It rests on the statement alone; the merchant's own accounts are those of `books`.
    """
    source = BooksSource(statement.period, statement.tables, statement.as_of)
    books = make_books(source, NeutralAccounts({}))
    [content] = preset_files(books, PRESETS["csv"])
    (folder / "books.csv").write_bytes(content)
    return {"books.csv": sum(1 for _ in books.journal.lines)}


def write_pdf(
    statement: Document, facts: Facts, folder: Path, language: Language = ENGLISH
) -> Rows:
    """Write `statement.pdf`: the tables, sentences and charts of the page, on A4."""
    require_pdf()
    from svc_analytics.render.pdf import make_paper  # loads matplotlib

    paper = make_paper(statement, facts, language)
    if paper.without_font:
        FORM_LOG.warning("%s", paper.without_font)
    (folder / "statement.pdf").write_bytes(paper.content)
    return {"statement.pdf": paper.rows}


def require_pdf() -> None:
    """Raise `ConfigError` where Typst is not installed."""
    if not has_typst():
        raise ConfigError(Message("form.no_typst", command=install("pdf")))


def has_typst() -> bool:
    """Whether PDF can be made here."""
    return importlib.util.find_spec("typst") is not None


@dataclass(frozen=True)
class Form:
    """One form of a whole statement: its files, and how they are written."""

    name: str
    files: tuple[str, ...]
    write: Callable[..., Rows]
    is_worded: bool = False  # people read it: it has a language and a look
    is_of_final_month: bool = False  # no other statement has it
    require: Callable[[], None] = lambda: None  # raises where it cannot be made


DOCUMENTS = {
    form.name: form
    for form in (
        Form("xlsx", ("statement.xlsx",), write_xlsx, is_worded=True),
        Form("html", ("statement.html",), write_html, is_worded=True),
        Form("json", ("statement.json",), write_json),
        Form("journal", ("journal.csv", "journal.beancount"), write_journal),
        Form("books", ("books.csv",), write_books, is_of_final_month=True),
        Form("pdf", ("statement.pdf",), write_pdf, is_worded=True, require=require_pdf),
    )
}


def form_of(file: str) -> Form | None:
    """Return the form of a whole statement that a file is of; None for one of a table."""
    return next((form for form in DOCUMENTS.values() if file in form.files), None)


def _all_rows(statement: Document) -> int:
    return sum(table.num_rows for table in statement.tables.values())
