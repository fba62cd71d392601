"""Publishing one stream: buffered rows and covered time become month files."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Coverage, Span, Spans, difference, intersection, union
from svc_analytics.lake import coverage_footer, month_file
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.coverage_footer import CoverageUpdate, MonthFileFooter
from svc_analytics.lake.index.hashes import doubles, hash_texts, share_any
from svc_analytics.lake.index.month_index import shared_columns
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.month_file import News, Upsert
from svc_analytics.lake.side_files import (
    QuarantineUpdate,
    count_quarantined,
    keep_quarantine,
    resolve_quarantine,
)
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.lake.writing.month_merge import (
    Dropped,
    MonthMerge,
    Remaining,
    find_dropped,
    read_among,
)
from svc_analytics.lake.writing.spill import (
    Claims,
    Hold,
    RunFolder,
    Terms,
    WaitingMonth,
    WriteBuffer,
)
from svc_analytics.messages import Message
from svc_analytics.periods import Period, month, month_of


class StreamPublisher:
    """Publishes what was read of one stream, one buffer after the other.

    It does so by the terms of a run: covered time before its watermark is complete, after it
    provisional. A run that fills months, one with a lower bound, leaves a file for each that it
    covered; an open-ended one notes in the origin's file, once, that nothing is before the first
    record.
    """

    def __init__(self, files: MonthFiles) -> None:
        self.files = files
        self._terms = Terms(files.now)
        self._storage = files.lake.storage
        self._stream = files.stream
        self._unreadable: set[str] = set()  # ids of the records rejected in this run so far
        self._spill = Spill(files)

    def begin(self, terms: Terms) -> None:
        """Publish covered time by the terms of a run from now on."""
        self._terms = terms
        self.files.judged_at = terms.judged_at

    def set_lookback(self, complete: Spans, lookback: int) -> None:
        """Set how much of the newest complete time this run is to read again.

        What was read long after it passed needs no second look.
        """
        window = coverage_footer.lookback_window(complete, lookback)
        settled = difference(window, self.files.fresh)
        self._terms = replace(self._terms, unread=difference(window, settled))

    def publish(self, buffer: WriteBuffer, hold: Hold = Hold.NOTHING) -> WriteBuffer:
        """Bring every month up to what is buffered; return what waits for the next time."""
        if hold and buffer.is_empty:
            return buffer
        rows, size = self._deduplicate(buffer), buffer.size
        is_checkpoint = hold is Hold.SPILLED
        waits = self._spill.choose(buffer, rows, is_checkpoint=is_checkpoint) if hold else ()
        held = {label: rows.pop(label) for label in sorted({*waits} & rows.keys())}
        waiting = buffer.hold_back({*waits})
        quarantine = self._keep_quarantine(buffer, rows)
        claims = claims_of(waiting.covered, buffer, waits, quarantine.open)
        share = _count(held) / max(_count(held) + _count(rows), 1)
        is_much = hold is not Hold.IN_MEMORY and share > 0.5
        if is_checkpoint or is_much or self._spill.are_broken(waiting.months, claims):
            self._spill.write(waiting.months, held, claims, self._terms)
            waiting.covered = ()
        else:
            waiting.keep(held.values(), int(size * share))
        self._publish(buffer, rows, quarantine)
        return waiting

    def has_finished_month(self, buffer: WriteBuffer) -> bool:
        """Whether a buffer holds something of a month that was read from its start to its end."""
        return self._spill.has_finished_month(buffer)

    def publish_found(self) -> list[Message]:
        """Publish what a dead writer left waiting; return what was found, in words."""
        on_file = count_quarantined(self._storage.folder, self._stream)
        abandoned = self._spill.folder.find(on_file)
        if abandoned.terms:
            own = self._terms
            self.begin(abandoned.terms)
            self.publish(WriteBuffer(self._stream, months=abandoned.months))
            self.begin(own)
        return abandoned.describe(self._stream)

    def _publish(
        self, buffer: WriteBuffer, rows: dict[str, pa.Table], quarantine: QuarantineUpdate
    ) -> None:
        """Publish rows, and what was spilled of the months that do not wait any more."""
        dropped = self._complete_runs(buffer, rows, quarantine.open)
        months = buffer.months
        update = self._plan_coverage(buffer, {*rows, *months, *quarantine.open})
        self.files.relocate(rows | self._spill.find_elsewhere(months, dropped))
        labels = {*self.files.footers, *rows, *months, *quarantine.open, *update.gained} - {ORIGIN}
        for label in sorted(labels):
            quarantined = quarantine.open.get(label, 0)
            if label in months:
                self._merge_month(months[label], dropped, quarantined, update)
            else:
                new = rows.get(label, self._stream.no_rows)
                self._publish_month(label, new, quarantined, update)
        self._publish_origin(update)
        resolve_quarantine(self._storage, self._stream, quarantine.cleared, self.files.now)
        self._spill.folder.remove(months.values())

    def _complete_runs(
        self, buffer: WriteBuffer, rows: dict[str, pa.Table], quarantined: dict[str, int]
    ) -> Dropped:
        """Spill the rows of months that have runs too; return what gives way to later rows."""
        labels = self._spill.to_merge(rows, buffer.months)
        last = {label: rows.pop(label) for label in sorted(labels & rows.keys())}
        claims = claims_of(buffer.covered, buffer, labels, quarantined)
        self._spill.write(buffer.months, last, claims, self._terms)
        buffer.take_claims()
        dropped = self._spill.find_dropped(buffer.months)
        self._keep_conflicts(dropped.last, dropped.versions)
        return dropped

    def _deduplicate(self, buffer: WriteBuffer) -> dict[str, pa.Table]:
        """Return the buffered rows by month, one per id; keep conflicting versions."""
        buffer.pack()
        rows, earlier = month_file.deduplicate(self._stream, buffer.tables)
        self._keep_conflicts(rows, earlier)
        return self._by_month(rows)

    def _keep_conflicts(self, rows: pa.Table, earlier: pa.Table) -> None:
        """Keep the earlier versions of rows that differ from them."""
        if len(earlier):
            conflicts = month_file.conflicting_versions(self._stream, rows, earlier)
            for label, versions in self._by_month(conflicts).items():
                self.files.keep_superseded(label, versions)

    def _keep_quarantine(self, buffer: WriteBuffer, rows: dict[str, pa.Table]) -> QuarantineUpdate:
        """Write rejected records to their file, before any month counts them."""
        ids = chain((table["id"] for table in rows.values()), self._spill.ids(buffer.months))
        rejected = (item.record.record_id for item in buffer.rejected)
        self._unreadable.update(each for each in rejected if each is not None)
        quarantine = keep_quarantine(
            self._storage,
            self._stream,
            buffer.rejected,
            ids,
            unreadable=self._unreadable,
            is_ordered=buffer.is_ordered,
        )
        self.files.stats.quarantined += quarantine.new
        return quarantine

    def _plan_coverage(self, buffer: WriteBuffer, labels: Collection[str]) -> CoverageUpdate:
        """Plan what each file is to cover; the months in `labels` get a file."""
        covered = buffer.covered
        unread = difference(self._terms.unread, covered)
        self.files.reread = union(self.files.reread, covered)
        stale = coverage_footer.stale_coverage(unread, covered)
        self._terms = replace(self._terms, unread=difference(unread, stale))
        update = CoverageUpdate(buffer.retracted, stale)
        if not covered and not labels:
            return update
        footers = self.files.footers
        terms = self._terms
        first = coverage_footer.first_month_start(
            covered, footers, labels, fills_months=terms.fills_months
        )
        origin = update.remaining(footers[ORIGIN].coverage)
        gained = Coverage.of(covered, terms.watermark).mark_provisional(buffer.doubtful)
        return replace(update, gained=coverage_footer.coverage_by_month(gained, origin, first))

    def _merge_month(
        self, month: WaitingMonth, dropped: Dropped, quarantined: int, update: CoverageUpdate
    ) -> None:
        """Bring a month up to its runs, all at once."""
        label = month.label
        before = self.files.footers.get(label)
        coverage, is_same = self._plan_month(label, quarantined, update)
        with self._spill.merge(month, dropped) as merge:
            news = merge.news
            if news or not is_same:
                tables = merge.tables(partial(self.files.keep_superseded, label))
                confirmed = self._confirmed(before, news, update)
                totals = partial(getattr, merge, "totals")  # known once all rows were given
                new = self._spill.incoming(month)
                self.files.write(
                    label, tables, totals, coverage, quarantined, confirmed=confirmed, incoming=new
                )
                self._count_retold(news, is_same)

    def _confirmed(
        self, before: MonthFileFooter | None, news: News, update: CoverageUpdate
    ) -> Spans:
        """Return the time that stays confirmed: clients must ignore what is beyond the contract."""
        return update.confirmed(before) if before and news < News.RECORDS else ()

    def _count_retold(self, news: News, is_same: bool) -> None:
        """Count a file that was written for properties beyond the contract alone."""
        self.files.stats.retold += is_same and news == News.EXTRA

    def _plan_month(
        self, label: str, quarantined: int, update: CoverageUpdate
    ) -> tuple[Coverage, bool]:
        """Return the coverage that a month's file is to state, and whether it states it already."""
        before = self.files.footers.get(label)
        coverage = update.apply(label, before.coverage if before else Coverage())
        if before is None:
            return coverage, False
        is_same = (before.coverage, before.quarantined) == (coverage, quarantined)
        # Made again, the same claim is of another time: the file must say of which.
        return coverage, is_same and not update.retracts(before.coverage)

    def _publish_month(
        self, label: str, rows: pa.Table, quarantined: int, update: CoverageUpdate
    ) -> None:
        before = self.files.footers.get(label)
        coverage, is_same = self._plan_month(label, quarantined, update)
        if is_same and not len(rows):
            return
        path = self.files.path(label)
        upsert = month_file.plan_upsert(
            self._stream, rows, month_file.read_rows(self._stream, path, rows["id"])
        )
        self.files.keep_superseded(label, upsert.superseded)
        if upsert.news or not is_same:
            tables = month_file.merge_rows(self._stream, path, upsert.rows)
            expected = self._expected_totals(before, upsert) if before else None
            confirmed = self._confirmed(before, upsert.news, update)
            new = [upsert.rows]
            self.files.write(
                label, tables, expected, coverage, quarantined, confirmed=confirmed, incoming=new
            )
            self._count_retold(upsert.news, is_same)

    def _publish_origin(self, update: CoverageUpdate) -> None:
        """Update what the origin's file covers: the time before the first month."""
        before = self.files.footers[ORIGIN]
        owns = self.files.owned_span(ORIGIN)
        coverage = update.apply(ORIGIN, before.coverage).clip(*owns)
        # Of a stream that was never read, what it would answer for says nothing.
        is_same = coverage == before.coverage and (owns == before.owns or not coverage.read)
        if not is_same or update.retracts(before.coverage):
            confirmed = update.confirmed(before)
            self.files.write(ORIGIN, (), ControlTotals(), coverage, confirmed=confirmed)

    def _expected_totals(self, before: MonthFileFooter, upsert: Upsert) -> ControlTotals:
        """Return the totals that a month must have once these rows are merged into it."""
        replaced = control_totals(self._stream, upsert.replaced)
        return before.totals - replaced + control_totals(self._stream, upsert.rows)

    def _by_month(self, rows: pa.Table) -> dict[str, pa.Table]:
        """Cut sorted rows at the bounds of months."""
        instants = self._stream.instants(rows)
        by_month: dict[str, pa.Table] = {}
        start = 0
        while start < len(instants):
            period = month_of(int(instants[start]))
            end = int(np.searchsorted(instants, period.end))
            by_month[period.label] = rows.slice(start, end - start)
            start = end
        return by_month


def _count(rows: dict[str, pa.Table]) -> int:
    return sum(map(len, rows.values()))


# ---------- Months that wait while they are being read
# In memory or spilled as runs, to be merged once.


# Bytes of a month's file: to write a larger one before it is read to its start costs too much.
LARGE_MONTH = 8 * 1024 * 1024

Rows = dict[str, pa.Table]  # by month
Months = Mapping[str, WaitingMonth]


class Spill:
    """The waiting months of a stream: whether on disk, and how they are merged at last."""

    def __init__(self, files: MonthFiles) -> None:
        self._files = files
        self._stream = files.stream
        self.folder = RunFolder(files.lake.storage, files.stream, files.merchant_id)

    def choose(self, buffer: WriteBuffer, rows: Rows, *, is_checkpoint: bool) -> set[str]:
        """Return the months that are to wait: still being read, and large at a checkpoint.

        A month that shares a record with one of them waits too: published before it, a record
        that has left its month would come back there by its older version.
        """
        read = self._read(buffer)
        waits = {
            label
            for label in {*rows, *buffer.months}
            if not _is_read(month(label), read)
            and not (is_checkpoint and self._is_small(label, buffer.months))
        }
        while bound := self._bound(waits, rows, buffer.months):
            waits |= bound
        return waits

    def has_finished_month(self, buffer: WriteBuffer) -> bool:
        """Whether the buffer has rows of a month that was read from its start to its end.

        Without rows nothing tells yet which month is the first: before it, none gets a file.
        """
        read = self._read(buffer)
        whole = [_whole_months(span, read[-1][1]) for span in read]
        spilled = [month(label) for label in buffer.months]
        return any(
            any(start <= period.start < end for period in spilled)
            or buffer.has_rows_within(start, end)
            for start, end in whole
        )

    def are_broken(self, months: Months, claims: Mapping[str, Claims]) -> bool:
        """Whether runs claim time that is retracted now: the next run must say so."""
        return any(claims[label].retracted for label in months)

    def write(
        self,
        months: dict[str, WaitingMonth],
        rows: Rows,
        claims: Mapping[str, Claims],
        terms: Terms,
    ) -> None:
        """Spill the rows of months, and what is claimed of them."""
        for label, claim in sorted(claims.items()):
            new = rows.get(label, self._stream.no_rows)
            if len(new) or claim.covered or claim.retracted:
                before = months.get(label) or self.folder.begin(label)
                months[label] = self.folder.spill(before, new, claim, terms)

    def to_merge(self, rows: Rows, months: Months) -> set[str]:
        """Return the months to be merged from runs: that have some, or records of such ones."""
        return {*months, *(each for each in rows if self._shares(each, {*months}, rows, months))}

    def ids(self, months: Months) -> Iterator[pa.ChunkedArray]:
        """Yield the ids of all rows of these months on disk."""
        runs = (run for each in months.values() for run in each.runs)
        return (table["id"] for run in runs for table in run.tables(["id"]))

    def find_dropped(self, months: Months) -> Dropped:
        """Return which rows of these months give way to later ones, of any of them."""
        suspects = doubles([each.hashes for each in months.values()])
        return find_dropped(self._stream, [each.runs for each in months.values()], suspects)

    def find_elsewhere(self, months: Months, dropped: Dropped) -> Rows:
        """Return the rows, by month, whose ids may stand in the file of another month."""
        homes = {}
        for label, each in months.items():
            suspects = self._files.hashes_elsewhere(label, each.hashes.portions())
            if len(suspects):
                runs = (Remaining(run, dropped) for run in each.runs)
                tables = (read_among(self._stream, run, suspects) for run in runs)
                homes[label] = pa.concat_tables(tables)
        return homes

    def merge(self, waiting: WaitingMonth, dropped: Dropped) -> AbstractContextManager[MonthMerge]:
        """Open the merge of a month's runs into its file."""
        label, held = waiting.label, None
        footer = self._files.footers.get(label)
        suspects = np.empty(0, np.uint64)
        if footer and footer.totals.rows:
            held = (self._files.path(label), footer.totals)
            suspects = self._files.shared_hashes(label, waiting.hashes.portions())
        return MonthMerge.open(self._stream, held, waiting.runs, dropped, suspects)

    def incoming(self, waiting: WaitingMonth) -> Iterator[pa.Table]:
        """Yield the rows of a month's runs, as far as other months are searched for them."""
        columns = shared_columns(self._stream)
        return (table for run in waiting.runs for table in run.tables(columns))

    def _read(self, buffer: WriteBuffer) -> Spans:
        """Return the coverage of the stream, published or not."""
        published = self._files.coverage.remove(buffer.retracted).read
        spilled = (each.covered for each in buffer.months.values())
        return union(published, buffer.covered, *spilled)

    def _is_small(self, label: str, months: Months) -> bool:
        path = self._files.path(label)
        size = path.stat().st_size if path.exists() else 0
        return label not in months and size <= LARGE_MONTH

    def _bound(self, waits: set[str], rows: Rows, months: Months) -> set[str]:
        """Return the months that wait only because they share a record with one that does."""
        others = {*rows, *months} - waits
        return {each for each in others if waits and self._shares(each, waits, rows, months)}

    def _shares(self, label: str, others: set[str], rows: Rows, months: Months) -> bool:
        """Whether a record of a month may wait in another too, in a run of either."""
        spilled = [months[each] for each in others & months.keys() - {label}]
        if label in rows and spilled:
            hashes = np.sort(hash_texts(rows[label]["id"]))
            if any(each.hashes.holds_any(hashes) for each in spilled):
                return True
        if label not in months:
            return False
        fresh = (np.sort(hash_texts(rows[each]["id"])) for each in others & rows.keys() - {label})
        own = months[label].hashes
        return any(share_any(own, each.hashes) for each in spilled) or any(
            map(own.holds_any, fresh)
        )


def claims_of(
    covered: Spans, buffer: WriteBuffer, labels: Iterable[str], quarantined: Mapping[str, int]
) -> dict[str, Claims]:
    """Return the coverage of each month, and the other claims of a buffer about it."""
    claims = {}
    for label in labels:
        bounds = (month(label).start, month(label).end)
        claims[label] = Claims(
            intersection(covered, *bounds),
            intersection(buffer.retracted, *bounds),
            intersection(buffer.doubtful, *bounds),
            quarantined.get(label, 0),
        )
    return claims


def _is_read(period: Period, read: Spans) -> bool:
    """Whether a month was read from its start to its end, or to the newest time read."""
    newest = read[-1][1] if read else period.start
    end = min(period.end, newest)
    return period.start < end and not difference([(period.start, end)], read)


def _whole_months(span: Span, newest: int) -> Span:
    """Return the whole months of a span; the newest one has no end yet."""
    first, last = month_of(span[0]), month_of(span[1])
    start = first.start if first.start == span[0] else first.end
    return start, span[1] if span[1] == newest else last.start
