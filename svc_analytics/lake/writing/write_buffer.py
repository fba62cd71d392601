"""The write buffer: rows and covered time of a stream, not yet published."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Coverage, Span, Spans, difference, union
from svc_analytics.lake.runs.run_file import WaitingMonth
from svc_analytics.lake.side_files import QuarantinedRecord
from svc_analytics.periods import month
from svc_analytics.schema import Stream

PACKED_ROWS = 6_400  # rows copied into one block at a time


@dataclass
class WriteBuffer:
    """The rows of a stream that wait to be published, in order of observation."""

    stream: Stream
    tables: list[pa.Table] = field(default_factory=list)
    rejected: list[QuarantinedRecord] = field(default_factory=list)
    covered: Spans = ()
    retracted: Spans = ()
    doubtful: Spans = ()  # of what is covered: only provisionally
    size: int = 0  # about what the rows take in memory, in bytes
    is_ordered: bool = True  # whether the list was newest-first wherever it was read
    months: dict[str, WaitingMonth] = field(default_factory=dict)  # spilled, by label
    _loose: list[pa.Table] = field(default_factory=list)
    _months: set[int] = field(default_factory=set)  # of the rows: when each begins

    def add(
        self, rows: pa.Table, rejected: Iterable[QuarantinedRecord] = (), size: int = 0
    ) -> None:
        """Add rows, of about this size in bytes, and rejected records."""
        self.rejected.extend(rejected)
        if len(rows):
            self.size += size
            self._loose.append(rows)
            self._months |= self._months_of(rows)
        if sum(map(len, self._loose)) >= PACKED_ROWS:
            self.pack()

    def pack(self) -> None:
        """Copy the rows added last into one block: small tables take twice the memory."""
        if self._loose:
            self.tables.append(pa.concat_tables(self._loose).combine_chunks())
            self._loose.clear()

    def cover(self, span: Span) -> None:
        """Mark [start, end) as covered: all its rows were added, now or before."""
        self.covered = union(self.covered, [span])

    def retract(self, spans: Iterable[Span]) -> None:
        """Mark intervals as not covered after all: they must be read again."""
        spans = union(spans)
        self.covered = Coverage(self.covered).remove(spans).complete
        self.retracted = union(self.retracted, spans)
        for each in self.months.values():
            each.retract(spans)

    def doubt(self, spans: Iterable[Span]) -> None:
        """Mark covered intervals as read only provisionally."""
        self.doubtful = union(self.doubtful, spans)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added since what waits was spilled."""
        return not (self.tables or self._loose or self.rejected or self.covered or self.retracted)

    def has_rows_within(self, start: int, end: int) -> bool:
        """Whether a row in memory is of these whole months."""
        return any(start <= first < end for first in self._months)

    def hold_back(self, labels: set[str]) -> "WriteBuffer":
        """Move what is covered and spilled of these months into another buffer."""
        waiting = WriteBuffer(self.stream, covered=self._uncover(labels), doubtful=self.doubtful)
        waiting.months = {each: self.months.pop(each) for each in labels & self.months.keys()}
        return waiting

    def keep(self, rows: Iterable[pa.Table], size: int) -> None:
        """Keep rows in memory, of about this size."""
        # Copied: a slice would keep in memory all that is published now.
        for table in rows:
            self.tables.append(table.take(pa.array(np.arange(len(table)))))
            self._months |= self._months_of(table)
        self.size = size

    def take_claims(self) -> None:
        """Count what its spilled months cover as covered by itself."""
        months = self.months.values()
        self.covered = union(self.covered, *(each.covered for each in months))
        self.doubtful = union(self.doubtful, *(each.doubtful for each in months))

    def _months_of(self, rows: pa.Table) -> set[int]:
        """Return when the UTC months of rows begin, in microseconds."""
        instants = self.stream.instants(rows).astype("datetime64[us]")
        months = np.unique(instants.astype("datetime64[M]"))
        return set(months.astype("datetime64[us]").astype(np.int64).tolist())

    def _uncover(self, labels: Iterable[str]) -> Spans:
        """Take the coverage of these months out of the buffer, and return it."""
        months = [(period.start, period.end) for period in map(month, labels)]
        remaining = difference(self.covered, months)
        taken, self.covered = difference(self.covered, remaining), remaining
        return taken
