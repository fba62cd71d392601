"""What waits to be published of one stream: rows, proofs of time, and doubts."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Coverage, Span, Spans, difference, union
from svc_analytics.lake.quarantine import QuarantinedRecord
from svc_analytics.periods import Period, month

PACKED_ROWS = 6_400  # joined at a time


@dataclass
class WriteBuffer:
    """What waits to be published of one stream, in the order it was observed."""

    tables: list[pa.Table] = field(default_factory=list)
    rejected: list[QuarantinedRecord] = field(default_factory=list)
    covered: Spans = ()
    retracted: Spans = ()
    size: int = 0  # about what the rows take in memory, in bytes
    _loose: list[pa.Table] = field(default_factory=list)

    def add(self, rows: pa.Table, size: int) -> None:
        """Take some pages' rows. They are packed: small buffers hold twice what they carry."""
        self.size += size
        self._loose.append(rows)
        if sum(map(len, self._loose)) >= PACKED_ROWS:
            self.pack()

    def pack(self) -> None:
        """Copy loose rows into one exact block."""
        if self._loose:
            self.tables.append(pa.concat_tables(self._loose).combine_chunks())
            self._loose.clear()

    def cover(self, span: Span) -> None:
        """Note that all rows of [start, end) are staged or were published."""
        self.covered = union(self.covered, [span])

    def retract(self, spans: Iterable[Span]) -> None:
        """Take back what was covered of these intervals: they must be read again."""
        spans = union(spans)
        self.covered = Coverage(self.covered).remove(spans).complete
        self.retracted = union(self.retracted, spans)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits at all."""
        return not (self.tables or self._loose or self.rejected or self.covered or self.retracted)

    def hold_back(self, rows: dict[str, pa.Table], read: Spans) -> "WriteBuffer":
        """Take those of the months' rows out, with their proofs, that are still being read.

        Return them to wait for more; but publish them if they are most of all there is.
        `read` is what was read of the stream by now.
        """
        unread = sorted(label for label in rows if not _is_whole(month(label), read))
        held = sum(len(rows[label]) for label in unread)
        total = sum(map(len, rows.values()))
        if 2 * held > total:
            return WriteBuffer()
        # Copied, for a slice would keep in memory all that is published now.
        tables = [_copy(rows.pop(label)) for label in unread]
        left = WriteBuffer(tables, covered=self._give_up(unread))
        left.size = self.size * held // max(total, 1)
        return left

    def _give_up(self, labels: Iterable[str]) -> Spans:
        kept = difference(
            self.covered, union((period.start, period.end) for period in map(month, labels))
        )
        given, self.covered = difference(self.covered, kept), kept
        return given


def _is_whole(period: Period, read: Spans) -> bool:
    """Whether a month was read from its start to its end, or to the newest time read."""
    newest = read[-1][1] if read else period.start
    return not difference([(period.start, max(period.start, min(period.end, newest)))], read)


def _copy(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(np.arange(len(rows))))
