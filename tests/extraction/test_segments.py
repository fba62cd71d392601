"""Segments shared out: an idle worker takes the older half, and every instant is read once."""

import heapq
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from svc_analytics.extraction import scheduler
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.segments import KEPT_PAGES, PADDING, Segment
from svc_analytics.instants import BEGINNING, DAY, HOUR
from svc_analytics.schema import PAYMENTS, Instants

START, END = 1_000 * HOUR, 1_100 * HOUR


@pytest.fixture(autouse=True)
def as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Desks of other tests let everything be shared, however quickly pages come."""
    monkeypatch.setattr(scheduler, "WORTH_WAITING", 3.0)


def queue_after(hours: float, *, waited: float = 9.0, out_of_order: bool = False) -> SegmentQueue:
    """A queue with 100 hours of one stream, of which one page of that many hours was read."""
    queue = SegmentQueue([Segment.of(PAYMENTS, (START, END))])
    segment = queue.take()
    assert segment
    instants = END - np.arange(11, dtype=np.int64) * int(hours * HOUR) // 10
    is_repeat = np.zeros(11, np.bool_)
    queue.advance(segment, instants[::-1] if out_of_order else instants, is_repeat, is_last=False)
    queue.note_times(waited, 1.0)
    return queue


def read_an_hour(queue: SegmentQueue, segment: Segment) -> None:
    """Read a page of a segment, of one hour."""
    page = segment.top - np.arange(1, 11, dtype=np.int64) * HOUR // 10
    queue.advance(segment, page, np.zeros(10, np.bool_), is_last=False)


def active(queue: SegmentQueue) -> list[tuple[int, int]]:
    """What the workers have yet to read, oldest first."""
    return sorted((segment.start, segment.end) for segment in queue._active)


def test_of_a_long_rest_the_first_keeps_a_bounded_part() -> None:
    """999 pages are left: the one who reads keeps about 32 of them, the idle one the rest."""
    queue = queue_after(0.1)
    older = queue.take()
    assert older and older.start == START
    kept = (END - 0.1 * HOUR - older.end) / (0.1 * HOUR)
    assert KEPT_PAGES - 1 < kept < KEPT_PAGES + 1


def test_a_part_shows_first_whether_bounds_are_heeded() -> None:
    """Then it is shared on; parts touch one another, and together are the whole."""
    queue = queue_after(1)
    second = queue.take()
    assert second and not took_more(queue)
    queue = queue_after(1)
    second = queue.take()
    assert second
    read_an_hour(queue, second)
    assert took_more(queue) and len(active(queue)) == 3
    left = active(queue)
    assert left[0][0] == START and left[0][1] == left[1][0] and left[-1][1] == END - HOUR + 1
    assert left[1][1] == left[2][0] - HOUR + 1  # the page that was read in between


@pytest.mark.parametrize(
    "queue",
    [queue_after(40), queue_after(10, waited=2.0), queue_after(10, out_of_order=True)],
    ids=["a page and a half is left", "pages come as fast as they are read", "not newest first"],
)
def test_what_is_not_worth_sharing_is_left_alone(queue: SegmentQueue) -> None:
    """The idle wait, and are sent home with the others."""
    assert not took_more(queue) and len(active(queue)) == 1


def took_more(queue: SegmentQueue) -> bool:
    """Whether one more worker is given something at once."""
    found: list[Segment | None] = []
    worker = threading.Thread(target=lambda: found.append(queue.take()))
    worker.start()
    worker.join(0.2)
    is_given = bool(found and found[0])
    queue.cancel()
    worker.join()
    return is_given


@pytest.mark.parametrize(
    ("answers_in", "asked", "workers"),
    [(0.005, None, 8), (0.04, None, 12), (0.05, None, 16), (0.5, None, 16), (0.5, 4, 4)],
    ids=["near", "far", "farther", "very far", "a number is given"],
)
def test_how_many_work_follows_from_how_long_answers_take(
    answers_in: float, asked: int | None, workers: int
) -> None:
    """As many as make 320 requests a second: 8 at least, 16 at most, unless it is said."""
    queue = SegmentQueue([Segment.of(PAYMENTS, (n, n + 1)) for n in range(20)], asked)
    for first in (0.3, 0.0, 0.1):  # the first page of a worker may wait for its connection
        queue.note_times(answers_in + first, 0.001)
    at_work = [queue.take() for _ in range(workers)]
    assert all(at_work) and not took_more(queue)


# ---------- on a slow line only round trips count


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
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages take far longer to come than to be read."""
    monkeypatch.setattr(scheduler, "WORTH_WAITING", 0.0)


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
def test_eight_workers_read_200_pages_in_little_more_than_an_eighth(instants: Instants) -> None:
    """25 round trips are the least; the first two of them show what there is to share."""
    line = Line(instants).read()
    assert line.rounds < 31 and line.requests <= 200 * 1.08


@pytest.mark.parametrize("instants", LISTS.values(), ids=LISTS.keys())
def test_where_history_begins_is_known_long_before_it_is_read(instants: Instants) -> None:
    """Whoever is idle looks twice as far back as the one before: no list is read down to it."""
    line = Line(np.repeat(instants, 5) - np.tile(np.arange(5), len(instants))).read()
    assert line.begins_at is not None and line.begins_at < line.rounds / 4


def test_a_hundred_thousand_payments_take_an_eighth_of_the_round_trips() -> None:
    """1,000 pages in less than 132 round trips, an eighth being 125."""
    line = Line(evenly(100_000, 365)).read()
    assert line.rounds < 132 and line.requests <= 1_000 * 1.03


@pytest.mark.parametrize(("payments", "requests"), [(0, 1), (5, 1), (100, 1), (250, 9)])
def test_a_short_list_costs_few_requests(payments: int, requests: int) -> None:
    """What fits a page costs one; beyond it, idle workers look for more at once."""
    assert Line(evenly(payments, 100) if payments else evenly(1, 1)[:0]).read().requests <= requests
