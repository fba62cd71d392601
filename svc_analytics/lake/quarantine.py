"""The files beside the month files: what could not be held, and what was superseded.

Both are written before the month that counts them, under names and with contents
that depend on nothing but what they hold, so that a repeated write changes nothing.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.coverage import Span
from svc_analytics.instants import BEGINNING
from svc_analytics.lake.layout import QUARANTINE, quarantine_path
from svc_analytics.lake.side_files import read_side_file, replace_file
from svc_analytics.periods import month_of
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import INSTANT, Stream


@dataclass(frozen=True)
class QuarantinedRecord:
    """A rejected record, the instant that decides its month, and the window that gave it."""

    record: RejectedRecord
    position: int
    window: Span
    seen_at: int

    def to_row(self) -> dict[str, Any]:
        """Return the row kept of it."""
        return {
            "sha256": hashlib.sha256(self.record.body).hexdigest(),
            "record_id": self.record.record_id,
            "occurred_at": self.record.instant,
            "placed_at": self.position,
            "reason": self.record.reason,
            "body": self.record.body,
            "window_from": max(self.window[0], BEGINNING),
            "window_to": self.window[1],
            "first_seen_at": self.seen_at,
            "resolved_at": None,
        }


@dataclass(frozen=True)
class QuarantineUpdate:
    """What stands in a stream's quarantine: how many are new, and how many open by month.

    `cleared` are the ids of those that are open on file and about to be published.
    """

    new: int = 0
    open: dict[str, int] = field(default_factory=dict)
    cleared: frozenset[str] = frozenset()


def keep_quarantine(
    lake: Path,
    stream: Stream,
    found: Iterable[QuarantinedRecord],
    good_ids: pa.ChunkedArray,
) -> QuarantineUpdate:
    """Merge rejected records into the quarantine, and say what then stands in it.

    Those of `good_ids` do not count: they are about to be published. On file they stay
    open until they are (`resolve_quarantine`), so that no kill in between hides them.
    """
    before = _read_rows(quarantine_path(lake, stream))
    rows = {str(row["sha256"]): row for row in before}
    for item in found:
        rows.setdefault(str(item.to_row()["sha256"]), item.to_row())
    if not rows:
        return QuarantineUpdate()
    if len(rows) > len(before):
        _write_rows(lake, stream, rows)
    good = set(good_ids.to_pylist())
    left = [row for row in rows.values() if row["resolved_at"] is None]
    cleared = frozenset(row["record_id"] for row in left) & good
    still_open = _open_by_month(row for row in left if row["record_id"] not in good)
    return QuarantineUpdate(len(rows) - len(before), still_open, cleared)


def resolve_quarantine(lake: Path, stream: Stream, cleared: Collection[str], now: int) -> None:
    """Note that records of these ids were read rightly since, and published.

    They stay on file, but no longer stand in a statement's way.
    """
    if not cleared:
        return
    rows = {str(row["sha256"]): row for row in _read_rows(quarantine_path(lake, stream))}
    resolved = [r for r in rows.values() if r["resolved_at"] is None and r["record_id"] in cleared]
    for row in resolved:
        row["resolved_at"] = now
    if resolved:
        _write_rows(lake, stream, rows)


def count_quarantined(lake: Path, stream: Stream) -> dict[str, int]:
    """Return how many rejected records of each month are on file and not yet resolved."""
    return _open_by_month(_read_rows(quarantine_path(lake, stream)))


def open_quarantine(lake: Path, stream: Stream) -> dict[str, int]:
    """Return the ids of records set aside and not resolved, and when each was last set aside."""
    rows = sorted(_read_rows(quarantine_path(lake, stream)), key=lambda row: row["first_seen_at"])
    left = [row for row in rows if row["resolved_at"] is None and row["record_id"]]
    return {row["record_id"]: row["first_seen_at"] for row in left}


def _open_by_month(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    return Counter(month_of(row["placed_at"]).label for row in rows if row["resolved_at"] is None)


def _write_rows(lake: Path, stream: Stream, rows: dict[str, dict[str, Any]]) -> None:
    table = pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=QUARANTINE)
    replace_file(quarantine_path(lake, stream), table)


def _read_rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    table = read_side_file(path)
    if not len(table):
        return []
    instants = [field.name for field in QUARANTINE if field.type == INSTANT]
    for name in instants:  # as integers: Python's own datetimes would need a conversion back
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(pa.int64()))
    return list(table.to_pylist())
