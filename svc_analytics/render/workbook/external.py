"""The sheet of a workbook with a statement's USD in another currency, and the rates it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from svc_analytics.formatting.cells import DASH
from svc_analytics.formatting.numbers import COIN, USD
from svc_analytics.formatting.standing import Standing
from svc_analytics.formatting.values import value_text
from svc_analytics.messages import Message
from svc_analytics.money import as_decimal
from svc_analytics.render.document import Document
from svc_analytics.render.external import FIGURES, ExternalFigures
from svc_analytics.render.face.face import IN_USD, Face
from svc_analytics.render.workbook.cells import (
    CellWriter,
    hides_digits,
    marked,
    number_format,
    shown_places,
)
from svc_analytics.render.workbook.tables import set_up_print
from svc_analytics.warehouse.figures import label_of

SHEET = "External rates"
_WIDTHS = (34, 14, 21, 24, 3, 30, 44)
_USD, _OTHER, _BEHIND = 2, 3, 5  # columns; every digit of both stands behind
Value = Decimal | int | None


@dataclass(frozen=True)
class _Amounts:
    """A figure of a coin, or of all: in USD, and in the other currency."""

    figure: str
    coin: str
    usd: Value
    other: Value


def write_external(pen: CellWriter, statement: Document, standing: Standing) -> None:
    """Write the sheet, where another currency was asked for."""
    external = statement.external
    if external is None:
        return
    sheet = pen.sheet(SHEET)
    for place, width in enumerate(_WIDTHS):
        sheet.set_column(place, place, width)
    title = Message("In {CURRENCY}, by external rates", CURRENCY=external.rates.name)
    pen.words(sheet, 0, 0, title, bold=True, font_size=14)
    pen.words(sheet, 1, 0, standing.text)
    end = _write_amounts(pen, sheet, external, list(_amounts(statement, external)))
    _write_rates(pen, sheet, external, end + 1)
    set_up_print(pen, sheet, standing, is_wide=True)


def _amounts(statement: Document, external: ExternalFigures) -> Iterator[_Amounts]:
    """Yield each figure of each coin, then that of all coins; and those of all coins alone."""
    face = Face(statement)
    alone = dict.fromkeys(name for name in IN_USD.values() if name not in FIGURES)
    for name in (each for each in FIGURES if each in statement.tables["summary"].column_names):
        for row in face.coins.rows:
            coin = str(row["currency"])
            yield _Amounts(name, coin, row[name], external.amounts.get((coin, name)))
        yield _of_all(face, name)
    yield from (_of_all(face, name) for name in alone if face.coins.has(name))


def _of_all(face: Face, name: str) -> _Amounts:
    other = face.in_currency.usd(name) if face.in_currency else None
    return _Amounts(name, "", face.coins.usd(name), other)


def _write_amounts(
    pen: CellWriter, sheet: Any, external: ExternalFigures, rows: list[_Amounts]
) -> int:
    """Write the amounts of both currencies beside each other; return the row below."""
    other = Message("{CURRENCY}, external rates", CURRENCY=external.rates.name)
    places = (shown_places(USD, None, 1), external.rates.places)
    columns = ([each.usd for each in rows], [each.other for each in rows])
    rounded = [_is_told(values, shown) for values, shown in zip(columns, places, strict=True)]
    heads = [
        marked(head) if is_told else head
        for head, is_told in zip(("USD", other), rounded, strict=True)
    ]
    _write_heads(pen, sheet, 3, ("Figure", "Coin", *heads))
    for place, head in enumerate(("USD", other), _BEHIND):
        pen.words(sheet, 3, place, Message("{COLUMN}, exact", COLUMN=head), bold=True, bottom=1)
    for row, each in enumerate(rows, 4):
        pen.words(sheet, row, 0, label_of(each.figure))
        if each.coin:
            pen.text(sheet, row, 1, each.coin, **pen.left_to_right)
        else:
            pen.words(sheet, row, 1, "All coins")
        _write_number(pen, sheet, (row, _USD), each.usd, places[0], is_told=rounded[0])
        _write_number(pen, sheet, (row, _OTHER), each.other, places[1], is_told=rounded[1])
        for place, value in enumerate((each.usd, each.other), _BEHIND):
            exact = pen.language.number(value_text(value))
            pen.text(sheet, row, place, exact, **pen.left_to_right | {"align": "right"})
    return 4 + len(rows)


def _write_rates(pen: CellWriter, sheet: Any, external: ExternalFigures, row: int) -> None:
    """Write the rates that were used: day, how much 1 USD is, and who says so."""
    pen.words(sheet, row, 0, "Rates used", bold=True)
    head = Message("1 USD in {CURRENCY}", CURRENCY=external.rates.name)
    _write_heads(pen, sheet, row + 1, ("Day", "", head, "Source"))
    for place, each in enumerate(external.rates.by_day.values(), row + 2):
        pen.instant(sheet, place, 0, each.day)
        if pen.language.has_jalali:
            pen.jalali(sheet, place, 1, each.day)
        rate = as_decimal(each.per_usd)
        places = len(value_text(rate).partition(".")[2])
        _write_number(pen, sheet, (place, _USD), rate, places)
        pen.text(sheet, place, _OTHER, each.said_by)
        exact = pen.language.number(value_text(rate))
        pen.text(sheet, place, _BEHIND, exact, **pen.left_to_right | {"align": "right"})


def _write_heads(pen: CellWriter, sheet: Any, row: int, heads: tuple[str, ...]) -> None:
    for place, head in enumerate(heads):
        align = "right" if place == _USD or head == heads[-1] != "Source" else pen.start
        pen.words(sheet, row, place, head, bold=True, bottom=1, align=align)


def _is_told(values: list[Value], places: int) -> bool:
    """Whether the head of a column of amounts tells that these are rounded."""
    return any(value is not None and hides_digits(value, places) for value in values)


def _write_number(
    pen: CellWriter,
    sheet: Any,
    place: tuple[int, int],
    value: Value,
    places: int,
    *,
    is_told: bool = False,
) -> None:
    """Write a number with its first 15 digits; one that is unknown is a dash."""
    if value is None:
        pen.text(sheet, *place, DASH, align="right")
        return
    pen.number(sheet, *place, value, number_format(value, COIN, places, is_told=is_told))
