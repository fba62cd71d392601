"""Bringing a lake up to date: segments swept by several workers, published by one writer."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

# Arrow imports it when it first shows rows to NumPy. A worker must not be the one to do so:
# a cell stopped just then leaves the lock of all imports locked for good.
import pandas  # noqa: F401

from svc_analytics.client import Client
from svc_analytics.config import KeyClass, Settings
from svc_analytics.coverage import Coverage, Span, Spans, clip, subtract
from svc_analytics.deliveries import Delivery, Parcel
from svc_analytics.displayed import Displayed
from svc_analytics.errors import ConfigError, LakeError, ProtocolError
from svc_analytics.lake import Lake
from svc_analytics.pace import Stopped
from svc_analytics.periods import BEGINNING, HOUR, MINUTE, format_instant
from svc_analytics.publication import Published
from svc_analytics.routes import ROUTES
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.segments import Board, Segment
from svc_analytics.sweep import Sweep
from svc_analytics.writer import LakeWriter, check_merchant, open_writer

SETTLE_LAG = 5 * MINUTE  # nothing newer than this is called complete (design 7)
UNKNOWN_CLOCK = 15 * MINUTE  # allowed for a local clock that the service does not confirm
OVERLAP = 24 * HOUR
CHECKPOINT = 5.0  # seconds between two publications of a long run, at least
QUEUED = 4  # hand-overs, of up to 32 pages, that workers may be ahead of the writer
STAGED_LIMIT = 24 * 1024 * 1024  # published now
FINISHED_LIMIT = 16 * 1024 * 1024  # the same, where months were read to their starts

OnPage = Callable[[Stream, int], None]


@dataclass(frozen=True)
class Request:
    """What a run is to read: [start, end) of some streams, all that is missing unless said."""

    streams: tuple[str, ...] = tuple(STREAMS)
    start: int = BEGINNING
    end: int | None = None
    overlap: int = OVERLAP
    rereads: bool = False

    def __post_init__(self) -> None:
        if self.end is not None and self.start >= self.end:
            raise ConfigError("--from is not before --to: the interval holds no time")


@dataclass
class Extraction(Displayed):
    """What a run read, what it could not read, and what a person should look at."""

    merchant_id: str
    read_to: int
    rows: dict[str, int] = field(default_factory=dict)
    pages: int = 0
    published: Published = field(default_factory=Published)
    not_extracted: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # oddities that cost time, but no row

    @property
    def needs_attention(self) -> bool:
        """Whether a record was set aside or changed, or a stream lacks its key."""
        found = self.published
        return bool(found.quarantined or found.changed or self.not_extracted)


def extract(
    lake: Lake,
    settings: Settings,
    request: Request | None = None,
    *,
    workers: int = 8,
    client: Client | None = None,
    on_page: OnPage | None = None,
) -> Extraction:
    """Read what a lake lacks and publish it; return what was done.

    `on_page` is called with the stream and the count of rows of every page read.
    Raises `ConfigError` before anything is written when the keys belong to two
    merchants or not to the lake's; after any other error, what was proven is kept.
    """
    request = request or Request()
    with _session(client, settings, workers) as service:
        profile, clock = read_merchant(service, settings)
        check_merchant(lake, profile)
        now = time.time_ns() // 1000
        read_to = now if clock is None else clock
        settled_at = (now - UNKNOWN_CLOCK if clock is None else clock) - SETTLE_LAG
        if request.start >= read_to:
            message = f"--from lies behind the service's clock, {format_instant(read_to)}"
            raise ConfigError(message)
        run = Extraction(profile["id"], read_to)
        with open_writer(lake, profile, now) as writer:
            writer.begin_run(
                settled_at=settled_at,
                is_open_ended=request.start == BEGINNING,
                overlap=request.overlap,
            )
            segments = _plan(writer, settings, request, run)
            _Crew(service, writer, segments, run, on_page).work(workers)
    return run


def read_merchant(client: Client, settings: Settings) -> tuple[dict[str, Any], int | None]:
    """Return the merchant all keys belong to, and the service's clock if it tells it."""
    found = {name: client.me(name) for name in settings.key_classes}
    ids = sorted({profile["id"] for profile, _ in found.values()})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    profile = next(iter(found.values()))[0]
    clocks = [clock for _, clock in found.values() if clock is not None]
    return profile, max(clocks, default=None)


def missing_key(settings: Settings, stream: Stream) -> KeyClass | None:
    """Return the key class a stream needs and the settings lack."""
    wanted = ROUTES[stream.route].key_classes
    return None if any(settings.key(name) for name in wanted) else wanted[0]


def todo(coverage: Coverage, wanted: Span, request: Request) -> Spans:
    """Return what is to be read of an interval: all that is missing, and the overlap.

    Records may become visible late, so the newest part of what is complete is read
    again each time (design 7).
    """
    if wanted[0] >= wanted[1] or request.rereads:
        return clip([wanted], *wanted) if wanted[0] < wanted[1] else ()
    newest = coverage.complete[-1][1] if coverage.complete else BEGINNING
    known = clip(coverage.complete, BEGINNING, max(newest - request.overlap, BEGINNING))
    return subtract([wanted], known)


def _plan(
    writer: LakeWriter, settings: Settings, request: Request, run: Extraction
) -> list[Segment]:
    """Cut what is to be read into segments, noting the streams that lack a key."""
    end = run.read_to if request.end is None else min(request.end, run.read_to)
    segments = []
    for name in request.streams:
        stream = STREAMS[name]
        run.rows[name] = 0
        if key_class := missing_key(settings, stream):
            variable = f"SVC_{key_class.upper()}_KEY"
            run.not_extracted[name] = f"it needs a {key_class}-class key: set {variable}"
            continue
        spans = todo(writer.coverage(stream), (request.start, end), request)
        segments += [Segment.of(stream, span) for span in spans]
    return segments


@contextmanager
def _session(client: Client | None, settings: Settings, workers: int) -> Iterator[Client]:
    if client is not None:
        yield client
        return
    with Client(settings, workers=workers) as own:
        yield own


class _Crew:
    """Workers that read, and the calling thread that writes what they deliver."""

    def __init__(
        self,
        client: Client,
        writer: LakeWriter,
        segments: list[Segment],
        run: Extraction,
        on_page: OnPage | None,
    ) -> None:
        self._client = client
        self._writer = writer
        self._board = Board(segments)
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
            elif self._writer.staged_bytes >= self._limit:
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
        self._writer.stage(stream, delivery.rows, delivery.rejected, delivery.size)
        for progress in delivery.progress:
            if progress.doubted:
                # What an earlier run proved stays proven: only this sweep is in doubt.
                self._writer.doubt(stream, subtract(progress.doubted, self._known[stream.name]))
            for span in progress.proven:
                self._writer.prove(stream, span)
            if progress.disorder:
                self._run.notes.append(_describe_disorder(stream, progress.disorder))

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
            except Stopped:
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
        raise Stopped

    def _stop_taking(self) -> None:
        self._takes_no_more.set()
        self._call_off()

    def _call_off(self) -> None:
        """Let no worker ask for more; what each has read is still taken."""
        self._board.call_off()
        self._client.pace.stop()


def _describe_disorder(stream: Stream, instants: Span) -> str:
    older, newer = map(format_instant, instants)
    return f"{stream.name} are not listed newest first ({newer} behind {older}): read to the end"
