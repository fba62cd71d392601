"""On a slow line only round trips count: how many a list takes, and where history is found.

The workers of this model read from a list in memory, and each page takes one round trip.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np
import pytest

from svc_analytics.extraction import segments
from svc_analytics.extraction.segments import PADDING, Segment, SegmentQueue
from svc_analytics.instants import BEGINNING, DAY
from svc_analytics.schema import PAYMENTS, Instants

NOW = 20_000 * DAY
PAGE = 100


@dataclass
class Line:
    """Workers that read a list of instants, newest first, at one page a round trip."""

    instants: Instants
    workers: int = 8
    rounds: float = 0.0
    requests: int = 0
    begins_at: float | None = None  # round trips until it was known where history begins
    _coming: list[tuple[float, int, Segment, int]] = field(default_factory=list)

    def read(self) -> "Line":
        """Read all of it."""
        queue = SegmentQueue([Segment.of(PAYMENTS, (BEGINNING, NOW))], self.workers)
        self._share(queue)
        while self._coming:
            self.rounds, _, segment, first = heapq.heappop(self._coming)
            below = self._place(segment.start - PADDING)
            rows = self.instants[first : min(first + PAGE, below)]
            is_last = first + PAGE >= below
            queue.advance(segment, rows, np.zeros(len(rows), np.bool_), is_last)
            if is_last and segment.start == BEGINNING:
                self.begins_at = self.rounds
            if segment.is_done:
                queue.finish(segment)
            else:
                self._ask(segment, first + PAGE)
            self._share(queue)
        return self

    def _share(self, queue: SegmentQueue) -> None:
        """Let the idle workers take what is worth it: `take` would let them wait."""
        while len(self._coming) < self.workers:
            if not (queue._waiting or queue._best_to_split() or not self._coming):
                return
            segment = queue.take()
            if segment is None:
                return
            self._ask(segment, self._place(segment.end + PADDING))

    def _ask(self, segment: Segment, first: int) -> None:
        self.requests += 1
        # Some answers come a little sooner than others.
        takes = 1 + self.requests % 7 / 1_000
        heapq.heappush(self._coming, (self.rounds + takes, self.requests, segment, first))

    def _place(self, instant: int) -> int:
        """Where in the list the records before an instant begin."""
        return int(np.searchsorted(-self.instants, -instant))


@pytest.fixture(autouse=True)
def slow(monkeypatch) -> None:
    """Pages take far longer to come than to be read."""
    monkeypatch.setattr(segments, "WORTH_WAITING", 0.0)


def evenly(payments: int, days: int, *, until: int = NOW) -> Instants:
    """Payments at equal steps of time."""
    return until - np.arange(1, payments + 1, dtype=np.int64) * (days * DAY // payments)


def rising(payments: int, days: int) -> Instants:
    """Payments of a shop that grows twentyfold."""
    share = (np.arange(payments) + 0.5) / payments
    ages = -np.log(1 - share * 0.95) / -np.log(0.05) * days * DAY
    return NOW - ages.astype(np.int64)


LISTS = {
    "a year": evenly(20_000, 365),
    "eight years": evenly(20_000, 3_000),
    "growing": rising(20_000, 365),
    "closed for a year": evenly(20_000, 365, until=NOW - 365 * DAY),
}


@pytest.mark.parametrize("instants", LISTS.values(), ids=LISTS.keys())
def test_eight_workers_read_200_pages_in_little_more_than_an_eighth(instants):
    """25 round trips are the least; the first two of them show what there is to share."""
    line = Line(instants).read()
    assert line.rounds < 31 and line.requests <= 200 * 1.08


@pytest.mark.parametrize("instants", LISTS.values(), ids=LISTS.keys())
def test_where_history_begins_is_known_long_before_it_is_read(instants):
    """Whoever is idle looks twice as far back as the one before: no list is read down to it."""
    line = Line(np.repeat(instants, 5) - np.tile(np.arange(5), len(instants))).read()
    assert line.begins_at is not None and line.begins_at < line.rounds / 4


def test_a_hundred_thousand_payments_take_an_eighth_of_the_round_trips():
    """1,000 pages in less than 132 round trips, an eighth being 125."""
    line = Line(evenly(100_000, 365)).read()
    assert line.rounds < 132 and line.requests <= 1_000 * 1.03


@pytest.mark.parametrize(("payments", "requests"), [(0, 1), (5, 1), (100, 1), (250, 9)])
def test_a_short_list_costs_few_requests(payments, requests):
    """What fits a page costs one; beyond it, idle workers look for more at once."""
    assert Line(evenly(payments, 100) if payments else evenly(1, 1)[:0]).read().requests <= requests
