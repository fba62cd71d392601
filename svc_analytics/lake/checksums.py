"""Checksums: every Parquet file of the lake vouches for each byte of itself.

Parquet has checksums of its pages, which DuckDB does not look at, and none of its footer:
one bit flipped there, and a reader skips rows and reports nothing. So JSON in the footer holds
the CRC-32 of all bytes before the footer, and the SHA-256 of the footer, taken with zeros in
its own place. To check a file against them takes less than to query it, so every reader does.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from isal.isal_zlib import crc32

from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file, hash_file
from svc_analytics.lake.layout import ORIGIN, VERDICTS_FOLDER
from svc_analytics.schema import SIDE_STREAMS

# The last of our JSON in a footer, before the file is signed.
BLANK = {"body_crc32": "0" * 8, "footer_sha256": "0" * 64}
DAMAGE = (pa.ArrowException, OSError, ValueError)  # what reading a damaged file ends in

_SIGNATURE = re.compile(
    rb'(?:"body_crc32": "(?P<body>[0-9a-f]{8})", )?"footer_sha256": "(?P<footer>[0-9a-f]{64})"'
)
_LABEL = b'"footer_sha256": "'
_BODY = len(b'"body_crc32": "00000000", ')  # bytes, where it stands before the other
_TRAILER = 8  # bytes after the footer: its length, and the magic
_MAGIC = b"PAR1"
_SIGNED_END = 8192  # bytes: they hold the checksums, and what Parquet writes behind them
_CHUNK = 1 << 20  # bytes
_REMEDIES = {
    VERDICTS_FOLDER: "file.verify_again",
    **dict.fromkeys(SIDE_STREAMS, "file.look_up_again"),
}
_known: set[str] = set()  # digests of files without a signature that this process found whole


def sign(file: BinaryIO) -> None:
    """Write its checksums into a Parquet file that has their `BLANK`, open to read and write."""
    footer = _read_raw_footer(file)
    signature = find_signature(footer)
    if signature is None or signature["body"] is None:
        raise ValueError("the footer has no place for its checksums")
    start = file.seek(0, os.SEEK_END) - len(footer) - _TRAILER
    footer = _put(footer, signature.span("body"), f"{_crc32(file, start):08x}")
    file.seek(start)
    file.write(_put(footer, signature.span("footer"), sha256(footer).hexdigest()))


def find_signature(footer: bytes) -> re.Match[bytes] | None:
    """Find our checksums, the last: column statistics may hold a merchant's text."""
    place = len(footer)
    while (place := footer.rfind(_LABEL, 0, place)) >= 0:
        starts = (max(place - _BODY, 0), place)
        match = next(filter(None, (_SIGNATURE.match(footer, start) for start in starts)), None)
        if match is not None:
            return match
    return None


def read_signed_footer(path: Path) -> bytes:
    """Return a file's footer and trailer; raise `ValueError` when they were altered."""
    with path.open("rb") as file:
        return signed_footer(file)


def signed_footer(file: BinaryIO) -> bytes:
    """Return an open file's footer and trailer; raise `ValueError` when they were altered."""
    footer, _ = _read_footer(file)
    return footer + len(footer).to_bytes(4, "little") + _MAGIC


def read_signature(path: Path) -> str:
    """Identify a version of a file, by its end."""
    with path.open("rb") as file:
        match = _signature_at_end(file)
        return match["footer"].decode() if match else signature_of(signed_footer(file))


def content_digest(path: Path) -> str:
    """Identify what a file holds: by its own checksums if it has both, else by all its bytes."""
    with path.open("rb") as file:
        match = _signature_at_end(file)
    return match["footer"].decode() if match and match["body"] else hash_file(path)


def content_digests(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    """Identify what the files below a folder hold that patterns name, by their paths in it."""
    digests = {}
    for path in sorted(path for each in patterns for path in folder.glob(each)):
        with suppress(FileNotFoundError):
            digests[path.relative_to(folder).as_posix()] = content_digest(path)
    return digests


def _signature_at_end(file: BinaryIO) -> re.Match[bytes] | None:
    file.seek(max(file.seek(0, os.SEEK_END) - _SIGNED_END, 0))
    return find_signature(file.read())


def signature_of(footer: bytes) -> str:
    """Identify a version of a file, by its footer."""
    match = find_signature(footer)  # none in a file of another tool, or of an old version
    return match["footer"].decode() if match else sha256(footer).hexdigest()


def check_signature(path: Path) -> bool:
    """Raise `ValueError` if a byte was altered; tell whether the file vouches for all of them.

    Another tool's file does not, nor one of an earlier version of ours.
    """
    with path.open("rb") as file:
        footer, body = _read_footer(file)
        start = file.seek(0, os.SEEK_END) - len(footer) - _TRAILER
        if hasattr(os, "posix_fadvise"):
            # The system reads ahead then: half the time, over many runs, for what is not in memory.
            with suppress(OSError):  # it is advice: where it is refused, nothing is wrong
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        if body is not None and int(body, 16) != _crc32(file, start):
            raise ValueError("the file is not the one that was written")
    return body is not None


def require_whole(path: Path, name: Path | None = None) -> None:
    """Raise `LakeError`, with this `name`, unless a file is as it was written."""
    try:
        if not check_signature(path):
            _read_pages(path)
    except DAMAGE as error:
        raise damaged(name or path, error) from error


def damaged(path: Path, error: BaseException | None = None) -> LakeError:
    """Return the error for a damaged file of the lake: what it is good for decides the remedy."""
    if path.stem == ORIGIN and path.parent.name != VERDICTS_FOLDER:
        return damaged_file(path, error, "file.make_again")
    is_version = path.parent.parent.name == "changes" and len(path.stem) > len(ORIGIN)
    remedy = _REMEDIES.get(path.parent.name, "file.read_again")
    return damaged_file(path, error, "file.bring_back" if is_version else remedy)


def _read_pages(path: Path) -> None:
    """Check every page of a file without a signature against its checksum, once in a process."""
    digest = hash_file(path)
    if digest in _known:
        return
    with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as pages:
        for group in range(pages.num_row_groups):
            pages.read_row_group(group, use_threads=False)
    _known.add(digest)


def _read_footer(file: BinaryIO) -> tuple[bytes, bytes | None]:
    """Return an unaltered footer, and its checksum of what is before it, if it has one."""
    footer = _read_raw_footer(file)
    match = find_signature(footer)  # none in a file of another tool, or of an old version
    if match is None:
        if any(name.encode() in footer for name in BLANK):
            raise ValueError("the checksums are not the ones that were written")
        return footer, None
    bare = _put(footer, match.span("footer"), BLANK["footer_sha256"])
    if sha256(bare).hexdigest() != match["footer"].decode():
        raise ValueError("the footer is not the one that was written")
    return footer, match["body"]


def _read_raw_footer(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TRAILER, 0))
    trailer = file.read()
    length = int.from_bytes(trailer[:4], "little")
    if trailer[4:] != _MAGIC or length + _TRAILER > size:
        raise ValueError("no Parquet file")
    file.seek(size - length - _TRAILER)
    return file.read(length)


def _crc32(file: BinaryIO, size: int) -> int:
    """Return the CRC-32 of a file's first bytes, reading few at a time."""
    file.seek(0)
    checksum = 0
    while size and (chunk := file.read(min(size, _CHUNK))):
        checksum = crc32(chunk, checksum)
        size -= len(chunk)
    return checksum


def _put(footer: bytes, span: tuple[int, int], text: str) -> bytes:
    return footer[: span[0]] + text.encode() + footer[span[1] :]
