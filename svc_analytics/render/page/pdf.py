"""A page printed as PDF: the same page gives the same bytes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EPOCH = "SOURCE_DATE_EPOCH"


def print_page(page: str) -> bytes:
    """Return the page as PDF; the same page gives the same bytes."""
    from weasyprint import HTML  # an optional extra

    with _fixed_clock():
        return bytes(HTML(string=page, url_fetcher=_refuse).write_pdf())


def _refuse(url: str, *_: Any, **__: Any) -> Any:
    """Refuse to load anything: a statement holds all it shows."""
    message = f"a statement must not load {url}"
    raise ValueError(message)


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
