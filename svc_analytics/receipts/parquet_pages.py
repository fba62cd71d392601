"""The sizes of a Parquet file's pages, read from their headers: no page is decompressed.

A page is decoded whole, and a few kilobytes may unfold to gigabytes, so its size is known
first. Headers are structs of Thrift's compact protocol, of which a few fields are wanted.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from svc_analytics.errors import DataError

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
        if window.is_too_large_with(page):
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

    def is_too_large_with(self, page: _PageExtent) -> bool:
        """Add a page; tell whether several are too large together."""
        if not page.values:
            return False
        self._pages.append(page)
        self._size += page.size
        self._values += page.values
        while self._values - self._pages[0].values >= ROWS:
            oldest = self._pages.popleft()
            self._size -= oldest.size
            self._values -= oldest.values
        return len(self._pages) > 2 and self._size > TOGETHER


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
        self._read_struct(())

    def _read_struct(self, above: tuple[int, ...]) -> None:
        if len(above) > _DEEPEST:
            raise DataError("the header of a Parquet page is nested too deep")
        field = 0
        while (mark := self._byte()) != _STOP:
            step, kind = mark >> 4, mark & 15
            field = field + step if step else self._integer()
            if kind in _INTEGERS:
                self.fields[*above, field] = self._integer()
            elif kind not in _BOOLEANS:  # a field that is one has its value in the mark
                self._skip(kind, (*above, field))

    def _skip(self, kind: int, above: tuple[int, ...]) -> None:
        if kind in (*_BOOLEANS, _BYTE):
            self._byte()
        elif kind in _INTEGERS:
            self._number()
        elif kind in (_DOUBLE, _BINARY):
            self._file.seek(8 if kind == _DOUBLE else self._number(), 1)
        elif kind == _STRUCT:
            self._read_struct(above)
        elif kind in _LISTS:
            self._skip_list(above)
        else:
            raise DataError("the header of a Parquet page is not understood")

    def _skip_list(self, above: tuple[int, ...]) -> None:
        mark = self._byte()
        count = mark >> 4 if mark >> 4 < 15 else self._number()
        for _ in range(count):
            self._skip(mark & 15, (*above, 0))

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
