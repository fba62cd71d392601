"""Side files: superseded versions of records, and objects looked up one by one."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.lake.files import damaged_file, make_folder, sync_folder
from svc_analytics.lake.layout import (
    ORIGIN,
    QUARANTINE,
    VERDICTS,
    VERDICTS_FOLDER,
    changes_schema,
    quarantine_path,
)
from svc_analytics.schema import SIDE_STREAMS, Stream


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
            replace_file(path, schema.empty_table())


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
    replace_file(lake / "changes" / stream.name / f"{month}-{digest}.parquet", superseded)
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
    replace_file(path, after.sort_by(key), ".fetching")


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
        raise damaged_file(path, error) from error


def replace_file(path: Path, table: pa.Table, suffix: str = ".writing") -> None:
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


def is_whole(path: Path) -> bool:
    """Tell whether every page passes its checksum: a footer outlives what it speaks of."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group, use_threads=False)
            return bool(file.schema_arrow.equals(VERDICTS))
    except (OSError, pa.ArrowException):
        return False


def require_whole(path: Path, name: Path) -> None:
    """Raise `LakeError` where a file of verdicts is there and torn; `name` is what to call it."""
    if path.exists() and not is_whole(path):
        message = f"{name} is torn or altered: run receipts verify, which makes it again"
        raise LakeError(message)
