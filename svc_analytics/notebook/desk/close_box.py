"""The button that closes a month, its progress, and the button that stops it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from svc_analytics.closing.result import CloseResult
from svc_analytics.errors import SvcError
from svc_analytics.formatting.display import Display
from svc_analytics.notebook.desk import controls, looks
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.runs import CloseRun
from svc_analytics.notebook.errors import sentence_of
from svc_analytics.render.month_state import MonthState


class CloseBox:
    """Closes the month that is shown, or all that are due; `done` is called when it is over."""

    def __init__(self, desk: DeskMonths, done: Callable[[], object]) -> None:
        self._desk, self._done = desk, done
        self.run: CloseRun | None = None
        self._began = 0.0
        self._results: list[CloseResult] = []
        self.close = controls.button("close", self._close_one)
        self.all_due = controls.button("close every month that is due", self._close_all)
        self.stop = controls.button("stop", self._stop, tip="stop as Ctrl-C does")
        self.again = controls.button("read again", self._read_again, tip="read the lake again")
        self.progress, self.outcome, self.later = (controls.html() for _ in range(3))
        buttons = controls.row(self.close, self.all_due, self.stop, self.again)
        self.box = controls.column(buttons, self.progress, self.later, self.outcome)
        self.show()

    @property
    def is_running(self) -> bool:
        """Whether a close runs now."""
        return self.run is not None

    def show(self) -> None:
        """Offer what can be done with the month that is shown."""
        tile, is_idle = self._desk.tile, not self.is_running
        self.close.description = _offer(tile)
        self.close.button_style = "" if tile.kind == "sealed" else "primary"
        self.close.disabled = not (is_idle and tile.can_be_closed)
        self.all_due.disabled = self.again.disabled = not is_idle
        self.stop.disabled = is_idle
        self.stop.layout.display = "none" if is_idle else ""
        self.later.value = looks.line_html(self._hint(), is_told=True)

    def _hint(self) -> str:
        """Say what comes after a close, or before one."""
        if later := self._desk.chosen_later:
            return f"{later} is shown when the close is over"
        first = self._desk.first_open
        if first is None or self.is_running or self._desk.tile.is_sealed:
            return ""
        return f"Close {first.label} first: each seal names that of the month before."

    def clear(self) -> None:
        """Take away the outcome of the last close."""
        self.outcome.value = ""

    def _close_one(self) -> None:
        self._start(self._desk.tile.label)

    def _close_all(self) -> None:
        self._start(None)

    def _start(self, label: str | None) -> None:
        self._results, self._began = [], monotonic()
        self.outcome.value = ""
        self.note(f"closing {label or 'every month that is due'}")
        try:
            self.run = self._desk.close(label, self._tell)
            self.run.start()
        except SvcError as error:
            self.note("")
            self.outcome.value = looks.line_html(sentence_of(error), is_told=True)
        self.show()

    def _stop(self) -> None:
        if self.run:
            self.note("stopping")
            self.run.stop()

    def _read_again(self) -> None:
        self._desk.refresh()
        self._done()

    def _tell(self, kind: str, said: Any) -> None:
        """Show what the run tells; it is called in a thread."""
        if kind == "note":
            self.note(said)
        elif kind == "closed":
            self._results.append(said)
            self.outcome.value = "".join(map(_outcome, self._results))
        elif kind == "failed":
            self.outcome.value += looks.line_html(said, is_told=True)
        else:
            self._end()

    def _end(self) -> None:
        try:
            self._desk.refresh()
        finally:
            self.run = None
            self.note("")
            self.show()
        self._done()

    def note(self, text: str) -> None:
        """Word the running step, and for how long it runs; empty when it is done."""
        passed = f" \N{MIDDLE DOT} {monotonic() - self._began:.0f} s" if self.is_running else ""
        passed *= bool(text)
        self.progress.value = looks.line_html(text + passed, is_told=True)


def _offer(state: MonthState) -> str:
    """Word the button: a sealed month is only looked at again, unless something has changed."""
    if state.kind == "changed":
        return f"close {state.label} again as version {state.version + 1}"
    return f"check {state.label} again" if state.is_sealed else f"close {state.label}"


def _outcome(result: CloseResult) -> str:
    """Return the result of a close, and the changes from the version before, to open."""
    lines = "".join(looks.line_html(text, is_told=True) for text in result.describe())
    if result.table is None:
        return lines
    tables = Display("", [], result._display().tables)._repr_html_()
    return (
        f"{lines}<details><summary>What differs from the version before</summary>{tables}</details>"
    )
