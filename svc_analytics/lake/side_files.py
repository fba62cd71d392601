"""Side files: superseded versions of records, and looked-up objects."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.files import WRITING, make_folder
from svc_analytics.instants import BEGINNING
from svc_analytics.lake import checksums, layout
from svc_analytics.lake.checksums import BLANK, DAMAGE
from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.layout import FOOTER_KEY, ORIGIN, QUARANTINE, VERDICTS_FOLDER
from svc_analytics.messages import json_of
from svc_analytics.periods import month_of
from svc_analytics.records.record_parser import RejectedRecord
from svc_analytics.schema import INSTANT, SIDE_STREAMS, Stream
from svc_analytics.storage import Storage, merge_into

# A suffix of its own: a lake's writer that begins meanwhile removes files of the usual one.
_FETCHING = ".fetching"


def begin_side_folders(storage: Storage, stream: Stream) -> None:
    """Make the folders of side files, each with an empty file: views need one."""
    lake = storage.folder
    rejected = layout.quarantine_path(lake, stream)
    names = (f"changes/{stream.name}", VERDICTS_FOLDER, *SIDE_STREAMS)
    for name in names:
        make_folder(lake / name)
        if not (lake / name / f"{ORIGIN}.parquet").exists():
            list_files(storage, lake / name, layout.schema_of(name)[0])
    make_folder(rejected.parent)
    if not rejected.exists():
        replace_file(storage.write(rejected), QUARANTINE)


def list_files(storage: Storage, folder: Path, schema: pa.Schema, suffix: str = WRITING) -> None:
    """Let the empty file of a folder name the others, so that one that is lost is missed."""
    path = folder / f"{ORIGIN}.parquet"
    listed = read_about(path).get("files", []) if path.exists() else None
    names = {*(listed or ()), *(file.stem for file in folder.glob("*.parquet"))} - {ORIGIN}
    if listed is None or {*listed} != names:
        about = {"files": sorted(names)}
        replace_file(storage.write(path, suffix=suffix), schema, about=about)


def keep_changes(storage: Storage, stream: Stream, month: str, superseded: pa.Table) -> int:
    """Write superseded versions to a file; return how many were restated.

    Its name depends on the versions alone, so that a run after a kill writes the same file.
    """
    if not len(superseded):
        return 0
    seen_at = superseded["extracted_at"].cast(pa.int64()).to_pylist()
    versions = sorted(zip(superseded["id"].to_pylist(), seen_at, strict=True))
    digest = hashlib.sha256(repr(versions).encode()).hexdigest()[:16]
    folder = storage.folder / "changes" / stream.name
    path = folder / f"{month}-{digest}.parquet"
    replace_file(storage.write(path), superseded.schema, [superseded])
    list_files(storage, folder, superseded.schema)
    return int(pc.sum(superseded["is_restatement"].cast(pa.int64())).as_py())


def keep_objects(storage: Storage, stream: Stream, objects: pa.Table) -> None:
    """Replace the held versions of looked-up objects by these, where they changed."""
    merge_into(storage, partial(_keep_objects, storage, stream, objects))


def _keep_objects(storage: Storage, stream: Stream, objects: pa.Table) -> None:
    key = stream.columns[0].name
    path = storage.folder / stream.name / "held.parquet"
    held = read_side_file(path) if path.exists() else stream.schema.empty_table()
    held = in_own_columns(held, stream.schema, stream)
    is_known = pc.is_in(held[key], value_set=objects[key].combine_chunks())
    known = {row[key]: row for row in held.filter(is_known).to_pylist()}
    newest = {row[key]: _first_seen(row, known.get(row[key])) for row in objects.to_pylist()}
    rows = pa.Table.from_pylist(list(newest.values()), schema=stream.schema)
    merged = pa.concat_tables([held.filter(pc.invert(is_known)), rows]).sort_by(key)
    replace_file(storage.write(path, suffix=_FETCHING), stream.schema, [merged])
    list_files(storage, path.parent, stream.schema, _FETCHING)


def _first_seen(row: dict[str, Any], held: dict[str, Any] | None) -> dict[str, Any]:
    """Return the held row if the new one differs only in when it was extracted."""
    if held is None or row | {"extracted_at": held["extracted_at"]} != held:
        return row
    return held


def read_side_file(path: Path) -> pa.Table:
    """Read a side file, checked against its checksums, or raise `LakeError` naming it."""
    try:
        checksums.check_signature(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except DAMAGE as error:
        raise checksums.damaged(path, error) from error


def replace_file(
    writing: AbstractContextManager[Path],
    schema: pa.Schema,
    tables: Iterable[pa.Table] = (),
    *,
    about: Mapping[str, Any] = MappingProxyType({}),
    repeated: Sequence[str] | None = None,
    compression: str = "zstd",
) -> None:
    """Replace a side file, a table a row group, with what it says about its rows.

    `writing` is what `Storage.write` gives for its path. `repeated` are the columns whose values
    repeat, where that is known: others take longer.
    """
    with (
        writing as temporary,
        temporary.open("w+b") as file,
        pq.ParquetWriter(
            file,
            schema.remove_metadata(),
            compression=compression,
            use_dictionary=True if repeated is None else list(repeated),
            write_statistics=True if repeated is None else layout.with_statistics(schema, repeated),
            write_page_checksum=True,
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({FOOTER_KEY: json.dumps({**about, **BLANK})})
        writer.close()
        checksums.sign(file)


def read_about(path: Path) -> dict[str, Any]:
    """Return the claims of a side file about its rows; nothing if it is of an earlier version."""
    try:
        footer = checksums.read_signed_footer(path)
        metadata = pq.read_metadata(pa.BufferReader(footer)).metadata or {}
        about = json.loads(metadata.get(FOOTER_KEY.encode(), "{}"))
    except DAMAGE as error:
        raise checksums.damaged(path, error) from error
    return {name: value for name, value in about.items() if name not in BLANK}


# ---------- The quarantine
# Rejected records, with their bytes and the reason.


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
    replace_file(storage.write(layout.quarantine_path(storage.folder, stream)), QUARANTINE, [table])


def _read_rows(lake: Path, stream: Stream) -> dict[str, dict[str, Any]]:
    """Return the records on file by their hash, instants as integers."""
    path = layout.quarantine_path(lake, stream)
    table = read_side_file(path) if path.exists() else QUARANTINE.empty_table()
    rows = in_own_columns(table, QUARANTINE).cast(_WITH_NUMBERS) if len(table) else table
    return {row["sha256"]: row for row in rows.to_pylist()}
