"""What the files of a statement say: cells, texts and parts, read back without their looks.

Two releases give the same figures other words and another look. So a verification compares what
is left when these are gone.
"""

import csv
import json
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.numbers import ROUNDED
from svc_analytics.render.workbook.sums import is_added_up

Row = tuple[str, ...]
ID = "#"  # begins the cell that names a row of a page
_CELLS = ("td", "th", "dt", "dd")
_ROWS = ("tr", "dt")  # what begins a row: of a table, or of a list of terms
_ENDS = ("tr", "dl")
_TABLES = ("table", "dl")  # before the first row of one stands an empty row
_TOLD = ("title", "aria-label", "alt", "content")  # attributes that a reader sees
_BLANK = {"", "\N{NO-BREAK SPACE}"}
_CSS_TEXT = re.compile(r"content:\s*([^;}]+)")
_NAME_IN_FOOT = re.compile(r"\\2066 (.*?)\\2069 ")  # the first text of a foot that is isolated
_SHEET = "xl/worksheets/"
# Parts of a workbook that hold words, names of sheets or looks of cells.
_WORDED = ("docProps/app.xml", "docProps/core.xml", "xl/workbook.xml", "xl/sharedStrings.xml")
_STYLES = "xl/styles.xml"
_MOST_COLUMNS = 16_384  # of a sheet
_LEADS = ("href", "src", "action", "data", "srcdoc", "poster", "xlink:href", "formaction")
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_COUNTED = "{http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes}i4"  # sheets
# What is printed of a sheet, and which rows on each page: its look.
_PLACE = re.compile(r"[^!,]+!\$?[A-Z]*\$?\d*:\$?[A-Z]*\$?\d*")
_FORMULA = f"{_MAIN}f"
_NUMBER = re.compile(r"-?\d+(\.\d+)?(E[+-]?\d{1,3})?")
_TOLD_BY_HEAD = re.compile(f"[\u2066-\u2069]*{ROUNDED}[\u2066-\u2069]* ")
# Formats by their number in every workbook.
_BUILT_IN = {"0": f"0.{15 * '0'}", "1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00"}
_MINUS = re.compile(r"(?<!\$)-")  # no part of a format's language
_SHOWN = re.compile(r"0(?:\.(0+))?(%?)")
_HEADS = {f"{_MAIN}{name}" for name in ("oddHeader", "oddFooter")}


@dataclass
class Contents:
    """The contents of a file."""

    rows: list[Row] = field(default_factory=list)  # the cells of tables and of lists of terms
    heads: set[int] = field(default_factory=set)  # the places of rows that are headings alone
    texts: list[str] = field(default_factory=list)  # what stands outside of tables
    names: list[str] = field(default_factory=list)  # those of a merchant, where they are marked
    drawn: list[str] = field(default_factory=list)  # what outlined letters of pictures spell
    formulas: list[dict[str, str]] = field(default_factory=list)  # of each sheet, by their cells
    parts: set[str] = field(default_factory=set)  # the kinds of parts that it is made of
    is_exact: bool = False  # programs read it: none of its cells is worded


def read_json(path: Path) -> Contents:
    """Read a JSON document: a row for each fact, and for each row of each table."""
    document = json.loads(path.read_bytes().decode(), object_pairs_hook=once_each)
    tables = document.pop("tables")
    rows: list[Row] = [
        (name, json.dumps(value, sort_keys=True)) for name, value in document.items()
    ]
    for name, table in tables.items():
        rows += [(name, *map(json.dumps, row), *map(json.dumps, row.values())) for row in table]
    return Contents(rows, parts=set(tables), is_exact=True)


def once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; raise `ValueError` where a name stands twice in it."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name stands twice")
    return members


def read_journal(path: Path) -> Contents:
    """Read a journal: a row for each posting, or for each entry of a Beancount file.

    Accounts are numbered: what they are called are words of the release.
    """
    text = path.read_bytes().decode()
    if path.suffix == ".csv":
        postings = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
        accounts = _numbered([str(each["account"]) for each in postings])
        named = [each | {"account": accounts[str(each["account"])]} for each in postings]
        rows = [(*map(str, each), *map(str, each.values())) for each in named]
        return Contents(rows, is_exact=True)
    lines = text.splitlines()
    accounts = _numbered([line.split()[2] for line in lines if _opens(line)])
    entries = "\n".join(line for line in lines if not line.startswith(";")).split("\n\n")
    rows = [tuple(accounts.get(word, word) for word in entry.split()) for entry in entries]
    texts = [line for line in lines if line.startswith(";")]
    return Contents(rows, texts=texts, is_exact=True)


def _opens(line: str) -> bool:
    return line.split()[1:2] == ["open"]


def _numbered(names: list[str]) -> dict[str, str]:
    return {name: f"account {number}" for number, name in enumerate(dict.fromkeys(names))}


def read_page(path: Path) -> Contents:
    """Read an HTML page: its tables row by row, every other text that a reader may see."""
    parser = _PageContents()
    parser.feed(path.read_bytes().decode())
    parser.close()
    return parser.contents


class _PageContents(HTMLParser):
    """Collects what a page says; the drawing of a picture is its look."""

    def __init__(self) -> None:
        super().__init__()
        self.contents = Contents()
        self._row: list[str] | None = None
        self._is_head = False
        self._is_name = False
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.contents.parts.update((f"<{tag}>", *_leading(attributes)))
        self.contents.texts += [attributes[name] for name in _TOLD if attributes.get(name)]
        self._open = tag
        self._is_name = tag == "bdi" and attributes.get("dir") == "auto"
        if tag in _TABLES:
            self._end_row()
            self.contents.rows.append(())
        if tag in _ROWS:
            self._end_row()
            self._row = [f"{ID}{attributes['id']}"] if "id" in attributes else []
            self._is_head = True
        if tag in _CELLS and self._row is not None:
            self._row.append("")
            self._is_head &= tag == "th"

    def handle_endtag(self, tag: str) -> None:
        self._open, self._is_name = "", False
        if tag in _ENDS:
            self._end_row()

    def _end_row(self) -> None:
        if self._row is None:
            return
        if self._is_head:
            self.contents.heads.add(len(self.contents.rows))
        self.contents.rows.append(tuple(self._row))
        self._row = None

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if self._is_name and text:
            self.contents.names.append(text)
        if self._open == "style":
            feet = _CSS_TEXT.findall(data)
            self.contents.texts += feet
            self.contents.names += [name[1] for name in map(_NAME_IN_FOOT.search, feet) if name]
        elif self._row and text not in _BLANK:
            self._row[-1] = f"{self._row[-1]} {text}".strip()
        elif text not in _BLANK:
            self.contents.texts.append(text)

    def handle_comment(self, data: str) -> None:
        """Take what a picture's outlined letters spell: the library notes it in a comment."""
        self.contents.drawn.append(" ".join(data.split()))


def _leading(attributes: dict[str, str]) -> Iterator[str]:
    """Yield the attributes that do something, or lead out of the page."""
    for name, value in attributes.items():
        if name.startswith("on") or (name in _LEADS and not value.startswith("#")):
            yield f'{name}="{value}"'


def read_workbook(path: Path) -> Contents:
    """Read a workbook: the cells of its sheets with their formats, its words, its other parts."""
    contents = Contents()
    with zipfile.ZipFile(path) as workbook:
        if len(set(workbook.namelist())) < len(workbook.namelist()):
            raise ValueError("a part stands twice")
        parts = {name: workbook.read(name) for name in workbook.namelist()}
    formats = _number_formats(parts[_STYLES])
    shared = _texts_of(parts.get("xl/sharedStrings.xml", b"<sst/>"), "si")
    for name, body in parts.items():
        if name.startswith(_SHEET) and name.endswith(".xml"):
            _read_sheet(body, formats, shared, contents)
            contents.parts.add(name)
        elif name in _WORDED:
            texts = ["".join(each.itertext()) for each in _leaves(body) if each.tag != _COUNTED]
            contents.texts += [text for text in texts if not _PLACE.fullmatch(text)]
        elif name != _STYLES:
            contents.parts.add(f"{name} {sha256(body).hexdigest()}")
        if b"TargetMode" in body:
            contents.parts.add(f"a link out of {name}")
    return contents


def _parsed(body: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise ValueError("a part of a workbook defines entities")
    return ElementTree.fromstring(body)  # noqa: S314 - without entities it cannot grow


def _leaves(body: bytes) -> list[ElementTree.Element]:
    return [each for each in _parsed(body).iter() if not len(each)]


def _texts_of(body: bytes, tag: str) -> list[str]:
    return ["".join(each.itertext()) for each in _parsed(body).iter(f"{_MAIN}{tag}")]


def _number_formats(styles: bytes) -> list[str]:
    """Return the number format of each look of a cell, by its place."""
    root = _parsed(styles)
    codes = {each.get("numFmtId"): each.get("formatCode") for each in root.iter(f"{_MAIN}numFmt")}
    looks = root.find(f"{_MAIN}cellXfs")
    used = [each.get("numFmtId", "") for each in looks] if looks is not None else []
    return [codes.get(each) or _BUILT_IN.get(each) or f"id {each}" for each in used]


def _read_sheet(body: bytes, formats: list[str], shared: list[str], contents: Contents) -> None:
    root = _parsed(body)
    contents.rows.append(())
    contents.formulas.append(_formulas(root))
    rounded: set[int] = set()
    for row in root.iter(f"{_MAIN}row"):
        contents.rows.append(tuple(_placed(row, formats, shared, rounded)))
    for each in root.iter():
        contents.parts.add(each.tag.removeprefix(_MAIN))
        if each.tag in _HEADS:
            contents.texts.append("".join(each.itertext()))


def _formulas(root: ElementTree.Element) -> dict[str, str]:
    """Return the formulas of a sheet; raise `ValueError` for one that does not give its cell."""
    cells = {each.get("r", ""): each for each in root.iter(f"{_MAIN}c")}
    numbers = {place: _shown(each) for place, each in cells.items() if _is_number(each)}
    formulas = {}
    for place, cell in cells.items():
        for each in cell.findall(_FORMULA):
            formulas[place] = each.text or ""
            is_sum = not each.attrib and place in numbers
            if not (is_sum and is_added_up(formulas[place], numbers[place], numbers)):
                raise ValueError(f"{place} is no sum of its formula")
    return formulas


def _is_number(cell: ElementTree.Element) -> bool:
    return cell.get("t", "n") == "n" and bool(_NUMBER.fullmatch(_shown(cell)))


def _shown(cell: ElementTree.Element) -> str:
    """Return the text of a cell; of a formula, that of its value."""
    return "".join("".join(each.itertext()) for each in cell if each.tag != _FORMULA)


def _placed(
    row: ElementTree.Element, formats: list[str], shared: list[str], rounded: set[int]
) -> list[str]:
    """Return the cells of a row, each in its column: one that is empty may be left out.

    `told` are the columns whose head, the last text above but for dashes, tells that its numbers
    are rounded.
    """
    cells: list[str] = []
    for each in row:
        place = _column(each.get("r", ""))
        if place - len(cells) > _MOST_COLUMNS:
            raise ValueError("a cell stands beyond the last column")
        text = _cell(each, formats, shared, is_told=place in rounded)
        if not _is_number(each) and text not in (*_BLANK, DASH):
            rounded.discard(place)
            rounded.update([place] * bool(_TOLD_BY_HEAD.match(text)))
        cells += [""] * (place - len(cells)) + [text]
    return cells


def _column(reference: str) -> int:
    """Return the place of a cell's column; of `B7` it is 1.

    >>> _column("B7"), _column("AA1")
    (1, 26)
    """
    place = 0
    for letter in reference.rstrip("0123456789"):
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1


def _cell(
    cell: ElementTree.Element, formats: list[str], shared: list[str], *, is_told: bool
) -> str:
    """Return a cell's text, or its number with the format that it is shown in.

    Behind a number of which the format hides digits stands the mark of a rounded number, if its
    own format has that, as those of earlier releases do, or else the head of its column.
    """
    text = _shown(cell)
    if cell.get("t") == "s":
        return shared[int(text)]
    if cell.get("t", "n") != "n" or not text:
        return text
    form = formats[int(cell.get("s", 0))] if formats else ""
    bare = _without_mark(form)
    is_marked = (is_told or bare != form) and _hides_digits(bare, text)
    return f"{text} [{bare}]{ROUNDED * is_marked}"


@cache
def _without_mark(form: str) -> str:
    """Return a format without the mark of a rounded number, and without the part that it needed.

    >>> _without_mark('"≈"#,##0.00;"≈"-#,##0.00'), _without_mark("#,##0.00;-#,##0.00")
    ('#,##0.00', '#,##0.00;-#,##0.00')
    """
    bare = form.replace(f'"{ROUNDED}"', "")
    positive, _, negative = bare.partition(";")
    return positive if bare != form and _MINUS.sub("", negative) == positive else bare


def _hides_digits(form: str, number: str) -> bool:
    """Whether a format does not show every digit that a cell holds.

    >>> _hides_digits("#,##0.00_0", "2.125"), _hides_digits("0.00%", "0.0125")
    (True, False)
    """
    match = _SHOWN.search(form)
    if not match:  # such as that of a day
        return False
    places = len(match[1] or "") + 2 * len(match[2])
    return Decimal(number) != round(Decimal(number), places)
