"""Merging all runs of a month into its file, once, a slice of time after the other."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.index.hashes import Hashes
from svc_analytics.lake.merge import (
    Upsert,
    conflicting_versions,
    deduplicate,
    in_order,
    plan_upsert,
)
from svc_analytics.lake.runs.moved import Dropped, Remaining, find_dropped
from svc_analytics.lake.runs.run_file import Run
from svc_analytics.lake.runs.slices import HELD, HeldRows, Slice, SortedFile, slices
from svc_analytics.schema import Stream

KEPT_VERSIONS = 10_000  # superseded versions in memory, at most, before they are kept

Keep = Callable[[pa.Table], object]


@dataclass
class MonthMerge:
    """The rows of a month's file and of its runs, merged as if each run had been published."""

    stream: Stream
    totals: ControlTotals  # that the month must have, once all its rows were given
    _sources: Sequence[SortedFile]
    _moved: Dropped  # within the month

    @classmethod
    @contextmanager
    def open(
        cls,
        stream: Stream,
        held: tuple[Path, ControlTotals] | None,
        runs: Sequence[Run],
        dropped: Dropped,
        suspects: Hashes,
    ) -> Iterator[Self]:
        """Open what is to be merged.

        `held` is the month's file, if it has rows; `suspects` are the hashes of ids that it
        shares with the runs. Of the runs, `dropped` rows are left out.
        """
        totals = sum((run.totals for run in runs), held[1] if held else ControlTotals())
        with HeldRows.open(held[0], stream) if held else nullcontext() as file:
            sources: list[SortedFile] = [file] if file else []
            for run in runs:
                sources.append(Remaining(run, dropped))
                totals -= control_totals(stream, dropped.of(run.order))
            moved = find_dropped(stream, [sources], suspects)
            sources = [Remaining(source, moved) for source in sources]
            yield cls(stream, totals - control_totals(stream, moved.versions), sources, moved)

    @property
    def is_news(self) -> bool:
        """Whether the month's content changes at all: one reading, until something is found."""
        if all(source.order != HELD for source in self._sources):
            return any(source.groups for source in self._sources)
        has_moved = bool(len(self._moved.versions))
        return has_moved or any(self._merge(parts).is_news for parts in self._slices())

    def tables(self, keep: Keep) -> Iterator[pa.Table]:
        """Yield the month's rows in order; what they supersede is handed to `keep`."""
        moved = self._moved
        versions = [conflicting_versions(self.stream, moved.last, moved.versions)]
        for parts in self._slices():
            merged = self._merge(parts)
            for gone in (merged.earlier, merged.upsert.replaced):
                self.totals -= control_totals(self.stream, gone)
            versions.append(merged.superseded)
            if sum(map(len, versions)) >= KEPT_VERSIONS:
                keep(pa.concat_tables(versions))
                versions.clear()
            yield merged.rows
        if versions:
            keep(pa.concat_tables(versions))

    def _slices(self) -> Iterator[Slice]:
        return slices(self.stream, self._sources)

    def _merge(self, parts: Slice) -> "_Merged":
        """Merge the rows of one slice: of each id the last observed."""
        fresh = [rows for order, rows in parts if order != HELD]
        held = [rows for order, rows in parts if order == HELD]
        rows, earlier = deduplicate(self.stream, fresh)
        before = pa.concat_tables(held) if held else self.stream.no_rows
        is_again = pc.is_in(before["id"], value_set=rows["id"].combine_chunks())
        records = before.filter(is_again).select(self.stream.record_schema.names)
        upsert = plan_upsert(self.stream, rows, records)
        superseded = upsert.superseded
        if len(earlier):
            conflicts = conflicting_versions(self.stream, rows, earlier)
            superseded = pa.concat_tables([conflicts, superseded])
        rows, unchanged = upsert.rows, before.filter(pc.invert(is_again))
        if len(unchanged):
            both = (with_derived(self.stream, each) for each in (unchanged, rows))
            rows = in_order(self.stream, pa.concat_tables(both))
        return _Merged(rows, upsert, earlier, superseded)


@dataclass(frozen=True)
class _Merged:
    """One slice of a month, merged."""

    rows: pa.Table
    upsert: Upsert
    earlier: pa.Table  # versions that were observed again in a later run
    superseded: pa.Table  # those that differ from the version that stays

    @property
    def is_news(self) -> bool:
        return self.upsert.is_news or bool(len(self.superseded))
