"""The sentences that people write on what moved: beside the statement of the later period.

`statements/2026-10-sentences.csv` has those on October; `sentences.csv` in the lake, where they
were kept before, is read too. A comparison prints them beside its figures, and the forms of the
statement that no seal covers. They are no part of a statement, and alter no seal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.bucket.objects import STATEMENTS
from svc_analytics.errors import ConfigError
from svc_analytics.lake.typed_files import TypedRow, fault_of, read_rows, readable_rows
from svc_analytics.messages import Message, messages_of
from svc_analytics.periods import CALENDARS, read_label
from svc_analytics.warehouse.figures import read_figures

FILE = "sentences.csv"
MOST = 10  # lines that were not read, each named
_SENTENCES, _UNREAD = "sentences", "unread_sentences"  # the facts of forms that have them
COLUMNS = ("before", "after", "figure", "currency", "sentence", "prepared_by", "reviewed_by", "at")
OPTIONAL = ("reviewed_by", "at")
_NEEDED = [name for name in COLUMNS if name not in OPTIONAL]

Key = tuple[str, str, str, str]  # both periods, the figure, the coin


@dataclass(frozen=True)
class StoredSentences:
    """The sentences on a period that its forms print, and what of their files was not read."""

    sentences: tuple[dict[str, str], ...] = ()  # lines of the file
    unread: tuple[Message, ...] = ()

    def to_json(self) -> dict[str, list[Any]]:
        """Return them as forms keep them; nothing where there are none."""
        unread = [each.to_json() for each in self.unread]
        facts: dict[str, list[Any]] = {_SENTENCES: [*self.sentences], _UNREAD: unread}
        return {name: value for name, value in facts.items() if value}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> StoredSentences:
        """Read what `to_json` wrote; what is something else is left out."""
        sentences, unread = facts.get(_SENTENCES), facts.get(_UNREAD)
        known = sentences if isinstance(sentences, list) else []
        rows = [row for row in known if isinstance(row, dict) and {*COLUMNS} == row.keys()]
        texts = ({name: str(text) for name, text in row.items()} for row in rows)
        return cls(tuple(texts), tuple(messages_of(unread)))


def sentences_file(label: str) -> str:
    """Return the name of the file of a period's sentences, beside its statement.

    >>> sentences_file("2026-10")
    '2026-10-sentences.csv'
    """
    return f"{label}-{FILE}"


def read_sentences(
    lake: Path, label: str, figures: Collection[str]
) -> dict[Key, Mapping[str, str]]:
    """Read the sentences on a period of a lake, of each key the last line; the older file first.

    `reviewed_by` is empty until somebody has reviewed one. Raises `ConfigError` naming a line that
    lacks a cell, or is of none of the `figures`, or of another period than its file.
    """
    paths = _files(lake / STATEMENTS, label)
    rows = [row for path in paths for row in read_rows(path, COLUMNS, OPTIONAL)]
    for row in rows:
        if wrong := _fault(row, label):
            raise row.refused(wrong)
        if (figure := row.cells["figure"]) not in figures:
            named = {"figure": f"{figure!r:.60}", "figures": ", ".join(figures)}
            raise row.refused(Message("sentence.not_explained", **named))
    return {_key(row): row.cells for row in rows}


def stored_sentences(statements: Path, label: str) -> StoredSentences:
    """Return the lines on a period, of each figure the last, and what of its files was not read.

    `statements` is the folder that its statement lies in.
    """
    sentences: dict[Key, dict[str, str]] = {}
    unread: list[Message] = []
    for path in _files(statements, label):
        try:
            rows, refused = readable_rows(path, COLUMNS, OPTIONAL)
        except ConfigError as error:
            unread.append(_unread("sentence.file_unread", path, error))
            continue
        rows = [row for row in rows if path.name != FILE or row.cells["after"] in (label, "")]
        wrong = {row.line: _fault(row, label) for row in rows}
        refused += [row.refused(why) for row in rows if (why := wrong[row.line])]
        unread += [_unread("sentence.line_unread", path, error) for error in refused]
        sentences |= {_key(row): dict(row.cells) for row in rows if not wrong[row.line]}
    more = [Message("sentence.more_unread", count=len(unread) - MOST)] * (len(unread) > MOST)
    return StoredSentences(tuple(sentences.values()), (*unread[:MOST], *more))


def _unread(code: str, path: Path, error: ConfigError) -> Message:
    return Message(code, file=path.name, fault=fault_of(error))


def _files(statements: Path, label: str) -> tuple[Path, Path]:
    return statements.parent / FILE, statements / sentences_file(label)


def _fault(row: TypedRow, label: str) -> Message | None:
    """Return the fault of a line, if it has one: of its cells, its figure, its periods."""
    cells = row.cells
    for name in _NEEDED:
        if not cells[name]:
            return Message("sentence.empty", column=name)
    if cells["figure"] not in read_figures():
        return Message("sentence.no_figure", figure=f"{cells['figure']!r:.60}")
    for name in ("before", "after"):
        if not _is_period(cells[name]):
            return Message("sentence.no_period", column=name, label=f"{cells[name]!r:.60}")
    if row.path.name != FILE and cells["after"] != label:
        return Message("sentence.other_period", after=cells["after"], label=label)
    return None


def _is_period(folder: str) -> bool:
    """Whether a text is the name of a statement's folder, in any calendar."""
    for calendar in CALENDARS:
        with suppress(ConfigError):
            read_label(folder.partition("@")[0], calendar=calendar)
            return True
    return False


def _key(row: TypedRow) -> Key:
    cells = row.cells
    return cells["before"], cells["after"], cells["figure"], cells["currency"]
