"""The lake's status: rows, coverage and freshness per stream."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from svc_analytics.coverage import Coverage, Spans, gaps, union
from svc_analytics.instants import BEGINNING
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.month_coverage import CLOCK_TOLERANCE, early_claims
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse


@dataclass(frozen=True)
class StreamStatus:
    """What the lake holds of one stream."""

    name: str
    rows: int
    months: int
    coverage: Coverage
    quarantined: int
    first_at: int | None
    last_at: int | None
    written_at: int | None
    confirmed: Spans = ()  # two readings in a row saw the same records
    early: Spans = ()  # called read before that time had come: extract reads it again

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
    """What the lake holds, and of whom."""

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
    """Read the state of a lake from its footers and views."""
    merchant = lake.merchant
    with open_warehouse(lake) as warehouse:
        coverage = warehouse.coverage()
        streams = tuple(
            _stream_status(lake, stream, coverage[stream.name], warehouse)
            for stream in STREAMS.values()
        )
    return LakeStatus(lake.place, merchant, streams, lake.clocks)


def _stream_status(
    lake: Lake, stream: Stream, coverage: Coverage, warehouse: Warehouse
) -> StreamStatus:
    found = warehouse.query(
        "select coalesce(sum(rows), 0)::bigint as rows, count(*) - 1 as months, "
        "coalesce(sum(quarantined), 0)::bigint as quarantined, "
        f"epoch_us(max(written_at)) as written_at, (select epoch_us(min({stream.instant})) "
        f"from {stream.name}) as first_at, (select epoch_us(max({stream.instant})) "
        f"from {stream.name}) as last_at from stg_files where stream = $stream",
        {"stream": stream.name},
    ).to_pylist()[0]
    now = max(time.time_ns() // 1000, found["last_at"] or 0)
    footers = lake.footers(stream).values()
    early, confirmed = early_claims(footers, now), union(*(each.confirmed for each in footers))
    return StreamStatus(stream.name, coverage=coverage, confirmed=confirmed, early=early, **found)
