"""The worker threads of an extraction, and the loop that publishes what they deliver."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from svc_analytics.api.client import Client
from svc_analytics.api.rate_limiter import Cancelled
from svc_analytics.coverage import Spans, difference, span_values, union
from svc_analytics.errors import LakeError, ProtocolError
from svc_analytics.extraction.batches import BatchQueue, PageBatch, Reading, RowBatch
from svc_analytics.extraction.paging import Sweep
from svc_analytics.extraction.plan import ExtractionResult, OnPage
from svc_analytics.extraction.segments import Progress, Segment, SegmentQueue
from svc_analytics.instants import format_instant
from svc_analytics.interrupts import check_stop
from svc_analytics.lake.writing.writer import LakeWriter
from svc_analytics.messages import Message, translated
from svc_analytics.schema import STREAMS, Stream

MOST_READINGS = 3  # in one run, of time in which the list moves
_MOVED = (
    "the list of {STREAM} of {START} .. {end} changed during each of {count} readings: "
    "provisional until the next"
)
_OUT_OF_ORDER = (
    "the service does not list {STREAM} newest first ({newer} after {older}): the list was read "
    "to its end"
)
CHECKPOINT = 5.0  # seconds between two publications of a long run, at least
BUFFER_LIMIT = 40 * 1024 * 1024  # bytes in the write buffer that are published at once
FINISHED_LIMIT = 16 * 1024 * 1024  # the same, where months were read to their starts


class WorkerPool:
    """Threads that sweep segments, while the calling thread writes what they deliver."""

    def __init__(
        self,
        client: Client,
        writer: LakeWriter,
        segments: SegmentQueue,
        run: ExtractionResult,
        on_page: OnPage | None,
        reading: Reading | None = None,
    ) -> None:
        self._client = client
        self._writer = writer
        self._segments = segments
        self._run = run
        self._on_page = on_page
        self._shown: dict[str, Spans] = {}  # by stream: what was read in this run
        self._reading = reading
        self._disordered: set[str] = set()  # streams of which it was said
        self._batches = BatchQueue()
        self._fatal: list[Exception] = []
        self._broken: list[ProtocolError] = []
        self._covered_before = {
            name: writer.coverage(stream).complete for name, stream in STREAMS.items()
        }
        self._published_at = time.monotonic()
        self._publish_cost = 0.0
        # True while the buffer may be published: every covered interval has its rows.
        self._is_publishable = True

    def work(self) -> None:
        """Sweep all segments, publishing now and then; at the end whatever happened."""
        count = range(self._segments.most_workers)
        threads = [threading.Thread(target=self._sweep_all, daemon=True) for _ in count]
        try:
            for thread in threads:
                thread.start()  # within the try: an interruption must stop those begun
            self._write_all(threads)
        except (LakeError, OSError):
            self._stop()  # nothing more can be written
            raise
        except BaseException:
            self._stop()
            if self._is_publishable:
                self._publish()
            raise
        self._publish()
        for error in self._fatal or self._broken:
            raise error

    def _write_all(self, threads: list[threading.Thread]) -> None:
        while any(thread.is_alive() for thread in threads) or self._batches:
            check_stop()
            batch = self._batches.take(0.05)
            if batch is None:
                continue
            self._take(batch)
            if self._is_time_to_publish():
                self._publish(self._writer.save)
            elif self._writer.buffered_bytes >= self._buffer_limit():
                self._publish(partial(self._writer.publish, holds_back=True))
            elif self._has_time_for_a_month():
                with self._unpublishable():
                    self._writer.publish_finished()  # it puts off no checkpoint: others wait
                self._run.published = self._writer.published

    def _take(self, batch: PageBatch) -> None:
        # If Ctrl-C arrives while pages become rows, dropping them is safe: their time is
        # simply not marked as read. A retraction must survive, so it is applied before.
        if batch.retracts:
            with self._unpublishable():
                for progress in batch.progress:
                    self._retract(batch.stream, progress)
        row_batches = batch.to_row_batches()
        with self._unpublishable():
            for rows in row_batches:
                self._buffer(rows)
        for rows in row_batches:
            self._report(rows)

    @contextmanager
    def _unpublishable(self) -> Iterator[None]:
        """Forbid publishing until the block has ended well: Ctrl-C may cut it anywhere."""
        self._is_publishable = False
        yield
        self._is_publishable = True

    def _buffer(self, batch: RowBatch) -> None:
        batch.check()
        buffer = self._writer.buffer(batch.stream)
        buffer.add(batch.rows, batch.rejected, batch.size)
        if self._reading:
            self._reading.add(batch)
        for progress in batch.progress:
            buffer.is_ordered &= progress.is_ordered
            self._retract(batch.stream, progress)
            for span in progress.covered:
                buffer.cover(span)
            if progress.doubtful:
                buffer.doubt(progress.doubtful)

    def _retract(self, stream: Stream, progress: Progress) -> None:
        """Retract coverage of this run; what an earlier run proved stays covered."""
        if progress.retracted:
            before = self._covered_before[stream.name]
            self._writer.buffer(stream).retract(difference(progress.retracted, before))

    def _report(self, batch: RowBatch) -> None:
        self._run.pages += len(batch.received)
        self._run.rows[batch.stream.name] += sum(batch.received)
        stream = translated(batch.stream.words)
        for progress in batch.progress:
            for span in progress.doubtful:
                values = {"stream": stream, "count": MOST_READINGS, **span_values(span)}
                self._run.notes.append(Message(_MOVED, **values))
                before = self._run.doubtful.get(batch.stream.name, ())
                self._run.doubtful[batch.stream.name] = union(before, [span])
            if progress.out_of_order and batch.stream.name not in self._disordered:
                self._disordered.add(batch.stream.name)
                older, newer = map(format_instant, progress.out_of_order)
                text = Message(_OUT_OF_ORDER, stream=stream, newer=newer, older=older)
                self._run.notes.append(text)
        self._show(batch)

    def _show(self, batch: RowBatch) -> None:
        """Tell the watcher of each page, and down to where its stream was read without a gap."""
        if self._on_page:
            name = batch.stream.name
            covered = (span for progress in batch.progress for span in progress.covered)
            self._shown[name] = union(self._shown.get(name, ()), covered)
            start, end = (self._shown[name] or ((0, 0),))[-1]
            reached = start if end >= self._segments.tops[name] else None
            for received in batch.received:
                self._on_page(batch.stream, received, reached)

    def _buffer_limit(self) -> int:
        least = min(FINISHED_LIMIT, BUFFER_LIMIT)
        is_much = self._writer.buffered_bytes >= least
        return least if is_much and self._writer.has_finished_month else BUFFER_LIMIT

    def _has_time_for_a_month(self) -> bool:
        """Whether a month is read, and this thread would only wait for the line meanwhile."""
        is_idle = self._segments.is_slow and not self._batches
        return is_idle and self._writer.has_finished_month

    def _is_time_to_publish(self) -> bool:
        waited = time.monotonic() - self._published_at
        return waited >= max(CHECKPOINT, 10 * self._publish_cost)

    def _publish(self, publish: Callable[[], None] | None = None) -> None:
        began = time.monotonic()
        with self._unpublishable():
            (publish or self._writer.publish)()
        self._published_at = time.monotonic()
        self._publish_cost = self._published_at - began
        self._run.published = self._writer.published

    def _sweep_all(self) -> None:
        """Sweep one segment after another: what each worker thread does."""
        while segment := self._segments.take():
            try:
                Sweep(self._client, self._segments, segment, self._batches).run()
                self._read_again(segment)
            except Cancelled:
                self._cancel()
            except ProtocolError as error:
                self._broken.append(error)  # the other segments are still worth reading
                self._segments.give_up(segment)
            except Exception as error:
                self._fatal.append(error)
                self._cancel()
            finally:
                self._segments.finish(segment)
        self._batches.wake()

    def _read_again(self, segment: Segment) -> None:
        """Have the time read again in which a list moved; in the end call it provisional."""
        again = segment.again()
        if again and again.readings <= MOST_READINGS:
            self._segments.add(again)
        elif again:
            span = (again.start, again.top)
            progress = Progress(span, covered=(span,), doubtful=(span,))
            self._batches.put(PageBatch(segment.stream, (), (progress,)))

    def _stop(self) -> None:
        """Let no worker ask for more, and take nothing more from any."""
        self._batches.close()
        self._cancel()

    def _cancel(self) -> None:
        """Let no worker ask for more; what each has read is still taken."""
        self._segments.cancel()
        self._client.limiter.stop()
