"""A statement as PDF: the same statement gives the same bytes, on whatever machine.

It is set with the fonts that come with matplotlib; where they lack a letter, with those of the
machine.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from svc_analytics.instants import SECOND
from svc_analytics.language.catalogue import ENGLISH, WORDED, Language
from svc_analytics.messages import Message, translated
from svc_analytics.render.document import Document
from svc_analytics.render.page.front import foot_text, running_head
from svc_analytics.render.page.page import instant_text, page_blocks
from svc_analytics.render.paper.blocks import blocks_of_figures, blocks_of_records
from svc_analytics.render.paper.words import Typst, as_string, in_typst, literal, words_of

FONT = "DejaVuSans.ttf"
MOST_LETTERS = 20  # that are named
_UNSEEN = {"Cc", "Cf", "Zs", "Zl", "Zp"}  # marks and spaces
_STANDARD: Final = (
    "ua-1"  # for readers that do not see it: tags, a language, a text for each picture
)


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
        "worded": () if language.is_english else WORDED,
        "lang": "en" if language.is_both else language.code,
        "direction": language.direction,
        "running": literal(running_head(statement, language)),
        "title": running_head(statement, ENGLISH),
        "foot": literal(foot_text(facts, language)),
        "blocks_of_figures": partial(blocks_of_figures, language=language),
        "blocks_of_records": partial(blocks_of_records, language=language),
        **words_of(language),
    }


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("svc_analytics.render.paper"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=in_typst,
        comment_start_string="<#",
        comment_end_string="#>",
    )
    environment.filters |= {"instant": instant_text, "translated": translated}
    environment.filters |= {"as_string": as_string, "as_code": _as_code}
    return environment.get_template("statement.typ")


def _as_code(value: object) -> Typst:
    return Typst(str(value))


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
