"""Side files: superseded versions of records, and looked-up objects."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.files import atomic_write, damaged_file, make_folder
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
    """Make the folders of side files, each with an empty file: views need one."""
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
    """Write superseded versions to a file; return how many were restated.

    Its name depends on the versions alone, so that a run after a kill writes the same file.
    """
    if not len(superseded):
        return 0
    seen_at = superseded["extracted_at"].cast(pa.int64()).to_pylist()
    versions = sorted(zip(superseded["id"].to_pylist(), seen_at, strict=True))
    digest = hashlib.sha256(repr(versions).encode()).hexdigest()[:16]
    replace_file(lake / "changes" / stream.name / f"{month}-{digest}.parquet", superseded)
    return int(pc.sum(superseded["is_restatement"].cast(pa.int64())).as_py())


def keep_objects(lake: Path, stream: Stream, objects: pa.Table) -> None:
    """Replace the held versions of looked-up objects by these, where they changed."""
    key = stream.columns[0].name
    path = lake / stream.name / "held.parquet"
    held = read_side_file(path) if path.exists() else stream.schema.empty_table()
    is_known = pc.is_in(held[key], value_set=objects[key].combine_chunks())
    known = {row[key]: row for row in held.filter(is_known).to_pylist()}
    newest = {row[key]: _first_seen(row, known.get(row[key])) for row in objects.to_pylist()}
    rows = pa.Table.from_pylist(list(newest.values()), schema=stream.schema)
    merged = pa.concat_tables([held.filter(pc.invert(is_known)), rows]).sort_by(key)
    # A suffix of its own: a lake's writer that begins meanwhile removes files of the usual one.
    replace_file(path, merged, ".fetching")


def _first_seen(row: dict[str, Any], held: dict[str, Any] | None) -> dict[str, Any]:
    """Return the held row if the new one differs only in when it was extracted."""
    if held is None or row | {"extracted_at": held["extracted_at"]} != held:
        return row
    return held


def read_side_file(path: Path) -> pa.Table:
    """Read a side file, verifying its checksums, or raise `LakeError` naming it."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise damaged_file(path, error) from error


def replace_file(path: Path, table: pa.Table, suffix: str = ".writing") -> None:
    """Replace a side file atomically."""
    with atomic_write(path, suffix=suffix) as temporary, temporary.open("wb") as file:
        pq.write_table(table, file, compression="zstd", write_page_checksum=True)


def is_whole(path: Path) -> bool:
    """Tell whether a file of verdicts is undamaged: every page passes its checksum."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group, use_threads=False)
            return bool(file.schema_arrow.equals(VERDICTS))
    except (OSError, pa.ArrowException):
        return False


def require_whole(path: Path, name: Path) -> None:
    """Raise `LakeError`, with this `name`, if a file of verdicts is damaged."""
    if path.exists() and not is_whole(path):
        raise LakeError(f"{name} is torn or altered: run receipts verify, which makes it again")
