"""The workers of an extraction: they read pages, one publishes rows."""

import queue
import threading
import time
from contextlib import suppress

from svc_analytics.api.client import Client
from svc_analytics.api.rate_limiter import Cancelled
from svc_analytics.coverage import Span, difference
from svc_analytics.errors import LakeError, ProtocolError
from svc_analytics.extraction.batches import Delivery, Parcel
from svc_analytics.extraction.plan import ExtractionResult, OnPage
from svc_analytics.extraction.scheduler import SegmentQueue
from svc_analytics.extraction.segments import Segment
from svc_analytics.extraction.sweep import Sweep
from svc_analytics.instants import format_instant
from svc_analytics.lake.writer import LakeWriter
from svc_analytics.schema import STREAMS, Stream

CHECKPOINT = 5.0  # seconds between two publications of a long run, at least
QUEUED = 4  # hand-overs, of up to 32 pages, that workers may be ahead of the writer
STAGED_LIMIT = 24 * 1024 * 1024  # published now
FINISHED_LIMIT = 16 * 1024 * 1024  # the same, where months were read to their starts


class WorkerPool:
    """Workers that read, and the calling thread that writes what they deliver."""

    def __init__(
        self,
        client: Client,
        writer: LakeWriter,
        segments: list[Segment],
        run: ExtractionResult,
        on_page: OnPage | None,
    ) -> None:
        self._client = client
        self._writer = writer
        self._board = SegmentQueue(segments)
        self._run = run
        self._on_page = on_page
        self._known = {name: writer.coverage(stream).complete for name, stream in STREAMS.items()}
        self._fatal: list[Exception] = []
        self._broken: list[ProtocolError] = []
        self._takes_no_more = threading.Event()
        self._published_at = time.monotonic()
        self._publish_cost = 0.0
        # Whether what is staged holds every row that it proves, and nothing known to be in
        # doubt. An interruption may come between any two steps; then what was staged is read
        # again, and never published.
        self._is_whole = True

    def work(self, workers: int) -> None:
        """Sweep all segments; publish as it goes, and at the end whatever happened."""
        self._delivered: queue.Queue[Parcel | None] = queue.Queue(maxsize=QUEUED)
        threads = [threading.Thread(target=self._sweep_all, daemon=True) for _ in range(workers)]
        try:
            for thread in threads:
                thread.start()  # in here: an interruption must call them off
            self._write_all(threads)
        except (LakeError, OSError):
            self._stop_taking()  # nothing more can be written
            raise
        except BaseException:
            self._stop_taking()
            if self._is_whole:
                self._publish()
            raise
        self._publish()
        for error in self._fatal or self._broken:
            raise error

    def _write_all(self, threads: list[threading.Thread]) -> None:
        while any(thread.is_alive() for thread in threads) or not self._delivered.empty():
            try:
                parcel = self._delivered.get(timeout=0.05)
            except queue.Empty:
                continue
            if parcel is None:
                continue
            self._take_in(parcel)
            if self._is_time():
                self._publish()
            elif self._writer.buffered_bytes >= self._limit:
                self._publish(holds_back=True)

    def _take_in(self, parcel: Parcel) -> None:
        # Interrupted while it is opened, its pages are lost with their proofs; but a doubt
        # must not be.
        self._is_whole = not parcel.takes_back
        deliveries = parcel.open()
        self._is_whole = False
        for delivery in deliveries:
            self._stage(delivery)
        self._is_whole = True
        for delivery in deliveries:
            self._tell(delivery)

    def _stage(self, delivery: Delivery) -> None:
        delivery.check()
        stream = delivery.stream
        self._writer.add(stream, delivery.rows, delivery.rejected, delivery.size)
        for progress in delivery.progress:
            if progress.retracted:
                # What an earlier run proved stays covered: only this sweep is in doubt.
                self._writer.retract(
                    stream, difference(progress.retracted, self._known[stream.name])
                )
            for span in progress.covered:
                self._writer.cover(stream, span)
            if progress.out_of_order:
                self._run.notes.append(_describe_disorder(stream, progress.out_of_order))

    def _tell(self, delivery: Delivery) -> None:
        self._run.pages += len(delivery.received)
        self._run.rows[delivery.stream.name] += sum(delivery.received)
        if self._on_page:
            for received in delivery.received:
                self._on_page(delivery.stream, received)

    @property
    def _limit(self) -> int:
        has_finished = self._writer.has_finished_month
        return min(FINISHED_LIMIT, STAGED_LIMIT) if has_finished else STAGED_LIMIT

    def _is_time(self) -> bool:
        waited = time.monotonic() - self._published_at
        return waited >= max(CHECKPOINT, 10 * self._publish_cost)

    def _publish(self, *, holds_back: bool = False) -> None:
        began = time.monotonic()
        self._is_whole = False
        self._writer.publish(holds_back=holds_back)
        self._is_whole = True
        self._published_at = time.monotonic()
        self._publish_cost = self._published_at - began
        self._run.published = self._writer.published

    def _sweep_all(self) -> None:
        while segment := self._board.take():
            try:
                is_crowded = self._delivered.full
                Sweep(self._client, self._board, segment, self._deliver, is_crowded).run()
            except Cancelled:
                self._call_off()
            except ProtocolError as error:
                self._broken.append(error)  # the other segments are still worth reading
            except Exception as error:
                self._fatal.append(error)
                self._call_off()
            finally:
                self._board.finish(segment)
        with suppress(queue.Full):
            self._delivered.put_nowait(None)  # wakes the writer, to see that this worker is done

    def _deliver(self, parcel: Parcel) -> None:
        while not self._takes_no_more.is_set():
            try:
                self._delivered.put(parcel, timeout=0.2)
                return
            except queue.Full:
                continue
        raise Cancelled

    def _stop_taking(self) -> None:
        self._takes_no_more.set()
        self._call_off()

    def _call_off(self) -> None:
        """Let no worker ask for more; what each has read is still taken."""
        self._board.call_off()
        self._client.pace.stop()


def _describe_disorder(stream: Stream, instants: Span) -> str:
    older, newer = map(format_instant, instants)
    return (
        f"the service does not list {stream.name} newest first ({newer} after {older}): "
        "the list was read to its end"
    )
