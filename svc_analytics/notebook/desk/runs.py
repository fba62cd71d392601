"""A run of `close` in a process of its own: the notebook stays awake, and a stop is a Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

from svc_analytics.closing.close import close, close_all_due
from svc_analytics.config import Settings
from svc_analytics.errors import SvcError
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.notebook.errors import one_line_of
from svc_analytics.schema import Stream

STOPPED = "Stopped. What the lake holds is sound: close again to go on."
PAUSE = 0.1  # seconds between two words on pages: a person reads no faster

# What is being done, a closed month, or why the run failed.
Tell = Callable[[str, Any], object]


class Run:
    """Closes a month, or every month that is due, and tells what it does.

    `tell` is called in a thread with `note` and a text, `closed` and a result, `failed` and a
    line; and once, at the end, with `over` and None.
    """

    def __init__(
        self,
        path: Path,
        label: str | None,
        zone: str,
        calendar: str,
        settings: Settings,
        tell: Tell,
    ) -> None:
        # A fork would copy the kernel's threads half alive.
        context = get_context("spawn")
        self._ours, theirs = context.Pipe(duplex=False)
        words = (theirs, path, label, zone, calendar, settings)
        self._process = context.Process(target=_work, args=words)
        self._tell, self._is_stopped = tell, False
        self._listener = Thread(target=self._listen, daemon=True)
        self._process.start()
        theirs.close()
        self._listener.start()

    @property
    def is_running(self) -> bool:
        """Whether it is not over yet."""
        return self._listener.is_alive()

    def stop(self) -> None:
        """Interrupt it as Ctrl-C does."""
        self._is_stopped = True
        if self._process.pid and self._process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it is over and all was told."""
        self._listener.join(seconds)

    def _listen(self) -> None:
        is_told = False
        try:
            while True:
                kind, said = self._ours.recv()
                is_told |= kind in ("closed", "failed")
                self._tell(kind, said)
        except (EOFError, OSError):
            self._process.join()
        if not is_told:
            code = self._process.exitcode
            text = STOPPED if self._is_stopped else f"the close ended early, with code {code}"
            self._tell("failed", text)
        self._tell("over", None)


def _work(
    pipe: Connection,
    path: Path,
    label: str | None,
    zone: str,
    calendar: str,
    settings: Settings,
) -> None:
    """Close in this process; what happens goes down the pipe."""
    lake, say = Lake(path), partial(_say, pipe)
    pages = _Pages(partial(say, "note"))
    options: dict[str, Any] = {"zone": zone, "calendar": calendar, "settings": settings}
    options |= {"read": partial(_read, lake, settings, pages), "note": partial(say, "note")}
    try:
        if label is None:
            close_all_due(lake, on_closed=partial(say, "closed"), **options)
        else:
            say("closed", close(lake, label, **options))
    except KeyboardInterrupt:
        say("failed", STOPPED)
    except (SvcError, OSError) as error:
        say("failed", one_line_of(error))


def _say(pipe: Connection, kind: str, said: Any) -> None:
    pipe.send((kind, said))


def _read(lake: Lake, settings: Settings, pages: _Pages, request: Request) -> ExtractionResult:
    """Read as `close` does by itself, and tell of every page."""
    if request.rereads:
        return update.read_again(lake, settings, request, on_page=pages.count)
    pages.say("bringing the lake up to date")
    return update.extract(lake, settings, request, on_page=pages.count)


class _Pages:
    """Counts what was read, and says so a few times a second."""

    def __init__(self, say: Callable[[str], object]) -> None:
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
        place = f", back to {format_instant(reached)[:10]}" if is_known and reached else ""
        self.say(f"read {self._rows:,} records in {self._pages:,} pages: {stream.words}{place}")
