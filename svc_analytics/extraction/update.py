"""Bring a lake up to date: extract, then write its views for other tools."""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from threading import Thread

from svc_analytics.arguments import check
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import LakeBusy, LakeChanged, SvcError, text_of
from svc_analytics.extraction import run
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request
from svc_analytics.extraction.progress import page_bar
from svc_analytics.lake.lake import Lake, check_lake

_MOST_READINGS = 3  # of one call


def extract(
    lake: Lake,
    settings: Settings | None = None,
    request: Request | None = None,
    *,
    workers: int | None = None,
    on_page: OnPage | None = None,
) -> ExtractionResult:
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
    check("request", request, (Request, type(None)), "a svc.Request, or nothing")
    settings = settings or read_settings(lake.path)
    # They look into the lake's files whenever they are queried: made while pages are fetched,
    # they are ready when the last one is written.
    views = Thread(target=_write_views_early, args=(lake,))
    try:
        result = read_again(
            lake, settings, request, workers=workers, on_page=on_page, on_begin=views.start
        )
    except BaseException:
        with suppress(SvcError):  # the first error is the one to report
            _write_views(lake)
        raise
    _write_views(lake)
    return result


def read_again(
    lake: Lake,
    settings: Settings,
    request: Request | None = None,
    *,
    workers: int | None = None,
    on_page: OnPage | None = None,
    on_begin: Callable[[], object] = lambda: None,
) -> ExtractionResult:
    """Extract as `extract` does, and leave the views of other tools as they are.

    Once written, they find by themselves what a later reading changes. `on_begin` is called
    once the lake can be read.
    """
    begin = lru_cache(maxsize=1)(on_begin)  # once, however often the reading begins anew
    read = partial(run.extract, lake, settings, request, workers=workers, on_begin=begin)
    if on_page is None:
        with page_bar() as bar:
            return _until_first(partial(read, on_page=bar.show))
    return _until_first(partial(read, on_page=on_page))


def _until_first(read: Callable[[], ExtractionResult]) -> ExtractionResult:
    """Read anew where another machine took over writing to the bucket, and wrote meanwhile."""
    for _ in range(_MOST_READINGS - 1):
        with suppress(LakeChanged):
            return read()
    try:
        return read()
    except LakeChanged as error:
        raise LakeBusy(text_of(error)) from error


def _write_views_early(lake: Lake) -> None:
    with suppress(SvcError):  # whoever writes them at the end tells it
        _write_views(lake)


def _write_views(lake: Lake) -> None:
    from svc_analytics.warehouse.database import write_views  # loads while pages are fetched

    write_views(lake)
