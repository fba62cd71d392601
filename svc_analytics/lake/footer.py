"""A checksum over the part of a Parquet file that has none: its own footer.

Pages carry checksums; the footer, which says what they hold and where they lie, does
not. One flipped bit of its statistics, and a reader passes over rows without a word.
So the JSON that we keep in it holds the SHA-256 of the whole footer, which is taken
with zeros in the checksum's own place.
"""

import json
import os
import re
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Self

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage
from svc_analytics.errors import LakeError
from svc_analytics.lake.control_totals import ControlTotals
from svc_analytics.lake.files import damaged_file
from svc_analytics.lake.layout import FOOTER_KEY, LAYOUT
from svc_analytics.money import format_amount
from svc_analytics.schema import STREAMS

CHECKSUM_BLANK = "0" * 64  # what stands in the JSON until the footer is written
CHECKSUM_KEY = "footer_sha256"
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
        footer = footer[: found.start(1)] + CHECKSUM_BLANK.encode() + footer[found.end(1) :]
    return sha256(footer).hexdigest()


@dataclass(frozen=True)
class PartitionFooter:
    """What a month file says about itself. Instants are UTC microseconds."""

    stream: str
    merchant_id: str
    owns: tuple[int, int]
    coverage: Coverage
    tally: ControlTotals
    quarantined: int
    written_at: int
    tool_version: str
    layout: int = LAYOUT

    def to_json(self) -> str:
        """Write the footer as the JSON kept in the file."""
        spans = [[*span, "complete"] for span in self.coverage.complete]
        spans += [[*span, "provisional"] for span in self.coverage.provisional]
        totals = {
            currency: {name: format_amount(value) for name, value in sums.items()}
            for currency, sums in sorted(self.tally.totals.items())
        }
        document = {
            "layout": self.layout,
            "stream": self.stream,
            "merchant_id": self.merchant_id,
            "owns": self.owns,
            "coverage": sorted(spans),
            "rows": self.tally.rows,
            "ids_digest": f"{self.tally.ids_digest:032x}",
            "totals": totals,
            "quarantined": self.quarantined,
            "written_at": self.written_at,
            "tool_version": self.tool_version,
            "schema": STREAMS[self.stream].schema_digest,
            CHECKSUM_KEY: CHECKSUM_BLANK,
        }
        return json.dumps(document)

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """Read a footer; raise `LakeError` when it was written by a newer tool."""
        document = json.loads(text)
        if document["layout"] > LAYOUT:
            raise LakeError("written by a newer svc-analytics; update this one")
        totals = {
            currency: {name: Decimal(value) for name, value in sums.items()}
            for currency, sums in document["totals"].items()
        }
        by_state = {
            state: tuple((a, b) for a, b, found in document["coverage"] if found == state)
            for state in ("complete", "provisional")
        }
        return cls(
            stream=document["stream"],
            merchant_id=document["merchant_id"],
            owns=tuple(document["owns"]),
            coverage=Coverage(**by_state),
            tally=ControlTotals(document["rows"], int(document["ids_digest"], 16), totals),
            quarantined=document["quarantined"],
            written_at=document["written_at"],
            tool_version=document["tool_version"],
        )


def read_footer(path: Path) -> PartitionFooter:
    """Read a file's footer, or raise `LakeError` naming the file and what to do."""
    try:
        raw = read_signed_footer(path)
        if footer := _signed_footer(raw):
            return footer
        found = pq.read_metadata(pa.BufferReader(raw))
        footer = PartitionFooter.from_json((found.metadata or {})[FOOTER_KEY.encode()])
    except LakeError as error:
        raise LakeError(f"{path}: {error}") from error
    except KeyError as error:
        message = f"{path} is not a month file of ours: move it out of the lake"
        raise LakeError(message) from error
    except (pa.ArrowException, OSError, ValueError, TypeError, ArithmeticError) as error:
        raise damaged_file(path, error) from error
    stream = STREAMS.get(footer.stream)
    if stream and not found.schema.to_arrow_schema().equals(stream.schema):
        # Another tool wrote it anew, in types that may have cost it digits.
        raise damaged_file(path)
    return footer


def _signed_footer(raw: bytes) -> PartitionFooter | None:
    """Read a footer whose checksum holds, without the rest of it; None if it needs a closer look.

    It does where the columns are not today's own.
    """
    text = signed_text(raw)
    if text is None:
        return None
    footer = PartitionFooter.from_json(text)
    stream = STREAMS.get(footer.stream)
    return footer if stream and stream.schema_digest.encode() in text else None
