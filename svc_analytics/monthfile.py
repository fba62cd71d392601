"""One month file: rows sorted by instant and id, and a footer that vouches for them.

The footer is JSON under the Parquet key `svc_analytics`. Rows, coverage and control
totals change in one atomic replacement, so they can never disagree (design 2 and 3).
"""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics import checksums
from svc_analytics.coverage import Coverage
from svc_analytics.errors import LakeError
from svc_analytics.invariants import InOrder, check_tally
from svc_analytics.money import format_amount
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.tally import Tally, count

LAYOUT = 1
FOOTER_KEY = "svc_analytics"
ROW_GROUP = 12_000  # what is in memory at a time while a month is rewritten
_WRITTEN_AT_ONCE = 1 << 20  # bytes
ORIGIN = "0000-00"  # the file without rows: the schema, and the proof of where history starts
_CATEGORIES = ["status", "currency", "kind", "fee_bearer", "extracted_at"]
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)


@dataclass(frozen=True)
class Footer:
    """What a month file says about itself. Instants are UTC microseconds."""

    stream: str
    merchant_id: str
    owns: tuple[int, int]
    coverage: Coverage
    tally: Tally
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
            checksums.NAME: checksums.PLACE,
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
            tally=Tally(document["rows"], int(document["ids_digest"], 16), totals),
            quarantined=document["quarantined"],
            written_at=document["written_at"],
            tool_version=document["tool_version"],
        )


def read_footer(path: Path) -> Footer:
    """Read a file's footer, or raise `LakeError` naming the file and what to do."""
    try:
        raw = checksums.read_signed_footer(path)
        if footer := _signed_footer(raw):
            return footer
        found = pq.read_metadata(pa.BufferReader(raw))
        footer = Footer.from_json((found.metadata or {})[FOOTER_KEY.encode()])
    except LakeError as error:
        raise LakeError(f"{path}: {error}") from error
    except KeyError as error:
        message = f"{path} is not a month file of ours: move it out of the lake"
        raise LakeError(message) from error
    except (pa.ArrowException, OSError, ValueError, TypeError, ArithmeticError) as error:
        raise torn(path, error) from error
    stream = STREAMS.get(footer.stream)
    if stream and not found.schema.to_arrow_schema().equals(stream.schema):
        # Another tool wrote it anew, in types that may have cost it digits.
        raise torn(path)
    return footer


def _signed_footer(raw: bytes) -> Footer | None:
    """Read a footer whose checksum holds, without the rest of it; None if it needs a closer look.

    It does where the columns are not today's own.
    """
    text = checksums.signed_text(raw)
    if text is None:
        return None
    footer = Footer.from_json(text)
    stream = STREAMS.get(footer.stream)
    return footer if stream and stream.schema_digest.encode() in text else None


@cache
def tool_version() -> str:
    """The version of this package, as footers and manifests name it."""
    return version("svc-analytics")


def is_refused(error: BaseException | None) -> bool:
    """Whether the system would not let a file be read, which says nothing about the file."""
    return isinstance(error, OSError) and error.errno in _REFUSALS


def torn(path: Path, error: BaseException | None = None) -> LakeError:
    """Say that a file cannot be trusted, and how to come back from it.

    If the `error` tells that it was not even opened, only that is said: it may be whole.
    """
    if isinstance(error, OSError) and is_refused(error):
        return LakeError(f"{path} cannot be read: {os.strerror(error.errno or 0)}")
    message = f"{path} is torn or altered: move it away and run extract, its month is read anew"
    return LakeError(message)


def read_groups(
    path: Path,
    columns: list[str] | None = None,
    where: Callable[[pa.ChunkedArray], pa.ChunkedArray] | None = None,
) -> Iterator[pa.Table]:
    """Yield a file's row groups in order, every page held against its checksum.

    `where` tells by the ids of a group which rows are wanted; groups without any
    are not read further.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                # Threads of Arrow's own would each keep a heap of what they once held.
                read = partial(file.read_row_group, group, use_threads=False)
                if where is None:
                    yield read(columns=columns)
                    continue
                mask = where(read(columns=["id"])["id"])
                if pc.any(mask).as_py():
                    yield read(columns=columns).filter(mask)
    except (pa.ArrowException, OSError) as error:
        raise torn(path, error) from error


def write_month(
    path: Path,
    stream: Stream,
    tables: Iterable[pa.Table],
    describe: Callable[[Tally], Footer],
    expected: Tally | None = None,
) -> Footer:
    """Replace a month file in one step by these rows, already in order.

    The new file is synced, read back and held against its own footer, and against
    what it is `expected` to hold, before it takes the name; until then, and after any
    failure, the old file stands untouched.
    """
    temporary = path.with_name(f".{path.stem}.writing")
    try:
        footer = _write(temporary, stream, tables, describe)
        _check(temporary, stream, footer, expected)
        os.replace(temporary, path)  # noqa: PTH105  (fault tests count on this one call)
        sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return footer


def _write(
    path: Path,
    stream: Stream,
    tables: Iterable[pa.Table],
    describe: Callable[[Tally], Footer],
) -> Footer:
    tally = Tally()
    names = stream.schema.names
    with (
        path.open("w+b") as file,
        # Each write to a file of Python's waits for the interpreter, which workers hold.
        pa.BufferedOutputStream(pa.PythonFile(file, "w"), _WRITTEN_AT_ONCE) as sink,
        pq.ParquetWriter(
            sink,
            stream.schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=[name for name in _CATEGORIES if name in names],
            write_page_checksum=True,
        ) as writer,
    ):
        for table in _regroup(tables):
            tally += count(stream, table)
            writer.write_table(table, row_group_size=ROW_GROUP)
        footer = describe(tally)
        writer.add_key_value_metadata({FOOTER_KEY: footer.to_json()})
        writer.close()
        sink.detach()
        checksums.sign_footer(file)
        file.flush()
        os.fsync(file.fileno())
    return footer


def _regroup(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut a stream of tables into full row groups, so that rewriting never frays a file."""
    carried: pa.Table | None = None
    for table in tables:
        carried = table if carried is None else pa.concat_tables([carried, table])
        while len(carried) >= ROW_GROUP:
            yield carried.slice(0, ROW_GROUP).combine_chunks()
            carried = carried.slice(ROW_GROUP)
    if carried is not None and len(carried):
        yield carried.combine_chunks()


def _check(path: Path, stream: Stream, footer: Footer, expected: Tally | None) -> None:
    """Read back what was written, and hold it against all that must be true of it."""
    name = f"{stream.name} {path.name.removeprefix('.').partition('.')[0]}"
    columns = ["id", "currency", stream.instant, *stream.money]
    found, order = Tally(), InOrder(name, footer.owns)
    for table in read_groups(path, columns):
        found += count(stream, table)
        order.see(table[stream.instant])
    check_tally(name, "its footer", found, footer.tally)
    if expected is not None:
        check_tally(name, "what it held and what came", found, expected)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, so that a power cut does not take it with all in it."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        with suppress(PermissionError):  # a folder that is not ours to read, nor to sync
            sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system knows how."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
