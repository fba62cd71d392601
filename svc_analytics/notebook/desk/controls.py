"""The widgets of the close desk: native buttons, lists and fields, so that keys do it all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def button(text: str, on_click: Callable[[], object], *looks: str, tip: str = "") -> Any:
    """Return a button that is as wide as its text."""
    import ipywidgets  # an optional extra

    widget = ipywidgets.Button(description=text, tooltip=tip or text, layout={"width": "auto"})
    for look in looks:
        widget.add_class(look)
    widget.on_click(lambda _: on_click())
    return widget


def field(name: str, example: str, text: str = "", *, is_live: bool = False) -> Any:
    """Return a field to type into, its name before it.

    It tells its text when it is left: letter by letter, a button that is pressed at once would
    still know only the first of them. One that `is_live`, beside no such button, tells each.
    """
    import ipywidgets  # an optional extra

    style = {"description_width": "initial"}
    widget = ipywidgets.Text(text, description=name, placeholder=example, style=style)
    widget.continuous_update = is_live
    return widget


def choice(name: str, offered: dict[str, str]) -> Any:
    """Return a list to choose one thing of, its name before it; its value is that of the text.

    It is as wide as the longest of its texts.
    """
    import ipywidgets  # an optional extra

    style, layout = {"description_width": "initial"}, {"width": "max-content"}
    options = [*offered.items()]
    return ipywidgets.Dropdown(options=options, description=name, style=style, layout=layout)


def html(text: str = "", *looks: str) -> Any:
    """Return a place for HTML."""
    import ipywidgets  # an optional extra

    widget = ipywidgets.HTML(text)
    for look in looks:
        widget.add_class(look)
    return widget


def column(*parts: Any) -> Any:
    """Return things below one another."""
    import ipywidgets  # an optional extra

    return ipywidgets.VBox(parts)


def row(*parts: Any) -> Any:
    """Return things beside one another; they wrap where there is no room."""
    import ipywidgets  # an optional extra

    box = ipywidgets.Box(parts)
    box.layout.flex_flow, box.layout.align_items = "row wrap", "center"
    return box
