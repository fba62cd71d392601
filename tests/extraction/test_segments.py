"""Segments shared out: an idle worker takes the older half, and every instant is read once."""

import threading

import numpy as np
import pytest

from svc_analytics.extraction import segments
from svc_analytics.extraction.segments import OWN_PAGES, Segment, SegmentQueue
from svc_analytics.instants import HOUR
from svc_analytics.schema import PAYMENTS

START, END = 1_000 * HOUR, 1_100 * HOUR


@pytest.fixture(autouse=True)
def as_shipped(monkeypatch) -> None:
    """Desks of other tests let everything be shared, however quickly pages come."""
    monkeypatch.setattr(segments, "WORTH_WAITING", 3.0)


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


def test_of_a_long_rest_the_first_keeps_a_bounded_part():
    """999 pages are left: the one who reads keeps about 32 of them, the idle one the rest."""
    queue = queue_after(0.1)
    older = queue.take()
    assert older and older.start == START
    kept = (END - 0.1 * HOUR - older.end) / (0.1 * HOUR)
    assert OWN_PAGES - 1 < kept < OWN_PAGES + 1


def test_a_part_shows_first_whether_bounds_are_heeded():
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
def test_what_is_not_worth_sharing_is_left_alone(queue):
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
def test_how_many_work_follows_from_how_long_answers_take(answers_in, asked, workers):
    """As many as make 320 requests a second: 8 at least, 16 at most, unless it is said."""
    queue = SegmentQueue([Segment.of(PAYMENTS, (n, n + 1)) for n in range(20)], asked)
    for first in (0.3, 0.0, 0.1):  # the first page of a worker may wait for its connection
        queue.note_times(answers_in + first, 0.001)
    at_work = [queue.take() for _ in range(workers)]
    assert all(at_work) and not took_more(queue)
