"""HTML elements without scripts; every text that is not HTML already is escaped."""

from collections.abc import Iterable, Iterator
from html import escape

Attribute = str | bool | None  # True stands without a value; False and None are left out
_VOID = ("input", "img", "meta")


class Html(str):
    """Hold text that is HTML already; any other text is escaped where it is put in."""

    __slots__ = ()


def tag(name: str, /, *inner: str, **attributes: Attribute) -> Html:
    """Return an element; `class_` is written class and `_` a hyphen.

    >>> tag("p", "1 < 2", tag("b", "so"), class_="small", hidden=True)
    '<p class="small" hidden>1 &lt; 2<b>so</b></p>'
    """
    opened = " ".join((name, *_written(attributes)))
    return Html(f"<{opened}>" + ("" if name in _VOID else f"{join(inner)}</{name}>"))


def join(parts: Iterable[str]) -> Html:
    """Return the parts one after another."""
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def paragraph(*inner: str, kind: str | None = None) -> Html:
    return tag("p", *inner, class_=kind)


def said(text: str) -> Html:
    """Return a paragraph of somebody else's words, which may run from right to left."""
    return tag("p", text, dir="auto")


def alert(text: str, code: str = "") -> Html:
    """Return a sentence that is read out at once, with its code in small print."""
    return tag("div", paragraph(text), *_small(code), class_="notice bad", role="alert")


def notice(*inner: str, kind: str = "") -> Html:
    return tag("div", *inner, class_=f"notice {kind}".strip(), role="status")


def link(url: str, text: str, kind: str | None = None) -> Html:
    return paragraph(tag("a", text, href=url, class_=kind))


def hidden(name: str, value: str) -> Html:
    # Some browsers put an old value back when a page is reloaded.
    return tag("input", type="hidden", name=name, value=value, autocomplete="off")


def text_field(name: str, label: str, value: str = "", **more: Attribute) -> Html:
    field = tag("input", name=name, value=value, **{"autocomplete": "off", **more})
    return paragraph(tag("label", f"{label} ", field))


def select(name: str, label: str, options: Iterable[tuple[str, str]], chosen: str = "") -> Html:
    """Return a labelled drop-down list of (value, text) options."""
    shown = (tag("option", text, value=value, selected=value == chosen) for value, text in options)
    return paragraph(tag("label", f"{label} ", tag("select", *shown, name=name)))


def checkboxes(name: str, options: Iterable[tuple[str, bool]], legend: str) -> Html:
    """Return a checkbox for each (value, is ticked), all with one name."""
    boxes = (
        tag(
            "label", tag("input", type="checkbox", name=name, value=value, checked=is_ticked), value
        )
        for value, is_ticked in options
    )
    return tag("fieldset", tag("legend", legend), *boxes, class_="ticks")


def form(
    submit: str,
    *fields: str,
    method: str = "post",
    action: str | None = None,
    kind: str | None = None,
    about: str | None = None,
) -> Html:
    """Return a form with a button of a kind: usual, danger or quiet.

    `about` tells buttons of one name apart where they are read out.
    """
    label = about and f"{submit} {about}"
    button = tag("button", submit, class_=kind, aria_label=label)
    return tag("form", *fields, button, method=method, action=action)


def button_bar(*forms: str) -> Html:
    return tag("div", *forms, class_="bar")


def row(text: str, form: str = "") -> Html:
    """Return a row with a text and a form to its right."""
    return tag("div", tag("span", text), form, class_="line")


def facts(pairs: Iterable[tuple[str, str]]) -> Html:
    """Return a list of names with their values."""
    lines = (tag("div", tag("dt", name), tag("dd", value, dir="auto")) for name, value in pairs)
    return tag("dl", *lines)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Html:
    """Return a table; on a narrow screen each cell stands below its heading."""
    names = list(heads)
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    body = (
        tag("tr", *(tag("td", cell, data_head=name) for name, cell in zip(names, row, strict=True)))
        for row in rows
    )
    return tag("table", head, tag("tbody", *body))


def _small(code: str) -> Iterator[Html]:
    if code:
        yield paragraph(f"Code {code}", kind="small")


def _written(attributes: dict[str, Attribute]) -> Iterator[str]:
    for name, value in attributes.items():
        written = name.rstrip("_").replace("_", "-")
        if value is True:
            yield written
        elif isinstance(value, str):
            yield f'{written}="{escape(value)}"'
