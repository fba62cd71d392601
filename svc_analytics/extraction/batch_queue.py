"""The queue between the workers and the writer: of a few MB, however many batches that are."""

import threading
from collections import deque

from svc_analytics.api.rate_limiter import Cancelled
from svc_analytics.extraction.batches import PageBatch

MOST_BYTES = 16 * 1024 * 1024  # of pages that wait; a batch that is larger waits alone


class BatchQueue:
    """Batches in the order in which workers put them.

    It is bounded by what they take in memory and not by their number: while a month is written,
    a worker that has read its part to the end goes on with another one.
    """

    def __init__(self) -> None:
        self._batches: deque[PageBatch] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._is_woken = self._is_closed = False

    def __bool__(self) -> bool:
        return bool(self._batches)

    @property
    def is_crowded(self) -> bool:
        """Whether so much waits that whoever puts more is likely to wait too."""
        return self._bytes > MOST_BYTES // 2

    def put(self, batch: PageBatch) -> None:
        """Put a batch, once there is room; raise `Cancelled` if no more are taken."""
        size = batch.size
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._has_room(size))
            if self._is_closed:
                raise Cancelled
            self._batches.append(batch)
            self._bytes += size
            self._changed.notify_all()

    def take(self, seconds: float) -> PageBatch | None:
        """Take the next batch; None if none comes in so many seconds, or `wake` is called."""
        with self._changed:
            self._changed.wait_for(lambda: self._batches or self._is_woken, seconds)
            self._is_woken = False
            if not self._batches:
                return None
            batch = self._batches.popleft()
            self._bytes -= batch.size
            self._changed.notify_all()
            return batch

    def wake(self) -> None:
        """Let whoever takes see that a worker has ended."""
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody put anything more, nor wait to do so."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        return not self._batches or self._bytes + size <= MOST_BYTES
