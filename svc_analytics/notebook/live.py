"""What cells of a notebook show of something that changes, updated in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any, Protocol

from svc_analytics.formatting.display import Display
from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.notebook.errors import ipython_shell

Content = Callable[[Any, "str | None"], Any]  # of a statement and a coin


class LiveSource(Protocol):
    """Something that changes, and that cells show."""

    @property
    def state(self) -> object:
        """What it is now, to compare."""

    def shown(self, content: Content) -> Any:
        """Return the content of a cell now; an error is one line in its place."""

    def follow(self, live: Live, handle: Any) -> None:
        """Keep what a cell displays up to date."""


class Live:
    """What a cell shows of the picked statement: it follows the pickers."""

    def __init__(self, source: LiveSource, content: Content, first: Any) -> None:
        self._source, self._content = source, content
        self._last, self._last_of = displayable(first), source.state

    @property
    def shown(self) -> Any:
        """What is shown of what is picked now."""
        state = self._source.state
        if state != self._last_of:
            self._last, self._last_of = self._source.shown(self._content), state
        return self._last

    def __repr__(self) -> str:
        return repr(self.shown)

    def _repr_html_(self) -> str:
        return html_of(self.shown)

    def _ipython_display_(self) -> None:
        self._source.follow(self, display(self.shown, display_id=True))


@dataclass(frozen=True)
class Stack:
    """Several things below one another."""

    parts: tuple[Any, ...]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.parts))

    def _repr_html_(self) -> str:
        return "".join(map(html_of, self.parts))


@dataclass(frozen=True)
class Code:
    """A text whose lines stay as they are, such as SQL."""

    text: str

    def __repr__(self) -> str:
        return escape_invisible(self.text)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


@dataclass(frozen=True)
class Follower:
    """An output of a notebook, and the run of the cell that made it."""

    live: Live
    handle: Any
    cell: str | None
    run: int

    def stands(self, cell: str | None, run: int) -> bool:
        """Whether the output still stands when this run of this cell displays another."""
        return cell is None or self.cell != cell or self.run == run

    def update(self, shown: Any) -> None:
        """Show something else in the output's place."""
        self.handle.update(shown)


def display(shown: Any, **options: Any) -> Any:
    """Display a thing in a notebook, which has IPython."""
    return import_module("IPython.display").display(shown, **options)


def displayable(shown: Any) -> Any:
    """Make a value displayable: a text as a line, several things as a stack."""
    if isinstance(shown, str):
        return line(shown)
    return Stack(tuple(shown)) if isinstance(shown, (tuple, list)) else shown


def html_of(shown: Any) -> str:
    """Return the HTML that a notebook shows of a value."""
    html = getattr(shown, "_repr_html_", lambda: None)()
    return Code(repr(shown))._repr_html_() if html is None else str(html)


def line(text: str) -> Display:
    """Return a text as a line to display."""
    return Display("", [text])


def running_cell() -> tuple[str | None, int]:
    """Return the id of the running cell, if the frontend tells it, and the count of its run."""
    shell = ipython_shell()
    parent: dict[str, Any] = getattr(shell, "get_parent", dict)()
    return parent.get("metadata", {}).get("cellId"), getattr(shell, "execution_count", 0)
