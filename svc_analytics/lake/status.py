"""The lake's status: rows, coverage and freshness per stream."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Coverage, Spans, gaps, union
from svc_analytics.instants import BEGINNING, now as machine_clock
from svc_analytics.lake.checksums import read_signed_footer
from svc_analytics.lake.coverage_footer import CLOCK_TOLERANCE, early_claims
from svc_analytics.lake.index.month_index import instants_of_group
from svc_analytics.lake.lake import Lake, whole_coverage
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.schema import STREAMS, Stream


@dataclass(frozen=True)
class StreamStatus:
    """The state of one stream: its rows, coverage, gaps and quarantine."""

    name: str
    rows: int
    months: int
    coverage: Coverage
    quarantined: int
    first_at: int | None
    last_at: int | None
    written_at: int | None
    confirmed: Spans = ()  # two readings in a row saw the same records
    unlisted: Mapping[str, int] = field(default_factory=dict)  # records not listed now, by month
    early: Spans = ()  # called read before that time had come: extract reads it again
    unknown: tuple[str, ...] = ()  # columns that only a newer release knows

    @property
    def is_proven(self) -> bool:
        """Whether the beginning of history was read."""
        return any(start == BEGINNING for start, _ in self.coverage.complete)

    @property
    def gaps(self) -> tuple[tuple[int, int], ...]:
        """The unread time between what was read."""
        read = self.coverage.read
        return gaps(self.coverage, read[0][0], read[-1][1]) if read else ()


@dataclass(frozen=True)
class LakeStatus:
    """The state of the lake: its merchant, and each stream."""

    path: str
    merchant: dict[str, Any]
    streams: tuple[StreamStatus, ...]
    clocks: dict[str, int]  # what the clocks of the newest run told

    @property
    def clocks_differ_by(self) -> int:
        """How far the service's clock was ahead of this machine's; 0 within the tolerance."""
        if "service" not in self.clocks:
            return 0
        ahead = self.clocks["service"] - self.clocks["machine"]
        return ahead if abs(ahead) > CLOCK_TOLERANCE else 0


def lake_status(lake: Lake) -> LakeStatus:
    """Return the state of a lake by what its files say of themselves; no record is read."""
    lake.refresh()
    lake.require()
    streams = tuple(_stream_status(lake, stream) for stream in STREAMS.values())
    return LakeStatus(lake.place, lake.merchant, streams, lake.clocks)


def _stream_status(lake: Lake, stream: Stream) -> StreamStatus:
    footers = lake.footers(stream)
    with_rows = [label for label, footer in footers.items() if footer.totals.rows]
    ends = [_ends(lake, stream, label) for label in {*with_rows[:1], *with_rows[-1:]}]
    first_at = min((first for first, _ in ends), default=None)
    last_at = max((last for _, last in ends), default=None)
    clock = max(machine_clock(), last_at or 0)
    columns = frozenset[str]().union(*(footer.columns for footer in footers.values()))
    return StreamStatus(
        stream.name,
        rows=sum(footer.totals.rows for footer in footers.values()),
        months=len(footers.keys() - {ORIGIN}),
        coverage=whole_coverage(footers),
        quarantined=sum(footer.quarantined for footer in footers.values()),
        first_at=first_at,
        last_at=last_at,
        written_at=max((footer.written_at for footer in footers.values()), default=None),
        confirmed=union(*(footer.confirmed for footer in footers.values())),
        unlisted={label: len(each.unlisted) for label, each in footers.items() if each.unlisted},
        early=early_claims(footers.values(), clock),
        unknown=tuple(sorted(columns - {*stream.schema.names})),
    )


def _ends(lake: Lake, stream: Stream, label: str) -> tuple[int, int]:
    """Return the instants of a month's oldest and newest record, in UTC microseconds."""
    metadata = pq.read_metadata(pa.BufferReader(read_signed_footer(lake.month_path(stream, label))))
    groups = range(metadata.num_row_groups)
    ends = [instants_of_group(metadata, group, stream) for group in groups]
    return min(first for first, _ in ends), max(last for _, last in ends)
