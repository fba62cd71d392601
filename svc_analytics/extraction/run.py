"""Extract into a lake: several workers sweep segments, one writer publishes their rows."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from svc_analytics.api.client import Client, open_client
from svc_analytics.config import KeyClass, Settings
from svc_analytics.coverage import Spans
from svc_analytics.errors import ConfigError, NoService, Unavailable
from svc_analytics.extraction.clock import Answer, RunClock, answer_now, judge_clock, newest_record
from svc_analytics.extraction.plan import (
    ExtractionResult,
    OnPage,
    Request,
    Seen,
    missing_key_class,
    plan_segments,
)
from svc_analytics.extraction.readings import Reading
from svc_analytics.extraction.segments import MOST, SegmentQueue
from svc_analytics.extraction.unlisted import MissingRecords
from svc_analytics.extraction.workers import WorkerPool
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing.writer import LakeWriter, open_writer
from svc_analytics.messages import Message, translated
from svc_analytics.records.bulk_parser import load_parser
from svc_analytics.schema import STREAMS, Stream

Profile = tuple[dict[str, Any], Answer]


def read_merchant(
    client: Client, settings: Settings, lake: Lake
) -> tuple[dict[str, Any], list[Answer]]:
    """Return the merchant's profile, and what the service's clock was; refuse keys of two.

    Raises `NoService` where a wrong setting may keep the service away, and the lake was never
    read from its address.
    """
    try:
        answers = _ask_with_each(client, settings)
    except Unavailable as away:
        if away.advice and not _was_read_from(lake, settings.base_url):
            values = {
                "address": settings.base_url,
                "trouble": translated(away.trouble),
                "advice": translated(away.advice),
            }
            raise NoService(Message("service.never_read", **values), path=away.path) from away
        raise
    ids = sorted({profile["id"] for profile, _ in answers})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    return answers[0][0], [answer for _, answer in answers]


def _was_read_from(lake: Lake, address: str) -> bool:
    """Whether a lake was last read from an address; of one that does not say it, it may be."""
    return lake.exists and lake.service in (None, address)


def _ask_with_each(client: Client, settings: Settings) -> list[Profile]:
    """Ask with each key, all at the same time."""
    first, *others = [_Call(client, name) for name in settings.key_classes]
    for call in others:
        call.begin()
    try:
        return [first.ask(), *(call.end() for call in others)]
    except BaseException:
        client.limiter.stop()  # nor need the others be answered
        raise


class _Call:
    """One key's question: asked here, or in a thread of its own."""

    def __init__(self, client: Client, name: KeyClass) -> None:
        self._client = client
        self._name = name
        self._thread = threading.Thread(target=self._ask_aside, daemon=True)
        self._outcome: Profile | Exception = RuntimeError("nobody was asked")

    def ask(self) -> Profile:
        """Return the profile, and the service's clock; raise what keeps the key from them."""
        profile, at = self._client.me(self._name)
        return profile, answer_now(at)

    def begin(self) -> None:
        """Ask in a thread."""
        self._thread.start()

    def end(self) -> Profile:
        """Wait for the thread; return or raise what `ask` would."""
        self._thread.join()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def _ask_aside(self) -> None:
        try:
            self._outcome = self.ask()
        except Exception as error:
            self._outcome = error


def extract(
    lake: Lake,
    settings: Settings,
    request: Request | None = None,
    *,
    workers: int | None = None,
    client: Client | None = None,
    on_page: OnPage | None = None,
    on_begin: Callable[[], object] = lambda: None,
) -> ExtractionResult:
    """Read what a lake lacks and publish it; return what was done.

    `on_page` is called for every page with its stream, its count of rows, and the instant
    down to which the stream was read by then; `on_begin` is called once the lake can be read.
    `workers` pages are read at a time; by default 8, and up to 16 where answers take long.
    Raises `ConfigError` before anything is written when the keys belong to two
    merchants or not to the lake's; after any other error, what was covered is kept.
    """
    request = request or Request()
    threading.Thread(target=load_parser).start()  # while the service answers the first calls
    with open_client(settings, workers or MOST, client) as service:
        profile, answers = read_merchant(service, settings, lake)
        streams = [each for each in STREAMS.values() if not missing_key_class(settings, each)]
        clock = judge_clock(service, answers, streams)
        run = ExtractionResult(profile["id"], clock.now, notes=[*clock.notes])
        _require_past(request, clock)
        clocks = {"service": clock.service, "machine": clock.machine, "judged": clock.now}
        with open_writer(lake, profile, clock.machine, clocks, settings.base_url) as writer:
            on_begin()
            run.notes += writer.notes
            run.retracted = _retract_early_claims(writer, service, streams, clock)
            _begin_run(writer, request, clock)
            segments = SegmentQueue(plan_segments(writer, settings, request, run), workers)
            before = {name: writer.coverage(stream).complete for name, stream in STREAMS.items()}
            reading = Reading(before if request.confirms is None else None)
            WorkerPool(service, writer, segments, run, on_page, reading).work()
            _compare(request, service, writer, run, reading, before)
    return run.logged()


def _begin_run(writer: LakeWriter, request: Request, clock: RunClock) -> None:
    writer.begin_run(
        watermark=clock.watermark,
        is_open_ended=request.start == BEGINNING,
        lookback=request.overlap,
        judged_at=clock.now,
    )


def _compare(
    request: Request,
    service: Client,
    writer: LakeWriter,
    run: ExtractionResult,
    reading: Reading,
    before: Mapping[str, Spans],
) -> None:
    """Compare a reading with what the lake held before, and with the reading before."""
    for name in run.rows:
        lacking = MissingRecords(service, writer, STREAMS[name], reading, before[name])
        run.unlisted[name] = lacking.note()
        if lacking.shortage:
            run.short_lists[name] = lacking.shortage
    run.published = writer.published
    if request.confirms is not None:
        _confirm(request, run, reading.seen(), writer)


def _confirm(request: Request, run: ExtractionResult, seen: Seen, writer: LakeWriter) -> None:
    """Mark the interval as read twice alike, if this reading saw what the one before saw."""
    stats, run.seen = run.published, seen
    is_news = stats.files or stats.changed or stats.quarantined or run.doubtful
    run.is_confirmed = seen == request.confirms and not is_news
    if run.is_confirmed:
        end = run.read_to if request.end is None else min(request.end, run.read_to)
        writer.confirm([STREAMS[name] for name in seen], (request.start, end))


def _require_past(request: Request, clock: RunClock) -> None:
    """Refuse a run of which nothing lies in the past."""
    if request.start >= clock.now:
        message = f"--from is later than the service's clock, {format_instant(clock.now)}"
        raise ConfigError(message)


def _retract_early_claims(
    writer: LakeWriter, client: Client, streams: list[Stream], clock: RunClock
) -> dict[str, Spans]:
    """Retract covered time that has not come yet, or had not when it was claimed.

    What lies behind the newest record has come, whatever both clocks say.
    """
    if not writer.has_early_claims(clock.now):
        return {}
    shown = newest_record(client, streams, max(clock.machine, clock.service or 0))
    return writer.retract_early_claims(max(clock.now, shown))
