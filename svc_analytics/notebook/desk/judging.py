"""Compares the months of the desk with the lake in a thread, while a person looks at one."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

from svc_analytics.log import LOG
from svc_analytics.notebook.desk.desk_months import DeskMonths


class Judging:
    """Judges one month after another; `show` is called in the thread after each."""

    def __init__(self, desk: DeskMonths, show: Callable[[], object]) -> None:
        self._desk, self._show = desk, show
        self._thread: Thread | None = None

    def start(self) -> None:
        """Judge what is not judged yet, unless that is being done."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until all months are judged."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _work(self) -> None:
        try:
            while self._desk.judge_next():
                self._show()
        except Exception:  # a thread has nobody to tell: the next month that is chosen says it
            LOG.exception("the months could not be compared with the lake")
