"""Buttons that hand a sealed month on: its page, its workbook, its PDF, its zip for an auditor."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from svc_analytics.errors import SvcError
from svc_analytics.messages import Message
from svc_analytics.notebook.desk import controls
from svc_analytics.notebook.desk.desk_months import DeskMonths

# For each button: what it says, and the type of its file.
_BUTTONS = {
    "html": ("Open page", "text/html"),
    "xlsx": ("Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "pdf": ("PDF", "application/pdf"),
    "zip": ("Zip for the auditor", "application/zip"),
}
_FIRST = "of a sealed month: close it first"


class HandOver:
    """Writes what is asked for beside the seal, says where, and lets the browser have it."""

    def __init__(self, desk: DeskMonths) -> None:
        self._desk, self._looks = desk, desk.looks
        self.buttons = {
            name: controls.button(desk.looks.text(text), self._maker(name))
            for name, (text, _) in _BUTTONS.items()
        }
        self.said, self.link = controls.html(), _kind()()
        self.box = controls.row(*self.buttons.values())
        self.below = controls.row(self.said, self.link)
        self.show()

    def show(self, *, is_idle: bool = True) -> None:
        """Offer what can be handed on of the month that is shown."""
        is_sealed = self._desk.tile.is_sealed
        for name, button in self.buttons.items():
            button.disabled = not (is_sealed and is_idle)
            button.tooltip = self._looks.text(_BUTTONS[name][0] if is_sealed else _FIRST)

    def clear(self) -> None:
        """Take away what was said of another month."""
        self.said.value = ""
        self.link.send({"name": ""})

    def _maker(self, name: str) -> Any:
        return lambda: self._make(name)

    def _make(self, name: str) -> None:
        text, kind = _BUTTONS[name]
        self.clear()
        self.said.value = self._looks.line(Message("{FORM}: being made", FORM=text), is_told=True)
        try:
            path = self._desk.hand_over(name)
            content = path.read_bytes()
        except (SvcError, OSError) as error:
            self.said.value = self._looks.error(error)
            return
        self.said.value = self._looks.line(
            Message("{FORM}: {path}", FORM=text, path=path), is_told=True
        )
        link = self._looks.text("open it" if name == "html" else "save a copy")
        opened = {"name": path.name, "type": kind, "isPage": name == "html", "text": link}
        self.link.send(opened, [content])


@cache
def _kind() -> Any:
    """Return the kind of widget; made late, for it needs an optional extra."""
    import anywidget

    class FilesWidget(anywidget.AnyWidget):
        _esm = (files("svc_analytics.notebook.desk") / "file_link.js").read_text("utf-8")

    return FilesWidget
