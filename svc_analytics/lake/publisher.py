"""Publishing one stream: staged rows, proofs and doubts become month files.

Every month is replaced in one step that carries its rows and its coverage together.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Coverage, Span, Spans, difference, intersection, union
from svc_analytics.instants import BEGINNING
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.footer import PartitionFooter
from svc_analytics.lake.id_index import IdIndex
from svc_analytics.lake.lake import Lake, whole_coverage
from svc_analytics.lake.layout import IDS_FOLDER, ORIGIN, changes_schema, tool_version
from svc_analytics.lake.merge import (
    Upsert,
    conflicting_versions,
    deduplicate,
    drop_rows,
    merge_rows,
    plan_upsert,
    read_rows,
)
from svc_analytics.lake.partition import read_groups, write_partition
from svc_analytics.lake.quarantine import count_quarantined, keep_quarantine, resolve_quarantine
from svc_analytics.lake.side_files import keep_changes
from svc_analytics.lake.write_buffer import WriteBuffer
from svc_analytics.periods import month, month_of, utc_months
from svc_analytics.schema import Stream


@dataclass
class PublishStats:
    """What publishing changed: files rewritten, and what a person should look at."""

    files: int = 0
    quarantined: int = 0
    changed: int = 0
    restated: int = 0


@dataclass(frozen=True)
class _PartitionUpdate:
    """What one month gets."""

    rows: pa.Table
    quarantined: int
    coverage: Coverage


class StreamPublisher:
    """Owns the month files of one stream while a writer is open.

    `gives_every_month_a_file`: a run with a lower bound leaves a file for each month
    it covered; an open-ended one notes the empty time before the first month once,
    in the origin's file.
    """

    def __init__(self, lake: Lake, stream: Stream, merchant_id: str, now: int) -> None:
        self.lake = lake
        self.stream = stream
        self.footers = lake.footers(stream, merchant_id)
        self._merchant_id = merchant_id
        self.published = PublishStats()
        self.settled_at = now
        self.gives_every_month_a_file = False
        self._aging: Spans = ()
        self._whereabouts = IdIndex(lake.path / IDS_FOLDER / stream.name)
        self._now = now

    @property
    def coverage(self) -> Coverage:
        """What is published as read."""
        return whole_coverage(self.footers)

    def lost(self) -> Spans:
        """The months that count rejected records of which no file tells any more."""
        held = count_quarantined(self.lake.path, self.stream)
        return union(
            footer.owns
            for label, footer in self.footers.items()
            if footer.quarantined > held.get(label, 0)
        )

    def look_back(self, overlap: int) -> None:
        """Set how much of the newest complete time is to be read again in this run.

        Once newer time is published, only that newest part would be read again next
        time: what this run has not come to by then is provisional until it is read.
        """
        complete = self.coverage.complete
        newest = complete[-1][1] if complete else BEGINNING
        self._aging = intersection(complete, max(newest - overlap, BEGINNING), newest)

    def publish(self, staged: WriteBuffer, *, holds_back: bool = False) -> WriteBuffer:
        """Bring every month up to what is staged, then the proof of the beginning.

        If it may hold back, a month that is still being read waits to be written once;
        return what waits.
        """
        if holds_back and staged.is_empty:
            return staged
        staged.pack()
        table, earlier = deduplicate(self.stream, staged.tables)
        self._keep_contradicted(table, earlier)
        rows = self._by_month(table)
        read = union(self.coverage.remove(staged.retracted).read, staged.covered)
        left = staged.hold_back(rows, read) if holds_back else WriteBuffer()
        ids = pa.concat_tables([self.stream.no_rows, *rows.values()])["id"]
        # Written first: a month never counts what is not on file beside it.
        aside = keep_quarantine(self.lake.path, self.stream, staged.rejected, ids)
        self._count(quarantined=aside.new)
        aged = self._aged(staged.covered)
        origin = self.footers[ORIGIN].coverage.remove(staged.retracted).mark_provisional(aged)
        gained = self._gains(staged.covered, {*rows, *aside.open}, origin)
        self._clear_elsewhere(rows)
        touched = {*rows, *gained, *self._changed(staged.retracted, aged, aside.open)} - {ORIGIN}

        for label in sorted(touched):
            held = self._held_coverage(label).remove(staged.retracted).mark_provisional(aged)
            news = _PartitionUpdate(
                rows.get(label, self.stream.no_rows),
                aside.open.get(label, 0),
                held.add(gained.get(label, Coverage())),
            )
            self._publish_month(label, news)
        self._publish_origin(gained.get(ORIGIN, Coverage()), staged.retracted, aged)
        resolve_quarantine(self.lake.path, self.stream, aside.cleared, self._now)
        return left

    def _aged(self, covered: Spans) -> Spans:
        """What is no longer sure with this publication, for newer time comes with it."""
        self._aging = difference(self._aging, covered)
        if not (self._aging and covered and covered[-1][1] > self._aging[-1][1]):
            return ()
        aged, self._aging = self._aging, ()
        return aged

    def _changed(self, retracted: Spans, aged: Spans, still_open: dict[str, int]) -> set[str]:
        """The months that lose coverage, or whose count of rejected records is another now."""
        return {*still_open} | {
            label
            for label, footer in self.footers.items()
            if footer.coverage.remove(retracted).mark_provisional(aged) != footer.coverage
            or footer.quarantined != still_open.get(label, 0)
        }

    def write(
        self,
        label: str,
        tables: Iterable[pa.Table],
        coverage: Coverage,
        quarantined: int,
        expected: ControlTotals | None,
    ) -> None:
        """Replace one month's file by rows that add up to what is expected of them, if known."""

        def describe(tally: ControlTotals) -> PartitionFooter:
            return PartitionFooter(
                stream=self.stream.name,
                merchant_id=self._merchant_id,
                owns=self._owned(label),
                coverage=coverage,
                tally=tally,
                quarantined=quarantined,
                written_at=self._now,
                tool_version=tool_version(),
            )

        path = self.lake.month_path(self.stream, label)
        noted = self._whereabouts.note(tables)
        footer = write_partition(path, self.stream, noted, describe, expected)
        self.footers[label] = footer
        self._whereabouts.keep(label, footer.tally.ids_digest)
        self._count(files=1)

    def _keep_contradicted(self, rows: pa.Table, earlier: pa.Table) -> None:
        """Keep what the service said first, where it told one id twice and differently."""
        if len(earlier):
            for label, found in self._by_month(
                conflicting_versions(self.stream, rows, earlier)
            ).items():
                restated = keep_changes(self.lake.path, self.stream, label, found)
                self._count(changed=len(found), restated=restated)

    def _publish_month(self, label: str, news: _PartitionUpdate) -> None:
        path = self.lake.month_path(self.stream, label)
        incoming = plan_upsert(self.stream, news.rows, path)
        restated = keep_changes(self.lake.path, self.stream, label, incoming.superseded)
        before = self.footers.get(label)
        is_same = before and (before.coverage, before.quarantined) == (
            news.coverage,
            news.quarantined,
        )
        if incoming.is_news or not is_same:
            tables = merge_rows(self.stream, path, incoming.rows)
            expected = self._expect(before, incoming) if before else None
            self.write(label, tables, news.coverage, news.quarantined, expected)
        self._count(changed=len(incoming.superseded), restated=restated)

    def _publish_origin(self, gained: Coverage, retracted: Spans, aged: Spans) -> None:
        """Keep the proof of the beginning; what months with a file own is theirs."""
        before = self.footers[ORIGIN]
        owns = self._owned(ORIGIN)
        held = before.coverage.remove(retracted).mark_provisional(aged)
        coverage = held.add(gained).clip(*owns)
        if (coverage, owns) != (before.coverage, before.owns):
            self.write(ORIGIN, (), coverage, 0, ControlTotals())

    def _expect(self, before: PartitionFooter, incoming: Upsert) -> ControlTotals:
        """Reckon what a month must hold once these rows are merged into it."""
        return before.tally - self._tally(incoming.replaced) + self._tally(incoming.rows)

    def _tally(self, rows: pa.Table) -> ControlTotals:
        return control_totals(self.stream, rows) if len(rows) else ControlTotals()

    def _count(self, **more: int) -> None:
        for name, value in more.items():
            setattr(self.published, name, getattr(self.published, name) + value)

    def _held_coverage(self, label: str) -> Coverage:
        footer = self.footers.get(label)
        return footer.coverage if footer else Coverage()

    def _owned(self, label: str) -> Span:
        if label != ORIGIN:
            return month(label).start, month(label).end
        first = self._first_month()
        return BEGINNING, self._now if first is None else first

    def _first_month(self) -> int | None:
        """The start of the first month that has a file."""
        labels = [label for label in self.footers if label != ORIGIN]
        return month(min(labels)).start if labels else None

    def _by_month(self, rows: pa.Table) -> dict[str, pa.Table]:
        """Cut rows in order at the bounds of months."""
        instants = np.asarray(rows[self.stream.instant].cast(pa.int64()))
        found: dict[str, pa.Table] = {}
        place = 0
        while place < len(instants):
            period = month_of(int(instants[place]))
            end = int(np.searchsorted(instants, period.end))
            found[period.label] = rows.slice(place, end - place)
            place = end
        return found

    def _gains(
        self, covered: Spans, labels: Iterable[str], origin: Coverage
    ) -> dict[str, Coverage]:
        """Split what was covered by the month whose file is to carry it."""
        if not covered:
            return {}
        floor = self._floor(covered, labels)
        gained = Coverage.of(covered, self.settled_at)
        # Time the origin's file held, in months that get a file now, moves into theirs: also
        # behind months with a file, where a power cut took the next ones.
        moved = origin.clip(floor, max((end for _, end in origin.read), default=floor))
        within = gained.clip(floor, covered[-1][1]).add(moved)
        found = {ORIGIN: gained.clip(BEGINNING, floor)}
        for start, end in within.read:
            for period in utc_months(start, end):
                found[period.label] = within.clip(period.start, period.end)
        return found

    def _floor(self, covered: Spans, labels: Iterable[str]) -> int:
        """The start of the first month that has, or now gets, a file."""
        first = self._first_month()
        starts = [month(label).start for label in labels]
        starts.append(month_of(covered[-1][1] - 1).start if first is None else first)
        if self.gives_every_month_a_file:
            starts += [month_of(start).start for start, _ in covered if start >= 0]
        return min(starts)

    def _clear_elsewhere(self, rows: dict[str, pa.Table]) -> None:
        """Take rows out of the months they left: there is one row per id in all the folder.

        The new month is published without the proof of that instant first, so that a
        kill in between leaves a gap to be read again, never a lost or doubled row.
        """
        for label, ids in self._found_elsewhere(rows).items():
            for home, keys in rows.items():
                if home != label and pc.any(pc.is_in(keys["id"], value_set=ids)).as_py():
                    self._uncover(home, keys, ids)
            self._take_out(label, ids)

    def _found_elsewhere(self, rows: dict[str, pa.Table]) -> dict[str, pa.Array]:
        """Find new ids that a month's file holds while they now belong to another month."""
        found: dict[str, pa.Array] = {}
        if not rows:
            return found
        sought = self._whereabouts.seek(rows)
        for label, footer in self.footers.items():
            path = self.lake.month_path(self.stream, label)
            ids = self._whereabouts.held(path, footer.tally.ids_digest, sought)
            if len(ids):
                found[label] = ids
        return found

    def _uncover(self, label: str, rows: pa.Table, ids: pa.Array) -> None:
        moving = rows.filter(pc.is_in(rows["id"], value_set=ids))
        instants = moving[self.stream.instant].cast(pa.int64()).to_pylist()
        moments = [(at, at + 1) for at in instants]
        # A month without a file may be covered empty by the origin's.
        for holder in (label, ORIGIN):
            footer = self.footers.get(holder)
            if footer and footer.coverage.remove(moments) != footer.coverage:
                tables = read_groups(self.lake.month_path(self.stream, holder))
                left = footer.coverage.remove(moments)
                self.write(holder, tables, left, footer.quarantined, footer.tally)

    def _take_out(self, label: str, ids: pa.Array) -> None:
        path = self.lake.month_path(self.stream, label)
        held = read_rows(self.stream, path, pa.chunked_array([ids]))
        field_ = changes_schema(self.stream).field("is_restatement")
        superseded = held.append_column(field_, pa.array([True] * len(held), pa.bool_()))
        restated = keep_changes(self.lake.path, self.stream, label, superseded)
        self._count(changed=len(held), restated=restated)
        footer = self.footers[label]
        expected = footer.tally - self._tally(held)
        self.write(label, drop_rows(path, ids), footer.coverage, footer.quarantined, expected)
