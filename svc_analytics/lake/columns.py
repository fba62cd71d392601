"""Rows in the columns of this release, whichever release wrote their file.

A property that a file has no column for is read from `extra`, where it was kept by its name; one
that the service did not give is NULL. What only a newer release has a column for goes to `extra`,
as if the service had just given it: nothing is lost where a file is written again.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.formatting.values import chunked_texts
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.layout import schema_of
from svc_analytics.records.raw_json import is_plain, members
from svc_analytics.records.record_parser import take_from_extra, write_extra
from svc_analytics.schema import STREAMS, Stream

_COPIES = ".columns"  # of a snapshot's files, in the columns of this release


class RecordFile(pq.ParquetFile):  # type: ignore[misc]  # Arrow has no types
    """A Parquet file of the lake: a month file gives its rows in this release's columns."""

    def __init__(self, source: Any, path: Path, **options: Any) -> None:
        super().__init__(source, page_checksum_verification=True, pre_buffer=False, **options)
        self._stream = STREAMS.get(path.parent.name)

    def read_row_group(self, group: int, columns: Any = None, **_: Any) -> pa.Table:
        """Read a row group, without threads: each of Arrow's would keep its peak memory."""
        read = partial(super().read_row_group, group, use_threads=False)
        stream, names = self._stream, self.schema_arrow.names
        if stream is None or names == stream.schema.names:
            return read(columns=columns)
        if columns and {*names} - {"extra"} >= {*columns}:
            return read(columns=columns).select(columns)
        rows = in_own_columns(read(), stream.schema, stream)
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
    (schema, stream), copy = schema_of(inside), snapshot / _COPIES / inside / path.name
    with pq.ParquetFile(path) as file:
        if file.schema_arrow.names == schema.names:
            return path
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
    if strange:
        more = (dict(zip(strange, row, strict=True)) for row in zip(*texts, strict=True))
        extras = [_with_members(*pair) for pair in zip(extras, more, strict=True)]
    taken = [take_from_extra(lacking, extra) for extra in extras]
    names = [*(column.name for column in lacking), "extra"]
    kinds = [stream.record_schema.field(name).type for name in names]
    values = ([row.get(name) for row in taken] for name in names)
    return dict(zip(names, map(pa.array, values, kinds), strict=True))


def _with_members(extra: str | None, more: dict[str, str | None]) -> str | None:
    """Add texts to the `extra` of a record, as members that it lacks; JSON is that already."""
    added = {name: text.encode() for name, text in more.items() if text is not None}
    members_of_it = {
        name: raw
        if raw[:1] in (b"{", b"[") and is_plain(raw)
        else json.dumps(raw.decode()).encode()
        for name, raw in added.items()
    }
    return write_extra((), members_of_it | (members(extra.encode()) if extra else {}))
