"""Read the findings that a person has accepted: `acknowledgements.csv` in the lake.

An accepted finding does not keep a statement from being final. The statement prints who
accepted it, when and why. A line covers what was seen, and nothing else: the content that it names
by its digest, or without one what was there at its `at`. One that lies ahead of the clock, as where
a year was mistyped, is of nothing that anybody saw: it does not count, and is named.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.texts import canonical_id, single_line
from svc_analytics.instants import BEGINNING, format_instant, now, parse_bound, to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.typed_files import TypedRow, counts_from, line_ahead, read_rows
from svc_analytics.messages import MESSAGE_COLUMN, Message, json_of, stored_text, translated
from svc_analytics.schema import INSTANT

FILE = "acknowledgements.csv"
ACCEPTED = "acknowledgements.pq"  # the same beside the files of a snapshot
COLUMNS = ("check", "record_id", "reason", "by", "at", "content")
OPTIONAL = ("content",)
ACCEPTED_SCHEMA = pa.schema(
    [*((name, pa.string()) for name in ("check", "record_id", "content")), ("accepted_at", INSTANT)]
)
# Rules over records that no figure counts. Accepted, none of them is waited for: `int_omissions`.
LEFT_OUT = frozenset({"record_could_be_held", "status_is_known", "kind_is_known"})
_DIGEST = re.compile("[0-9a-f]{64}")
_SHOWN = 12  # letters of a digest in a sentence
_DAY = len("2026-11-28")
# What a line adds to the words of a finding.
REMARKS = {
    f"finding.{each}"
    for each in ("accepted", "left_out", "ahead", "other_content", "later", "undated")
}

Row = dict[str, Any]
# What a sealed statement says was accepted: check, record, reason, name, content.
Sealed = frozenset[tuple[str, str, str, str, str]]


@dataclass(frozen=True)
class Acknowledgement:
    """A finding that a person accepted: of what content, why, by whom and when."""

    check: str
    record_id: str  # empty where the finding is of no single record
    reason: str
    by: str
    at: int  # in UTC microseconds
    content: str = ""  # the digest of what was accepted; empty on lines that name none
    line: int = 0  # of the file
    counts_from: int = BEGINNING  # before that instant it lies ahead of the clock

    def covers(self, finding: Row) -> bool:
        """Whether this finding is what was accepted, and not another one of the same record."""
        if self.content:
            return bool(self.content == finding["content"])
        seen_at = finding["seen_at"]
        return seen_at is not None and to_micros(seen_at) <= self.at

    def accepting(self, finding: Row) -> Message:
        """Say of a finding who accepted it, when and why, and whether its record is left out."""
        by = Message("finding.by", by=single_line(self.by), at=format_instant(self.at)[:_DAY])
        return accepted_detail(finding, by, self.reason)

    def unlike(self, finding: Row, clock: int) -> Message:
        """Say of a finding how it differs from what was accepted, behind what it says."""
        values = self._values(finding)
        if self.counts_from > clock:
            ahead = line_ahead(FILE, self.line, self.at)
            return Message("finding.ahead", detail=values["detail"], ahead=ahead)
        if self.content:
            old, new = self.content[:_SHOWN], str(finding["content"])[:_SHOWN]
            return Message("finding.other_content", **values, old=old, new=new)
        if finding["seen_at"] is None:
            return Message("finding.undated", **values)
        seen = format_instant(to_micros(finding["seen_at"]))
        return Message("finding.later", **values, seen=seen)

    def _values(self, finding: Row) -> dict[str, str]:
        return {
            "detail": translated(_detail(finding)),
            "by": single_line(self.by),
            "at": format_instant(self.at),
            "reason": single_line(self.reason),
        }

    def as_sealed(self, sealed: Sealed) -> Iterator[Acknowledgement]:
        """Yield it as it counted at a sealing: for each content that it was said to accept."""
        for *named, content in sealed:
            if content and named == [self.check, self.record_id, self.reason, self.by]:
                yield replace(self, content=content, counts_from=BEGINNING)


@dataclass(frozen=True)
class Acceptances:
    """The lines of a lake's file, and the clock that some of them may lie ahead of."""

    marks: tuple[Acknowledgement, ...]
    clock: int = field(compare=False)  # it goes on; what counts by it, `marks` and `ahead` tell

    @classmethod
    def of(cls, lake: Lake, clock: int | None = None, sealed: Sealed = frozenset()) -> Acceptances:
        """Read those of a lake; its newest run tells the time too, if that is later.

        What was `sealed` as accepted counts as it did at the sealing.
        """
        marks, clock = read_acknowledgements(lake.path), now() if clock is None else clock
        acceptances = cls(marks, max(clock, lake.clocks.get("judged", clock)))
        settled = (each for mark in acceptances.ahead for each in mark.as_sealed(sealed))
        return replace(acceptances, marks=(*settled, *marks))

    @property
    def ahead(self) -> list[Acknowledgement]:
        """The lines that lie ahead of the clock: they do not count."""
        return [mark for mark in self.marks if mark.counts_from > self.clock]

    def table(self) -> pa.Table:
        """Return the lines that count, as views read them."""
        rows = [
            {
                "check": mark.check,
                "record_id": mark.record_id,
                "content": mark.content or None,
                "accepted_at": mark.at,
            }
            for mark in self.marks
            if mark.counts_from <= self.clock
        ]
        return pa.Table.from_pylist(rows, ACCEPTED_SCHEMA)

    def applied_to(self, checks: pa.Table) -> pa.Table:
        """Append `acknowledged_reason` and `acknowledged_by` to findings, NULL if not accepted.

        The `detail` of an accepted finding says who accepted it, when and why; that of one of
        which another content was accepted says so.
        """
        by_name: dict[tuple[str, str], list[Acknowledgement]] = {}
        for mark in self.marks:
            by_name.setdefault((mark.check, mark.record_id), []).append(mark)
        details: dict[int, Message] = {}
        marks: dict[int, Acknowledgement] = {}
        for place, row in _rows_named(checks, by_name):
            named = by_name[_key(row)]
            past = (mark for mark in named if mark.counts_from <= self.clock)
            if covering := [mark for mark in past if mark.covers(row)]:
                marks[place] = covering[-1]
                details[place] = covering[-1].accepting(row)
            else:
                details[place] = named[-1].unlike(row, self.clock)
        checks = _reworded(checks, details)
        for name in ("reason", "by"):
            values = [getattr(marks.get(place), name, None) for place in range(len(checks))]
            checks = checks.append_column(f"acknowledged_{name}", pa.array(values, pa.string()))
        return checks.drop_columns(["seen_at"])


def without_remark(detail: str) -> str:
    """Return the text of a finding without what a line of the file adds to it."""
    if not isinstance(detail, Message) or detail.code not in REMARKS:
        return detail
    own = detail.values["DETAIL"]
    return own if isinstance(own, Message) else str(own)


def accepted_detail(finding: Row, by: str, reason: str) -> Message:
    """Say of a finding that a person accepted it, and whether figures leave its record out."""
    code = "finding.left_out" if finding["check_name"] in LEFT_OUT else "finding.accepted"
    return Message(
        code,
        detail=translated(_detail(finding)),
        by=translated(single_line(by)),
        reason=single_line(reason),
    )


def _detail(finding: Row) -> str:
    return stored_text(finding["detail"], finding.get(MESSAGE_COLUMN))


def content_of(*facts: object) -> str:
    """Return the digest of what a finding is about, as the macros `fact` and `digest` make it.

    >>> content_of("a", "b") == content_of("ab")
    False
    """
    texts = ("-" if fact is None else f"{len(str(fact))}:{fact}" for fact in facts)
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def read_acknowledgements(lake: Path) -> tuple[Acknowledgement, ...]:
    """Read the accepted findings of a lake; raise `ConfigError` naming a line that is wrong."""
    return tuple(map(_read_row, read_rows(lake / FILE, COLUMNS, OPTIONAL)))


def without_later(sealed: pa.Table, now: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Return two states of the findings of a month, as texts, without what was accepted between.

    What was sealed open a person may accept later; what was accepted must still be.
    """
    left_open = {_named(row) for row in sealed.to_pylist() if not row["acknowledged_by"]}
    return _unaccepted(sealed, left_open), _unaccepted(now, left_open)


def _unaccepted(checks: pa.Table, named: Collection[tuple[str, ...]]) -> pa.Table:
    """Return findings of which those named read as if no line were of them."""
    rows = checks.to_pylist()
    for row in filter(lambda row: _named(row) in named, rows):
        row |= {name: "" for name in row if name.startswith("acknowledged_")}
        detail = without_remark(_detail(row))
        row |= {"detail": str(detail), MESSAGE_COLUMN: json_of(detail) or ""}
    return pa.Table.from_pylist(rows, checks.schema)


def _named(finding: Row) -> tuple[str, ...]:
    return (*_key(finding), finding.get("content") or "")


def blocking_findings(checks: pa.Table) -> pa.Table:
    """Return the blocking findings that nobody has accepted."""
    is_blocking = pc.equal(checks["severity"], "blocking")
    return checks.filter(pc.and_(is_blocking, pc.is_null(checks["acknowledged_by"])))


def _reworded(checks: pa.Table, details: Mapping[int, str]) -> pa.Table:
    """Return findings of which some, by their places, have another detail."""
    messages = {place: json_of(text) for place, text in details.items()}
    for name, texts in (("detail", details), ("message", messages)):
        column = [texts.get(place, text) for place, text in enumerate(checks[name].to_pylist())]
        place = checks.schema.get_field_index(name)
        checks = checks.set_column(place, name, pa.array(column, pa.string()))
    return checks


def _key(finding: Row) -> tuple[str, str]:
    return finding["check_name"], finding["record_id"] or ""


def _rows_named(checks: pa.Table, names: Iterable[tuple[str, str]]) -> list[tuple[int, Row]]:
    """Return the findings of these checks and records, each with its place."""
    wanted = {*names}
    rows = checks.select(["check_name", "record_id"]).to_pylist()
    places = [place for place, row in enumerate(rows) if _key(row) in wanted]
    rows = checks.take(pa.array(places, pa.int64()))
    return list(zip(places, rows.to_pylist(), strict=True))


def _read_row(row: TypedRow) -> Acknowledgement:
    cells = row.cells
    if empty := [name for name in ("check", "reason", "by", "at") if not cells[name]]:
        raise row.refused(f"{empty[0]} is empty")
    content = cells["content"].lower()
    if content and not _DIGEST.fullmatch(content):
        raise row.refused("content is no digest: copy it as svc-analytics check --json prints it")
    try:
        at = parse_bound(cells["at"])
    except ConfigError as error:
        raise row.refused(f"at: {error}") from error
    return Acknowledgement(
        cells["check"],
        canonical_id(cells["record_id"]),
        cells["reason"],
        cells["by"],
        at,
        content,
        row.line,
        counts_from(cells["at"], at),
    )
