"""Bring a lake up to date: extract, then write its views for other tools."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from threading import Thread
from typing import Any

from svc_analytics.arguments import check
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import LakeBusy, LakeChanged, SvcError, text_of
from svc_analytics.extraction import run
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request
from svc_analytics.formatting.texts import counted
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.schema import Stream

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
    from svc_analytics.warehouse.images import write_views  # loads while pages are fetched

    write_views(lake)


# ---------- A progress bar for an extraction, on the terminal or in a notebook


_FORM = "{desc} [{elapsed}]"  # how many rows there will be is not known


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
