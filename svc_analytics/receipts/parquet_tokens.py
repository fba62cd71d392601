"""Read receipt tokens from Parquet: a few rows at a time, none longer than a receipt."""

import json
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError, DataError, SvcError
from svc_analytics.formatting.values import value_text
from svc_analytics.receipts import find_tokens
from svc_analytics.receipts.token_texts import OPENING
from svc_analytics.signing.receipt_tokens import MAX_TOKEN_LENGTH

_BUFFER = 1 << 20


def read_parquet(
    file: BinaryIO,
    source: str,
    column: str | None,
    names: tuple[str, ...],
    keep: tuple[str, ...] = (),
) -> Iterator[find_tokens.Row]:
    """Yield the number, the tokens and the kept cells of each row; None where it holds no text.
    Among words, a row without a token is none.

    Without a `column` it is the one of `names`, or the only one of texts. Of a text too long for
    a receipt only the tokens in it are held, or its beginning; cells are whole.
    """
    with _errors_named(source), ExitStack() as closing:
        data = file if file.seekable() else closing.enter_context(_spooled(file))
        with pq.ParquetFile(data) as plain:
            schema = plain.schema_arrow
        name = _column_of(schema, column, source, names)
        texts = _values(data, name, source, _texts)
        cells = (
            _values(data, each, source, _cells) if each in schema.names else repeat(None)
            for each in keep
        )
        opening = list(islice(texts, OPENING))
        is_worded = find_tokens.are_words(opening)
        texts = chain(opening, texts)
        for number, (token, *others) in enumerate(zip(texts, *cells, strict=False), 1):
            is_row = not is_worded or (token and find_tokens.is_like_token(token))
            for each in (find_tokens.tokens_in(token) if token else [token]) if is_row else ():
                yield number, each, tuple(others)


def columns_of(file: BinaryIO, source: str) -> list[str]:
    """Return the names of a Parquet file's columns."""
    with _errors_named(source), pq.ParquetFile(file) as table:
        return list(dict.fromkeys(table.schema_arrow.names))


@contextmanager
def _errors_named(source: str) -> Iterator[None]:
    """Say of any error in the file that it cannot be read."""
    try:
        yield
    except (MemoryError, SvcError):
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{source} is not a Parquet file that can be read") from error


def _spooled(file: BinaryIO) -> BinaryIO:
    """Copy a stream to a temporary file on disk: Parquet is read from its end."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller
    shutil.copyfileobj(file, copy, _BUFFER)
    return copy


def _values(
    data: BinaryIO, name: str, source: str, read: Callable[[pa.Array], list[str | None]]
) -> Iterator[str | None]:
    """Yield a column's values row by row: each column is read in steps of its own."""
    for batch in _batches(data, name, source):
        yield from read(batch.column(0))


def _batches(data: BinaryIO, name: str, source: str) -> Iterator[pa.RecordBatch]:
    options = {"pre_buffer": False, "buffer_size": _BUFFER}
    with pq.ParquetFile(data, **options) as table:
        is_flat = name in {table.schema.column(place).path for place in range(len(table.schema))}
        names = [name] if is_flat else []  # of nested values Arrow numbers none
        with pq.ParquetFile(data, read_dictionary=names, **options) as numbered:
            yield from _groups(table, numbered, name, source, data)


def _groups(
    table: pq.ParquetFile, numbered: pq.ParquetFile, name: str, source: str, data: BinaryIO
) -> Iterator[pa.RecordBatch]:
    """Read a column row group by row group, by numbers where its texts are long."""
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
    if values is None or not pa.types.is_dictionary(values.type):
        return False
    if not (_is_text(values.type) or _is_bytes(values.type)):
        return False
    longest = pc.max(pc.binary_length(values.dictionary)).as_py()
    return (longest or 0) > MAX_TOKEN_LENGTH


def _chunks(group: Any, name: str) -> Iterator[Any]:
    """Yield the chunks of a column, of all its leaves if it is nested."""
    for place in range(group.num_columns):
        chunk = group.column(place)
        if chunk.path_in_schema == name or chunk.path_in_schema.startswith(f"{name}."):
            yield chunk


def _texts(values: pa.Array) -> list[str | None]:
    """Return texts, of long ones the tokens in them, and None for everything else."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _numbered(values, _texts)
    if not _is_bytes(kind) and not _is_text(kind):
        return [None] * len(values)
    return [_short(value.as_py()) for value in values]  # one by one: together they may be large


def _short(value: str | bytes | None) -> str | None:
    """Return a text, of a long one the tokens in it; bytes that are none yield one without any."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if text is None or len(text) <= MAX_TOKEN_LENGTH:
        return text
    return " ".join(find_tokens.every_token(text)) or text[: MAX_TOKEN_LENGTH + 1]


def _cells(values: pa.Array) -> list[str | None]:
    """Return values of any type as texts, digit for digit."""
    if pa.types.is_dictionary(values.type):
        return _numbered(values, _cells)
    return [None if value is None else _cell(value) for value in values.to_pylist()]


def _cell(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=value_text)
    return value_text(value)


def _numbered(values: pa.Array, read: Callable[[pa.Array], list[str | None]]) -> list[str | None]:
    """Return the texts of a dictionary's numbers: each is made once."""
    used = values.indices.unique().drop_null()  # the dictionary is that of all rows
    texts = dict(zip(used.to_pylist(), read(values.dictionary.take(used)), strict=True))
    return [texts.get(place) for place in values.indices.to_pylist()]


def _column_of(schema: pa.Schema, column: str | None, source: str, names: tuple[str, ...]) -> str:
    if column is not None and column in schema.names:
        return find_tokens.require_unique(schema.names, column, source)
    texts = [field.name for field in schema if _is_text(field.type)]
    encoded = [field.name for field in schema if _is_bytes(field.type)]
    named = [name for name in names if name in (*texts, *encoded)] if column is None else []
    find_tokens.require_one(named, source)
    if named or (column is None and len(texts or encoded) == 1):
        return find_tokens.require_unique(schema.names, str((named or texts or encoded)[0]), source)
    wanted = f"no column {column!r}" if column is not None else "no column of receipt tokens"
    raise ConfigError(f"{source} has {wanted}; name one of: {', '.join(schema.names)[:200]}")


def _is_text(kind: pa.DataType) -> bool:
    """Tell whether a column may hold tokens: texts, or a dictionary of texts."""
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def _is_bytes(kind: pa.DataType) -> bool:
    """Tell whether a column holds bytes, which may be those of tokens."""
    if pa.types.is_dictionary(kind):
        return _is_bytes(kind.value_type)
    checks = (
        *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
        pa.types.is_fixed_size_binary,
    )
    return any(check(kind) for check in checks)


# ---------- The sizes of a Parquet file's pages, read from their headers
# No page is decompressed.
#
# A page is decoded whole, and a few kilobytes may unfold to gigabytes, so its size is known
# first. Headers are structs of Thrift's compact protocol, of which a few fields are wanted.


LARGEST_PAGE = 128 * 1024 * 1024  # bytes: DuckDB's pages of ordinary tokens have 80 MB
ROWS = 256  # read at a time, because texts may have any length
TOGETHER = 16 * 1024 * 1024  # bytes of the pages of so many rows, where those are several

_STOP = 0
_BOOLEANS, _BYTE, _DOUBLE, _BINARY, _LISTS, _STRUCT = (1, 2), 3, 7, 8, (9, 10), 12
_INTEGERS = (4, 5, 6)
# Where a page's header has what is wanted: the numbers of the fields.
_KIND, _UNCOMPRESSED, _COMPRESSED, _VALUES, _VALUES_V2 = (1,), (2,), (3,), (5, 1), (8, 1)
_ENCODING, _ENCODING_V2 = (5, 2), (8, 4)
_DICTIONARY = 2  # a page's kind
_LENGTHS_FIRST, _PREFIXES_SHARED = 6, 7  # encodings: DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY
_DEEPEST = 16
_LONGEST_NUMBER = 9  # bytes
_LONGEST_HEADER = 1 << 16  # the same, its texts not counted


@dataclass(frozen=True)
class ReadPlan:
    """How a column chunk can be read: so many rows at a time, its texts by their numbers or not."""

    rows: int
    is_numbered: bool


@dataclass(frozen=True)
class _PageExtent:
    """A page's size, compressed or not, whichever is larger, and how many values it has."""

    size: int
    values: int
    encoding: int
    is_dictionary: bool


def plan_reading(file: BinaryIO, chunk: Any, source: str) -> ReadPlan:
    """Return how a column chunk can be read in little memory.

    That is row by row, if a few rows may be too large together. Raises `DataError` for a page
    that is too large to hold.
    """
    rows, window = ROWS, _Window()
    dictionary, largest = 0, {_LENGTHS_FIRST: 0, _PREFIXES_SHARED: 0}
    for page in _pages(file, chunk):
        if page.size > LARGEST_PAGE:
            _refuse(page, chunk.path_in_schema, source)
        if page.is_dictionary:
            dictionary = max(dictionary, page.size)
            continue
        if page.encoding in largest:
            largest[page.encoding] = max(largest[page.encoding], page.size)
        window.add(page)
        if window.is_too_large:
            rows = 1
    is_numbered = dictionary > 0 and not any(largest.values())  # Arrow numbers no others
    # A text may be as long as its page, and each row that shares it is a copy.
    shared = max(largest[_PREFIXES_SHARED], 0 if is_numbered else dictionary)
    return ReadPlan(max(1, min(rows, TOGETHER // max(shared, 1))), is_numbered)


class _Window:
    """The newest pages of a column chunk, as many as any `ROWS` of its rows may stand on."""

    def __init__(self) -> None:
        self._pages = deque[_PageExtent]()
        self._size = self._values = 0

    @property
    def is_too_large(self) -> bool:
        """Whether several pages are too large together."""
        return len(self._pages) > 2 and self._size > TOGETHER

    def add(self, page: _PageExtent) -> None:
        """Add the next page; the oldest that no such rows stand on leave."""
        if not page.values:
            return
        self._pages.append(page)
        self._size += page.size
        self._values += page.values
        while self._values - self._pages[0].values >= ROWS:
            oldest = self._pages.popleft()
            self._size -= oldest.size
            self._values -= oldest.values


def _refuse(page: _PageExtent, column: str, source: str) -> None:
    held = f"no more than {LARGEST_PAGE >> 20} MiB are held"
    message = f"{source} has a page of {page.size >> 20:,} MiB in column {column:.60}"
    raise DataError(f"{message}; {held}: write it with smaller pages or row groups")


def _pages(file: BinaryIO, chunk: Any) -> Iterator[_PageExtent]:
    """Yield the pages of a column chunk, in order."""
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset or 0]
    place = min((start for start in starts if start > 0), default=0)
    end = place + chunk.total_compressed_size
    while place < end:
        file.seek(place)
        fields = _Header(file).fields
        compressed = fields.get(_COMPRESSED, -1)
        values = fields.get(_VALUES, fields.get(_VALUES_V2, 0))
        if compressed < 0 or values < 0:
            raise DataError("a page of a Parquet file does not say its size")
        size = max(compressed, fields.get(_UNCOMPRESSED, 0))
        encoding = fields.get(_ENCODING, fields.get(_ENCODING_V2, -1))
        yield _PageExtent(size, values, encoding, fields.get(_KIND) == _DICTIONARY)
        place = file.tell() + compressed


class _Header:
    """A page's header: the integers of its struct and of those within, by their fields."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._remaining = _LONGEST_HEADER
        self.fields: dict[tuple[int, ...], int] = {}
        self._read(_STRUCT, ())

    def _read(self, kind: int, field: tuple[int, ...]) -> None:
        """Read a value: note it if it is an integer, and pass over it if it is another."""
        if len(field) > _DEEPEST:
            raise DataError("the header of a Parquet page is nested too deep")
        if kind in _INTEGERS:
            self.fields[field] = self._integer()
        elif kind == _STRUCT:
            self._read_struct(field)
        elif kind in _LISTS:
            mark = self._byte()
            for _ in range(mark >> 4 if mark >> 4 < 15 else self._number()):
                self._read(mark & 15, (*field, 0))
        elif kind in (*_BOOLEANS, _BYTE):
            self._byte()
        elif kind in (_DOUBLE, _BINARY):
            self._file.seek(8 if kind == _DOUBLE else self._number(), 1)
        else:
            raise DataError("the header of a Parquet page is not understood")

    def _read_struct(self, above: tuple[int, ...]) -> None:
        field = 0
        while (mark := self._byte()) != _STOP:
            step, kind = mark >> 4, mark & 15
            field = field + step if step else self._integer()
            if kind not in _BOOLEANS:  # a field that is one has its value in the mark
                self._read(kind, (*above, field))

    def _byte(self) -> int:
        byte = self._file.read(1)
        self._remaining -= 1
        if not byte or self._remaining < 0:
            raise DataError("the header of a Parquet page is cut off, or too long")
        return byte[0]

    def _number(self) -> int:
        value = 0
        for shift in range(0, 7 * _LONGEST_NUMBER, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise DataError("a number in the header of a Parquet page is too long")

    def _integer(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)  # zigzag
