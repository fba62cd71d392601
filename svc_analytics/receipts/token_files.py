"""Read receipt tokens from files: CSV, Parquet, NDJSON, plain text, or stdin.

Files may be broken or hostile: the length of a line is limited, wrong encodings are
tolerated, and a row that cannot be read has no token but never ends the run.
"""

import csv
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qs, urlsplit

import msgspec

from svc_analytics.errors import ConfigError

BATCH = 50_000
BATCH_TEXT = 1 << 25  # characters in a batch: 50,000 tokens of ordinary length have fewer
LONGEST_LINE = 1 << 20
MOST_LINES_OF_A_ROW = 50  # a quote that never closes must not swallow the rest of a file
OPENING = 100  # records of a CSV file in which the column of tokens is looked for
OPENING_TEXT = 1 << 22  # characters and cells of them, at most
NAMES = ("receipt", "receipt_token", "token")

_TOKEN = re.compile(r"v1\.[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]+")
_LOOSE = re.compile(rf"(?<![\w.=-]){_TOKEN.pattern}(?![\w=-]|\.[\w-])", re.ASCII)

Row = tuple[int, str | None]  # line number from 1, and the token if there is one


@dataclass(frozen=True)
class Batch:
    """Some rows of one source, in order."""

    source: str
    lines: list[int]
    tokens: list[str | None]


def read_sources(paths: Iterable[str], column: str | None = None) -> Iterator[Batch]:
    """Yield batches of tokens from files in order; `-` is stdin.

    Without a `column` the column of tokens is detected. Raises `ConfigError` for a file
    or a column that cannot be found.
    """
    for path in paths:
        # A file name need not be valid text; and "-" would begin a formula in a cell.
        source = "stdin" if path == "-" else path.encode("utf-8", "replace").decode()
        with _opened(path) as file:
            rows = _rows_of(file, Path(path).suffix.lower(), source, column)
            while batch := _next_batch(rows):
                lines, tokens = zip(*batch, strict=True)
                yield Batch(source, list(lines), list(tokens))


def _next_batch(rows: Iterator[Row]) -> list[Row]:
    """Take the rows of one batch: fewer where they are long, to limit memory."""
    batch, room = [], BATCH_TEXT
    for row in islice(rows, BATCH):
        batch.append(row)
        room -= len(row[1] or "")
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


def _rows_of(file: BinaryIO, suffix: str, source: str, column: str | None) -> Iterator[Row]:
    head = file.peek(4) if isinstance(file, io.BufferedReader) else b""
    if suffix in (".parquet", ".pq") or head.startswith(b"PAR1"):
        from svc_analytics.receipts.parquet_tokens import read_parquet  # saves start-up time

        return read_parquet(file, source, column, NAMES)
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff"))  # how Excel writes "Unicode text"
    lines = _bounded(file, "utf-16" if is_utf16 else "utf-8-sig")
    first = next(lines, "")
    lines = chain([first], lines) if first else lines
    form = _FORMS.get(suffix) or _guess(first, column)
    return form(lines, source, column)


def _bounded(file: BinaryIO, encoding: str) -> Iterator[str]:
    """Yield lines, cutting those that are longer than `LONGEST_LINE`."""
    text = io.TextIOWrapper(file, encoding, errors="replace")
    try:
        while line := text.readline(LONGEST_LINE):
            yield line
            while not line.endswith("\n") and len(line) == LONGEST_LINE:
                line = text.readline(LONGEST_LINE)
    finally:
        with suppress(ValueError):  # whoever opened it has already closed it
            text.detach()


def _guess(first: str, column: str | None) -> Callable[..., Iterator[Row]]:
    text = first.strip()
    if text.startswith(("{", '"v1.')):
        return _ndjson
    is_header = bool({cell.strip(' "').lower() for cell in re.split("[,;\t]", text)} & {*NAMES})
    has_cells = bool(re.search("[,;\t]", text)) and not _LOOSE.search(text)
    return _csv if column or is_header or has_cells else _text


# ---------- text and NDJSON


def _text(lines: Iterator[str], source: str, column: str | None) -> Iterator[Row]:
    """Read tokens that stand alone on a line, in a link, or among words."""
    for number, line in enumerate(lines, 1):
        text = line.strip(" \t\r\n")
        if text:
            yield from ((number, token) for token in _tokens_in(text))


def _tokens_in(text: str) -> list[str]:
    if "receipt=" in text:
        return [_token_in_link(text)]
    tokens = _LOOSE.findall(text) if re.search(r"\s", text) else []
    return tokens or [text]


def _token_in_link(text: str) -> str:
    try:
        values = parse_qs(urlsplit(text).query, max_num_fields=50).get("receipt")
    except ValueError:
        values = None
    return values[0] if values else next(iter(_LOOSE.findall(text)), text)


def _ndjson(lines: Iterator[str], source: str, column: str | None) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, _token_in_json(line, column)


def _token_in_json(line: str, column: str | None) -> str | None:
    try:
        value: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if isinstance(value, dict):
        names = [column] if column else [name for name in NAMES if name in value]
        texts = (text for text in value.values() if isinstance(text, str))
        first = (text for text in texts if text.startswith("v1."))
        value = value.get(names[0]) if names else next(first, None)
    return value if isinstance(value, str) else None


# ---------- CSV


def _csv(lines: Iterator[str], source: str, column: str | None) -> Iterator[Row]:
    records = _csv_records(lines)
    opening = list(_opening(records))
    if not opening:
        return
    place, is_headed = _place_in_csv([cells for _, cells in opening], column, source)
    for number, cells in chain(opening[1 if is_headed else 0 :], records):
        if any(cells):
            yield number, (cells[place].strip() or None) if place < len(cells) else None


def _opening(records: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Take the first records: fewer where they are long, to limit memory."""
    room = OPENING_TEXT
    for number, cells in islice(records, OPENING):
        yield number, cells
        room -= len(cells) + sum(map(len, cells))
        if room <= 0:
            return


def _csv_records(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each CSV record with the number of its first line."""
    numbered = enumerate(lines, 1)
    first = next(numbered, None)
    if first is None:
        return
    separator = max(",;\t", key=first[1].count)
    for number, line in chain([first], numbered):
        if '"' in line:
            following = (text for _, text in islice(numbered, MOST_LINES_OF_A_ROW - 1))
            lines = _short_enough(chain([line], following))
            yield from _quoted_records(number, lines, separator)
        else:
            yield number, line.rstrip("\r\n").split(separator)


def _short_enough(lines: Iterator[str]) -> Iterator[str]:
    """Yield lines until they are as long together as one may be."""
    room = LONGEST_LINE
    for line in lines:
        yield line
        room -= len(line)
        if room <= 0:
            return


def _quoted_records(
    number: int, lines: Iterator[str], separator: str
) -> Iterator[tuple[int, list[str]]]:
    """Read one record that has quotes; if one never closes, each line as a record."""
    taken: list[str] = []

    def take() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    try:
        yield number, next(csv.reader(take(), delimiter=separator, strict=True), [])
    except csv.Error:
        for place, line in enumerate(taken, number):
            yield place, [cell.strip(' "\r\n') for cell in line.split(separator)]


def _place_in_csv(opening: list[list[str]], column: str | None, source: str) -> tuple[int, bool]:
    """Return which cell holds the token, and whether the first row is a header."""
    header = [cell.strip().lower() for cell in opening[0]]
    if column is not None:
        if column.lower() not in header:
            shown = ", ".join(header[:10])[:200]
            raise ConfigError(f"{source} has no column {column!r}; its first line has: {shown}")
        return header.index(column.lower()), True
    for name in NAMES:
        if name in header:
            return header.index(name), True
    for cells in opening:
        for place, cell in enumerate(cells):
            if _TOKEN.match(cell.strip()):
                first = opening[0][place].strip() if place < len(header) else ""
                return place, not _TOKEN.match(first)
    raise ConfigError(f"no column of {source} holds receipt tokens: name it with --column")


_FORMS: dict[str, Callable[..., Iterator[Row]]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".ndjson": _ndjson,
    ".jsonl": _ndjson,
    ".txt": _text,
    ".log": _text,
}
