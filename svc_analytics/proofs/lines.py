"""The lines of a statement as leaves of its tree: the exact text of each record of `lines.csv`."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.formatting.tables import csv_pairs
from svc_analytics.proofs.merkle import HASH, leaf_hash
from svc_analytics.proofs.secret import Salts

TABLE = "lines"
_RECORD, _RECEIPT = b"record_id", b"receipt_sha256"
_NO_RECEIPT = bytes(HASH)
_BOM = b"\xef\xbb\xbf"
_GROUP = 20_000  # rows of a Parquet file that are in memory at a time


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its exact text, its number from 1, and what its leaf is made of."""

    number: int
    text: bytes
    record_id: bytes
    receipt: bytes  # the hash of its receipt token, or zeros
    salt: bytes

    @property
    def leaf(self) -> bytes:
        """The hash of its leaf."""
        return leaf_hash(self.salt + self.receipt + self.text)


def read_lines(folder: Path, manifest: dict[str, Any]) -> Iterator[bytes]:
    """Yield the records of a statement's lines as `lines.csv` has them, the header first.

    A statement without that file has them in `lines.parquet`, and the texts are made of it.
    """
    name = f"{TABLE}.csv"
    if name in manifest["files"]:
        with (folder / name).open("rb") as file:
            yield from split_records(file)
    else:
        yield from split_records(_texts(folder / f"{TABLE}.parquet"))


def header_text(folder: Path, manifest: dict[str, Any]) -> bytes:
    """Read the headings of a statement's lines as `lines.csv` has them."""
    return next(read_lines(folder, manifest), b"").removeprefix(_BOM)


def split_records(lines: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield each record of CSV without its line ending; a quoted field may hold newlines.

    >>> [*split_records([b'a,b\n', b'1,"x\n', b'y"\n'])]
    [b'a,b', b'1,"x\ny"']
    """
    begun = b""
    for line in lines:
        begun = begun + line if begun else line
        if begun.count(b'"') % 2 == 0:
            yield begun.removesuffix(b"\n")
            begun = b""
    if begun:
        yield begun


def _texts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as source, pq.ParquetFile(source) as file:
        tables = (pa.Table.from_batches([each]) for each in file.iter_batches(_GROUP))
        yield _first_text(file.schema_arrow.empty_table())
        for table in tables:
            _, *parts = (safe for _, safe in csv_pairs(table))
            for text in parts:
                yield from (f"{line}\n".encode() for line in text.removesuffix("\n").split("\n"))


def _first_text(table: pa.Table) -> bytes:
    return next(csv_pairs(table))[1].encode()


def leaves_of(records: Iterator[bytes], salts: Salts) -> Iterator[Line]:
    """Yield the lines behind the header of CSV, each with its salt."""
    try:
        places = _cells(next(records, b"").removeprefix(_BOM))
        record, receipt = places.index(_RECORD), places.index(_RECEIPT)
        for number, text in enumerate(records, start=1):
            cells = _cells(text)
            record_id, token = cells[record], bytes.fromhex(cells[receipt].decode()) or _NO_RECEIPT
            yield Line(number, text, record_id, token, salts.of(record_id, number))
    except (ValueError, LookupError, csv.Error) as error:
        raise LakeError(f"the {TABLE} are no table that close wrote") from error


def _cells(record: bytes) -> list[bytes]:
    """Take a record of CSV apart; most have no quoted field."""
    if b'"' not in record:
        return record.split(b",")
    return [cell.encode() for cell in next(csv.reader([record.decode()], strict=True))]
