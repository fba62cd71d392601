"""The quarantine: rejected records, with their bytes and the reason."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Span
from svc_analytics.instants import BEGINNING
from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.layout import QUARANTINE, quarantine_path
from svc_analytics.lake.side_files import read_side_file, replace_file
from svc_analytics.messages import json_of
from svc_analytics.periods import month_of
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import INSTANT, Stream
from svc_analytics.storage import Storage

_WITH_NUMBERS = pa.schema(
    [each.with_type(pa.int64()) if each.type == INSTANT else each for each in QUARANTINE]
)


@dataclass(frozen=True)
class QuarantinedRecord:
    """A rejected record, the instant that places it, and its window.

    The window is the time it was asked for in; without an instant of its own, [first, last]
    is where it can lie.
    """

    record: RejectedRecord
    position: int
    window: Span
    seen_at: int

    def to_row(self) -> dict[str, Any]:
        """Return the record as a row of the quarantine file."""
        return {
            "sha256": hashlib.sha256(self.record.body).hexdigest(),
            "record_id": self.record.record_id,
            "occurred_at": self.record.instant,
            "placed_at": self.position,
            "reason": self.record.reason,
            "message": json_of(self.record.reason),
            "body": self.record.body,
            "window_from": max(self.window[0], BEGINNING),
            "window_to": self.window[1],
            "first_seen_at": self.seen_at,
            "resolved_at": None,
        }


@dataclass(frozen=True)
class QuarantineUpdate:
    """The result of updating a quarantine: how many are new, and open by month."""

    new: int = 0
    open: dict[str, int] = field(default_factory=dict)
    cleared: frozenset[str] = frozenset()  # ids whose good versions are about to be published


def keep_quarantine(
    storage: Storage,
    stream: Stream,
    rejected: Iterable[QuarantinedRecord],
    good_ids: Iterable[pa.ChunkedArray],
    *,
    unreadable: Collection[str] = (),
    is_ordered: bool = True,
) -> QuarantineUpdate:
    """Add rejected records to the quarantine file, and count what is open in it.

    Once a list was seen not to be newest-first (not `is_ordered`), neighbours tell nothing:
    records without an instant of their own can be of any time.

    Records of `good_ids`, about to be published, do not count. On file they stay open until
    they are (`resolve_quarantine`), so that a kill does not hide them. Those of the ids
    `unreadable` count all the same: the same reading listed both versions, and nobody knows
    which of them is right. For that a record that was resolved, and is read again, is open again.
    """
    rows = _read_rows(storage.folder, stream)
    held, new = dict(rows), 0
    for record in rejected:
        row = record.to_row()
        key = str(row["sha256"])
        new += key not in rows or rows[key]["resolved_at"] is not None
        rows[key] = _narrowed(rows[key], row) | {"resolved_at": None} if key in rows else row
    if not rows:
        return QuarantineUpdate()
    if not is_ordered:
        rows = {key: _unplaced(row) for key, row in rows.items()}
    if rows != held:
        _write_rows(storage, stream, rows)
    unresolved = [row for row in rows.values() if row["resolved_at"] is None]
    mended = {row["record_id"] for row in unresolved} - {None, *unreadable}
    cleared = _find_good(mended, good_ids)
    still_open = _open_by_month(row for row in unresolved if row["record_id"] not in cleared)
    return QuarantineUpdate(new, still_open, cleared)


def resolve_quarantine(
    storage: Storage, stream: Stream, cleared: Collection[str], now: int
) -> None:
    """Mark records, on file, as resolved: good versions of them are published now."""
    if not cleared:
        return
    rows = _read_rows(storage.folder, stream)
    resolved = [r for r in rows.values() if r["resolved_at"] is None and r["record_id"] in cleared]
    for row in resolved:
        row["resolved_at"] = now
    if resolved:
        _write_rows(storage, stream, rows)


def count_quarantined(lake: Path, stream: Stream) -> dict[str, int]:
    """Return how many open rejected records are on file, by month."""
    return _open_by_month(_read_rows(lake, stream).values())


def lost_quarantine(lake: Path, stream: Stream, counts: Mapping[str, int]) -> list[str]:
    """Return the months whose files count more rejected records, in `counts`, than are on file."""
    on_file = count_quarantined(lake, stream)
    return [label for label, count in counts.items() if count > on_file.get(label, 0)]


def open_quarantine(lake: Path, stream: Stream) -> dict[str, int]:
    """Return the ids of open rejected records, and when each was last rejected."""
    rows = sorted(_read_rows(lake, stream).values(), key=lambda row: row["first_seen_at"])
    unresolved = (row for row in rows if row["resolved_at"] is None and row["record_id"])
    return {row["record_id"]: row["first_seen_at"] for row in unresolved}


def _find_good(rejected: Collection[str], good_ids: Iterable[pa.ChunkedArray]) -> frozenset[str]:
    """Return which ids are good too."""
    wanted = pa.array(sorted(rejected), pa.string())
    if not len(wanted):
        return frozenset()
    good = (ids.filter(pc.is_in(ids, value_set=wanted)) for ids in good_ids)
    return frozenset(record_id for ids in good for record_id in ids.to_pylist())


def _narrowed(held: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """Return a record on file; without an instant of its own, where both readings place it.

    Without an id they may be of two records, and readings that do not agree prove nothing:
    then it can be wherever either of them has it.
    """
    if held["occurred_at"] is not None:
        return held
    first = max(held["window_from"], again["window_from"])
    last = min(held["window_to"], again["window_to"])
    if held["record_id"] is None or first >= last:
        first = min(held["window_from"], again["window_from"])
        last = max(held["window_to"], again["window_to"])
    return held | {"window_from": first, "window_to": last, "placed_at": last}


def _unplaced(row: dict[str, Any]) -> dict[str, Any]:
    if row["occurred_at"] is not None:
        return row
    last = max(row["window_to"], row["first_seen_at"])
    return row | {"window_from": BEGINNING, "window_to": last, "placed_at": last}


def _open_by_month(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
    return Counter(month_of(row["placed_at"]).label for row in rows if row["resolved_at"] is None)


def _write_rows(storage: Storage, stream: Stream, rows: dict[str, dict[str, Any]]) -> None:
    table = pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=QUARANTINE)
    replace_file(storage.write(quarantine_path(storage.folder, stream)), QUARANTINE, [table])


def _read_rows(lake: Path, stream: Stream) -> dict[str, dict[str, Any]]:
    """Return the records on file by their hash, instants as integers."""
    path = quarantine_path(lake, stream)
    table = read_side_file(path) if path.exists() else QUARANTINE.empty_table()
    rows = in_own_columns(table, QUARANTINE).cast(_WITH_NUMBERS) if len(table) else table
    return {row["sha256"]: row for row in rows.to_pylist()}
