"""A progress bar for an extraction, on the terminal or in a notebook."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm.auto import tqdm

from svc_analytics.schema import Stream


class PageBar:
    """Counts rows and pages so far; how many there will be is not known."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._pages = 0

    def show(self, stream: Stream, rows: int) -> None:
        """Count one page."""
        self._pages += 1
        self._bar.update(rows)
        self._bar.set_postfix_str(f"{self._pages} pages, now {stream.name}", refresh=False)

    def say(self, text: str) -> None:
        """Show what is being done now."""
        self._bar.set_description_str(text)


@contextmanager
def page_bar() -> Iterator[PageBar]:
    """Show a bar on stderr if that is a terminal (or a notebook)."""
    with tqdm(desc="extracting", unit=" rows", disable=None, leave=False) as bar:
        yield PageBar(bar)
