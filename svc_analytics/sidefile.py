"""The files beside the month files: what could not be held, and what was superseded.

Both are written before the month that counts them, under names and with contents
that depend on nothing but what they hold, so that a repeated write changes nothing.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.monthfile import ORIGIN, make_folder, sync_folder, torn
from svc_analytics.periods import BEGINNING, month_of
from svc_analytics.records import Rejected
from svc_analytics.schema import INSTANT, SIDE_STREAMS, Stream

QUARANTINE = pa.schema(
    [
        ("sha256", pa.string()),
        ("record_id", pa.string()),
        ("occurred_at", INSTANT),  # null when the record's own instant cannot be read
        ("placed_at", INSTANT),  # its instant, else that of its neighbours: decides its month
        ("reason", pa.string()),
        ("body", pa.binary()),
        ("window_from", INSTANT),
        ("window_to", INSTANT),
        ("first_seen_at", INSTANT),
        ("resolved_at", INSTANT),  # when a good record of the same id was read
    ]
)

# One row per checked token. `record_extracted_at` names the version of the record that
# was held against it; `ring` is a fingerprint of the secrets, which tells none of them.
VERDICTS_FOLDER = "receipt_verdicts"
VERDICTS = pa.schema(
    [
        ("payment_id", pa.string()),
        ("receipt_sha256", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("differences", pa.string()),  # JSON: each differing fact with both values
        ("checked_at", INSTANT),
        ("ring", pa.string()),
        ("record_extracted_at", INSTANT),
    ]
)


@dataclass(frozen=True)
class Quarantined:
    """A rejected record, the instant that decides its month, and the window that gave it."""

    record: Rejected
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


def changes_schema(stream: Stream) -> pa.Schema:
    """The schema of superseded versions: the record, and whether money or identity changed."""
    return stream.schema.append(pa.field("is_restatement", pa.bool_()))


def begin_side_folders(lake: Path, stream: Stream) -> None:
    """Make the folders with a file without rows each, so that views always find a schema."""
    paths = {
        lake / "changes" / stream.name / f"{ORIGIN}.parquet": changes_schema(stream),
        quarantine_path(lake, stream): QUARANTINE,
        lake / VERDICTS_FOLDER / f"{ORIGIN}.parquet": VERDICTS,
    }
    for side in SIDE_STREAMS.values():
        paths[lake / side.name / f"{ORIGIN}.parquet"] = side.schema
    for path, schema in paths.items():
        make_folder(path.parent)
        if not path.exists():
            _replace(path, schema.empty_table())


def keep_changes(lake: Path, stream: Stream, month: str, superseded: pa.Table) -> int:
    """Keep older versions of records; return how many of them were restated."""
    if not len(superseded):
        return 0
    marks = zip(
        superseded["id"].to_pylist(),
        superseded["extracted_at"].cast(pa.int64()).to_pylist(),
        strict=True,
    )
    digest = hashlib.sha256(repr(sorted(marks)).encode()).hexdigest()[:16]
    _replace(lake / "changes" / stream.name / f"{month}-{digest}.parquet", superseded)
    return int(pc.sum(superseded["is_restatement"].cast(pa.int64())).as_py())


def keep_objects(lake: Path, stream: Stream, found: pa.Table) -> None:
    """Put objects that were looked up in the place of older observations of the same ids.

    An identical one keeps its `extracted_at`: since when this content is known.
    """
    key = stream.columns[0].name
    path = lake / stream.name / "held.parquet"
    before = read_side_file(path) if path.exists() else stream.schema.empty_table()
    is_asked = pc.is_in(before[key], value_set=found[key].combine_chunks())
    known = {row.pop(key): row for row in before.filter(is_asked).to_pylist()}
    newest = {row[key]: _since(row, known.get(row[key])) for row in found.to_pylist()}
    after = pa.concat_tables(
        [
            before.filter(pc.invert(is_asked)),
            pa.Table.from_pylist(list(newest.values()), schema=stream.schema),
        ]
    )
    # Not the name that the lake's writer sweeps: it may begin its own run meanwhile.
    _replace(path, after.sort_by(key), ".fetching")


def _since(row: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    is_same = before is not None and all(
        row[name] == value for name, value in before.items() if name != "extracted_at"
    )
    return row | {"extracted_at": before["extracted_at"]} if before and is_same else row


def read_side_file(path: Path) -> pa.Table:
    """Read a whole file beside the months, or raise `LakeError` naming it."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise torn(path, error) from error


def quarantine_path(lake: Path, stream: Stream) -> Path:
    """The one file of a stream's rejected records."""
    return lake / "quarantine" / stream.name / "rejected.parquet"


@dataclass(frozen=True)
class Quarantine:
    """What stands in a stream's quarantine: how many are new, and how many open by month.

    `cleared` are the ids of those that are open on file and about to be published.
    """

    new: int = 0
    open: dict[str, int] = field(default_factory=dict)
    cleared: frozenset[str] = frozenset()


def keep_quarantine(
    lake: Path,
    stream: Stream,
    found: Iterable[Quarantined],
    good_ids: pa.ChunkedArray,
) -> Quarantine:
    """Merge rejected records into the quarantine, and say what then stands in it.

    Those of `good_ids` do not count: they are about to be published. On file they stay
    open until they are (`resolve_quarantine`), so that no kill in between hides them.
    """
    before = _read_rows(quarantine_path(lake, stream))
    rows = {str(row["sha256"]): row for row in before}
    for item in found:
        rows.setdefault(str(item.to_row()["sha256"]), item.to_row())
    if not rows:
        return Quarantine()
    if len(rows) > len(before):
        _write_rows(lake, stream, rows)
    good = set(good_ids.to_pylist())
    left = [row for row in rows.values() if row["resolved_at"] is None]
    cleared = frozenset(row["record_id"] for row in left) & good
    still_open = _open_by_month(row for row in left if row["record_id"] not in good)
    return Quarantine(len(rows) - len(before), still_open, cleared)


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
    _replace(quarantine_path(lake, stream), table)


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


def _replace(path: Path, table: pa.Table, suffix: str = ".writing") -> None:
    temporary = path.with_name(f".{path.stem}{suffix}")
    try:
        with temporary.open("wb") as file:
            pq.write_table(table, file, compression="zstd", write_page_checksum=True)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
