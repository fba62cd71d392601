"""A page printed as PDF: the same page gives the same bytes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

EPOCH = "SOURCE_DATE_EPOCH"


def print_page(page: str) -> bytes:
    """Return the page as PDF; the same page gives the same bytes.

    Nothing is loaded, whatever the page asks for: a statement holds all it shows.
    """
    from weasyprint import HTML  # an optional extra
    from weasyprint.urls import URLFetcher

    with _fixed_clock():
        return bytes(HTML(string=page, url_fetcher=URLFetcher(allowed_protocols=())).write_pdf())


@contextmanager
def _fixed_clock() -> Iterator[None]:
    """Embed fonts without the time of day, so that the bytes stay the same."""
    before = os.environ.get(EPOCH)
    os.environ[EPOCH] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[EPOCH]
        else:
            os.environ[EPOCH] = before
