"""A table whose cells or rows are pressed, by mouse and by keys; Python decides what follows.

It is a table of HTML, a page of rows at a time: what orders, finds and counts them is a query
over all of them, so that an order is exact whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.formatting.texts import visible
from svc_analytics.notebook.desk.looks import Looks

Content = dict[str, Any]
_NOTHING: Content = {}


class PressTable:
    """A widget that shows a table, and calls back when something of it is pressed.

    `press` is called with the place of a row and of a column, `order` with that of a column,
    `turn` with 1 or -1 for the next page or the last one, and `leave` when Escape is pressed.
    """

    def __init__(
        self,
        press: Callable[[int, int], object],
        *,
        order: Callable[[int], object] = lambda _: None,
        turn: Callable[[int], object] = lambda _: None,
        leave: Callable[[], object] = lambda: None,
    ) -> None:
        self.press, self.order, self.turn, self.leave = press, order, turn, leave
        self.box: Any = _kind()()
        self.box.on_msg(lambda _, message, __: self._hear(message))

    @property
    def content(self) -> Content:
        """The table that is shown."""
        shown: Content = self.box.content
        return shown

    def show(self, content: Content = _NOTHING) -> None:
        """Show a table instead, or none."""
        self.box.content = content

    def focus(self, look: str = "") -> None:
        """Lead the keys into it; what has this look comes to the top of the window."""
        self.box.send({"does": "focus", "look": look})

    def reveal(self, look: str) -> None:
        """Bring what has this look into sight."""
        self.box.send({"does": "reveal", "look": look})

    def save(self, name: str, text: str) -> None:
        """Let the browser save a text as a file."""
        self.box.send({"does": "save", "name": name, "text": text})

    def _hear(self, message: dict[str, Any]) -> None:
        does = message["does"]
        if does == "press":
            self.press(message["row"], message["column"])
        elif does == "order":
            self.order(message["column"])
        elif does == "turn":
            self.turn(message["step"])
        else:
            self.leave()


@cache
def _kind() -> Any:
    """Return the kind of widget; made late, for it needs an optional extra."""
    import anywidget
    import traitlets

    class TableWidget(anywidget.AnyWidget):
        _esm = (files("svc_analytics.notebook.desk") / "press_table.js").read_text("utf-8")
        content = traitlets.Dict().tag(sync=True)

    return TableWidget


def content_of(
    table: DisplayTable,
    label: str,
    looks: Looks,
    *,
    names: Callable[[int, int], str] | None = None,
    orders: list[str] | None = None,
    chosen: int | None = None,
) -> Content:
    """Return a table as content; `label` is what it is called.

    Its rows are pressed; with `names` its cells are, each that has a name. `orders` says of each
    column `ascending`, `descending` or `none`, and nothing where it cannot order the rows.
    """
    blank = [""] * len(table.header)
    heads = zip(table.heads, table.meanings or blank, table.rights, orders or blank, strict=True)
    return {
        "label": looks.text(label),
        "dir": looks.language.direction,
        "head": [
            {"text": looks.text(text), "title": looks.text(title), "right": right, "order": order}
            for text, title, right, order in heads
        ],
        "rows": [
            row
            for place in range(len(table.rows))
            for row in _rows(table, place, names, looks, is_chosen=place == chosen)
        ],
        "foot": [_cell(cell, "", looks, is_ours=True) for cell in table.footer],
    }


def _rows(
    table: DisplayTable,
    place: int,
    names: Callable[[int, int], str] | None,
    looks: Looks,
    *,
    is_chosen: bool,
) -> Iterator[dict[str, Any]]:
    """Yield a row, and before it the heading that stands above it."""
    if place in table.headings:
        yield {"heading": looks.text(table.headings[place])}
    called = [names(place, n) if names else "" for n in range(len(table.header))]
    yield {
        "place": place,
        "title": looks.text(visible(table.hints.get(place, ""))),
        "press": names is None,
        "isChosen": is_chosen,
        "cells": [
            _cell(cell, name, looks, is_ours=names is not None)
            for cell, name in zip(table.rows[place], called, strict=True)
        ],
    }


def _cell(cell: Cell, name: str, looks: Looks, *, is_ours: bool) -> dict[str, Any]:
    text = looks.cell(cell, is_ours=is_ours)
    shown = {"text": text, "title": looks.text(visible(cell.hover))}
    if cell.is_foreign:
        shown["dir"] = "auto"
    return shown | ({"press": True, "label": f"{looks.text(name)}: {text.strip()}"} if name else {})
