"""Publishing one stream: buffered rows and covered time become month files."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Coverage, Spans, difference, union
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.footer import PartitionFooter
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.merge import (
    Upsert,
    conflicting_versions,
    deduplicate,
    merge_rows,
    plan_upsert,
)
from svc_analytics.lake.month_coverage import (
    CoverageUpdate,
    coverage_by_month,
    first_month_start,
    lookback_window,
    stale_coverage,
)
from svc_analytics.lake.month_files import MonthFiles
from svc_analytics.lake.quarantine import (
    QuarantineUpdate,
    count_quarantined,
    keep_quarantine,
    resolve_quarantine,
)
from svc_analytics.lake.write_buffer import WriteBuffer
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
        self._lake = files.lake.path
        self._stream = files.stream
        self._unread_window: Spans = ()

    def set_lookback(self, complete: Spans, lookback: int) -> None:
        """Set how much of the newest complete time this run is to read again."""
        self._unread_window = lookback_window(complete, lookback)

    def months_with_lost_quarantine(self) -> Spans:
        """Return the time of months that count rejected records not on file."""
        on_file = count_quarantined(self._lake, self._stream)
        return union(
            footer.owns
            for label, footer in self.files.footers.items()
            if footer.quarantined > on_file.get(label, 0)
        )

    def publish(self, buffer: WriteBuffer, *, holds_back: bool = False) -> WriteBuffer:
        """Bring every month up to what is buffered; return what waits for the next time.

        Only if it `holds_back`, a month that is still being read waits, to be written once.
        """
        if holds_back and buffer.is_empty:
            return buffer
        rows = self._deduplicate(buffer)
        waiting = self._hold_back(buffer, rows) if holds_back else WriteBuffer()
        quarantine = self._keep_quarantine(buffer, rows)
        update = self._plan_coverage(buffer, {*rows, *quarantine.open})
        self.files.relocate(rows)
        labels = {*self.files.footers, *rows, *quarantine.open, *update.gained} - {ORIGIN}
        for label in sorted(labels):
            new = rows.get(label, self._stream.no_rows)
            self._publish_month(label, new, quarantine.open.get(label, 0), update)
        self._publish_origin(update)
        resolve_quarantine(self._lake, self._stream, quarantine.cleared, self.files.now)
        return waiting

    def _deduplicate(self, buffer: WriteBuffer) -> dict[str, pa.Table]:
        """Return the buffered rows by month, one per id; keep conflicting versions."""
        buffer.pack()
        rows, earlier = deduplicate(self._stream, buffer.tables)
        if len(earlier):
            conflicts = conflicting_versions(self._stream, rows, earlier)
            for label, versions in self._by_month(conflicts).items():
                self.files.keep_superseded(label, versions)
        return self._by_month(rows)

    def _hold_back(self, buffer: WriteBuffer, rows: dict[str, pa.Table]) -> WriteBuffer:
        read = self.files.coverage.remove(buffer.retracted).read
        return buffer.hold_back(rows, union(read, buffer.covered))

    def _keep_quarantine(self, buffer: WriteBuffer, rows: dict[str, pa.Table]) -> QuarantineUpdate:
        """Write rejected records to their file, before any month counts them."""
        ids = pa.concat_tables([self._stream.no_rows, *rows.values()])["id"]
        quarantine = keep_quarantine(
            self._lake, self._stream, buffer.rejected, ids, is_ordered=buffer.is_ordered
        )
        self.files.stats.quarantined += quarantine.new
        return quarantine

    def _plan_coverage(self, buffer: WriteBuffer, labels: Collection[str]) -> CoverageUpdate:
        """Plan what each file is to cover; the months in `labels` get a file."""
        covered = buffer.covered
        self._unread_window = difference(self._unread_window, covered)
        stale = stale_coverage(self._unread_window, covered)
        self._unread_window = difference(self._unread_window, stale)
        update = CoverageUpdate(buffer.retracted, stale)
        if not covered:
            return update
        footers = self.files.footers
        first = first_month_start(covered, footers, labels, fills_months=self.fills_months)
        origin = update.remaining(footers[ORIGIN].coverage)
        gained = Coverage.of(covered, self.watermark).mark_provisional(buffer.doubtful)
        return replace(update, gained=coverage_by_month(gained, origin, first))

    def _publish_month(
        self, label: str, rows: pa.Table, quarantined: int, update: CoverageUpdate
    ) -> None:
        before = self.files.footers.get(label)
        coverage = update.apply(label, before.coverage if before else Coverage())
        is_same = before and (before.coverage, before.quarantined) == (coverage, quarantined)
        # Made again, the same claim is of another time: the file must say of which.
        is_same = is_same and before and not update.retracts(before.coverage)
        if is_same and not len(rows):
            return
        path = self.files.path(label)
        upsert = plan_upsert(self._stream, rows, path)
        self.files.keep_superseded(label, upsert.superseded)
        if upsert.is_news or not is_same:
            tables = merge_rows(self._stream, path, upsert.rows)
            expected = self._expected_totals(before, upsert) if before else None
            confirmed = update.confirmed(before) if before and not upsert.is_news else ()
            self.files.write(
                label,
                tables,
                coverage,
                quarantined,
                expected,
                incoming=[upsert.rows],
                confirmed=confirmed,
            )

    def _publish_origin(self, update: CoverageUpdate) -> None:
        """Update what the origin's file covers: the time before the first month."""
        before = self.files.footers[ORIGIN]
        owns = self.files.owned_span(ORIGIN)
        coverage = update.apply(ORIGIN, before.coverage).clip(*owns)
        is_same = (coverage, owns) == (before.coverage, before.owns)
        if not is_same or update.retracts(before.coverage):
            confirmed = update.confirmed(before)
            self.files.write(
                ORIGIN, (), coverage, 0, ControlTotals(), incoming=(), confirmed=confirmed
            )

    def _expected_totals(self, before: PartitionFooter, upsert: Upsert) -> ControlTotals:
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
