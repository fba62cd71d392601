"""Values of tables as texts, one or a whole column: exact, plain, the same in every form."""

import mmap
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import QueryError
from svc_analytics.money import RATIO_SCALE, format_amount, group_digits


def is_ratio(field: pa.Field) -> bool:
    """Whether a column holds ratios: in our SQL these are decimals of 8 places."""
    return bool(pa.types.is_decimal(field.type) and field.type.scale == RATIO_SCALE)


def is_exact_number(field: pa.Field) -> bool:
    """Whether a column holds decimals or integers."""
    return bool(pa.types.is_decimal(field.type) or pa.types.is_integer(field.type))


def value_text(value: Any, *, is_ratio: bool = False) -> str:
    """Write a value for files: NULL is empty, amounts trimmed, ratios with 8 places.

    >>> value_text(Decimal("1.500000000")), value_text(Decimal("0.01500000"), is_ratio=True)
    ('1.5', '0.01500000')
    """
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return format(value, "f") if is_ratio else format_amount(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def display_text(value: Any, *, is_ratio: bool = False) -> str:
    """Write a value for people: with thousands separators, unknown as a dash."""
    if value is None:
        return "-"
    text = value_text(value, is_ratio=is_ratio)
    is_number = isinstance(value, (Decimal, int)) and not isinstance(value, bool)
    return group_digits(text) if is_number else text


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield a table's rows as Python values; raise `QueryError` for one that Python lacks."""
    for batch in table.to_batches(max_chunksize=BATCH):
        yield from zip(*map(python_values, batch.columns, batch.schema.names), strict=True)


def python_values(column: pa.Array, name: str) -> list[Any]:
    """Return a column's values; raise `QueryError` for one that Python lacks."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError, pa.ArrowException) as error:
        message = f"{name} holds a value that cannot be written ({error}): cast it to varchar"
        raise QueryError(message) from error


# ---------- Columns of tables as texts, a whole column at once
# The same texts as `value_text` writes.
#
# A table of a million rows has some fifty million cells. Arrow writes those of the common types
# without making a Python object of each.


BATCH = 10_000  # rows that are texts at a time
FEW = 20  # decimals that Python writes sooner than Arrow, which takes ten steps
_DAYS = (date.min, date.max)
_INSTANTS = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_BARE = pa.decimal128(38, 0)

Write = Callable[[pa.Array, pa.Field], pa.Array]


def text_columns(table: pa.Table) -> Iterator[list[pa.Array]]:
    """Yield the columns of a table as texts, some rows at a time; NULL is an empty text."""
    for batch in table.to_batches(max_chunksize=BATCH):
        yield [
            pc.fill_null(column_texts(column, field), "")
            for column, field in zip(batch.columns, table.schema, strict=True)
        ]
        drop_pages()


def chunked_texts(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Return a whole column of a table as texts, NULL where it is NULL."""
    return pa.chunked_array([column_texts(each, field) for each in column.chunks], pa.string())


def column_texts(column: pa.Array, field: pa.Field) -> pa.Array:
    """Return a column as texts, NULL where it is NULL.

    >>> amounts = pa.array(["-0.50", None, "12"]).cast(pa.decimal128(38, 18))
    >>> column_texts(amounts, pa.field("net", amounts.type)).to_pylist()
    ['-0.5', None, '12']
    """
    write = _writer(column)
    if write is not None:
        return write(column, field)
    texts = [
        None if value is None else value_text(value, is_ratio=is_ratio(field))
        for value in python_values(column, field.name)
    ]
    return pa.array(texts, pa.string())


def _writer(column: pa.Array) -> Write | None:
    """Return the writer of a column of this type; None where each value is written by itself."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_integer(kind):
        return lambda column, field: column.cast(pa.string())
    if pa.types.is_decimal128(kind) and kind.scale >= 0:
        return _decimals if len(column) > FEW else None
    if pa.types.is_boolean(kind):
        return lambda column, field: pc.if_else(column, "true", "false")
    if pa.types.is_date32(kind) or (pa.types.is_timestamp(kind) and _is_plain(kind)):
        return _instants if _is_of_python(column) else None
    return None


def _is_plain(kind: pa.DataType) -> bool:
    return bool(kind.unit == "us" and kind.tz in (None, "UTC"))


def _is_of_python(column: pa.Array) -> bool:
    """Whether all days or instants of a column lie in the years that Python has."""
    ends = pc.min_max(column)
    if not ends["min"].is_valid:
        return True
    bounds = _DAYS if pa.types.is_date(column.type) else _INSTANTS
    least, most = (pa.scalar(bound, column.type) for bound in bounds)
    return bool(pc.and_(pc.less_equal(least, ends["min"]), pc.less_equal(ends["max"], most)))


def _instants(column: pa.Array, field: pa.Field) -> pa.Array:
    """Write days and instants as ISO 8601, those in UTC with Z; whole seconds have no fraction."""
    texts = column.cast(pa.string())
    if pa.types.is_date(column.type):
        return texts
    return pc.replace_substring(pc.replace_substring(texts, " ", "T"), ".000000", "")


def _decimals(column: pa.Array, field: pa.Field) -> pa.Array:
    """Write decimals as plain digits; all but ratios without zeros at their end."""
    places = column.type.scale
    # The same digits without their point: only these does Arrow never write with an exponent.
    buffers = column.buffers()
    number = pa.Array.from_buffers(_BARE, len(column), buffers, column.null_count, column.offset)
    digits = pc.utf8_lpad(pc.abs(number).cast(pa.string()), places + 1, "0")
    if places:
        whole = pc.utf8_slice_codeunits(digits, 0, -places)
        fraction = pc.utf8_slice_codeunits(digits, -places)
        digits = pc.binary_join_element_wise(whole, fraction, ".")
        if not is_ratio(field):
            digits = pc.utf8_rtrim(pc.utf8_rtrim(digits, "0"), ".")
    sign = pc.if_else(pc.less(number, pa.scalar(0, _BARE)), "-", "")
    return pc.binary_join_element_wise(sign, digits, "")


def changed_where(texts: pa.Array, pattern: str, change: Callable[[str], str]) -> pa.Array:
    """Return texts with those changed that match a pattern of Arrow's."""
    mask = pc.match_substring_regex(texts, pattern)
    if not pc.any(mask).as_py():
        return texts
    changed = [change(text) for text in texts.filter(mask).to_pylist()]
    return pc.replace_with_mask(texts, mask, pa.array(changed, pa.string()))


# ---------- Long tables in files that the process maps, so that they need not fit its memory
# The system reads a page of such a file when something looks at it, and may drop it again.


_mapped: WeakSet[mmap.mmap] = WeakSet()


def map_table(reader: pa.RecordBatchReader, folder: Path) -> pa.Table:
    """Write batches to a file in a folder, one after another, and return them as a table.

    The file has no name: it is gone with the table, or with a process that is killed.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        with pa.ipc.new_stream(file, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
        file.flush()
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _mapped.add(mapped)
    return pa.ipc.open_stream(pa.py_buffer(mapped)).read_all()


def drop_pages() -> None:
    """Let go of what was read of mapped tables so far; what is read again comes from the file.

    The system would do it where memory is short; so the process looks no larger than it is.
    """
    if hasattr(mmap, "MADV_DONTNEED"):  # where there is a call for it
        for mapped in list(_mapped):
            mapped.madvise(mmap.MADV_DONTNEED)
