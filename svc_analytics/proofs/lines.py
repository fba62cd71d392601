"""The lines of a statement as leaves of its tree: the exact text of each record of `lines.csv`."""

from __future__ import annotations

import csv
import hmac
import secrets
from binascii import unhexlify
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.formatting.tables import csv_pairs
from svc_analytics.proofs.merkle import HASH, PART, leaf_hash
from svc_analytics.storage import Storage, merge_into

TABLE = "lines"
_NO_TABLE = f"the {TABLE} are no table that close wrote"
_RECORD, _RECEIPT = b"record_id", b"receipt_sha256"
_NO_RECEIPT = bytes(HASH)
_BOM = b"\xef\xbb\xbf"
_GROUP = 20_000  # rows of a Parquet file that are in memory at a time
_CHUNK = 1 << 18  # bytes of a CSV file that are
_LONGEST = 1 << 20  # bytes of a record: a quote that nobody closes shall not take the memory


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its exact text, its number from 1, and what its leaf is made of."""

    number: int
    text: bytes
    receipt: bytes  # the hash of its receipt token, or zeros
    salt: bytes

    @property
    def leaf(self) -> bytes:
        """The hash of its leaf."""
        return leaf_hash(self.salt + self.receipt + self.text)


class LinePart(NamedTuple):
    """Some lines that follow one another: the number of the first, their texts and leaves."""

    first: int
    texts: list[bytes]
    leaves: list[bytes]


class Lines:
    """The lines behind the header of CSV, each with its salt; they are read once."""

    def __init__(self, records: Iterator[bytes], salts: Salts) -> None:
        self.header = next(records, b"").removeprefix(_BOM)
        self.names = cells_of(self.header)
        self._records, self._salts = records, salts
        if not {_RECORD, _RECEIPT} <= {*self.names}:
            raise LakeError(_NO_TABLE)
        self._record, self._receipt = self.names.index(_RECORD), self.names.index(_RECEIPT)
        self._behind = len(self.names) - self._receipt

    def texts(self) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the lines as they fill parts of a tree, each with the number of its first."""
        parts = iter(lambda: [*islice(self._records, PART)], [])
        return zip(count(1, PART), parts, strict=False)

    def parts(self) -> Iterator[LinePart]:
        """Yield the parts with their leaves. Raises `LakeError` where they are no lines."""
        return (self.part(*texts) for texts in self.texts())

    def part(self, first: int, texts: list[bytes]) -> LinePart:
        """Hash the lines of a part."""
        try:
            return LinePart(first, texts, [*self._leaves(first, texts)])
        except (ValueError, LookupError) as error:
            raise LakeError(_NO_TABLE) from error

    def line(self, number: int, text: bytes) -> Line:
        """Make one line of its text."""
        record_id, receipt = self._named(text)
        return Line(number, text, receipt, self._salts.of(record_id, number))

    def _leaves(self, first: int, texts: list[bytes]) -> Iterator[bytes]:
        """Yield the hash of each leaf; all that is done here, is done a million times."""
        named, salt_of = self._named, self._salts.of
        for number, text in enumerate(texts, first):
            record_id, receipt = named(text)
            yield leaf_hash(salt_of(record_id, number) + receipt + text)

    def _named(self, text: bytes) -> tuple[bytes, bytes]:
        """Take the record and the receipt from a text; most have no quoted field."""
        if b'"' in text:
            cells = cells_of(text)
            record_id, token = cells[self._record], cells[self._receipt]
        else:
            record_id = text.split(b",", self._record + 1)[self._record]
            token = text.rsplit(b",", self._behind)[1]
        return record_id, unhexlify(token) or _NO_RECEIPT


def read_lines(folder: Path, manifest: dict[str, Any], salts: Salts) -> Lines:
    """Read a statement's lines as `lines.csv` has them.

    A statement without that file has them in `lines.parquet`, and the texts are made of it.
    """
    return Lines(split_records(_chunks(folder, manifest)), salts)


def _chunks(folder: Path, manifest: dict[str, Any]) -> Iterator[bytes]:
    name = f"{TABLE}.csv"
    if name not in manifest["files"]:
        yield from _texts(folder / f"{TABLE}.parquet")
        return
    with (folder / name).open("rb") as file:
        yield from iter(partial(file.read, _CHUNK), b"")


def split_records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield each record of CSV without its line ending; a quoted field may hold newlines.

    >>> [*split_records([b'a,b\n1,"x', b'\ny"\n2,z'])]
    [b'a,b', b'1,"x\ny"', b'2,z']
    """
    rest = b""
    for chunk in chunks:
        *records, rest = _split(rest + chunk)
        yield from records
        if len(rest) > _LONGEST:
            raise LakeError(f"the {TABLE} have a record that does not end")
    if rest:
        yield rest


def _split(text: bytes) -> list[bytes]:
    """Split at the ends of records; the last of them may not have ended yet."""
    lines = text.split(b"\n")
    if b'"' not in text:
        return lines
    records, begun = list[bytes](), list[bytes]()
    is_open = False
    for line in lines:
        if not begun and b'"' not in line:
            records.append(line)
            continue
        begun.append(line)
        is_open ^= line.count(b'"') % 2 == 1
        if not is_open:
            records.append(b"\n".join(begun))
            begun = []
    return [*records, b"\n".join(begun)] if begun else records


def _texts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as source, pq.ParquetFile(source) as file:
        yield _first_text(file.schema_arrow.empty_table())
        for batch in file.iter_batches(_GROUP):
            _, *parts = (safe for _, safe in csv_pairs(pa.Table.from_batches([batch])))
            yield from map(str.encode, parts)


def _first_text(table: pa.Table) -> bytes:
    return next(csv_pairs(table))[1].encode()


def cells_of(record: bytes) -> list[bytes]:
    """Take a record of CSV apart."""
    if b'"' not in record:
        return record.split(b",")
    try:
        return [cell.encode() for cell in next(csv.reader([record.decode()], strict=True))]
    except (ValueError, csv.Error) as error:
        raise LakeError(_NO_TABLE) from error


# ---------- The secret of a lake, and the salts made of it
# Without its salt, nobody can guess a line.
#
# It is made when the lake first seals a month. Whoever has it can test guesses at lines of which
# only a hash was given away, so it is in every copy of the lake and in no package.


FILE = "secret"
SCHEME = "hmac-sha256/1"
_TAG = b"svc-analytics/salt/1"
_BYTES = 32


def read_secret(lake: Path) -> bytes | None:
    """Read the secret of a lake; None where it has none. Raises `LakeError` for a torn one."""
    try:
        secret = (lake / FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LakeError(f"{lake / FILE} cannot be read: {error.strerror}") from error
    if len(secret) != _BYTES:
        raise LakeError(f"{lake / FILE} is torn: restore it from a copy of the lake")
    return secret


def require_secret(storage: Storage) -> bytes:
    """Read the secret of a lake; where there is none, make one."""
    return read_secret(storage.folder) or merge_into(storage, partial(_make, storage))


def _make(storage: Storage) -> bytes:
    if known := read_secret(storage.folder):
        return known
    secret = secrets.token_bytes(_BYTES)
    with storage.write(storage.folder / FILE) as temporary:
        temporary.touch(mode=0o600)
        temporary.write_bytes(secret)
    return secret


def netstring(content: bytes) -> bytes:
    """Write bytes with their length before them, so that no two lists of them are alike.

    >>> netstring(b"2026-10")
    b'7:2026-10,'
    """
    return b"%d:%b," % (len(content), content)


@dataclass(frozen=True)
class Scope:
    """The statement that a salt is of: a line that is restated has another salt."""

    merchant: str
    calendar: str
    zone: str
    label: str
    version: int

    @classmethod
    def of(cls, manifest: dict[str, Any]) -> Scope:
        """Take the scope from a manifest."""
        names = (manifest[name] for name in ("calendar", "zone", "label", "version"))
        return cls(str(manifest["merchant"].get("id")), *names)


class Salts:
    """The salts of a statement's lines."""

    def __init__(self, secret: bytes, scope: Scope) -> None:
        facts = (scope.merchant, scope.calendar, scope.zone, scope.label, str(scope.version))
        prefix = b"".join(map(netstring, [_TAG, *(fact.encode() for fact in facts)]))
        self._begun = hmac.new(secret, prefix, "sha256")

    def of(self, record_id: bytes, line_number: int) -> bytes:
        """Make the salt of a line, from its record and its number from 1."""
        number = b"%d" % line_number
        mac = self._begun.copy()
        mac.update(b"%d:%b,%d:%b," % (len(record_id), record_id, len(number), number))
        return mac.digest()
