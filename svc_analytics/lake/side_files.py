"""Side files: superseded versions of records, and looked-up objects."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.files import WRITING, make_folder
from svc_analytics.lake.checksums import (
    BLANK,
    DAMAGE,
    check_signature,
    damaged,
    read_signed_footer,
    sign,
)
from svc_analytics.lake.columns import in_own_columns
from svc_analytics.lake.layout import (
    FOOTER_KEY,
    ORIGIN,
    QUARANTINE,
    VERDICTS_FOLDER,
    quarantine_path,
    schema_of,
    with_statistics,
)
from svc_analytics.schema import SIDE_STREAMS, Stream
from svc_analytics.storage import Storage, merge_into

# A suffix of its own: a lake's writer that begins meanwhile removes files of the usual one.
_FETCHING = ".fetching"


def begin_side_folders(storage: Storage, stream: Stream) -> None:
    """Make the folders of side files, each with an empty file: views need one."""
    lake = storage.folder
    rejected = quarantine_path(lake, stream)
    names = (f"changes/{stream.name}", VERDICTS_FOLDER, *SIDE_STREAMS)
    for name in names:
        make_folder(lake / name)
        if not (lake / name / f"{ORIGIN}.parquet").exists():
            list_files(storage, lake / name, schema_of(name)[0])
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
        check_signature(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(use_threads=False)
    except DAMAGE as error:
        raise damaged(path, error) from error


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
            write_statistics=True if repeated is None else with_statistics(schema, repeated),
            write_page_checksum=True,
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table)
        writer.add_key_value_metadata({FOOTER_KEY: json.dumps({**about, **BLANK})})
        writer.close()
        sign(file)


def read_about(path: Path) -> dict[str, Any]:
    """Return the claims of a side file about its rows; nothing if it is of an earlier version."""
    try:
        metadata = pq.read_metadata(pa.BufferReader(read_signed_footer(path))).metadata or {}
        about = json.loads(metadata.get(FOOTER_KEY.encode(), "{}"))
    except DAMAGE as error:
        raise damaged(path, error) from error
    return {name: value for name, value in about.items() if name not in BLANK}
