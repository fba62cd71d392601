"""What a person does at the desk, in one call each: the steps of several modules."""

from __future__ import annotations

import os
from contextlib import suppress

from svc_analytics import extraction
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import SvcError
from svc_analytics.reports import page_bar
from svc_analytics.warehouse import AnalyticLake, write_views


def open_lake(data_dir: str | os.PathLike[str] = "data") -> AnalyticLake:
    """Open the lake in a folder, whether anything was extracted into it yet or not."""
    return AnalyticLake(data_dir)


def extract(
    lake: AnalyticLake,
    settings: Settings | None = None,
    request: extraction.Request | None = None,
    *,
    workers: int = 8,
    on_page: extraction.OnPage | None = None,
) -> extraction.Extraction:
    """Bring a lake up to date, then make its views for other tools.

    Settings come from the environment unless given. Returns what was read; raises
    as documented in `svc_analytics.errors`. A bar shows how far it is, unless `on_page`
    is told. Interrupt it at any time: what was proven is kept.
    """
    if on_page is None:
        with page_bar() as bar:
            return extract(lake, settings, request, workers=workers, on_page=bar.show)
    settings = settings or read_settings(lake.path)
    try:
        done = extraction.extract(lake, settings, request, workers=workers, on_page=on_page)
    except BaseException:
        with suppress(SvcError):  # what went wrong first is what must be told
            write_views(lake)
        raise
    write_views(lake)
    return done
