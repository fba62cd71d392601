"""A run of `close` in a thread: the notebook stays awake, and can stop it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import Any

from svc_analytics.closing.close import close, close_all_due
from svc_analytics.closing.job import JobOptions
from svc_analytics.config import Settings
from svc_analytics.errors import SvcError
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.interrupts import check_stop, stopped_by
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, translated
from svc_analytics.schema import Stream

STOPPED = "Stopped. What the lake holds is sound: close again to go on."
_PAGE = "read {count} records in {pages} page: {STREAM}"
_PAGES = "read {count} records in {pages} pages: {STREAM}"
PAUSE = 0.1  # seconds between two words on pages: a person reads no faster

# `note` and a text, `closed` and a result, or `failed` and an error.
Tell = Callable[[str, Any], None]


class CloseRun:
    """Closes a month, or every month that is due, and tells what it does.

    `tell` is called in a thread with `note` and a text, `closed` and a result, `failed` and an
    error; and once, at the end, with `over` and None.
    """

    def __init__(
        self,
        lake: Lake,
        label: str | None,
        zone: str,
        calendar: str,
        settings: Settings,
        tell: Tell,
    ) -> None:
        self._lake, self._label, self._settings, self._tell = lake, label, settings, tell
        self._options: JobOptions = {"zone": zone, "calendar": calendar, "settings": settings}
        self._stop = Event()
        # A stopped notebook server need not wait for it: a killed close leaves a sound lake.
        self._thread = Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Begin to close."""
        self._thread.start()

    def stop(self) -> None:
        """Let its thread end before its next step, or in the query that it waits for."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it is over and all was told."""
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            with stopped_by(self._stop):
                self._close()
        except KeyboardInterrupt:
            self._tell("failed", SvcError(Message(STOPPED)))
        except Exception as error:  # a thread has nobody else to tell it to
            self._tell("failed", error)
        finally:
            self._tell("over", None)

    def _close(self) -> None:
        closed = partial(self._tell, "closed")
        read = partial(_read, self._lake, self._settings, _Pages(self._note))
        options: JobOptions = {**self._options, "read": read, "note": self._note}
        if self._label is None:
            close_all_due(self._lake, on_closed=closed, **options)
        else:
            closed(close(self._lake, self._label, **options))

    def _note(self, text: str) -> None:
        check_stop()
        self._tell("note", text)


def _read(lake: Lake, settings: Settings, pages: _Pages, request: Request) -> ExtractionResult:
    """Read as `close` does by itself, and tell of every page."""
    if request.rereads:
        return update.read_again(lake, settings, request, on_page=pages.count)
    pages.say("bringing the lake up to date")
    return update.extract(lake, settings, request, on_page=pages.count)


class _Pages:
    """Counts what was read, and says so a few times a second."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self._rows = self._pages = 0
        self._said_at = 0.0

    def count(self, stream: Stream, rows: int, reached: int | None) -> None:
        """Count one page; `reached` is the instant down to which its stream was read."""
        self._rows, self._pages = self._rows + rows, self._pages + 1
        if monotonic() - self._said_at < PAUSE:
            return
        self._said_at = monotonic()
        is_known = reached is not None and reached > BEGINNING
        text = _PAGE if self._pages == 1 else _PAGES
        counts = {"count": f"{self._rows:,}", "pages": f"{self._pages:,}"}
        said = Message(text, **counts, stream=translated(stream.words))
        if is_known and reached:
            said = Message("{READ}, back to {day}", read=said, day=format_instant(reached)[:10])
        self.say(said)
