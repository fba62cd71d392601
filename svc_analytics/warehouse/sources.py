"""The files that the views read: those of a snapshot, and some that a reader makes for itself."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.errors import LakeError, QueryError
from svc_analytics.lake.columns import own_file
from svc_analytics.lake.coverage_footer import MonthFileFooter
from svc_analytics.lake.index.month_index import open_groups
from svc_analytics.lake.index.parents import parents_in
from svc_analytics.lake.lake import Lake, checked_files, checked_footers, whole_coverage
from svc_analytics.lake.layout import ORIGIN, VERDICTS_FOLDER
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream
from svc_analytics.warehouse.acknowledgements import ACCEPTED, Acceptances
from svc_analytics.warehouse.other_months import (
    OTHER_PAYOUTS,
    OtherMonths,
    OtherPayments,
    OtherPayouts,
    months_booked_in,
    months_touched,
)
from svc_analytics.warehouse.view_builder import RECEIPTLESS, lake_folders, placeholders_read

SMALL_LAKE = 30_000  # records that are worth a copy in memory: at most some thirty MB
_FEW_MORE = 10_000  # records of other months that take less than their own views would
SHARE = 8  # of so many statements, one compares another month's rows with its totals too
FOOTERS = pa.schema([("month", pa.string()), ("footer", pa.string())])

Footers = Mapping[str, dict[str, MonthFileFooter]]  # by stream and month
# The months that are read whole, by stream; none where every month is.
WholeMonths = Mapping[str, frozenset[str]]


@dataclass
class Sources:
    """One unchanging state of the lake: its folder, its footers, and the files to be read."""

    lake: Lake
    folder: Path
    footers: Footers
    whole_months: WholeMonths  # the months whose records are all there
    files: dict[str, list[Path]] = field(default_factory=dict)
    other_records: int = 0  # whole records of other months that are there too

    @property
    def rows(self) -> int:
        """How many records are in the month files to be read."""
        return self.other_records + _rows(self.footers, self.whole_months)

    def holds(self, period: Span) -> bool:
        """Whether all records of a period are there."""
        months = months_touched(period)
        return not self.whole_months or months <= self.whole_months[PAYMENTS.name]

    def first_at(self, stream: Stream) -> int | None:
        """When the first record of a stream is booked, in UTC microseconds."""
        of_months = (footer.ends.values() for footer in self.footers[stream.name].values())
        return min((each.first for ends in of_months for each in ends), default=None)

    @property
    def read_to(self) -> int | None:
        """The end of the newest read in UTC microseconds, if there is any."""
        spans = (whole_coverage(footers).read for footers in self.footers.values())
        return max((end for read in spans for _, end in read), default=None)

    def choose(self, folders: Mapping[str, str], wanted: Collection[str]) -> None:
        """Choose the files of these folders and placeholders, or make them in the snapshot."""
        files = self.files
        files |= {name: self._checked(inside) for name, inside in folders.items()}
        self._make(wanted)
        if "all_receipt_verdicts" in wanted:
            paths = checked_footers(self.lake.path, self.folder, VERDICTS_FOLDER)
            files["all_receipt_verdicts"] = paths
        for name in filter(wanted.__contains__, STREAMS):
            files[f"totalled_{name}"] = [*files[name]]
            if self.whole_months:
                share = SHARE if f"totalled_{name}" in wanted else 0
                self._add_other_months(name, share)
        if RECEIPTLESS in wanted:
            files[RECEIPTLESS] = self._receiptless()

    def _checked(self, inside: str) -> list[Path]:
        """Return the files to be read of one folder, checked against their checksums.

        Of records and of verdicts on payments these are the files of the months that are read
        whole.
        """
        months = self.whole_months.get(PAYMENTS.name if inside == VERDICTS_FOLDER else inside)
        if months or inside in STREAMS:
            chosen = months and months | {ORIGIN}
            paths = checked_files(self.lake.path, self.folder, inside, chosen)
        else:
            paths = sorted((self.folder / inside).iterdir())
        return [own_file(path, self.folder) for path in paths]

    def _make(self, wanted: Collection[str]) -> None:
        """Make what are no files of the lake: what its footers say, what was accepted."""
        if "other_payouts" in wanted:
            self.files["other_payouts"] = [self.folder / "other_payouts.pq"]
            pq.write_table(OTHER_PAYOUTS.empty_table(), self.folder / "other_payouts.pq")
        if "footers" in wanted:
            self.files["footers"] = [self.folder / "footers.pq"]
            pq.write_table(self._stated(), self.folder / "footers.pq")
        if "parents" in wanted:
            labels = self.whole_months.get(PAYOUT_RECORDS.name)
            self.files["parents"] = sorted(parents_in(self.lake, self.folder, labels).iterdir())
        if "acknowledgements" in wanted:
            self.files["acknowledgements"] = [self.folder / ACCEPTED]
            pq.write_table(Acceptances.of(self.lake).table(), self.folder / ACCEPTED)

    def _stated(self) -> pa.Table:
        """Return the text of each footer, by its month."""
        rows = [
            {"month": month, "footer": footer.to_json()}
            for footers in self.footers.values()
            for month, footer in footers.items()
        ]
        return pa.Table.from_pylist(rows, FOOTERS)

    def _add_other_months(self, name: str, share: int) -> None:
        """Add what is read of a stream's other months.

        For one statement in `share` another month's rows are added too, to be compared with its
        totals; for none where `share` is 0.
        """
        stored, held, whole = self.folder / name, self.footers[name], self.whole_months[name]
        path = self.folder / f"{name}.pq"
        others: OtherMonths
        if name == PAYMENTS.name:
            others = payments = OtherPayments(self.lake, stored, held, whole)
            self.other_records += payments.write(path)
        else:
            others = payouts = OtherPayouts(self.lake, stored, held, whole, PAYOUT_RECORDS)
            self.other_records += payouts.write(self.files["other_payouts"][0], path)
        self.files[name].append(path)
        audited = others.audited(share) if share else set()
        if not self.files[f"totalled_{name}"]:  # without the origin's file either
            audited = audited or {*others.months[:1]}
        more = checked_files(self.lake.path, self.folder, name, audited)
        self.files[f"totalled_{name}"] += more

    def _receiptless(self) -> list[Path]:
        """Return the files of payments of which some may have no receipt token.

        A reader of all months takes all: what it finds is compared with what the footers state.
        """
        paths, footers = self.files[PAYMENTS.name], self.footers[PAYMENTS.name]
        stated = {label: each.without_receipt for label, each in footers.items()}
        lacking = [path for path in paths if path.stem == ORIGIN or stated.get(path.stem) != 0]
        return (lacking or paths[:1]) if self.whole_months else paths


@contextmanager
def open_sources(
    lake: Lake,
    models: Collection[str] | None,
    period: Span | None = None,
    wider: Span | None = None,
) -> Iterator[Sources]:
    """Give the files that these models read, or all, each checked against its checksums.

    With a `period` the records are those that its figures rest on: see `other_months`. Those of a
    `wider` one, which begins before it, are given where they are few.
    """
    wanted = placeholders_read(models)
    wanted |= {name for name in STREAMS if f"totalled_{name}" in wanted}
    wanted |= {PAYMENTS.name} if RECEIPTLESS in wanted else set()
    wanted |= {"other_payouts"} if period else set()
    folders = {name: inside for name, inside in lake_folders().items() if name in wanted}
    if "all_receipt_verdicts" in wanted:
        folders[VERDICTS_FOLDER] = VERDICTS_FOLDER
    names = {*folders.values(), *STREAMS}  # the footers of all months say what was read
    later = [*STREAMS, VERDICTS_FOLDER] if period else [*STREAMS]
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(lake.snapshot(sorted(names), checked_later=later))
            footers = _read_footers(lake, folder)
            whole_months = _whole_months(period, wider, footers) if period else {}
            sources = Sources(lake, folder, footers, whole_months)
            sources.choose(folders, wanted)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            message = f"{lake.place} cannot be read: {reason} while its files were put aside"
            raise LakeError(f"{message}; free some space there, and allow writing") from error
        yield sources


def _whole_months(period: Span, wider: Span | None, footers: Footers) -> WholeMonths:
    """Return the months whose files a period needs whole, or the wider one if these hold little."""
    if wider and _rows(footers, months := _needed(wider, footers)) <= _FEW_MORE:
        return months
    return _needed(period, footers)


def _needed(period: Span, footers: Footers) -> WholeMonths:
    """Return the months whose files a period needs whole.

    A payout record may be booked in a later month than that of its file.
    """
    months = months_touched(period)
    payouts = months_booked_in(footers[PAYOUT_RECORDS.name], months)
    return {PAYMENTS.name: frozenset(months), PAYOUT_RECORDS.name: frozenset(payouts)}


def as_in_the_lake(text: str, folder: Path, lake: Lake) -> str:
    """Name the lake's own files where a text names those of a snapshot."""
    return text.replace(str(folder), str(lake.path)).replace(".pq", ".parquet")


def _rows(footers: Footers, whole_months: WholeMonths) -> int:
    """Count the records of the months that are read whole."""
    return sum(
        footer.totals.rows
        for name, of_months in footers.items()
        for month, footer in of_months.items()
        if not whole_months or month in whole_months[name]
    )


def _read_footers(lake: Lake, folder: Path) -> Footers:
    """Read all footers of a snapshot: a torn or foreign file is named here, not by DuckDB."""
    try:
        return {
            name: lake.footers(stream, folder=folder / name) for name, stream in STREAMS.items()
        }
    except LakeError as error:
        raise LakeError(as_in_the_lake(str(error), folder, lake)) from error


_CUT_COLUMNS = ["currency", "status", "charged_amount", PAYMENTS.instant]
_CUT_SCHEMA = pa.schema([PAYMENTS.schema.field(name) for name in _CUT_COLUMNS])


@contextmanager
def cut_payments(sources: Sources, months: Sequence[Span]) -> Iterator[pa.RecordBatchReader]:
    """Give the payments of files that lie in no single one of these months, part by part.

    A damaged file is named as everywhere else: DuckDB would wrap it in words of its own.
    """
    damage: list[LakeError] = []
    try:
        batches = _naming_damage(_cut_batches(sources, months), damage)
        yield pa.RecordBatchReader.from_batches(_CUT_SCHEMA, batches)
    except QueryError as error:
        if damage:
            raise damage[0] from error
        raise


def _naming_damage(
    batches: Iterator[pa.RecordBatch], damage: list[LakeError]
) -> Iterator[pa.RecordBatch]:
    """Yield the batches; note why no more come when a file is damaged."""
    try:
        yield from batches
    except LakeError as error:
        damage.append(error)
        raise


def _cut_batches(sources: Sources, months: Sequence[Span]) -> Iterator[pa.RecordBatch]:
    for label, footer in sources.footers[PAYMENTS.name].items():
        if not _is_cut(footer, months):
            continue
        path = sources.folder / PAYMENTS.name / f"{label}.pq"
        with open_groups(path, sources.lake.month_path(PAYMENTS, label)) as (file, _):
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group, columns=_CUT_COLUMNS, use_threads=False)
                yield from rows.select(_CUT_COLUMNS).cast(_CUT_SCHEMA).to_batches()


def _is_cut(footer: MonthFileFooter, months: Sequence[Span]) -> bool:
    """Tell whether a file has payments of these months, and not of one of them alone."""
    if not footer.ends:
        return False
    first = min(each.first for each in footer.ends.values())
    last = max(each.last for each in footer.ends.values())
    is_whole = any(start <= first and last < end for start, end in months)
    return not is_whole and any(first < end and last >= start for start, end in months)
