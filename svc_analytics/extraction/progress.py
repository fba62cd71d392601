"""A progress bar for an extraction, on the terminal or in a notebook."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from svc_analytics.formatting.counts import counted
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.schema import Stream

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
