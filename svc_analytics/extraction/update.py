"""Bring a lake up to date: extract, then write its views for other tools."""

from contextlib import suppress

from svc_analytics.arguments import check
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import SvcError
from svc_analytics.extraction import run
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request
from svc_analytics.extraction.progress import page_bar
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.warehouse.database import write_views


def extract(
    lake: Lake,
    settings: Settings | None = None,
    request: Request | None = None,
    *,
    workers: int = 8,
    on_page: OnPage | None = None,
) -> ExtractionResult:
    """Bring a lake up to date, then write its views for other tools.

    Settings come from the environment unless given, and a progress bar is shown unless
    `on_page` is. Interrupt it at any time: what was covered is kept.
    """
    check_lake(lake)
    check("settings", settings, (Settings, type(None)), "svc.read_settings(), or nothing")
    check("request", request, (Request, type(None)), "a svc.Request, or nothing")
    if on_page is None:
        with page_bar() as bar:
            return extract(lake, settings, request, workers=workers, on_page=bar.show)
    settings = settings or read_settings(lake.path)
    try:
        result = run.extract(lake, settings, request, workers=workers, on_page=on_page)
    except BaseException:
        with suppress(SvcError):  # the first error is the one to report
            write_views(lake)
        raise
    write_views(lake)
    return result
