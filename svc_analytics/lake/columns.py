"""Rows in the columns of this release, whichever release wrote their file.

A property that a file has no column for is read from `extra`, where it was kept by its name; one
that the service did not give is NULL. What only a newer release has a column for goes to `extra`,
as if the service had just given it: nothing is lost where a file is written again.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.formatting.columns import chunked_texts
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.layout import data_folders, schema_of
from svc_analytics.records.plain_json import is_plain
from svc_analytics.records.raw_json import members
from svc_analytics.records.record_parser import take_from_extra, write_extra
from svc_analytics.schema import STREAMS, Stream

_COPIES = ".columns"  # of a snapshot's files, in the columns of this release


class RecordFile(pq.ParquetFile):  # type: ignore[misc]  # Arrow has no types
    """A Parquet file of the lake: a month file gives its rows in this release's columns."""

    def __init__(self, source: Any, path: Path, **options: Any) -> None:
        super().__init__(source, page_checksum_verification=True, pre_buffer=False, **options)
        stream = STREAMS.get(path.parent.name)
        is_other = stream and self.schema_arrow.names != stream.schema.names
        self._stream = stream if is_other else None  # of which another release wrote the file

    def read_row_group(
        self, group: int, columns: list[str] | None = None, **options: Any
    ) -> pa.Table:
        """Read a row group, without threads: each of Arrow's would keep its peak memory."""
        options = {"use_threads": False} | options
        if self._stream is None:
            return super().read_row_group(group, columns=columns, **options)
        if columns and {*self.schema_arrow.names} - {"extra"} >= {*columns}:
            return super().read_row_group(group, columns=columns, **options).select(columns)
        table = super().read_row_group(group, **options)
        rows = in_own_columns(table, self._stream.schema, self._stream)
        return rows.select(columns) if columns else rows


def in_own_columns(table: pa.Table, schema: pa.Schema, stream: Stream | None = None) -> pa.Table:
    """Return rows of a file in the columns of a schema; `stream` is that of their records."""
    if table.column_names == schema.names:
        return table
    own = dict(zip(table.column_names, table.columns, strict=True))
    own |= _records(table, stream) if stream else {}
    arrays = [own.get(each.name, pa.nulls(len(table), each.type)) for each in schema]
    rows = pa.table(arrays, schema=schema)
    if stream is None or schema != stream.schema or own.keys() >= {*schema.names}:
        return rows
    return with_derived(stream, rows.select(stream.record_schema.names))


def own_file(path: Path, snapshot: Path) -> Path:
    """Return a file of a snapshot with this release's columns: itself, or a copy made there."""
    inside = path.parent.relative_to(snapshot).as_posix()
    if inside not in data_folders():
        return path
    schema, stream = schema_of(inside)
    with pq.ParquetFile(path) as file:
        if file.schema_arrow.names == schema.names:
            return path
        copy = snapshot / _COPIES / inside / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        with pq.ParquetWriter(copy, schema) as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, use_threads=False)
                writer.write_table(in_own_columns(table, schema, stream))
    return copy


def _records(table: pa.Table, stream: Stream) -> dict[str, pa.Array]:
    """Return the columns that a file lacks, and what is beyond those of this release."""
    names = table.column_names
    lacking = [column for column in stream.columns if column.name not in names]
    # Behind `extra` stand columns that no service gives.
    strange = [name for name in names[: names.index("extra")] if name not in stream.names]
    texts = [chunked_texts(table[name], table.field(name)).to_pylist() for name in strange]
    extras = table["extra"].to_pylist()
    for place in range(len(table) if strange else 0):
        more = {name: text[place] for name, text in zip(strange, texts, strict=True)}
        extras[place] = _with_members(extras[place], more)
    taken = [take_from_extra(lacking, extra) for extra in extras]
    fields = [stream.record_schema.field(name) for name in (*(c.name for c in lacking), "extra")]
    return {
        each.name: pa.array([row.get(each.name) for row in taken], each.type) for each in fields
    }


def _with_members(extra: str | None, more: dict[str, str | None]) -> str | None:
    """Add texts to the `extra` of a record, as members that it lacks."""
    added = {name: _as_given(text) for name, text in more.items() if text is not None}
    return write_extra((), added | (members(extra.encode()) if extra else {}))


def _as_given(text: str) -> bytes:
    """Return a text as JSON; one of an object or a list is that already."""
    raw = text.encode()
    return raw if raw[:1] in (b"{", b"[") and is_plain(raw) else json.dumps(text).encode()
