"""A checksum over the part of a Parquet file that has none: its own footer.

Pages carry checksums; the footer, which says what they hold and where they lie, does
not. One flipped bit of its statistics, and a reader passes over rows without a word.
So the JSON that we keep in it holds the SHA-256 of the whole footer, which is taken
with zeros in the checksum's own place.
"""

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

PLACE = "0" * 64  # what stands in the JSON until the footer is written
NAME = "footer_sha256"
_MARK = re.compile(rb'"footer_sha256": "([0-9a-f]{64})"')
_BEGINNING = b'{"layout": '  # of the JSON; within its texts every quote has a backslash before it
_END = 8  # bytes behind the footer: its length, and the magic
_MAGIC = b"PAR1"
_USUAL = 64 * 1024  # bytes: nearly every footer fits


def sign_footer(file: BinaryIO) -> None:
    """Put the checksum into the footer of a finished file, open for reading and writing."""
    footer = _read_footer(file)
    found = _find_mark(footer)
    if found is None:
        raise ValueError("the footer has no place for its checksum")
    file.seek(found.start(1) - len(footer) - _END, os.SEEK_END)
    file.write(_digest(footer).encode())


def read_signed_footer(path: Path) -> bytes:
    """Return a file's footer with all that stands behind it, as a Parquet reader wants it.

    Raises `ValueError` when it is not what was written. A file without a checksum is
    taken as it is: it comes from another tool, or from before there were any.
    """
    with path.open("rb") as file:
        footer = _read_footer(file)
    found = _find_mark(footer)
    if found and found[1].decode() != _digest(footer):
        raise ValueError("the footer is not the one that was written")
    return footer + len(footer).to_bytes(4, "little") + _MAGIC


def signed_text(footer: bytes) -> bytes | None:
    """Return the JSON that the checksum stands in, without a look at the rest of the footer."""
    found = _find_mark(footer)
    begins_at = footer.rfind(_BEGINNING, 0, found.start()) if found else -1
    return footer[begins_at : found.end() + 1] if found and begins_at >= 0 else None


def _find_mark(footer: bytes) -> re.Match[bytes] | None:
    """Find the checksum's place: the last one, for columns' statistics hold texts of others."""
    return max(_MARK.finditer(footer), key=re.Match.start, default=None)


def _read_footer(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _USUAL, 0))
    tail = file.read()
    length = int.from_bytes(tail[-_END:-4], "little")
    if tail[-4:] != _MAGIC or length + _END > size:
        raise ValueError("no Parquet file")
    if length + _END > len(tail):
        file.seek(size - length - _END)
        tail = file.read()
    return tail[-length - _END : -_END]


def _digest(footer: bytes) -> str:
    if found := _find_mark(footer):
        footer = footer[: found.start(1)] + PLACE.encode() + footer[found.end(1) :]
    return sha256(footer).hexdigest()
