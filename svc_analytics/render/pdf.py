"""A statement as PDF: the same statement gives the same bytes, on whatever machine.

It is set with the fonts that come with matplotlib; where they lack a letter, with those of the
machine.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import unescape
from math import ceil
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from jinja2 import Template

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.formatting.texts import escape_invisible
from svc_analytics.instants import SECOND
from svc_analytics.language import catalogue
from svc_analytics.language.catalogue import Language, without_marks
from svc_analytics.messages import Message
from svc_analytics.render.document import Document
from svc_analytics.render.front import foot_text, running_head
from svc_analytics.render.page import page_blocks, template_environment
from svc_analytics.render.words import PageWords

_FIRST_STRONG = "\N{FIRST STRONG ISOLATE}"
_BREAK = "\N{ZERO WIDTH SPACE}"
_BEHIND = " ("  # before the same day of the other calendar: a narrow column breaks there
# Ids, digests, addresses and words of letters that stand alone, which may be broken anywhere but
# before a mark upon a letter: so many letters stand between two places where they may.
_LONG = re.compile("[^\\s\u0600-\u06ff\u2066-\u2069]{24,}")
_PIECE = re.compile("(.{8})(?=[^\u0300-\u036f\u20d0-\u20ff\ufe20-\ufe2f])")
# The elements of a text in two directions, as the marks that a paragraph knows.
_MARKS = (
    (re.compile(r'<bdi class="below"[^>]*>'), f"\n{catalogue.RIGHT_TO_LEFT}"),
    (re.compile(r'<bdi[^>]* dir="rtl">'), catalogue.RIGHT_TO_LEFT),
    (re.compile(r'<bdi[^>]* dir="ltr">'), catalogue.LEFT_TO_RIGHT),
    (re.compile(r"<bdi[^>]*>"), _FIRST_STRONG),
    (re.compile(r"</bdi>"), catalogue.END),
    (re.compile(r"</?span[^>]*>"), ""),
)


class Typst(str):
    """A text that is written in Typst: a template puts it in as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """Tell the template that nothing in it is to be escaped."""
        return str(self)


def as_string(text: object) -> Typst:
    r"""Return a text as a string of Typst.

    >>> print(as_string('"x" \\'))
    "\"x\" \\"
    """
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"')
    return Typst(f'"{escaped}"')


def literal(text: str) -> Typst:
    """Return a text as Typst: nothing in it is a command.

    >>> print(literal("#panic() or *bold*"))
    #"#panic() or *bold*";
    """
    shown = _LONG.sub(lambda long: _PIECE.sub(rf"\1{_BREAK}", long[0]), text)
    return Typst(f"#{as_string(shown)};")


def as_typst(html: str) -> Typst:
    """Return a text of a page, whose only elements isolate what runs to its own side."""
    for element, mark in _MARKS:
        html = element.sub(mark, html)
    return literal(unescape(html).replace("\N{NO-BREAK SPACE}(", _BEHIND))


def in_typst(value: object) -> object:
    """Return a value of a template: what a macro or a word made as it is, any other as a text."""
    return value if hasattr(value, "__html__") else literal(escape_invisible(str(value)))


def words_of(language: Language) -> dict[str, Callable[..., Typst]]:
    """Return the functions that the template calls, by the names that they have in a page's."""

    def typeset(function: Callable[..., str]) -> Callable[..., Typst]:
        def call(*texts: object, **values: object) -> Typst:
            return as_typst(function(*texts, **values))

        return call

    return {name: typeset(each) for name, each in PageWords(language).functions.items()}


# ---------- Tables that are too wide for a sheet, in blocks one below the other
# No column is cut or left out: what has no room beside the others stands in the next block, which
# begins with the same heads of its rows.


UPRIGHT, ACROSS, SMALL = 108, 174, 188  # letters of a table's size that a sheet has room for
_BELOW = 0.85  # of the size of a value, that of another below it
_LETTER = 0.68  # of the size of a text: a bold digit is the widest
_GAP = 3  # letters between columns
_NARROWEST, _WIDEST = 15, 60  # letters of a column of texts, which are broken into lines
_HEAD = 26  # letters of what a row of figures is called


@dataclass(frozen=True)
class BlockOfColumns:
    """Some columns of a table, by their places in it."""

    places: Sequence[int]
    widths: Sequence[int]  # in letters
    broken: frozenset[int]  # the places of those whose texts are broken into lines

    @property
    def columns(self) -> str:
        """The columns as Typst has them: texts share what numbers leave."""
        pairs = zip(self.places, self.widths, strict=True)
        return ", ".join(
            f"{width}fr" if place in self.broken else f"{width * _LETTER:.2f}em"
            for place, width in pairs
        )


def blocks_of_figures(table: DisplayTable, language: Language) -> list[BlockOfColumns]:
    """Cut figures by coin into blocks, all coins together first where there is more than one."""
    header = table.header
    end = min(table.sums, default=len(header))
    coins, totals = range(1, end), range(end, len(header))
    needs = {place: _need(table, place, language) for place in range(1, len(header))}
    if _HEAD + sum(needs.values()) <= UPRIGHT:
        rows = [[*coins, *totals]]
    else:
        rows = _in_rows([*totals, *coins], needs, UPRIGHT - _HEAD)
    return [_block(row, {0: _HEAD} | needs, frozenset({0})) for row in rows]


def blocks_of_records(
    table: DisplayTable, language: Language, *, is_small: bool = False, is_upright: bool = False
) -> list[BlockOfColumns]:
    """Cut a table of records into blocks; each begins with its first column."""
    places = range(len(table.header))
    widths = {place: _need(table, place, language, is_whole=True) for place in places}
    texts = {place for place in places if _is_broken(table, place)}
    instants = {place for place in texts if any(row[place].at for row in table.rows)}
    least = {place: _narrowest(table, place, language) for place in texts}
    needs = widths | {place: min(widths[place], least[place]) for place in texts}
    room = (SMALL if is_small else UPRIGHT if is_upright else ACROSS) - needs[0]
    rows = _in_rows([place for place in needs if place], needs, room)
    wide = {place: min(width, _WIDEST) for place, width in widths.items()}
    wide |= {place: needs[place] for place in instants}  # beside long texts they would be cut
    return [_block(row, wide, frozenset(texts - instants)) for row in rows]


def _block(row: Sequence[int], widths: Mapping[int, int], broken: frozenset[int]) -> BlockOfColumns:
    """Return a block of a row of columns behind the first one of their table."""
    return BlockOfColumns([0, *row], [widths[place] for place in (0, *row)], broken)


def _in_rows(places: Sequence[int], needs: Mapping[int, int], room: int) -> list[list[int]]:
    """Share columns out among blocks, in their order, as many in each as it has room for."""
    rows: list[list[int]] = [[]]
    for place in places:
        if rows[-1] and sum(needs[each] for each in rows[-1]) + needs[place] > room:
            rows.append([])
        rows[-1].append(place)
    return rows


def _is_broken(table: DisplayTable, place: int) -> bool:
    """Whether a column has texts that are broken into lines: no number is, and no day."""
    cells = [row[place] for row in table.rows]
    return any(not cell.is_number and len(cell.text) > _NARROWEST for cell in cells)


def _need(table: DisplayTable, place: int, language: Language, *, is_whole: bool = False) -> int:
    """Return how many letters a column needs that is not broken but in a long head.

    A day of two calendars may stand in two lines, unless each cell is to be whole.
    """
    cells = [row[place] for row in (*table.rows, table.footer) if row]
    head = without_marks(language.text(table.header[place]))
    words = [head] if len(head) < _NARROWEST else head.split()
    below = [ceil(len(cell.below.text) * _BELOW) for cell in cells if cell.below]
    shown = [_lines(cell, language) for cell in cells]
    texts = [text for lines in shown for text in ([_BEHIND.join(lines)] if is_whole else lines)]
    return max([*map(len, words + texts), *below]) + _GAP


def _narrowest(table: DisplayTable, place: int, language: Language) -> int:
    """Return how many letters a column of texts or instants needs at least."""
    lines = [line for row in table.rows if row[place].at for line in _lines(row[place], language)]
    return max([_NARROWEST, *(len(line) + _GAP for line in lines)])


def _lines(cell: Cell, language: Language) -> list[str]:
    """Return the lines of a cell as they are seen: a day of two calendars may stand in two."""
    if language.is_english or cell.padding:
        return [cell.in_english + cell.padding]
    if isinstance(cell.text, Message):
        return [without_marks(language.text(cell.text))]
    return without_marks(language.value(cell.text)).split(_BEHIND)


# ---------- The file


FONT = "DejaVuSans.ttf"
MOST_LETTERS = 20  # that are named
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}  # marks and spaces
# For readers that do not see it: tags, a language, a text for each picture.
_STANDARD: Final = "ua-1"


@dataclass(frozen=True)
class Paper:
    """A statement as PDF, how many rows of tables it shows, and which letters are boxes."""

    content: bytes
    rows: int
    without_font: Message | None


def make_paper(statement: Document, facts: dict[str, Any], language: Language) -> Paper:
    """Return a statement as PDF; letters that no font has are named in its last line."""
    blocks, rows = page_blocks(statement, facts, language)
    blocks |= _of_language(statement, facts, language)
    source = _template().render(blocks, last_line="")
    lacking, message = _letters_without_font(source), None
    if lacking:
        names = [f"U+{ord(letter):04X}" for letter in lacking[:MOST_LETTERS]]
        names += ["…"] * (len(lacking) > MOST_LETTERS)
        message = Message("form.letters_without_font", letters=", ".join(names))
        source = _template().render(blocks, last_line=language.text(message))
    return Paper(_typeset(source, statement.as_of), rows, message)


def _of_language(statement: Document, facts: dict[str, Any], language: Language) -> dict[str, Any]:
    return {
        "running": literal(running_head(statement, language)),
        "title": running_head(statement, catalogue.ENGLISH),
        "foot": literal(foot_text(facts, language)),
        "blocks_of_figures": partial(blocks_of_figures, language=language),
        "blocks_of_records": partial(blocks_of_records, language=language),
        **words_of(language),
    }


@cache
def _template() -> Template:
    syntax = {"comment_start_string": "<#", "comment_end_string": "#>"}
    environment = template_environment(in_typst, **syntax)
    environment.filters["as_string"] = as_string
    environment.filters["as_code"] = lambda value: Typst(str(value))
    return environment.get_template("statement.typ")


def _typeset(source: str, at: int) -> bytes:
    """Set a source, in the fonts of this machine too only where it must be."""
    import typst  # an optional extra

    is_lacking = bool(_lacking(set(source), [_folder() / FONT]))
    fonts = typst.Fonts(include_system_fonts=is_lacking, font_paths=[_folder()])
    content = typst.compile(
        source.encode(),
        format="pdf",
        font_paths=fonts,
        timestamp=at // SECOND,
        pdf_standards=[_STANDARD],
    )
    return bytes(content)


def _folder() -> Path:
    return Path(mpl.get_data_path()) / "fonts" / "ttf"


def _letters_without_font(source: str) -> list[str]:
    """Return the letters of a text that no font of this machine has, in their order."""
    letters = _lacking(set(source), [_folder() / FONT])
    if letters:
        from matplotlib.font_manager import findSystemFonts  # takes long to load

        letters = _lacking(letters, map(Path, findSystemFonts()))
    return sorted(letters)


def _lacking(letters: set[str], fonts: Iterable[Path]) -> set[str]:
    """Return the letters that fonts lack; one that is not seen needs none."""
    lacking = {letter for letter in letters if unicodedata.category(letter) not in _UNSEEN}
    for font in fonts:
        if lacking:
            lacking -= _letters_of(font)
    return lacking


@cache
def _letters_of(font: Path) -> frozenset[str]:
    from matplotlib.ft2font import FT2Font

    return frozenset(map(chr, FT2Font(str(font)).get_charmap()))
