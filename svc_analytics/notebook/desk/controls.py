"""The widgets of the close desk, native ones, so that keys do it all; its texts and its style.

A table of HTML is pressed, a page of rows at a time: what orders, finds and counts them is a query
over all of them, so that an order is exact whatever their number.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from html import escape
from importlib.resources import files
from typing import Any, cast

from svc_analytics.errors import SvcError, class_name
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import Display, DisplayTable, cell_text, table_html
from svc_analytics.formatting.texts import escape_invisible, single_line, visible
from svc_analytics.instants import in_words
from svc_analytics.language.catalogue import ENGLISH, Language, is_number
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.errors import sentence_of
from svc_analytics.render.words import PageWords

PLAIN = "svc-desk-plain"  # the page that is read without a kernel
STYLE = f"<style>{(files('svc_analytics.notebook.desk') / 'desk.css').read_text('utf-8')}</style>"
CLOSE_AGAIN = "reason.close_again"
_BETWEEN = " \N{MIDDLE DOT} "
Content = dict[str, Any]
_NOTHING: Content = {}


@dataclass(frozen=True)
class Looks:
    """Writes the texts of the desk in its language: plain for buttons, and as HTML."""

    language: Language = ENGLISH

    @cached_property
    def _words(self) -> PageWords:
        return PageWords(self.language)

    def text(self, english: str, **values: object) -> str:
        """Return words of ours for a button or a field, which hold no elements."""
        return self.language.text(visible(Message(english, **values) if values else english))

    def cell(self, cell: Cell, *, is_ours: bool) -> str:
        """Return the text of a cell; one of other people stays as it is, where it is not ours."""
        if self.language.is_english:
            return escape_invisible(cell_text(cell))
        if is_number(cell.text):
            return self.language.number(f"{cell.text}{cell.padding}")
        is_ours = is_ours or cell.is_fixed or isinstance(cell.text, Message)
        return self.text(cell.text) if is_ours else single_line(cell.text)

    def line(self, *parts: str, is_announced: bool = False) -> str:
        """Return texts as a line; one that is told is read out when it changes."""
        role = ' role="status" aria-live="polite"' if is_announced else ""
        shown = _BETWEEN.join(self.html(part) for part in parts if part)
        return f'<div dir="auto"{role}>{shown}</div>' if shown else ""

    def sentence(self, error: BaseException) -> str:
        """Word an error; English words stand behind the kind of error that it is."""
        text = sentence_of(error)
        if self.language.is_english or self.language.translation(text):
            return text
        kind = class_name(error if isinstance(error, SvcError) else SvcError())
        return Message("{KIND}: {text}", kind=translated(kind), text=text)

    def error(self, error: BaseException) -> str:
        """Return an error as a line that is read out."""
        return self.line(self.sentence(error), is_announced=True)

    @contextmanager
    def telling(self, place: Any) -> Iterator[None]:
        """Do something; where it fails, the place of HTML says why."""
        try:
            yield
        except (SvcError, OSError) as error:
            place.value = self.error(error)

    def heading(self, text: str) -> str:
        """Return a heading within the panel."""
        return f"<h4>{self.html(text)}</h4>"

    def folded(self, title: str, html: str) -> str:
        """Return HTML to open by its title."""
        return f"<details><summary>{self.html(title)}</summary>{html}</details>"

    def sql(self, sql: str) -> str:
        """Return SQL to open; it can be copied."""
        return self.folded("SQL of this figure", f"<pre>{escape(sql)}</pre>")

    def table(self, table: DisplayTable) -> str:
        """Return a table to read."""
        return table_html(table, self._words.table_words)

    def page(self, shown: Display) -> str:
        """Return a title, its lines and its tables, as they are read without a kernel."""
        lines = "".join(map(self.line, shown.lines))
        tables = "".join(map(self.table, shown.tables))
        return (
            f'<div dir="{self.language.direction}">{self.heading(shown.title)}{lines}{tables}</div>'
        )

    def html(self, text: str) -> str:
        """Return words of ours as HTML; those of other people are isolated within them."""
        text = without_rules(text)
        if self.language.is_english:
            return escape(escape_invisible(in_words(single_line(text))))
        return self._words.shown(text if isinstance(text, Message) else single_line(text))


def without_rules(text: str) -> str:
    """Return a text of ours without the names of rules, and without commands to type."""
    if not isinstance(text, Message):
        return text
    if text.code == "reason.finding":
        return cast(str, text.values["FINDING"])
    if text.code == CLOSE_AGAIN:
        return Message("close {MONTH} again", month=cast(Message, text.values["MONTH"]))
    parts = {
        name: without_rules(value) if isinstance(value, Message) else value
        for name, value in text.values.items()
    }
    is_changed = not {"reason.finding", CLOSE_AGAIN}.isdisjoint(text.codes())
    return Message(text.code, **parts) if is_changed else text


def _kit() -> Any:
    import ipywidgets  # an optional extra

    return ipywidgets


def button(text: str, on_click: Callable[[], object], *looks: str, tip: str = "") -> Any:
    """Return a button that is as wide as its text."""
    widget = _kit().Button(
        description=text, tooltip=tip or text, layout={"width": "auto"}, _dom_classes=looks
    )
    widget.on_click(lambda _: on_click())
    return widget


def field(name: str, example: str, text: str = "", *, is_live: bool = False) -> Any:
    """Return a field to type into, its name before it.

    One that `is_live` tells each letter, in its own time. The text of a form's field comes with the
    press of the form's button: see keeper.js.
    """
    style = {"description_width": "initial"}
    widget = _kit().Text(text, description=name, placeholder=example, style=style)
    widget.continuous_update = is_live
    return widget


class SentForm:
    """Fields, and the buttons that need what stands in them: a press comes with all of it."""

    def __init__(self, fields: Sequence[Any], buttons: Sequence[Any]) -> None:
        self._fields, self._buttons = fields, buttons
        for each in buttons:
            each.add_class("svc-sends")

    def send(self, button: str, typed: Mapping[str, str]) -> None:
        """Take what was typed, by the names of fields, and press the button if it is of here."""
        for pressed in self._buttons:
            if pressed.description == button:
                for field in self._fields:
                    field.value = typed[field.description]
                pressed.click()


def choice(name: str, offered: dict[str, str]) -> Any:
    """Return a list to choose one thing of, its name before it; its value is that of the text.

    It is as wide as the longest of its texts.
    """
    style, layout = {"description_width": "initial"}, {"width": "max-content"}
    options = [*offered.items()]
    return _kit().Dropdown(options=options, description=name, style=style, layout=layout)


def html(text: str = "", *looks: str) -> Any:
    """Return a place for HTML."""
    return _kit().HTML(text, _dom_classes=looks)


def column(*parts: Any, look: str = "") -> Any:
    """Return things below one another, with these looks, a blank between."""
    return _kit().VBox(parts, _dom_classes=look.split())


def row(*parts: Any, look: str = "") -> Any:
    """Return things beside one another; they wrap where there is no room."""
    box = _kit().Box(parts, _dom_classes=look.split())
    box.layout.flex_flow, box.layout.align_items = "row wrap", "center"
    return box


class PressTable:
    """A widget that shows a table, and calls back when something of it is pressed.

    `press` is called with the place of a row and of a column, `order` with that of a column,
    `turn` with 1 or -1 for the next page or the last one, and `leave` when Escape is pressed.
    """

    def __init__(
        self,
        press: Callable[[int, int], object],
        *looks: str,
        order: Callable[[int], object] = lambda _: None,
        turn: Callable[[int], object] = lambda _: None,
        leave: Callable[[], object] = lambda: None,
    ) -> None:
        self.press, self.order, self.turn, self.leave = press, order, turn, leave
        self.box: Any = scripted("press_table.js")(_dom_classes=looks)
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
def scripted(script: str) -> Any:
    """Return the kind of widget that a script draws; made late, for it needs an optional extra."""
    import anywidget
    import traitlets

    class ScriptedWidget(anywidget.AnyWidget):
        _esm = (files("svc_analytics.notebook.desk") / script).read_text("utf-8")
        content = traitlets.Dict().tag(sync=True)

    return ScriptedWidget


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
    heads = zip(table.header, table.meanings or blank, table.rights, orders or blank, strict=True)
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
        "title": looks.text(table.hints.get(place, "")),
        "look": "svc-sum" if place in table.totals else "svc-sub" * (place in table.subtotals),
        "press": names is None,
        "isChosen": is_chosen,
        "cells": [
            _cell(cell, name, looks, is_ours=names is not None)
            for cell, name in zip(table.rows[place], called, strict=True)
        ],
    }


def _cell(cell: Cell, name: str, looks: Looks, *, is_ours: bool) -> dict[str, Any]:
    text = looks.cell(cell, is_ours=is_ours)
    shown = {"text": text, "title": looks.text(cell.hover)}
    if cell.is_foreign:
        shown["dir"] = "auto"
    return shown | ({"press": True, "label": f"{looks.text(name)}: {text.strip()}"} if name else {})
