"""The month files of one stream while a writer is open: footers, replacements."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Coverage, Span, Spans, difference, intersection, union
from svc_analytics.instants import BEGINNING, DAY
from svc_analytics.lake import month_file
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.coverage_footer import MonthFileFooter, Shared, Unlisted, owned_span
from svc_analytics.lake.index.hashes import Hashes, join
from svc_analytics.lake.index.month_index import MonthIndex, SoughtTexts
from svc_analytics.lake.lake import Lake, whole_coverage
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lake.side_files import keep_changes, lost_quarantine
from svc_analytics.schema import Stream


@dataclass
class PublishStats:
    """The effect of publishing: files rewritten, records a person should look at."""

    files: int = 0
    retold: int = 0  # of them, those in which only properties beyond the contract are otherwise
    quarantined: int = 0
    changed: int = 0
    restated: int = 0


class MonthFiles:
    """A stream's footers by month, and the files they are of, to be replaced."""

    def __init__(
        self, lake: Lake, stream: Stream, merchant_id: str, now: int, stats: PublishStats
    ) -> None:
        self.lake = lake
        self.stream = stream
        self.now = now
        self.footers = lake.footers(stream, merchant_id)
        self.stats = stats
        self.judged_at: int | None = None  # how far time has come, by the run's clock
        self.reread: Spans = ()  # what this run has read
        self.merchant_id = merchant_id
        self._index = MonthIndex(lake, stream, keeps=True)

    @property
    def coverage(self) -> Coverage:
        """The coverage that is published, in all files."""
        return whole_coverage(self.footers)

    @property
    def fresh(self) -> Spans:
        """Complete time that was read within a day after it passed, and not again since."""
        return union(*(footer.fresh for footer in self.footers.values()))

    def lost_quarantine(self) -> Spans:
        """Return the time of months that count rejected records not on file."""
        counts = {label: footer.quarantined for label, footer in self.footers.items()}
        lost = lost_quarantine(self.lake.path, self.stream, counts)
        return union(self.footers[label].owns for label in lost)

    def path(self, label: str) -> Path:
        """Return the path of a month's file, whether it exists or not."""
        return self.lake.month_path(self.stream, label)

    def owned_span(self, label: str) -> Span:
        """Return the time that a month's file, or the origin's, answers for."""
        return owned_span(label, self.footers, self.now)

    def relocate(self, rows: dict[str, pa.Table]) -> None:
        """Remove from every other month the older versions of these rows, given by month.

        First, a new home that has a file gives up its coverage of their instants. A kill before
        the rows are published there leaves a gap to read again, never a lost or doubled row.
        """
        for label, ids in self._find_elsewhere(rows).items():
            for home, new in rows.items():
                if home != label:
                    self._retract(home, new.filter(pc.is_in(new["id"], value_set=ids)))
            self._remove_rows(label, ids)

    def shared_hashes(self, label: str, portions: Iterable[Hashes]) -> Hashes:
        """Return which of these hashes, sorted, ids of a month's file may have."""
        has_rows = self.footers[label].totals.rows
        return join(self._index.shared_hashes(label, part) for part in portions if has_rows)

    def hashes_elsewhere(self, label: str, portions: Iterable[Hashes]) -> Hashes:
        """Return which of a month's hashes, sorted, ids in the files of others may have."""
        return join(
            self.shared_hashes(other, [part])
            for part in portions
            for other in self._may_hold(part)
            if other not in (label, ORIGIN)
        )

    def held_within(self, spans: Spans) -> Iterator[tuple[str, pa.Table]]:
        """Yield ids and instants of the records of these spans, with the month that holds them."""
        for label, footer in sorted(self.footers.items()):
            if footer.totals.rows and intersection(spans, *footer.owns):
                for rows in self._index.rows_within(label, spans):
                    yield label, rows

    def rows(self, label: str, ids: Iterable[str]) -> pa.Table:
        """Return the records of a month that have one of these ids."""
        texts = SoughtTexts.of(pa.chunked_array([[*ids]], pa.string()))
        return self._index.rows(label, "id", texts)

    def renew(self) -> None:
        """Write the files anew that lack columns of this release."""
        for label, footer in self.footers.items():
            if footer.columns and not footer.columns >= {*self.stream.schema.names}:
                path = self.path(label)
                self.footers[label] = month_file.rewrite_month_file(self.lake.storage, path, footer)
                self._index.save(label)

    def confirm(self, span: Span) -> None:
        """Note that the complete time within a span was read twice, and alike.

        But not of a month of which a record is not listed: there no reading agrees with the lake.
        """
        for label, footer in list(self.footers.items()):
            confirmed = union(footer.confirmed, intersection(footer.coverage.complete, *span))
            if confirmed != footer.confirmed and not footer.unlisted:
                self._restate(label, footer.coverage, confirmed)

    def note_unlisted(self, label: str, records: tuple[Unlisted, ...]) -> None:
        """Note which records of a month the service's list lacks; none of it is confirmed then."""
        footer = self.footers[label]
        if records != footer.unlisted:
            self.footers[label] = replace(footer, unlisted=records)
            self._restate(label, footer.coverage, () if records else footer.confirmed)

    def _restate(self, label: str, coverage: Coverage, confirmed: Spans) -> None:
        """Write a month's file anew with the same rows and another claim."""
        rows, held = month_file.read_groups(self.path(label)), self.footers[label]
        self.write(label, rows, held.totals, coverage, held.quarantined, confirmed=confirmed)

    def keep_superseded(self, label: str, versions: pa.Table) -> None:
        """Write superseded versions of records to a side file."""
        self.stats.restated += keep_changes(self.lake.storage, self.stream, label, versions)
        self.stats.changed += len(versions)

    def write(
        self,
        label: str,
        tables: Iterable[pa.Table],
        expected: ControlTotals | Callable[[], ControlTotals] | None,
        coverage: Coverage,
        quarantined: int = 0,
        *,
        confirmed: Spans = (),
        incoming: Iterable[pa.Table] = (),
    ) -> None:
        """Replace a month's file by rows that have the totals expected of them, if known.

        What was `confirmed` of them stays so as far as it is complete. `incoming` are those of
        the rows that the file may not have held before.
        """
        unsettled = difference(confirmed, coverage.complete)
        before = self.footers.get(label)
        footer = MonthFileFooter(
            stream=self.stream.name,
            merchant_id=self.merchant_id,
            owns=self.owned_span(label),
            coverage=coverage,
            quarantined=quarantined,
            written_at=self.now,
            confirmed=difference(confirmed, unsettled),
            unlisted=before.unlisted if before else (),
            fresh=self._fresh(label, coverage),
            judged_at=self._judged_at(label, coverage),
            shared=self._shared(label, incoming),
        )
        storage, path = self.lake.storage, self.path(label)
        footer = month_file.write_month_file(storage, path, self.stream, tables, footer, expected)
        self.footers[label] = footer
        self._index.save(label)
        self.stats.files += 1

    def _fresh(self, label: str, coverage: Coverage) -> Spans:
        """Return the complete time that was read within a day after it passed, and not since."""
        now = self.now if self.judged_at is None else self.judged_at
        held = union(*(self.footers[home].fresh for home in {label, ORIGIN} & self.footers.keys()))
        other = difference(coverage.complete, difference(held, self.reread))
        return difference(coverage.complete, intersection(other, BEGINNING, now - DAY))

    def _judged_at(self, label: str, coverage: Coverage) -> int | None:
        """Return how far time had come by the run's clock, or by that of a claim that is kept.

        The clock may be behind that of the run which claimed it.
        """
        if self.judged_at is None:
            return None
        moments = [self.judged_at]
        for home in {label, ORIGIN} & self.footers.keys():  # the origin's file gives months away
            before = self.footers[home]
            anew = difference(coverage.read, before.coverage.read)
            unread = difference(coverage.read, anew)
            moments += [min(before.claimed_at, end) for _, end in unread]
        return max(moments)

    def _shared(self, label: str, incoming: Iterable[pa.Table]) -> Shared:
        """Return which values of a month other months hold too, its incoming rows included."""
        others = {
            month: each
            for month, each in self.footers.items()
            if each.totals.rows and month not in (label, ORIGIN)
        }
        before = self.footers.get(label)
        known = before.shared if before else {}
        return self._index.shared(others, known, incoming)

    def _find_elsewhere(self, rows: dict[str, pa.Table]) -> dict[str, pa.Array]:
        """Find by month the ids of new rows that the file of another month holds."""
        if not rows:
            return {}
        ids = pa.chunked_array(
            [chunk for table in rows.values() for chunk in table["id"].chunks], pa.string()
        )
        homes = np.repeat(np.arange(len(rows)), [len(table) for table in rows.values()])
        places = {label: place for place, label in enumerate(rows)}
        texts, elsewhere = SoughtTexts.of(ids), {}
        for label in self._may_hold(texts.hashes):
            foreign = texts.only(homes != places.get(label, -1))
            held = self._index.rows(label, "id", foreign, ["id"])
            if len(held):
                elsewhere[label] = held["id"].combine_chunks()
        return elsewhere

    def _may_hold(self, hashes: Hashes) -> list[str]:
        return self._index.may_hold(self.footers, "id", hashes)

    def _retract(self, home: str, moving: pa.Table) -> None:
        """Retract the instants of moving rows from the coverage of their new month."""
        moments = [(at, at + 1) for at in self.stream.instants(moving).tolist()]
        for label in (home, ORIGIN):  # the origin's file covers months that have no file
            footer = self.footers.get(label)
            if footer and footer.coverage.remove(moments) != footer.coverage:
                self._restate(label, footer.coverage.remove(moments), footer.confirmed)

    def _remove_rows(self, label: str, ids: pa.Array) -> None:
        """Remove rows from a month's file, and keep them as superseded versions."""
        path, footer, gone = self.path(label), self.footers[label], {*ids.to_pylist()}
        staying = tuple(each for each in footer.unlisted if each.id not in gone)
        self.footers[label] = replace(footer, unlisted=staying)  # they are leaving it
        leaving = month_file.read_rows(self.stream, path, pa.chunked_array([ids]))
        is_restatement = pa.array([True] * len(leaving), pa.bool_())
        self.keep_superseded(label, leaving.append_column("is_restatement", is_restatement))
        expected = footer.totals - control_totals(self.stream, leaving)
        rows = month_file.drop_rows(path, ids)
        self.write(label, rows, expected, footer.coverage, footer.quarantined)
