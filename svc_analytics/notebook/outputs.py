"""What cells of a notebook display: lines, code, and things below one another."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

from svc_analytics.formatting.display import Display
from svc_analytics.formatting.sanitize import escape_invisible


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
