"""The last twelve months as tiles in a grid that does not move; all months in a list."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from svc_analytics.messages import Message
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths
from svc_analytics.notebook.desk.looks import Looks
from svc_analytics.periods import GREGORIAN
from svc_analytics.render.month_state import SIGNS, MonthState

MOST_TILES = 12
_ENGLISH = Looks()
_SHORT = 3  # letters of a month's name


class MonthTiles:
    """A tile for each month of the last year, the oldest first, and a list of all."""

    def __init__(self, desk: DeskMonths, choose: Callable[[str], object]) -> None:
        self._desk, self._choose, self._is_quiet = desk, choose, False
        self._lock = Lock()  # they are judged in a thread
        self._tiles = controls.row()
        self._tiles.add_class("svc-months")
        self.tiles: dict[str, Any] = {}
        self.earlier = controls.choice(desk.looks.text("all months"), {})
        self.earlier.observe(self._pick, "value")
        self.box = controls.column(self._tiles, self.earlier)
        self.show()

    def show(self) -> None:
        """Show the months as they are now; the tiles keep the place that a key had reached."""
        with self._lock:
            self._show()

    def _show(self) -> None:
        chosen, looks = self._desk.tile.label, self._desk.looks
        newest = {tile.label for tile in self._desk.tiles[:MOST_TILES]} | {chosen}
        shown = [tile for tile in reversed(self._desk.tiles) if tile.label in newest]
        if [*self.tiles] != [tile.label for tile in shown]:
            self.tiles = {tile.label: self._tile(tile.label) for tile in shown}
            self._tiles.children = tuple(self.tiles.values())
        for tile in shown:
            button = self.tiles[tile.label]
            button.description = tile_text(tile, looks)
            button.tooltip = looks.text("{TITLE}: {NOTE}", TITLE=tile.period.title, NOTE=tile.note)
            button._dom_classes = _looks(tile, is_chosen=tile.label == chosen)
        self._is_quiet = True
        self.earlier.options = [(_named(tile, looks), tile.label) for tile in self._desk.tiles]
        self.earlier.value = chosen
        self._is_quiet = False
        self.earlier.layout.display = "" if len(self._desk.tiles) > MOST_TILES else "none"

    def _tile(self, label: str) -> Any:
        return controls.button(label, lambda: self._choose(label))

    def _pick(self, event: Any) -> None:
        if not self._is_quiet:
            self._choose(event["new"])


def tile_text(state: MonthState, looks: Looks = _ENGLISH) -> str:
    """Return the name of a month, its state in a sign and a word, and one thing of it more.

    >>> from svc_analytics.periods import month
    >>> print(tile_text(MonthState(month("2026-10"), "sealed", 0, version=2)))
    Oct 2026
    ✓ sealed
    version 2
    """
    period, kind = state.period, state.kind
    name, word = looks.text(period.title), looks.text(state.word if kind == "late" else kind)
    if looks.language.is_english:
        is_long = period.calendar == GREGORIAN
        name = f"{period.month_name[:_SHORT] if is_long else period.month_name} {period.label[:4]}"
        word = kind
    return f"{name}\n{SIGNS[kind]} {word}\n{looks.text(_detail(state))}"


def _named(state: MonthState, looks: Looks) -> str:
    return f"{looks.text(state.period.title)} {SIGNS[state.kind]} {looks.text(state.word)}"


def _detail(state: MonthState) -> Message:
    closes = state.period.day_name(state.closes_at)
    if state.kind == "running":
        return Message("closes {DAY}", DAY=closes)
    if state.kind in ("sealed", "changed"):
        return Message("version {version}", version=state.version)
    if state.kind == "blocked":
        count = len(state.reasons)
        return Message("{count} reason" if count == 1 else "{count} reasons", count=count)
    return Message("since {DAY}", DAY=closes)


def _looks(state: MonthState, *, is_chosen: bool) -> tuple[str, ...]:
    return ("svc-tile", f"svc-{state.kind}", *(["svc-chosen"] if is_chosen else []))
