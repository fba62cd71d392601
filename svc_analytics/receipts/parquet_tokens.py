"""Read receipt tokens from Parquet: a few rows at a time, none longer than a receipt."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError, DataError, SvcError
from svc_analytics.receipts.parquet_pages import ROWS, plan_reading
from svc_analytics.signing.token_form import MAX_TOKEN_LENGTH

_BUFFER = 1 << 20


def read_parquet(
    file: BinaryIO, source: str, column: str | None, names: tuple[str, ...]
) -> Iterator[tuple[int, str | None]]:
    """Yield the number and the token of each row; None where it holds no text.

    Without a `column` it is the one of `names`, or the only one of texts. A token too long
    for a receipt is cut just beyond that length.
    """
    number = 0
    try:
        with ExitStack() as closing:
            data = file if file.seekable() else closing.enter_context(_spooled(file))
            with pq.ParquetFile(data) as plain:
                name = _column_of(plain.schema_arrow, column, source, names)
            for batch in _batches(data, name, source):
                for token in _texts(batch.column(0)):
                    number += 1
                    yield number, token
    except (MemoryError, SvcError):
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{source} is not a Parquet file that can be read") from error


def _spooled(file: BinaryIO) -> BinaryIO:
    """Copy a stream to a temporary file on disk: Parquet is read from its end."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    shutil.copyfileobj(file, copy, _BUFFER)
    return copy


def _batches(data: BinaryIO, name: str, source: str) -> Iterator[pa.RecordBatch]:
    options = {"pre_buffer": False, "buffer_size": _BUFFER}
    with (
        pq.ParquetFile(data, **options) as table,
        pq.ParquetFile(data, read_dictionary=[name], **options) as numbered,
    ):
        for group in range(table.num_row_groups):
            chunks = list(_chunks(table.metadata.row_group(group), name))
            plans = [plan_reading(data, chunk, source) for chunk in chunks]
            rows = min((plan.rows for plan in plans), default=ROWS)
            # Numbered texts are read as numbers only if they are long: it takes longer.
            is_numbered = all(plan.is_numbered for plan in plans)
            is_long = is_numbered and _is_long(_read(numbered, group, name, 1))
            yield from _read(numbered if is_long else table, group, name, rows)


def _read(table: pq.ParquetFile, group: int, name: str, rows: int) -> Iterator[pa.RecordBatch]:
    options = {"row_groups": [group], "columns": [name], "use_threads": False}
    batches: Iterator[pa.RecordBatch] = table.iter_batches(rows, **options)
    return batches


def _is_long(batches: Iterator[pa.RecordBatch]) -> bool:
    """Tell whether a row group's dictionary has a text longer than a receipt can be.

    One such text may stand in a million rows.
    """
    values = next((batch.column(0) for batch in batches), None)
    if values is None or not pa.types.is_dictionary(values.type) or not _is_text(values.type):
        return False
    return _longest(values.dictionary) > MAX_TOKEN_LENGTH


def _longest(texts: pa.Array) -> int:
    return pc.max(pc.binary_length(texts)).as_py() or 0


def _chunks(group: Any, name: str) -> Iterator[Any]:
    """Yield the chunks of a column, of all its leaves if it is nested."""
    for place in range(group.num_columns):
        chunk = group.column(place)
        if chunk.path_in_schema == name or chunk.path_in_schema.startswith(f"{name}."):
            yield chunk


def _texts(values: pa.Array) -> list[str | None]:
    """Return texts, cut where they are too long, and None for everything else."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        used = values.indices.unique().drop_null()  # the dictionary is that of all rows
        texts = dict(zip(used.to_pylist(), _texts(values.dictionary.take(used)), strict=True))
        return [texts.get(place) for place in values.indices.to_pylist()]
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return [None] * len(values)
    if _longest(values) > MAX_TOKEN_LENGTH:
        values = pc.utf8_slice_codeunits(values, 0, MAX_TOKEN_LENGTH + 1)
    texts = values.to_pylist()
    return list(texts)


def _column_of(schema: pa.Schema, column: str | None, source: str, names: tuple[str, ...]) -> str:
    if column is not None and column in schema.names:
        return column
    texts = [field.name for field in schema if _is_text(field.type)]
    named = [name for name in names if name in texts] if column is None else []
    if named or (column is None and len(texts) == 1):
        return str((named or texts)[0])
    wanted = f"no column {column!r}" if column is not None else "no column of receipt tokens"
    raise ConfigError(f"{source} has {wanted}; name one of: {', '.join(schema.names)[:200]}")


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether a column may hold tokens: texts, or a dictionary of texts."""
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
