"""Publishing one stream: buffered rows and covered time become month files."""

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Coverage, Spans, difference, union
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.footer import MonthFileFooter
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.merge import (
    Upsert,
    conflicting_versions,
    deduplicate,
    merge_rows,
    plan_upsert,
    read_rows,
)
from svc_analytics.lake.month_coverage import (
    CoverageUpdate,
    coverage_by_month,
    first_month_start,
    lookback_window,
    stale_coverage,
)
from svc_analytics.lake.quarantine import (
    QuarantineUpdate,
    count_quarantined,
    keep_quarantine,
    resolve_quarantine,
)
from svc_analytics.lake.runs.folder import WaitingMonth
from svc_analytics.lake.runs.moved import Dropped
from svc_analytics.lake.runs.run_file import Terms
from svc_analytics.lake.writing.month_files import MonthClaim, MonthFiles
from svc_analytics.lake.writing.spill import Spill, claims_of
from svc_analytics.lake.writing.write_buffer import WriteBuffer
from svc_analytics.messages import Message
from svc_analytics.periods import month_of


class StreamPublisher:
    """Publishes what was read of one stream, one buffer after the other.

    `watermark`: covered time before it is complete, after it provisional. `fills_months`:
    a run with a lower bound leaves a file for each month that it covered; an open-ended
    one notes in the origin's file, once, that nothing is before the first record.
    """

    def __init__(self, files: MonthFiles) -> None:
        self.files = files
        self.watermark = files.now
        self.fills_months = False
        self._storage = files.lake.storage
        self._stream = files.stream
        self._unread_window: Spans = ()
        self._unreadable: set[str] = set()  # ids of the records rejected in this run so far
        self._spill = Spill(files)

    def set_lookback(self, complete: Spans, lookback: int) -> None:
        """Set how much of the newest complete time this run is to read again.

        What was read long after it passed needs no second look.
        """
        window = lookback_window(complete, lookback)
        settled = difference(window, self.files.fresh)
        self._unread_window = difference(window, settled)

    def publish(
        self,
        buffer: WriteBuffer,
        *,
        holds_back: bool = False,
        is_checkpoint: bool = False,
        spills: bool = True,
    ) -> WriteBuffer:
        """Bring every month up to what is buffered; return what waits for the next time.

        Only if it `holds_back`, a month that is still being read waits, to be written once: in
        memory, or spilled if there is much of it and it `spills`. At a checkpoint only large
        months wait, and what waits is spilled: it is to survive a kill.
        """
        if holds_back and buffer.is_empty:
            return buffer
        rows, size = self._deduplicate(buffer), buffer.size
        waits = self._spill.choose(buffer, rows, is_checkpoint=is_checkpoint) if holds_back else ()
        held = {label: rows.pop(label) for label in sorted({*waits} & rows.keys())}
        waiting = buffer.hold_back({*waits})
        quarantine = self._keep_quarantine(buffer, rows)
        claims = claims_of(waiting.covered, buffer, waits, quarantine.open)
        share = _count(held) / max(_count(held) + _count(rows), 1)
        is_much = spills and share > 0.5
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
        abandoned = self._spill.find(count_quarantined(self._storage.folder, self._stream))
        if abandoned.terms:
            own = self._terms
            self._terms = abandoned.terms
            self.publish(WriteBuffer(self._stream, months=abandoned.months))
            self._terms = own
        return abandoned.describe(self._stream)

    @property
    def _terms(self) -> Terms:
        """By what covered time is published: that of this run, or of one that was cut short."""
        unread = self._unread_window
        return Terms(self.watermark, self.fills_months, self.files.judged_at, unread)

    @_terms.setter
    def _terms(self, terms: Terms) -> None:
        self.watermark, self.fills_months = terms.watermark, terms.fills_months
        self.files.judged_at, self._unread_window = terms.judged_at, terms.unread

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
        self._spill.remove(months)

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
        rows, earlier = deduplicate(self._stream, buffer.tables)
        self._keep_conflicts(rows, earlier)
        return self._by_month(rows)

    def _keep_conflicts(self, rows: pa.Table, earlier: pa.Table) -> None:
        """Keep the earlier versions of rows that differ from them."""
        if len(earlier):
            conflicts = conflicting_versions(self._stream, rows, earlier)
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
        self._unread_window = difference(self._unread_window, covered)
        self.files.reread = union(self.files.reread, covered)
        stale = stale_coverage(self._unread_window, covered)
        self._unread_window = difference(self._unread_window, stale)
        update = CoverageUpdate(buffer.retracted, stale)
        if not covered and not labels:
            return update
        footers = self.files.footers
        first = first_month_start(covered, footers, labels, fills_months=self.fills_months)
        origin = update.remaining(footers[ORIGIN].coverage)
        gained = Coverage.of(covered, self.watermark).mark_provisional(buffer.doubtful)
        return replace(update, gained=coverage_by_month(gained, origin, first))

    def _merge_month(
        self, month: WaitingMonth, dropped: Dropped, quarantined: int, update: CoverageUpdate
    ) -> None:
        """Bring a month up to its runs, all at once."""
        label = month.label
        before = self.files.footers.get(label)
        coverage, is_same = self._plan_month(label, quarantined, update)
        with self._spill.merge(month, dropped) as merge:
            is_news = merge.is_news
            if is_news or not is_same:
                tables = merge.tables(partial(self.files.keep_superseded, label))
                confirmed = update.confirmed(before) if before and not is_news else ()
                claim = MonthClaim(coverage, quarantined, confirmed)
                totals = partial(getattr, merge, "totals")  # known once all rows were given
                incoming = self._spill.incoming(month)
                self.files.write(label, tables, claim, totals, incoming=incoming)

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
        upsert = plan_upsert(self._stream, rows, read_rows(self._stream, path, rows["id"]))
        self.files.keep_superseded(label, upsert.superseded)
        if upsert.is_news or not is_same:
            tables = merge_rows(self._stream, path, upsert.rows)
            expected = self._expected_totals(before, upsert) if before else None
            confirmed = update.confirmed(before) if before and not upsert.is_news else ()
            claim = MonthClaim(coverage, quarantined, confirmed)
            self.files.write(label, tables, claim, expected, incoming=[upsert.rows])

    def _publish_origin(self, update: CoverageUpdate) -> None:
        """Update what the origin's file covers: the time before the first month."""
        before = self.files.footers[ORIGIN]
        owns = self.files.owned_span(ORIGIN)
        coverage = update.apply(ORIGIN, before.coverage).clip(*owns)
        # Of a stream that was never read, what it would answer for says nothing.
        is_same = coverage == before.coverage and (owns == before.owns or not coverage.read)
        if not is_same or update.retracts(before.coverage):
            claim = MonthClaim(coverage, confirmed=update.confirmed(before))
            self.files.write(ORIGIN, (), claim, ControlTotals(), incoming=())

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
