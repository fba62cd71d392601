"""Bring a lake up to date: several workers sweep what it lacks, one writer publishes their rows.

Then its views are written for other tools.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from numbers import Integral
from typing import Any

from svc_analytics import errors
from svc_analytics.api.client import Client, open_client
from svc_analytics.arguments import check
from svc_analytics.config import KeyClass, Settings, read_settings
from svc_analytics.coverage import Spans
from svc_analytics.extraction import plan
from svc_analytics.extraction.batches import Reading
from svc_analytics.extraction.clock import Answer, RunClock, answer_now, judge_clock, newest_record
from svc_analytics.extraction.segments import MOST, SegmentQueue
from svc_analytics.extraction.unlisted import MissingRecords
from svc_analytics.extraction.workers import WorkerPool
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.lake.writing.writer import LakeWriter, open_writer
from svc_analytics.messages import Message, translated
from svc_analytics.records.bulk_parser import load_parser
from svc_analytics.schema import STREAMS, Stream

Profile = tuple[dict[str, Any], Answer]


_FORM = "{desc} [{elapsed}]"  # how many rows there will be is not known
_MOST_READINGS = 3  # of one call


def extract(
    lake: Lake,
    settings: Settings | None = None,
    request: plan.Request | None = None,
    *,
    workers: int | None = None,
    on_page: plan.OnPage | None = None,
) -> plan.ExtractionResult:
    """Bring a lake up to date with the service, then write its views for other tools.

    `settings` come from the environment unless given. `request` says what to read: by default
    all that is missing, and the newest 24 hours again. `workers` pages are read at a time: by
    default 8, and up to 16 where answers take longer than 25 milliseconds. A progress bar is
    shown unless `on_page` is given: it is called for every page with its stream, its count of
    rows, and the instant (UTC microseconds) down to which the stream was read in this run.
    Interrupt it at any time: what was covered is kept.

    Returns:
        What was done: `rows` by stream, `pages`, `read_to` (UTC microseconds),
        `not_extracted` (streams without a key, and why), `notes`, `needs_attention`.

    Raises:
        ConfigError: when the address or a key is missing or wrong, before anything is written.
        KeyRefused: when the service refuses a key.
        Unavailable: when the service is away for longer than SVC_PATIENCE; run it again.
        LakeBusy: when another process writes to the lake.

    Examples:
        >>> svc.extract(svc.open_lake("data")).rows  # doctest: +SKIP
        {'payments': 21573, 'payout_records': 312}
    """
    check_lake(lake)
    check("settings", settings, (Settings, type(None)), "svc.read_settings(), or nothing")
    check("request", request, (plan.Request, type(None)), "a svc.Request, or nothing")
    settings = settings or read_settings(lake.path)
    # They look into the lake's files whenever they are queried: made while pages are fetched,
    # they are ready when the last one is written.
    views = threading.Thread(target=_write_views_early, args=(lake,))
    try:
        result = read_again(
            lake, settings, request, workers=workers, on_page=on_page, on_begin=views.start
        )
    except BaseException:
        with suppress(errors.SvcError):  # the first error is the one to report
            _write_views(lake)
        raise
    _write_views(lake)
    return result


def read_again(
    lake: Lake,
    settings: Settings,
    request: plan.Request | None = None,
    *,
    workers: int | None = None,
    on_page: plan.OnPage | None = None,
    on_begin: Callable[[], object] = lambda: None,
) -> plan.ExtractionResult:
    """Extract as `extract` does, and leave the views of other tools as they are.

    Once written, they find by themselves what a later reading changes. `on_begin` is called
    once the lake can be read.
    """
    begin = lru_cache(maxsize=1)(on_begin)  # once, however often the reading begins anew
    read = partial(read_missing, lake, settings, request, workers=workers, on_begin=begin)
    if on_page is None:
        with page_bar() as bar:
            return _until_first(partial(read, on_page=bar.show))
    return _until_first(partial(read, on_page=on_page))


def _until_first(read: Callable[[], plan.ExtractionResult]) -> plan.ExtractionResult:
    """Read anew where another machine took over writing to the bucket, and wrote meanwhile."""
    for _ in range(_MOST_READINGS - 1):
        with suppress(errors.LakeChanged):
            return read()
    try:
        return read()
    except errors.LakeChanged as error:
        raise errors.LakeBusy(errors.text_of(error)) from error


def read_missing(
    lake: Lake,
    settings: Settings,
    request: plan.Request | None = None,
    *,
    workers: int | None = None,
    client: Client | None = None,
    on_page: plan.OnPage | None = None,
    on_begin: Callable[[], object] = lambda: None,
) -> plan.ExtractionResult:
    """Read what a lake lacks and publish it; return what was done.

    `on_page` is called for every page with its stream, its count of rows, and the instant
    down to which the stream was read by then; `on_begin` is called once the lake can be read.
    `workers` pages are read at a time; by default 8, and up to 16 where answers take long.
    Raises `ConfigError` before anything is written when the keys belong to two
    merchants or not to the lake's; after any other error, what was covered is kept.
    """
    check("workers", workers, (Integral, type(None)), "how many pages are read at a time")
    check("request", request, (plan.Request, type(None)), "a svc.Request")
    request = request or plan.Request()
    threading.Thread(target=load_parser).start()  # while the service answers the first calls
    with open_client(settings, workers or MOST, client) as service:
        profile, answers = read_merchant(service, settings, lake)
        streams = [each for each in STREAMS.values() if not plan.missing_key_class(settings, each)]
        clock = judge_clock(service, answers, streams)
        run = plan.ExtractionResult(profile["id"], clock.now, notes=[*clock.notes])
        if request.start >= clock.now:
            at = format_instant(clock.now)
            raise errors.ConfigError(f"--from is later than the service's clock, {at}")
        clocks = {"service": clock.service, "machine": clock.machine, "judged": clock.now}
        with open_writer(lake, profile, clock.machine, clocks, settings.base_url) as writer:
            on_begin()
            run.notes += writer.notes
            run.retracted = _retract_early_claims(writer, service, streams, clock)
            _begin_run(writer, request, clock)
            segments = SegmentQueue(plan.plan_segments(writer, settings, request, run), workers)
            before = {name: writer.coverage(stream).complete for name, stream in STREAMS.items()}
            reading = Reading(before if request.confirms is None else None)
            WorkerPool(service, writer, segments, run, on_page, reading).work()
            _compare(request, service, writer, run, reading, before)
    return run.logged()


def _write_views_early(lake: Lake) -> None:
    with suppress(errors.SvcError):  # whoever writes them at the end tells it
        _write_views(lake)


def _write_views(lake: Lake) -> None:
    from svc_analytics.warehouse.images import write_views  # loads while pages are fetched

    write_views(lake)


def read_merchant(
    client: Client, settings: Settings, lake: Lake
) -> tuple[dict[str, Any], list[Answer]]:
    """Return the merchant's profile, and what the service's clock was; refuse keys of two.

    Raises `NoService` where a wrong setting may keep the service away, and the lake was never
    read from its address.
    """
    try:
        answers = _ask_with_each(client, settings)
    except errors.Unavailable as away:
        # A lake that does not say it may have been read from this address.
        was_read = lake.exists and lake.service in (None, settings.base_url)
        if away.advice and not was_read:
            values = {
                "address": settings.base_url,
                "trouble": translated(away.trouble),
                "advice": translated(away.advice),
            }
            raise errors.NoService(
                Message("service.never_read", **values), path=away.path
            ) from away
        raise
    ids = sorted({profile["id"] for profile, _ in answers})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise errors.ConfigError(message)
    return answers[0][0], [answer for _, answer in answers]


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


def _begin_run(writer: LakeWriter, request: plan.Request, clock: RunClock) -> None:
    writer.begin_run(
        watermark=clock.watermark,
        is_open_ended=request.start == BEGINNING,
        lookback=request.overlap,
        judged_at=clock.now,
    )


def _compare(
    request: plan.Request,
    service: Client,
    writer: LakeWriter,
    run: plan.ExtractionResult,
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


def _confirm(
    request: plan.Request, run: plan.ExtractionResult, seen: plan.Seen, writer: LakeWriter
) -> None:
    """Mark the interval as read twice alike, if this reading saw what the one before saw."""
    stats, run.seen = run.published, seen
    is_news = stats.files > stats.retold or stats.changed or stats.quarantined or run.doubtful
    run.is_confirmed = seen == request.confirms and not is_news
    if run.is_confirmed:
        end = run.read_to if request.end is None else min(request.end, run.read_to)
        writer.confirm([STREAMS[name] for name in seen], (request.start, end))


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


class PageBar:
    """Counts rows and pages so far, and says down to which day they were read.

    It opens with the first page or word: what fails before leaves no bar behind.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._task, self._counts = "extracting", ""
        self._rows = self._pages = 0

    def show(self, stream: Stream, rows: int, reached: int | None) -> None:
        """Count one page; `reached` is the instant down to which its stream was read."""
        self._pages += 1
        self._rows += rows
        place = "" if reached is None else f" back to {_day(reached)}"
        counts = f"{counted(self._rows, 'row')} in {counted(self._pages, 'page')}"
        self._counts = f": {counts}, {stream.name}{place}"
        self._refresh(rows)

    def say(self, text: str) -> None:
        """Show what is being done now."""
        self._task, self._counts = text, ""
        self._refresh()

    def close(self) -> None:
        """Take the bar away, if there is one."""
        if self._bar is not None:
            self._bar.close()

    def _refresh(self, rows: int = 0) -> None:
        text = f"{self._task}{self._counts}"
        if self._bar is None:
            from tqdm.auto import tqdm  # it loads asyncio; the next pages are on their way by now

            self._bar = tqdm(desc=text, bar_format=_FORM, disable=None, leave=False)
        self._bar.set_description_str(text, refresh=not rows)
        self._bar.update(rows)


def _day(reached: int) -> str:
    return "the beginning" if reached <= BEGINNING else format_instant(reached)[:10]


@contextmanager
def page_bar() -> Iterator[PageBar]:
    """Show a bar on stderr if that is a terminal (or a notebook)."""
    bar = PageBar()
    try:
        yield bar
    finally:
        bar.close()
