"""Parents: the payments that payout records name, kept so that nobody looks for them again.

For each file of payout records there is one of their parents, and one for the rejected payout
records: a row for each record whose payment is in the lake, with what follows from the two. The
writer keeps them at the end of a run. A reader takes those that are true of its snapshot and
makes the others there: it always sees the true ones.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.files import UNREADABLE, make_folder, write_json
from svc_analytics.lake.checksums import DAMAGE, check_signature, read_signature
from svc_analytics.lake.derived import with_returned
from svc_analytics.lake.index.month_index import MonthIndex, SoughtTexts, open_groups
from svc_analytics.lake.lake import Lake, digest_of, link_file
from svc_analytics.lake.layout import ORIGIN, PARENTS_FOLDER, quarantine_path
from svc_analytics.lake.side_files import read_side_file, replace_file
from svc_analytics.schema import MONEY, PAYMENTS, PAYOUT_RECORDS
from svc_analytics.storage import Storage

_SOURCES = "sources.json"
PIECE = 50_000  # payout records whose payments are looked for together, and held in memory
REJECTED = "rejected"  # in place of a month: the payout records that could not be held

_FORM = 3  # of the kept files; before, they had no row for each payout record


@dataclass(frozen=True)
class ParentFile:
    """Of one file of payout records: the version that its parents are of, and where they lie."""

    of: str
    homes: list[str]  # the months of payments that hold them
    has_missing: bool  # whether some were not found
    signature: str  # of the file that keeps them; empty where there is none to keep


@dataclass(frozen=True)
class ParentSources:
    """The versions of all files of payments, and what was found in them."""

    payments: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, ParentFile] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what is noted; nothing where it cannot be read, was altered, or has another form."""
        with suppress(*UNREADABLE):
            document: dict[str, Any] = json.loads(path.read_bytes())
            if document.pop("sha256") == digest_of(document) and document["form"] == _FORM:
                files = {label: ParentFile(**of) for label, of in document["files"].items()}
                return cls(document["payments"], files)
        return cls()

    def write(self, storage: Storage, path: Path) -> None:
        """Note it, with a hash by which it vouches for itself."""
        document = {"form": _FORM, **asdict(self)}
        write_json(storage.write(path), document | {"sha256": digest_of(document)})

    def is_true(self, label: str, of: str, payments: Mapping[str, str]) -> bool:
        """Tell whether a file's parents are those of this version of it, and of the payments."""
        file = self.files.get(label)
        if file is None or file.of != of:
            return False
        if file.has_missing:  # they may be in any file that changed
            return payments == self.payments
        return all(payments.get(home) == self.payments[home] for home in file.homes)


def refresh_parents(lake: Lake) -> None:
    """Bring the kept parents up to the month files; only what became untrue is made again.

    A failure stops no run: readers make for themselves what is not kept, and name what is
    damaged.
    """
    with suppress(OSError, LakeError):
        parents = Parents(lake)
        make_folder(parents.folder)
        files = {label: parents.keep(label) for label in parents.named_in}
        if not parents.path(ORIGIN).exists():
            replace_file(lake.storage.write(parents.path(ORIGIN)), PARENTS)
        sources = ParentSources(parents.payments, files)
        if sources != parents.sources:
            sources.write(lake.storage, parents.folder / _SOURCES)


def parents_in(lake: Lake, folder: Path, labels: Iterable[str] | None = None) -> Path:
    """Put the parents of payout records into a snapshot's folder; return where they are.

    `labels` are the months of the payout records, by default all, those rejected included.
    They are true of the month files that the snapshot has, and of the lake's where it has none.
    """
    parents, target = Parents(lake, folder), folder / PARENTS_FOLDER.removeprefix(".")
    target.mkdir()
    pq.write_table(PARENTS.empty_table(), target / f"{ORIGIN}.pq")  # there is always a file
    for label in parents.named_in if labels is None else [*labels, REJECTED]:
        if label in parents.named_in:
            parents.give(label, target / f"{label}.pq")
    return target


@dataclass
class _Found:
    """The homes of a file's parents, as far as they are found."""

    homes: set[str] = field(default_factory=set)  # the months of payments that hold them
    has_missing: bool = False  # whether some were not found


class _Named(msgspec.Struct):
    """The payment that a rejected record names, whatever it says."""

    payment_id: object = None


class Parents:
    """The parents of a lake's payout records, as kept and as they are to be.

    A writer has no `snapshot`, and the lake to itself.
    """

    def __init__(self, lake: Lake, snapshot: Path | None = None) -> None:
        self._storage = lake.storage
        self.folder = lake.path / PARENTS_FOLDER
        self.sources = ParentSources.read(self.folder / _SOURCES)
        self._payments = MonthIndex(lake, PAYMENTS, snapshot, keeps=snapshot is None)
        self._payouts = MonthIndex(lake, PAYOUT_RECORDS, snapshot)
        self._rejected = _rejected_file(lake, snapshot)
        self.payments = {label: self._payments.version(label) for label in lake.months(PAYMENTS)}
        labels = lake.months(PAYOUT_RECORDS)
        # The versions of the files that name them.
        self.named_in = {label: self._payouts.version(label) for label in labels}
        if self._rejected.exists():
            self.named_in[REJECTED] = _version(self._rejected)

    def path(self, label: str) -> Path:
        """Return where a file's parents are kept."""
        return self.folder / f"{label}.parquet"

    def keep(self, label: str) -> ParentFile:
        """Keep a file's parents; return what is to be noted of them."""
        path, counts, noted = self.path(label), _Found(), self._noted(label)
        if noted and (not noted.signature or _version(path) == noted.signature):
            return noted
        pieces = self._make(label, counts)
        first = next(pieces, None)
        if first is None:
            path.unlink(missing_ok=True)
        else:
            replace_file(self._storage.write(path), PARENTS, chain([first], pieces))
        signature = read_signature(path) if first is not None else ""
        return ParentFile(self.named_in[label], sorted(counts.homes), counts.has_missing, signature)

    def give(self, label: str, target: Path) -> None:
        """Put a file's parents there: the kept ones if they are true, else made now."""
        noted = self._noted(label)
        if not (noted and self._link(label, noted.signature, target)):
            with pq.ParquetWriter(target, PARENTS) as writer:
                for rows in self._make(label, _Found()):
                    writer.write_table(rows)

    def columns(self, label: str, names: list[str]) -> pa.Table:
        """Return columns of a file's parents; of the kept ones nothing else is read."""
        if label not in self.named_in:
            return PARENTS.empty_table().select(names)
        if noted := self._noted(label):
            if not noted.signature:
                return PARENTS.empty_table().select(names)
            with (
                suppress(LakeError),
                open_groups(self.path(label), self.path(label)) as (file, signature),
            ):
                if signature == noted.signature:
                    return file.read(names, use_threads=False)
        pieces = (rows.select(names) for rows in self._make(label, _Found()))
        return pa.concat_tables([PARENTS.empty_table().select(names), *pieces])

    def _noted(self, label: str) -> ParentFile | None:
        """Return the note of a file's parents, if it is true of the files of this reader."""
        is_true = self.sources.is_true(label, self.named_in[label], self.payments)
        return self.sources.files[label] if is_true else None

    def _link(self, label: str, signature: str, target: Path) -> bool:
        """Link the kept parents, and tell whether they are whole, and still the same ones."""
        if not signature:
            return True
        with suppress(OSError, ValueError):
            link_file(self.path(label), target)
            if read_signature(target) == signature and check_signature(target):
                return True
        target.unlink(missing_ok=True)
        return False

    def _open_noted(self, label: str) -> pq.ParquetFile | None:
        """Open what was kept of a file, true or not; nothing if it is not what was noted."""
        file, path = self.sources.files.get(label), self.path(label)
        with suppress(*DAMAGE):
            if file and file.signature == _version(path) and check_signature(path):
                return pq.ParquetFile(path, page_checksum_verification=True)
        return None

    def _make(self, label: str, counts: _Found) -> Iterator[pa.Table]:
        """Yield a file's parents, piece by piece; note what is found of them."""
        file = self._open_noted(label)
        with file or nullcontext():
            for named in self._named(label):
                wanted = named["payment_id"].unique()
                payments = pa.concat_tables(self._of_piece(label, wanted, file))
                counts.homes.update(map(str, np.unique(_months(payments))))
                counts.has_missing |= len(payments) < len(wanted)
                if len(payments):
                    yield with_payments(named, payments)

    def _of_piece(
        self, label: str, wanted: pa.Array, file: pq.ParquetFile | None
    ) -> list[pa.Table]:
        """Return the payments of these ids; of those kept, all stay whose month is the same."""
        before = payments_among(file, wanted)
        stays = ~np.isin(_months(before), [*self._changed])
        tables = [before.filter(pa.array(stays))]
        sought = SoughtTexts.of(pa.chunked_array([wanted])).without(tables[0]["payment_id"])
        months = self._nearest(label)
        if self._knows_missing(label, has_file=file is not None):
            # What was not found before can only be where something changed.
            never = sought.without(before["payment_id"])
            tables += self._look_for(never, [month for month in months if month in self._changed])
            sought = sought.among(before["payment_id"])
        return [*tables, *self._look_for(sought, months)]

    def _knows_missing(self, label: str, *, has_file: bool) -> bool:
        """Tell whether it is noted which payments of this version of a file were not found."""
        file = self.sources.files.get(label)
        has_noted = file is not None and (has_file or not file.signature)
        return has_noted and self.sources.files[label].of == self.named_in[label]

    @cached_property
    def _changed(self) -> set[str]:
        """The months of payments that are not what they were."""
        before, now = self.sources.payments, self.payments
        return {month for month in {*before, *now} if before.get(month) != now.get(month)}

    def _nearest(self, label: str) -> list[str]:
        """Return the months of payments in which to look first: those that changed, or near."""
        months = sorted(self.payments, reverse=True)
        until = [month for month in months if month <= label]
        after = [month for month in reversed(months) if month > label]
        return sorted([*until, *after], key=lambda month: month not in self._changed)

    def _look_for(self, texts: SoughtTexts, months: list[str]) -> list[pa.Table]:
        """Return the payments of these ids."""
        by_month = self._payments.rows_by_month(months, "id", texts, COLUMNS)
        return [rows.rename_columns(PAYMENT.names) for _, rows in by_month]

    def _named(self, label: str) -> Iterator[pa.Table]:
        """Yield which payments a file's records name, in pieces: as a table `NAMED`."""
        if label == REJECTED:
            yield self._named_by_rejected()
            return
        tables = [NAMED.empty_table()]
        for rows in self._payouts.tables(label, ["id", "payment_id", "amount"]):
            named = rows.filter(pc.is_valid(rows["payment_id"]))
            tables.append(named.select(["id", "payment_id", "amount"]).rename_columns(NAMED.names))
            if sum(map(len, tables)) >= PIECE:
                yield pa.concat_tables(tables)
                del tables[1:]
        yield pa.concat_tables(tables)

    def _named_by_rejected(self) -> pa.Table:
        """Return the payments that rejected records name, each once; of no amount."""
        rows = read_side_file(self._rejected)
        bodies = rows.filter(pc.is_null(rows["resolved_at"]))["body"].to_pylist()
        named = [{"payment_id": each} for each in sorted({*map(_payment_of, bodies)} - {""})]
        return pa.Table.from_pylist(named, NAMED)


def _payment_of(body: bytes) -> str:
    """Return the id of the payment that a rejected record names, if it can be read."""
    with suppress(msgspec.MsgspecError, RecursionError, UnicodeError):
        named = msgspec.json.decode(body, type=_Named).payment_id
        return named if isinstance(named, str) else ""
    return ""


def _rejected_file(lake: Lake, snapshot: Path | None) -> Path:
    """Return where the rejected payout records are: in the snapshot, else in the lake."""
    path = quarantine_path(lake.path, PAYOUT_RECORDS)
    linked = snapshot and (snapshot / path.relative_to(lake.path)).with_suffix(".pq")
    return linked if linked and linked.exists() else path


def _version(path: Path) -> str:
    """Identify a version of a file; nothing if it is not readable."""
    with suppress(*DAMAGE):
        return read_signature(path)
    return ""


def _months(rows: pa.Table) -> npt.NDArray[np.str_]:
    """Return the month of each payment."""
    instants = np.asarray(rows["paid_at"].cast(pa.int64()))
    return instants.astype("M8[us]").astype("M8[M]").astype(str)


# ---------- The rows of kept parents
# A payout record, the payment that it names, and what follows.


COLUMNS = [
    *("id", "receipt_no", "reference_id", "status", "currency"),
    *("amount", "charged_amount", "fee_amount", "usd_value", "paid_at"),
]
_FIELDS = [PAYMENTS.schema.field(name) for name in COLUMNS]
PAYMENT = pa.schema([_FIELDS[0].with_name("payment_id"), *_FIELDS[1:]])
# Which payment a record names, and how much it returns; a rejected record has no id and no amount.
NAMED = pa.schema(
    [("payout_id", pa.string()), PAYMENT.field("payment_id"), ("returned_amount", MONEY)]
)
PARENTS = pa.schema([*NAMED, *[*PAYMENT][1:], ("fee_kept", MONEY), ("usd_when_paid", MONEY)])


def with_payments(named: pa.Table, payments: pa.Table) -> pa.Table:
    """Return the parents: of each record whose payment is among these, the payment beside it."""
    ids = payments["payment_id"].combine_chunks()
    places = pc.index_in(named["payment_id"].combine_chunks(), value_set=ids)
    named, rows = named.filter(places.is_valid()), payments.take(places.drop_null())
    names = [*named.column_names, *rows.column_names[1:]]
    both = pa.table([*named.columns, *rows.columns[1:]], names=names)
    return with_returned(both).cast(PARENTS).combine_chunks()


def payments_among(file: pq.ParquetFile | None, wanted: pa.Array) -> pa.Table:
    """Return which of these payments were kept, each once."""
    if file is None:
        return PAYMENT.empty_table()
    tables = [PAYMENT.empty_table()]
    for group in range(file.num_row_groups):
        rows = file.read_row_group(group, PAYMENT.names, use_threads=False).select(PAYMENT.names)
        tables.append(rows.filter(pc.is_in(rows["payment_id"], value_set=wanted)))
    payments = pa.concat_tables(tables)
    _, places = np.unique(payments["payment_id"].to_numpy(zero_copy_only=False), return_index=True)
    return payments.take(pa.array(places))
