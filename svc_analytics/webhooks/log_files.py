"""Files of webhook deliveries: a JSON object in each line, or a list of them; packed, in UTF-16.

Whatever else a file is, it is refused once, and not told as so many malformed deliveries.
"""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Protocol

from svc_analytics.errors import ConfigError
from svc_analytics.formatting.json_values import (
    UNREADABLE,
    begins_document,
    decode_pairs,
    document_values,
    items_of,
    whole_document,
)

LONGEST_LINE = 16 * 1000 * 1000  # holds a body of 10 MB in base64, and the other fields
MOST_OTHERS = 1_000  # lines that are no deliveries, before the first one that is
_ROOM = 1 << 26  # bytes of them
_PIECE = 1 << 16  # to skip the rest of a longer line
_MEMBERS = {"received_at", "body_base64"}
_FORM = "each line is a JSON object with received_at, signature and body_base64"

Entry = tuple[int, bytes | None]  # its first line, and its JSON; None for one that is too long


class _LineSource(Protocol):
    """What lines of bytes are read from."""

    def readline(self, size: int, /) -> bytes: ...


class _Recoded:
    """The lines of a file in UTF-16, in UTF-8."""

    def __init__(self, file: BinaryIO) -> None:
        self._text = io.TextIOWrapper(file, "utf-16", errors="replace", newline="")

    def readline(self, size: int, /) -> bytes:
        return self._text.readline(size).encode()


def read_log(path: str) -> Iterator[Entry]:
    """Yield the entries of a log (`-` is stdin); raise `ConfigError` for a file that is none."""
    name = "stdin" if path == "-" else f"{path!r:.200}"
    try:
        with _opened(path) as file:
            yield from _deliveries(_entries(file, name), name)
    except (EOFError, zlib.error) as error:
        raise ConfigError(f"cannot read {name}: it is torn") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "not a file name"
        raise ConfigError(f"cannot read {name}: {reason:.200}") from error


@contextmanager
def _opened(path: str) -> Iterator[_LineSource]:
    if path == "-":
        yield _unpacked(sys.stdin.buffer)
        return
    with Path(path).open("rb") as file:
        yield _unpacked(file)


def _unpacked(file: BinaryIO) -> _LineSource:
    head = file.peek(4) if isinstance(file, io.BufferedReader) else b""
    if head.startswith(b"\x1f\x8b"):
        return _unpacked(io.BufferedReader(gzip.GzipFile(fileobj=file)))
    return _Recoded(file) if head.startswith((b"\xff\xfe", b"\xfe\xff")) else file


def _deliveries(entries: Iterator[Entry], name: str) -> Iterator[Entry]:
    """Yield entries; refuse a file in which none is a delivery, before any is told."""
    others: list[Entry] = []
    room = _ROOM
    for entry in entries:
        others.append(entry)
        if _is_delivery(entry[1]):
            yield from chain(others, entries)
            return
        room -= len(entry[1] or b"")
        if len(others) > MOST_OTHERS or room < 0:
            break
    if others:
        raise ConfigError(f"{name} is no log of webhook deliveries, of which {_FORM}")


def _is_delivery(entry: bytes | None) -> bool:
    """Tell whether an entry is written as a delivery, perhaps a broken one."""
    try:
        members = decode_pairs((entry or b"").decode())
        return {name for name, _ in members} >= _MEMBERS
    except (*UNREADABLE, TypeError):
        return False


def _entries(file: _LineSource, name: str) -> Iterator[Entry]:
    """Yield the document in each line, or each item of a list over several."""
    lines = _bounded(file)
    number, first = 1, next(lines, b"")
    while first is not None and first and not first.strip():
        number, first = number + 1, next(lines, b"")
    if first and begins_document(first.decode(errors="replace")):
        refusal = ConfigError(f"{name} is one long JSON document: write a log of which {_FORM}")
        texts = (line.decode(errors="replace") for line in chain([first], lines) if line)
        for each, value in document_values(whole_document(texts, refusal), number):
            yield from _items(each, value.encode())
        return
    for each, line in enumerate(chain([first], lines), number):
        if line is None or line.strip():
            yield from _items(each, line)


def _items(number: int, entry: bytes | None) -> Iterator[Entry]:
    """Yield the items of a list, each with its first line; of anything else, itself."""
    if entry is None or not entry.startswith(b"["):
        yield number, entry
        return
    try:
        text, place = entry.decode(), 0
        for item in items_of(text):
            start = text.index(item, place)
            number, place = number + text.count("\n", place, start), start
            yield number, item.encode()
    except UNREADABLE:
        yield number, entry


def _bounded(file: _LineSource) -> Iterator[bytes | None]:
    mark = b"\xef\xbb\xbf"
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n") or len(line) < LONGEST_LINE:
            yield line.removeprefix(mark)
            continue
        yield None
        while line and not line.endswith(b"\n"):
            line = file.readline(_PIECE)
