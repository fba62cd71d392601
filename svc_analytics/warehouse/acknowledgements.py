"""Read the findings that a person has accepted: `acknowledgements.csv` in the lake.

An accepted finding does not keep a statement from being final. The statement prints who
accepted it, and why. A line covers what was seen, and nothing else: the content that it names by
its digest, or without one what was there at its `at`.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.ids import canonical_id
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.instants import format_instant, parse_bound, to_micros
from svc_analytics.lake.typed_files import TypedRow, read_rows
from svc_analytics.messages import Message, json_of, stored_text
from svc_analytics.schema import INSTANT

FILE = "acknowledgements.csv"
ACCEPTED = "acknowledgements.pq"  # the same beside the files of a snapshot
COLUMNS = ("check", "record_id", "reason", "by", "at", "content")
OPTIONAL = ("content",)
ACCEPTED_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("check", "record_id", "content")),
        ("accepted_at", INSTANT),
    ]
)
_DIGEST = re.compile("[0-9a-f]{64}")
_SHOWN = 12  # letters of a digest in a sentence

Row = dict[str, Any]


@dataclass(frozen=True)
class Acknowledgement:
    """A finding that a person accepted: of what content, why, by whom and when."""

    check: str
    record_id: str  # empty where the finding is of no single record
    reason: str
    by: str
    at: int  # in UTC microseconds
    content: str = ""  # the digest of what was accepted; empty on lines that name none

    def covers(self, finding: Row) -> bool:
        """Whether this finding is what was accepted, and not another one of the same record."""
        if self.content:
            return bool(self.content == finding["content"])
        seen_at = finding["seen_at"]
        return seen_at is not None and to_micros(seen_at) <= self.at

    def unlike(self, finding: Row) -> Message:
        """Say of a finding how it differs from what was accepted, behind what it says."""
        values = {
            "DETAIL": stored_text(finding["detail"], finding["message"]),
            "by": single_line(self.by),
            "at": format_instant(self.at),
            "reason": single_line(self.reason),
        }
        if self.content:
            old, new = self.content[:_SHOWN], str(finding["content"])[:_SHOWN]
            return Message("finding.other_content", **values, old=old, new=new)
        if finding["seen_at"] is None:
            return Message("finding.undated", **values)
        seen = format_instant(to_micros(finding["seen_at"]))
        return Message("finding.later", **values, seen=seen)


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


def write_accepted(lake: Path, snapshot: Path) -> None:
    """Write the accepted findings of a lake into a snapshot, where views read them."""
    rows = [
        {
            "check": mark.check,
            "record_id": mark.record_id,
            "content": mark.content or None,
            "accepted_at": mark.at,
        }
        for mark in read_acknowledgements(lake)
    ]
    pq.write_table(pa.Table.from_pylist(rows, ACCEPTED_SCHEMA), snapshot / ACCEPTED)


def acknowledge(checks: pa.Table, accepted: Iterable[Acknowledgement]) -> pa.Table:
    """Append `acknowledged_reason` and `acknowledged_by` to findings, NULL if not accepted.

    A finding of which another content was accepted says so in its `detail`.
    """
    by_name: dict[tuple[str, str], list[Acknowledgement]] = {}
    for mark in accepted:
        by_name.setdefault((mark.check, mark.record_id), []).append(mark)
    details, messages = checks["detail"].to_pylist(), checks["message"].to_pylist()
    marks: dict[int, Acknowledgement] = {}
    for place, row in _rows_named(checks, by_name):
        named = by_name[row["check_name"], row["record_id"] or ""]
        covering = [mark for mark in named if mark.covers(row)]
        if covering:
            marks[place] = covering[-1]
        else:
            details[place] = named[-1].unlike(row)
            messages[place] = json_of(details[place])
    for name, texts in (("detail", details), ("message", messages)):
        place = checks.schema.get_field_index(name)
        checks = checks.set_column(place, name, pa.array(texts, pa.string()))
    for name in ("reason", "by"):
        values = [getattr(marks.get(place), name, None) for place in range(len(checks))]
        checks = checks.append_column(f"acknowledged_{name}", pa.array(values, pa.string()))
    return checks.drop_columns(["seen_at"])


def blocking_findings(checks: pa.Table) -> pa.Table:
    """Return the blocking findings that nobody has accepted."""
    is_blocking = pc.equal(checks["severity"], "blocking")
    return checks.filter(pc.and_(is_blocking, pc.is_null(checks["acknowledged_by"])))


def _rows_named(checks: pa.Table, names: Iterable[tuple[str, str]]) -> list[tuple[int, Row]]:
    """Return the findings of these checks and records, each with its place."""
    wanted = {*names}
    pairs = zip(checks["check_name"].to_pylist(), checks["record_id"].to_pylist(), strict=True)
    places = [place for place, (name, key) in enumerate(pairs) if (name, key or "") in wanted]
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
    record_id = canonical_id(cells["record_id"])
    return Acknowledgement(cells["check"], record_id, cells["reason"], cells["by"], at, content)
