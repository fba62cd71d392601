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
_DICTIONARY = 2  # a page's kind
_DEEPEST = 16
_LONGEST_NUMBER = 9  # bytes
_LONGEST_HEADER = 1 << 16  # the same, its texts not counted


@dataclass(frozen=True)
class _Page:
    """A page's size, compressed or not, whichever is larger, and how many values it has."""

    size: int
    values: int
    is_dictionary: bool


def rows_at_a_time(file: BinaryIO, chunk: Any, source: str) -> int:
    """Return how many rows of a column chunk may be read at a time.

    That is one, if a few rows may be too large together. Raises `DataError` for a page that
    is too large to hold.
    """
    rows, together = ROWS, deque[_Page]()
    for page in _pages(file, chunk):
        if page.size > LARGEST_PAGE:
            _refuse(page, chunk.path_in_schema, source)
        if page.is_dictionary:
            continue
        together.append(page)
        while sum(one.values for one in together) - together[0].values >= ROWS:
            together.popleft()
        if len(together) > 2 and sum(one.size for one in together) > TOGETHER:
            rows = 1
    return rows


def _refuse(page: _Page, column: str, source: str) -> None:
    held = f"no more than {LARGEST_PAGE >> 20} MiB are held"
    message = f"{source} has a page of {page.size >> 20:,} MiB in column {column:.60}"
    raise DataError(f"{message}; {held}: write it with smaller pages or row groups")


def _pages(file: BinaryIO, chunk: Any) -> Iterator[_Page]:
    """Yield the pages of a column chunk, in order."""
    starts = [chunk.data_page_offset, chunk.dictionary_page_offset or 0]
    place = min((start for start in starts if start > 0), default=0)
    end = place + chunk.total_compressed_size
    while place < end:
        file.seek(place)
        found = _Header(file).fields
        compressed = found.get(_COMPRESSED, -1)
        if compressed < 0:
            raise DataError("a page of a Parquet file does not say its size")
        size = max(compressed, found.get(_UNCOMPRESSED, 0))
        values = found.get(_VALUES, found.get(_VALUES_V2, 0))
        yield _Page(size, values, found.get(_KIND) == _DICTIONARY)
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
