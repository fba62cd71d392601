"""The write buffer: rows and covered time of a stream, not yet published."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Coverage, Span, Spans, difference, union
from svc_analytics.lake.quarantine import QuarantinedRecord
from svc_analytics.periods import Period, month

PACKED_ROWS = 6_400  # rows copied into one block at a time


@dataclass
class WriteBuffer:
    """What was read of a stream and is not yet published, in order of observation."""

    tables: list[pa.Table] = field(default_factory=list)
    rejected: list[QuarantinedRecord] = field(default_factory=list)
    covered: Spans = ()
    retracted: Spans = ()
    doubtful: Spans = ()  # of what is covered: only provisionally
    size: int = 0  # about what the rows take in memory, in bytes
    is_ordered: bool = True  # whether the list was newest-first wherever it was read
    _loose: list[pa.Table] = field(default_factory=list)

    def add(
        self, rows: pa.Table, rejected: Iterable[QuarantinedRecord] = (), size: int = 0
    ) -> None:
        """Add rows, of about this size in bytes, and rejected records."""
        self.rejected.extend(rejected)
        if len(rows):
            self.size += size
            self._loose.append(rows)
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

    def doubt(self, spans: Iterable[Span]) -> None:
        """Mark covered intervals as read only provisionally."""
        self.doubtful = union(self.doubtful, spans)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits for publishing."""
        return not (self.tables or self._loose or self.rejected or self.covered or self.retracted)

    def hold_back(self, rows: dict[str, pa.Table], read: Spans) -> "WriteBuffer":
        """Move months that are still being read out of `rows` into another buffer.

        If they are most of the rows they stay: memory is to be freed. `read` is all time
        of the stream that was read by now, published or not.
        """
        unread = sorted(label for label in rows if not _is_read(month(label), read))
        held = sum(len(rows[label]) for label in unread)
        total = sum(map(len, rows.values()))
        if 2 * held > total:
            return WriteBuffer()
        # Copied: a slice would keep in memory all that is published now.
        tables = [_copy(rows.pop(label)) for label in unread]
        waiting = WriteBuffer(tables, covered=self._uncover(unread), doubtful=self.doubtful)
        waiting.size = self.size * held // max(total, 1)
        return waiting

    def _uncover(self, labels: Iterable[str]) -> Spans:
        """Take the coverage of these months out of the buffer, and return it."""
        months = [(period.start, period.end) for period in map(month, labels)]
        remaining = difference(self.covered, months)
        taken, self.covered = difference(self.covered, remaining), remaining
        return taken


def _is_read(period: Period, read: Spans) -> bool:
    """Whether a month was read from its start to its end, or to the newest time read."""
    newest = read[-1][1] if read else period.start
    return not difference([(period.start, max(period.start, min(period.end, newest)))], read)


def _copy(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(np.arange(len(rows))))
