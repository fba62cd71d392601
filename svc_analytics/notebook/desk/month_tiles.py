"""The months as tiles, to choose one; those of earlier years from a list."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths

MOST_TILES = 12


class MonthTiles:
    """A tile for each month of the last year, and a list of all."""

    def __init__(self, desk: DeskMonths, choose: Callable[[str], object]) -> None:
        import ipywidgets  # an optional extra

        self._desk, self._choose, self._is_quiet = desk, choose, False
        self._lock = Lock()  # they are judged in a thread
        self._tiles = controls.row()
        self.tiles: dict[str, Any] = {}
        self.earlier = ipywidgets.Dropdown(description="any month")
        self.earlier.observe(self._pick, "value")
        self.box = controls.column(self._tiles, self.earlier)
        self.show()

    def show(self) -> None:
        """Show the months as they are now; the tiles keep the place that a key had reached."""
        with self._lock:
            self._show()

    def _show(self) -> None:
        chosen = self._desk.tile.label
        newest = {tile.label for tile in self._desk.tiles[:MOST_TILES]} | {chosen}
        shown = [tile for tile in self._desk.tiles if tile.label in newest]
        if [*self.tiles] != [tile.label for tile in shown]:
            self.tiles = {tile.label: self._tile(tile.label) for tile in shown}
            self._tiles.children = tuple(self.tiles.values())
        for tile in shown:
            made = self.tiles[tile.label]
            made.description, made.tooltip = f"{tile.text}\n{_cut(tile.note)}", tile.note
            (made.add_class if tile.label == chosen else made.remove_class)("svc-chosen")
        self._is_quiet = True
        self.earlier.options = [(tile.text, tile.label) for tile in self._desk.tiles]
        self.earlier.value = chosen
        self._is_quiet = False
        self.earlier.layout.display = "" if len(self._desk.tiles) > MOST_TILES else "none"

    def _tile(self, label: str) -> Any:
        return controls.button(label, lambda: self._choose(label), "svc-tile")

    def _pick(self, event: Any) -> None:
        if not self._is_quiet:
            self._choose(event["new"])


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
