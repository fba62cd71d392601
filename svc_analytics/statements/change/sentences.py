"""The sentences that people write on what moved: beside the statement of the later period.

`statements/2026-10-sentences.csv` has those on October; `sentences.csv` in the lake, where they
were kept before, is read too. A comparison prints them beside its figures, and the forms of the
statement that no seal covers. They are no part of a statement, and alter no seal.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from svc_analytics.bucket.bundle import STATEMENTS
from svc_analytics.errors import ConfigError
from svc_analytics.lake.typed_files import TypedRow, read_rows
from svc_analytics.warehouse.figures import read_figures

FILE = "sentences.csv"
COLUMNS = ("before", "after", "figure", "currency", "sentence", "prepared_by", "reviewed_by", "at")
OPTIONAL = ("reviewed_by", "at")
_NEEDED = [name for name in COLUMNS if name not in OPTIONAL]

Key = tuple[str, str, str, str]  # both periods, the figure, the coin


@dataclass(frozen=True)
class Sentence:
    """Why a figure moved, in the words of whoever prepared it, and who reviewed that."""

    text: str
    prepared_by: str
    reviewed_by: str = ""  # empty until somebody has
    at: str = ""


def sentences_file(label: str) -> str:
    """Return the name of the file of a period's sentences, beside its statement.

    >>> sentences_file("2026-10")
    '2026-10-sentences.csv'
    """
    return f"{label}-{FILE}"


def read_sentences(lake: Path, label: str, figures: Collection[str]) -> dict[Key, Sentence]:
    """Read the sentences on a period of a lake, of each key the last line; the older file first.

    Raises `ConfigError` naming a line that lacks a cell, or is of none of the `figures`.
    """
    rows = _rows(lake / STATEMENTS, label)
    return {_key(row, figures): _sentence(row) for row in rows}


def kept_sentences(statements: Path, label: str) -> tuple[dict[str, str], ...]:
    """Return the lines on a period, of each figure the last; none where a file cannot be read.

    `statements` is the folder that its statement lies in.
    """
    found: dict[tuple[str, ...], dict[str, str]] = {}
    with suppress(ConfigError):  # a comparison names the line that is wrong
        for row in _rows(statements, label):
            cells = dict(row.cells)
            if cells["after"] == label and cells["sentence"] and cells["figure"] in read_figures():
                found[cells["before"], cells["figure"], cells["currency"]] = cells
    return tuple(found.values())


def _rows(statements: Path, label: str) -> list[TypedRow]:
    older = read_rows(statements.parent / FILE, COLUMNS, OPTIONAL)
    return [*older, *read_rows(statements / sentences_file(label), COLUMNS, OPTIONAL)]


def _key(row: TypedRow, figures: Collection[str]) -> Key:
    cells = row.cells
    for name in _NEEDED:
        if not cells[name]:
            raise row.refused(f"{name} is empty")
    if cells["figure"] not in figures:
        raise row.refused(f"no figure {cells['figure']!r:.60} is explained: {', '.join(figures)}")
    return cells["before"], cells["after"], cells["figure"], cells["currency"]


def _sentence(row: TypedRow) -> Sentence:
    cells = row.cells
    return Sentence(cells["sentence"], cells["prepared_by"], cells["reviewed_by"], cells["at"])
