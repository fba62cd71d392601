"""Coverage: the time that was read of a stream, as sets of half-open intervals.

`complete` time is settled: the service shows nothing new there. `provisional` time
was read too, but so recently that a late record may still appear in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from svc_analytics.formatting.displayable import Displayable
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.messages import translated

if TYPE_CHECKING:
    from svc_analytics.formatting.display import Display

Span = tuple[int, int]  # half-open, UTC microseconds
Spans = tuple[Span, ...]  # disjoint, not touching, oldest first


def union(*sets: Iterable[Span]) -> Spans:
    """Return everything that is in any of the sets.

    >>> union([(5, 7), (0, 2)], [(2, 3)])
    ((0, 3), (5, 7))
    """
    merged: list[Span] = []
    for start, end in sorted(span for spans in sets for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def difference(spans: Iterable[Span], taken: Iterable[Span]) -> Spans:
    """Subtract the second set of spans from the first.

    >>> difference([(0, 10)], [(2, 3), (8, 12)])
    ((0, 2), (3, 8))
    """
    remaining = union(spans)
    for start, end in union(taken):
        pieces = [((a, min(b, start)), (max(a, end), b)) for a, b in remaining]
        remaining = tuple(piece for pair in pieces for piece in pair if piece[0] < piece[1])
    return remaining


def intersection(spans: Iterable[Span], start: int, end: int) -> Spans:
    """Return the part of a set that lies within [start, end).

    >>> intersection([(0, 10), (20, 30)], 5, 25)
    ((5, 10), (20, 25))
    """
    inside = [(max(a, start), min(b, end)) for a, b in spans]
    return union(span for span in inside if span[0] < span[1])


@dataclass(frozen=True)
class Coverage(Displayable):
    """The time that was read of one stream, in UTC microseconds. A span is never in both sets.

    Examples:
        >>> Coverage(complete=((0, 5),), provisional=((5, 7),)).read
        ((0, 7),)
    """

    complete: Spans = ()
    provisional: Spans = ()

    @classmethod
    def of(cls, spans: Iterable[Span], watermark: int) -> Self:
        """Return spans as coverage: complete before the watermark, then provisional."""
        complete = intersection(spans, BEGINNING, watermark)
        return cls(complete, difference(spans, complete))

    @property
    def read(self) -> Spans:
        """All time that was read, settled or not."""
        return union(self.complete, self.provisional)

    def add(self, other: Coverage) -> Self:
        """Return the union; what is complete in either is complete."""
        complete = union(self.complete, other.complete)
        return type(self)(
            complete, difference(union(self.provisional, other.provisional), complete)
        )

    def remove(self, spans: Iterable[Span]) -> Self:
        """Return the coverage without these spans."""
        spans = union(spans)
        return type(self)(difference(self.complete, spans), difference(self.provisional, spans))

    def mark_provisional(self, spans: Iterable[Span]) -> Self:
        """Return the coverage with its complete time in these spans made provisional."""
        complete = difference(self.complete, spans)
        return type(self)(complete, difference(self.read, complete))

    def clip(self, start: int, end: int) -> Self:
        """Return the coverage of [start, end) alone."""
        return type(self)(
            intersection(self.complete, start, end), intersection(self.provisional, start, end)
        )

    def intervals(self) -> list[tuple[int, int, str]]:
        """Return every interval and its state, `complete` or `provisional`, by time."""
        complete = [(*span, "complete") for span in self.complete]
        return sorted([*complete, *((*span, "provisional") for span in self.provisional)])

    def _display(self) -> Display:
        from svc_analytics.formatting.display import Display, text_table  # loads pyarrow

        rows = [(state, describe_span((start, end))) for start, end, state in self.intervals()]
        if not rows:
            return Display("Coverage", ["nothing was read"])
        return Display("Coverage", [], [text_table("", ["state", "interval"], rows)])


def gaps(coverage: Coverage, start: int, end: int) -> Spans:
    """Return the parts of [start, end) that were not read."""
    return difference([(start, end)], coverage.read) if start < end else ()


def format_spans(spans: Spans) -> list[list[str]]:
    """Return the bounds of each interval as RFC 3339 texts, as JSON documents hold them.

    >>> format_spans(((0, 1_000_000),))
    [['1970-01-01T00:00:00Z', '1970-01-01T00:00:01Z']]
    """
    return [list(map(format_instant, span)) for span in spans]


def describe_span(span: Span) -> str:
    """Write an interval for people."""
    return "{start} .. {end}".format(**span_values(span))


def span_values(span: Span) -> dict[str, str]:
    """Return an interval as the values of a message."""
    start = "the beginning" if span[0] == BEGINNING else format_instant(span[0])
    return {"start": translated(start), "end": format_instant(span[1])}
