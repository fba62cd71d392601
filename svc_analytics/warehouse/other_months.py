"""The records of other months that the figures of a period rest on, and no others.

A statement reads the records of its own months, what other months returned, and the totals that
the footers state of every other month. Of other months it needs few payments one by one: those
whose nature is unknown, those that share a number with one of the period, and those of the last
day before it that tell the fee tier. They are found by footers and indexes, without a scan.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial, reduce
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.instants import BEGINNING, DAY
from svc_analytics.lake.coverage_footer import MonthFileFooter
from svc_analytics.lake.index import month_index
from svc_analytics.lake.index.parents import PARENTS, Parents
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import month_of, utc_months
from svc_analytics.schema import MONEY, PAYMENTS, PAYOUT_RECORDS, Stream

Footers = Mapping[str, MonthFileFooter]  # by month
Wanted = Callable[[pa.Table], pa.ChunkedArray]  # a mask of the rows that are wanted

COMPLETED = "completed"
KINDS = ("payment", "payout", "refund")  # others are counted in no figure

_DATED = ["currency", "status", "amount", PAYMENTS.instant]
_NOTHING = pa.scalar(Decimal(0), MONEY)
_NO_ROWS = PAYMENTS.schema.empty_table()


def months_touched(period: Span) -> set[str]:
    """Return the UTC months of all UTC days that a period touches."""
    start, end = period
    return {month.label for month in utc_months(start // DAY * DAY, (end - 1) // DAY * DAY + DAY)}


def months_booked_in(footers: Footers, months: Collection[str]) -> set[str]:
    """Return these months, and those whose files hold records of both sides, or of these months.

    Of any other file all records were booked before these months, or all behind them: its
    totals tell what it left. A few records late by months make their whole file be read.
    """
    first, last = min(months), max(months)  # labels: the trend's may be older than any record
    ends = {label: footer.ends.values() for label, footer in footers.items() if footer.ends}
    return {*months} | {
        label
        for label, groups in ends.items()
        if month_of(min(each.first for each in groups)).label <= last
        and month_of(max(each.last for each in groups)).label >= first
    }


@dataclass(frozen=True)
class OtherMonths:
    """The month files of a stream in a snapshot that a period's figures do not rest on whole."""

    lake: Lake
    folder: Path  # of the stream's files in the snapshot
    footers: Footers
    whole_months: frozenset[str]
    stream: Stream = PAYMENTS

    @property
    def months(self) -> list[str]:
        """The other months with records, the newest first."""
        months = (month for month, footer in self.footers.items() if footer.totals.rows)
        return sorted({*months} - self.whole_months, reverse=True)

    def audited(self, share: int) -> set[str]:
        """Return another month whose totals are to be compared with its rows, once in a while.

        Chance decides, of one statement in `share`: the same each time that the same period is
        stated of the same files.
        """
        if not self.months:
            return set()
        seed = sorted(self.whole_months), max(each.written_at for each in self.footers.values())
        chance = random.Random(repr(seed))  # noqa: S311 - it hides nothing
        return set() if chance.randrange(share) else {chance.choice(self.months)}

    def open(self, month: str) -> AbstractContextManager[tuple[pq.ParquetFile, str]]:
        """Open a month's file; its pages are checked against their checksums as they are read."""
        return month_index.open_groups(
            self.folder / f"{month}.pq", self.lake.month_path(self.stream, month)
        )

    def has_unclassified(self, month: str) -> bool:
        """Tell whether a month has records of which nobody knows whether they are money."""
        groups = self.footers[month].totals.counts
        return any(status != COMPLETED or kind not in KINDS for _, kind, status in groups)


@dataclass(frozen=True)
class OtherPayments(OtherMonths):
    """The payments of other months that a period's figures rest on."""

    def write(self, path: Path) -> int:
        """Write them to a file; return how many there are.

        Those of an unknown status may be many: they pass a row group at a time.
        """
        with pq.ParquetWriter(path, PAYMENTS.schema) as writer:
            count = 0
            for rows in chain(self._unclassified(), [self._completed()]):
                writer.write_table(rows)
                count += len(rows)
        return count

    def _completed(self) -> pa.Table:
        """Return the completed payments that are needed, each once."""
        payments = pa.concat_tables([_NO_ROWS, *self._of_last_days(), *self._sharers()])
        rows = payments.filter(pc.equal(payments["status"], COMPLETED))
        _, places = np.unique(rows["id"].to_numpy(zero_copy_only=False), return_index=True)
        return rows.take(pa.array(np.sort(places)))

    def _unclassified(self) -> Iterator[pa.Table]:
        """Yield the payments whose status is not known: whether they are money, nobody knows."""
        for month in filter(self.has_unclassified, self.months):
            yield from self._read(month, ["status"], _is_unclassified)

    def _of_last_days(self) -> Iterator[pa.Table]:
        """Yield each coin's payments of its last day before the period's months."""
        months = [month for month in self.months if month < min(self.whole_months)]
        sought = {coin for month in months for coin in self._coins(month)}
        for month in months:
            days = self._last_days(month, sought & self._coins(month))
            sought -= days.keys()
            if days:
                yield from self._read(month, _DATED, partial(_is_of_days, days), min(days.values()))

    def _sharers(self) -> Iterator[pa.Table]:
        """Yield the payments that carry a number of a payment of the period's months."""
        index = month_index.MonthIndex(self.lake, PAYMENTS, self.folder.parent)
        for column in month_index.shared_columns(PAYMENTS):
            numbers = month_index.SoughtTexts.of(self._shared(index, column))
            for _, rows in index.rows_by_month(self.months, column, numbers, PAYMENTS.schema.names):
                yield rows

    def _shared(self, index: month_index.MonthIndex, column: str) -> pa.ChunkedArray:
        """Return the numbers of the period's months that payments of others may carry too.

        For any two months that have one, the footer of one of them names it, or says that there
        are many.
        """
        whole = [month for month in self.whole_months if month in self.footers]
        stated = [footer.shared.get(column) for footer in self.footers.values()]
        if None in stated:
            columns = [index.column(month, column).drop_null() for month in whole]
        else:
            named = sorted({number for numbers in stated for number in numbers or ()})
            texts = month_index.SoughtTexts.of(pa.chunked_array([named], pa.string()))
            by_month = index.rows_by_month(whole, column, texts, [column])
            columns = [rows[column] for _, rows in by_month]
        chunks = [chunk for each in columns for chunk in each.chunks]
        return pa.chunked_array([pa.chunked_array(chunks, pa.string()).unique()])

    def _coins(self, month: str) -> set[str]:
        """Return the coins that completed payments of a month are in."""
        counts = self.footers[month].totals.counts
        return {coin for coin, _, status in counts if status == COMPLETED}

    def _last_days(self, month: str, coins: set[str]) -> dict[str, int]:
        """Return when the last UTC day of these coins begins in a month, where they have one."""
        days: dict[str, int] = {}
        if not coins:
            return days
        with self.open(month) as (file, _):
            for group in reversed(range(file.num_row_groups)):
                rows = file.read_row_group(group, columns=_DATED, use_threads=False)
                for coin in coins - days.keys():
                    last = pc.max(_instants(rows.filter(_is_paid(rows, coin)))).as_py()
                    if last is not None:
                        days[coin] = last // DAY * DAY
                if coins <= days.keys():
                    break
        return days

    def _read(
        self, month: str, columns: list[str], wanted: Wanted, since: int = BEGINNING
    ) -> Iterator[pa.Table]:
        """Yield the rows wanted of a month; of groups with none only these columns are read.

        Groups of rows that all lie before `since` are left out.
        """
        with self.open(month) as (file, _):
            for group in range(file.num_row_groups):
                _, last = month_index.instants_of_group(file.metadata, group, PAYMENTS)
                if last < since:
                    continue
                mask = wanted(file.read_row_group(group, columns=columns, use_threads=False))
                if pc.any(mask).as_py():
                    yield file.read_row_group(group, use_threads=False).filter(mask)


def _is_unclassified(rows: pa.Table) -> pa.ChunkedArray:
    return pc.not_equal(rows["status"], COMPLETED)


def _is_paid(rows: pa.Table, coin: str) -> pa.ChunkedArray:
    """Mark the completed payments in a coin that are of more than nothing."""
    is_money = pc.and_(pc.equal(rows["status"], COMPLETED), pc.not_equal(rows["amount"], _NOTHING))
    return pc.and_(pc.equal(rows["currency"], coin), is_money)


def _is_of_days(days: Mapping[str, int], rows: pa.Table) -> pa.ChunkedArray:
    """Mark the rows that lie on the day of their coin or later."""
    masks = [
        pc.and_(pc.equal(rows["currency"], coin), pc.greater_equal(_instants(rows), start))
        for coin, start in days.items()
    ]
    return reduce(pc.or_, masks)


def _instants(rows: pa.Table) -> pa.ChunkedArray:
    return rows[PAYMENTS.instant].cast(pa.int64())


# ---------- Payout records of other months than a period's
# The few columns that its figures rest on.
#
# What was returned of a payment so far, what each month returned of earlier ones, and whether two
# records share a reference is told by the payout records of all time. Of months in which nothing
# of the period was booked only the columns for that are read, and their pages' checksums checked.


_COLUMNS = [
    "kind",
    "payment_id",
    "reference_id",
    "currency",
    "amount",
    "settled_at",
    "extracted_at",
]
_OF_PAYMENT = ["currency", "paid_at"]
OTHER_PAYOUTS = pa.schema(
    [PAYOUT_RECORDS.schema.field(name) for name in _COLUMNS]
    + [PARENTS.field(name).with_name(f"payment_{name}") for name in _OF_PAYMENT]
).remove_metadata()
_REPEATED = ["kind", "currency", "payment_currency"]
_KNOWN_KINDS = pa.array(KINDS)
_BATCH = 10_000  # rows written at once: each group costs every query that reads it


@dataclass(frozen=True)
class OtherPayouts(OtherMonths):
    """The payout records of other months: some columns, or the whole record of unknown nature."""

    def write(self, path: Path, unclassified: Path) -> int:
        """Write both files; return how many whole records there are."""
        count = 0
        with (
            pq.ParquetWriter(path, OTHER_PAYOUTS, use_dictionary=_REPEATED) as narrow,
            pq.ParquetWriter(unclassified, PAYOUT_RECORDS.schema) as wide,
        ):
            classified = chain.from_iterable(map(self._classified, self.months))
            for rows in month_index.joined(classified, _BATCH):
                narrow.write_table(rows)
            for rows in chain.from_iterable(map(self._unclassified, self.months)):
                wide.write_table(rows)
                count += len(rows)
        return count

    def _classified(self, month: str) -> Iterator[pa.Table]:
        """Yield the columns of a month, with the coin and instant of each refunded payment."""
        parents = self._parents.columns(month, ["payment_id", *_OF_PAYMENT]).combine_chunks()
        with self.open(month) as (file, _):
            for group in range(file.num_row_groups):
                names = [*_COLUMNS, "status"]
                rows = file.read_row_group(group, columns=names, use_threads=False)
                rows = rows.filter(_is_classified(rows))
                places = pc.index_in(rows["payment_id"], value_set=parents["payment_id"])
                of_payment = [parents[name].take(places) for name in _OF_PAYMENT]
                columns = [*rows.select(_COLUMNS).columns, *of_payment]
                yield pa.table(columns, schema=OTHER_PAYOUTS)

    def _unclassified(self, month: str) -> Iterator[pa.Table]:
        """Yield the records of a month whose status or kind is not known."""
        if not self.has_unclassified(month):
            return
        with self.open(month) as (file, _):
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, use_threads=False)
                yield rows.filter(pc.invert(_is_classified(rows)))

    @cached_property
    def _parents(self) -> Parents:
        return Parents(self.lake, self.folder.parent)


def _is_classified(rows: pa.Table) -> pa.ChunkedArray:
    """Mark the records of a known status and kind."""
    is_of_known_kind = pc.is_in(rows["kind"], value_set=_KNOWN_KINDS)
    return pc.and_(pc.equal(rows["status"], COMPLETED), is_of_known_kind)
