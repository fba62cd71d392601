"""Read receipt tokens from files: CSV, Parquet, JSON, NDJSON, plain text, or stdin.

The length of a line is limited, and wrong encodings are tolerated. Other columns of a file
can be read beside its tokens, to be kept in the answer.
"""

import errno
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

from svc_analytics.errors import ConfigError
from svc_analytics.receipts.find_tokens import NAMES, Cells, Row, holds_none, is_like_token
from svc_analytics.receipts.token_texts import LONGEST_LINE, TokenFormat, form_of
from svc_analytics.records.raw_json import LONGEST_DOCUMENT, begins_json

BATCH = 50_000
# Files that people take for a table, by how they begin.
_OTHER_FILES = {
    b"PK\x03\x04": "an Excel or ZIP file: save it as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as CSV",
    b"%PDF": "a PDF: copy the tokens into a text file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x1f\x8b": "a gzip file: unpack it",
}
BATCH_TEXT = 1 << 25  # characters in a batch: 50,000 tokens of ordinary length have fewer


@dataclass(frozen=True)
class Batch:
    """Some rows of one source, in order, with the cells of columns to keep."""

    source: str
    lines: list[int]
    tokens: list[str | None]
    cells: Sequence[Cells] = ()


@dataclass(frozen=True)
class TokenFile:
    """A file of tokens: where it is, what a person calls it, and its suffix."""

    path: str
    name: str
    suffix: str


def source_of(path: str) -> TokenFile:
    """Return the source that a path names; `-` is stdin."""
    # A file name need not be valid text; and "-" would begin a formula in a cell.
    name = "stdin" if path == "-" else path.encode("utf-8", "replace").decode()
    return TokenFile(path, name, Path(path).suffix.lower())


def require_files(paths: Iterable[str]) -> None:
    """Raise `ConfigError` for a file that is not there."""
    for path in paths:
        if path != "-" and not os.path.lexists(path):
            raise ConfigError(f"cannot read {path!r:.200}: {os.strerror(errno.ENOENT)}")


@contextmanager
def rereadable(paths: Iterable[str]) -> Iterator[list[TokenFile]]:
    """Return sources that can be read twice, as keeping columns needs: pipes wait on disk."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, source in enumerate(map(source_of, paths)):
            if source.path != "-" and Path(source.path).is_file():
                files.append(source)
                continue
            copy = Path(folder, str(number))
            with _opened(source.path) as file, copy.open("wb") as target:
                shutil.copyfileobj(file, target)
            files.append(TokenFile(str(copy), source.name, source.suffix))
        yield files


def read_sources(
    sources: Iterable[TokenFile | str], column: str | None = None, keep: tuple[str, ...] = ()
) -> Iterator[Batch]:
    """Yield batches of tokens from sources or paths in order, with the columns to `keep`.

    Without a `column` the column of tokens is detected. Raises `ConfigError` for a file
    or a column that cannot be found.
    """
    for each in sources:
        source = source_of(each) if isinstance(each, str) else each
        with _opened(source.path) as file:
            rows = _rows_of(file, source, column, keep)
            for batch in _batches(rows, source.name, column):
                lines, tokens, cells = zip(*batch, strict=True)
                yield Batch(source.name, list(lines), list(tokens), cells if keep else ())


def read_columns(source: TokenFile, column: str | None = None) -> list[str]:
    """Return the names of a source's columns."""
    with _opened(source.path) as file:
        if _is_parquet(file, source):
            from svc_analytics.receipts.parquet_tokens import columns_of

            return columns_of(file, source.name)
        form, lines = _lines_of(file, source, column)
        return form.columns(lines, source.name, column)


def _batches(rows: Iterator[Row], name: str, column: str | None) -> Iterator[list[Row]]:
    """Yield rows in batches; refuse a file without a token, or with none in its first 50,000 rows.

    In a column that was named they may come later.
    """
    first, second = _next_batch(rows), _next_batch(rows)
    is_enough = not second or (len(first) == BATCH and column is None)
    if first and is_enough and not any(is_like_token(row[1]) for row in first):
        raise holds_none(name, f" in column {column!r}" if column else "")
    yield from filter(None, (first, second))
    while batch := _next_batch(rows):
        yield batch


def _next_batch(rows: Iterator[Row]) -> list[Row]:
    """Take the rows of one batch: fewer where they are long, to limit memory."""
    batch, room = [], BATCH_TEXT
    for row in islice(rows, BATCH):
        batch.append(row)
        room -= len(row[1] or "")
        for cell in row[2]:
            room -= len(cell or "")
        if room <= 0:
            break
    return batch


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below; only errors of opening are ours
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise ConfigError(f"cannot read {path!r:.200}: {reason}") from error
    with file:
        yield file


def _rows_of(
    file: BinaryIO, source: TokenFile, column: str | None, keep: tuple[str, ...]
) -> Iterator[Row]:
    if _is_parquet(file, source):
        from svc_analytics.receipts.parquet_tokens import read_parquet  # saves start-up time

        return read_parquet(file, source.name, column, NAMES, keep)
    form, lines = _lines_of(file, source, column)
    return form.rows(lines, source.name, column, keep)


def _is_parquet(file: BinaryIO, source: TokenFile) -> bool:
    return source.suffix in (".parquet", ".pq") or _head(file).startswith(b"PAR1")


def _head(file: BinaryIO) -> bytes:
    return file.peek(64) if isinstance(file, io.BufferedReader) else b""


def _lines_of(
    file: BinaryIO, source: TokenFile, column: str | None
) -> tuple[TokenFormat, Iterator[str]]:
    """Return the form of a text file and its lines."""
    head = _head(file)
    if kind := next((kind for magic, kind in _OTHER_FILES.items() if head.startswith(magic)), None):
        raise holds_none(source.name, f" that can be read; it is {kind}")
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    # What ends within a line that is cut is no JSON: a document may be one line.
    is_json = begins_json(head.decode(encoding, "ignore"))
    lines = _bounded(file, encoding, LONGEST_DOCUMENT if is_json else LONGEST_LINE)
    opening = list(islice(lines, 2))
    if not opening:
        raise holds_none(source.name, "; it is empty")
    return form_of(source.suffix, opening, column), chain(opening, lines)


def _bounded(file: BinaryIO, encoding: str, longest: int) -> Iterator[str]:
    """Yield lines, cutting those that are longer than the longest one."""
    text = io.TextIOWrapper(file, encoding, errors="replace")
    try:
        while line := text.readline(longest):
            yield line
            while not line.endswith("\n") and len(line) == longest:
                line = text.readline(longest)
    finally:
        with suppress(ValueError):  # whoever opened it has already closed it
            text.detach()
