"""Tables to display as HTML. All text is escaped: payers wrote some."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape

from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display_table import POINTED, DisplayTable
from svc_analytics.formatting.sanitize import escape_invisible, single_line
from svc_analytics.messages import Message

_FIGURES = "font-variant-numeric:tabular-nums lining-nums;white-space:nowrap;direction:ltr"
_NUMBER = f"text-align:right;{_FIGURES}"
_TEXT = "text-align:start"
_HEADING = "text-align:start;padding-top:1em"
# The first column stays in sight when a wide table is moved sideways; it has its row's stripe.
_STICKY = ";position:sticky;inset-inline-start:0;background:inherit"
_TOTAL = ";font-weight:bold;border-top:1px solid"
_STRIPES = (
    "var(--jp-layout-color0,Canvas)",
    "var(--jp-rendermime-table-row-background,light-dark(#f5f5f5,#242424))",
)


def _cell_text(cell: Cell) -> str:
    return escape(single_line(cell.text))


@dataclass(frozen=True)
class TableWords:
    """How the texts of a table are written as HTML: shown, on pointing, and in a cell."""

    said: Callable[[str], str] = escape
    hint: Callable[[str], str] = escape
    cell: Callable[[Cell], str] = _cell_text
    pointed: str = POINTED  # how every digit of a rounded number is seen


_PLAIN = TableWords()


def titled_html(title: str, lines: Iterable[str], tables: Iterable[str]) -> str:
    """Return a title, lines of text and tables as one element."""
    head = f'<h4 dir="auto">{escape(title)}</h4>' if title else ""
    texts = "".join(f'<p dir="auto">{escape(single_line(line))}</p>' for line in lines)
    return escape_invisible(f"<div>{head}{texts}{''.join(tables)}</div>")


def framed(table: DisplayTable, html: str, words: TableWords = _PLAIN) -> str:
    """Return a table's HTML with its title and caption above and its notes below."""
    head = words.said(table.title)
    title = f'<div style="font-weight:bold">{head}</div>' if table.title else ""
    caption = table.caption
    above = words.said(caption if isinstance(caption, Message) else single_line(caption))
    caption = f"<div><small>{above}</small></div>"
    notes = "".join(
        f"<div><small>{words.said(note)}</small></div>" for note in table.notes(words.pointed)
    )
    above = title + caption * bool(table.caption)
    box = f'<div style="overflow-x:auto;--letters:{table.letters}">{html}</div>'
    return f"{above}{box}{notes}"


def table_html(table: DisplayTable, words: TableWords = _PLAIN) -> str:
    """Return a table with what stands above and below it."""
    looks = [_NUMBER if right else _TEXT for right in table.rights]
    meanings = table.meanings or [""] * len(table.header)
    header = "".join(
        f'<th style="{look}{_STICKY * (not place)}"{_title(meaning, words)}>{words.said(name)}</th>'
        for place, (name, look, meaning) in enumerate(
            zip(table.heads, looks, meanings, strict=True)
        )
    )
    rows = "".join(_rows_html(table, looks, words))
    html = f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
    return framed(table, html, words)


def folded_html(table: DisplayTable) -> str:
    """Return a table to open by its title."""
    html = table_html(replace(table, title=""))
    return f"<details><summary>{escape(table.title)}</summary>{html}</details>"


def _rows_html(table: DisplayTable, looks: list[str], words: TableWords) -> Iterator[str]:
    for number, row in enumerate(table.rows):
        if heading := table.headings.get(number):
            head = words.said(heading)
            yield f'<tr><th colspan="{len(row)}" style="{_HEADING}">{head}</th></tr>'
        hint = _title(table.hints.get(number, ""), words)
        styles = [looks[0] + _STICKY, *looks[1:]]
        styles = [style + _TOTAL * (number in table.totals) for style in styles]
        first, *others = (_cell_html(*each, words) for each in zip(row, styles, strict=True))
        stripe = f' style="background:{_STRIPES[number % 2]}"'
        yield f"<tr{hint}{stripe}>{first}{''.join(others)}</tr>"


def _cell_html(cell: Cell, look: str, words: TableWords) -> str:
    direction = ' dir="auto"' if cell.is_foreign else ""
    look += ";white-space:nowrap" * (cell.is_fixed and not cell.is_number)
    text = words.cell(cell) + cell.padding
    return f'<td style="{look}"{_title(cell.hover, words)}{direction}>{text}</td>'


def _title(text: str, words: TableWords) -> str:
    shown = text if isinstance(text, Message) else single_line(text)
    return f' title="{words.hint(shown)}"' if text else ""
