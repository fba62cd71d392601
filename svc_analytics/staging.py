"""What waits to be published of one stream: rows, proofs of time, and doubts."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from svc_analytics.coverage import Coverage, Span, Spans, subtract, unite
from svc_analytics.sidefile import Quarantined

PACKED_ROWS = 6_400  # joined at a time


@dataclass
class Staged:
    """What waits to be published of one stream, in the order it was observed."""

    tables: list[pa.Table] = field(default_factory=list)
    rejected: list[Quarantined] = field(default_factory=list)
    proven: Spans = ()
    doubted: Spans = ()
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

    def prove(self, span: Span) -> None:
        """Note that all rows of [start, end) are staged or were published."""
        self.proven = unite(self.proven, [span])

    def doubt(self, spans: Iterable[Span]) -> None:
        """Take back what was proven of these intervals: they must be read again."""
        spans = unite(spans)
        self.proven = Coverage(self.proven).remove(spans).complete
        self.doubted = unite(self.doubted, spans)

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits at all."""
        return not (self.tables or self._loose or self.rejected or self.proven or self.doubted)

    def split(self, spans: Iterable[Span]) -> "Staged":
        """Give up the proofs of these intervals; return them."""
        kept = subtract(self.proven, spans := unite(spans))
        given, self.proven = subtract(self.proven, kept), kept
        return Staged(proven=given)
