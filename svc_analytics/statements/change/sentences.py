"""The sentences that people write on what moved: `sentences.csv` in the lake.

A comparison prints them beside its figures. They are no part of a statement, and alter no seal.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from svc_analytics.lake.typed_files import TypedRow, read_rows

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


def read_sentences(lake: Path, figures: Collection[str]) -> dict[Key, Sentence]:
    """Read the sentences of a lake, of each key the last line; none if there is no file.

    Raises `ConfigError` naming a line that lacks a cell, or is of none of the `figures`.
    """
    rows = read_rows(lake / FILE, COLUMNS, OPTIONAL)
    return {_key(row, figures): _sentence(row) for row in rows}


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
