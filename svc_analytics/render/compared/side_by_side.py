"""A comparison to display: a block for each coin, its figures old, new, difference, per cent.

What moved stands in tables of its own, from the old figure to the new one part by part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import (
    COIN,
    COUNT,
    POINTS,
    RATE,
    RATIO,
    USD,
    Cell,
    kind_of_unit,
    number_cell,
    read_difference,
    unit_name,
    unknown_cell,
)
from svc_analytics.formatting.display import DisplayTable, display_table, lined_up, with_unit
from svc_analytics.formatting.status_line import running, status_line_of
from svc_analytics.instants import DAY
from svc_analytics.messages import MESSAGE_COLUMN, Message, stored_text, translated
from svc_analytics.money import EXACT
from svc_analytics.render import summary_page
from svc_analytics.render.compared.figures import Side, change_of, is_to_date
from svc_analytics.render.figures import UNDEFINED, more_on
from svc_analytics.render.front import NOT_MEANINGFUL
from svc_analytics.warehouse.figures import (
    as_moved,
    figure_groups,
    in_sentence,
    label_of,
    read_figures,
)

Row = Mapping[str, Any]


def head_lines(old: Side, new: Side, *, has_percentage: bool = True) -> list[str]:
    """Head a comparison: which periods, how far each can be relied on, and the meaning of %."""
    unfinished = [
        Message(
            "comparison.running", name=side.name, read_to=side.read_to, noun=translated(side.noun)
        )
        for side in (old, new)
        if side.is_running
    ]
    meaning = Message("comparison.meaning", old=old.name, new=new.name)
    status_line = status_lines(old.status_line, new.status_line)
    return [*status_line, *unfinished, *([meaning] if has_percentage else [])]


def status_lines(old: str, new: str) -> tuple[Message, Message]:
    """Say of which side each standing is."""
    return Message("comparison.old", standing=translated(old)), Message(
        "comparison.new", standing=translated(new)
    )


def age_line(old: Side, new: Side, table: pa.Table) -> str:
    """Say up to when refunds to date were counted on the older side; "" if no figure tells."""
    aged = next((side for side in (old, new) if side.counted_to), None)
    names = [name for name, each in read_figures().items() if is_to_date(each)]
    if aged is None or not set(names) & set(table["figure"].to_pylist()):
        return ""
    days = (aged.age or 0) // DAY
    other = new if aged is old else old
    return Message("comparison.days", name=aged.name, days=days, other=other.name)


def comparison_tables(
    table: pa.Table, old: Side, new: Side, *, is_narrowed: bool = False, is_exact: bool = False
) -> list[DisplayTable]:
    """Return a comparison to display, old, new, difference and percentage beside each other.

    A block for each coin, its figures in the groups and the order of a statement. Where it is
    narrowed to some figures, these stand in one table, every coin of one below the other. A table
    with causes holds what differs between two versions: it shows the cause in the place of the
    percentage.
    """
    rows, has_cause = table.to_pylist(), "cause" in table.column_names
    maker = _Maker(status_line_of(table).scales, is_exact)
    names = [running(side.name) if side.is_running else side.name for side in (old, new)]
    heads = [*names, "difference", "cause" if has_cause else "%"]
    if is_narrowed:
        cells = [[Cell(row["currency"], is_fixed=True), *maker.cells(row)] for row in rows]
        titles = list(map(_titled, rows))
        table = _table(["coin", *heads], lined_up(cells), titles, rows)
        return [replace(table, totals=frozenset())]
    shown = rows if has_cause else [row for row in rows if read_figures()[row["figure"]].column]
    rows_of_coins = [row for side in (old, new) for row in side.figures.values()]
    groups = summary_page.summary_names(rows_of_coins)
    face = {name: title for title, names in groups.items() for name in names}
    shown.sort(key=lambda row: _place(row, [*face]))
    coins = sorted({row["currency"] for row in shown})
    main = {row["figure"] for row in shown if row["figure"] in face}
    is_whole = not has_cause and {*coins} == {*old.figures, *new.figures}
    first = [*_all_coins(heads, maker, old, new, main)] if is_whole else []
    return first + [
        _block(coin, heads, maker, face, [row for row in shown if row["currency"] == coin])
        for coin in coins
    ]


def _place(row: Row, face: Sequence[str]) -> tuple[bool, int]:
    """Return where a figure stands in a statement: on its face, or in its group behind it."""
    if row["figure"] in face:
        return False, face.index(row["figure"])
    return True, [*figure_groups()].index(row["group"])


def _heading(row: Row, face: Mapping[str, str]) -> str:
    """Return the group that a figure stands in; `face` has that of each on the face."""
    group = str(row["group"])
    rest = more_on(group) if group in face.values() else group
    return face.get(row["figure"], rest)


def _block(
    coin: str, heads: list[str], maker: _Maker, face: Mapping[str, str], rows: Sequence[Row]
) -> DisplayTable:
    cells = [[Cell(_titled(row), is_fixed=True), *maker.cells(row)] for row in rows]
    return _table([coin, *heads], cells, [_heading(row, face) for row in rows], rows)


def _all_coins(
    heads: list[str], maker: _Maker, old: Side, new: Side, names: set[str]
) -> Iterator[DisplayTable]:
    """Yield the figures of all coins together in USD, if there are several of them."""
    sides = [
        summary_page.AllCoins(
            [{"currency": coin, **figures} for coin, figures in side.figures.items()]
        )
        for side in (old, new)
    ]
    if len({*old.figures, *new.figures}) < 2 or not all(side.rows for side in sides):
        return
    rows = [
        _change(name, *(side.usd(usd) for side in sides))
        | ({} if sides[0].is_alike(sides[1], usd) else {"percent": None})
        for name, usd in summary_page.IN_USD.items()
        if name in names and all(side.has(usd) for side in sides)
    ]
    cells = [[Cell(row["label"], is_fixed=True), *maker.cells(row)] for row in rows]
    counts = [side.unpriced() for side in sides]
    unpriced = _change("", *(None if count is None else Decimal(count) for count in counts))
    head = Cell(summary_page.UNPRICED_LABEL, is_fixed=True)
    cells.append([head, *maker.cells(unpriced | {"unit": "records"})])
    left_out = sorted({coin for side in sides for coin in side.left_out})
    yield _table([summary_page.head_of_sum(left_out), *heads], cells, [], rows)


def _change(name: str, old: Decimal | None, new: Decimal | None) -> dict[str, Any]:
    """Return a sum of all coins in both periods as a row of a comparison."""
    return change_of(old, new) | {
        "figure": name,
        "label": label_of(name) if name else "",
        "currency": "",
        "unit": "USD",
        "old": old,
        "new": new,
        "note": UNDEFINED,
    }


def _table(
    header: list[str], cells: list[list[Cell]], groups: list[str], rows: Sequence[Row]
) -> DisplayTable:
    starts = [place for place, group in enumerate(groups) if group not in groups[:place][-1:]]
    return DisplayTable(
        "",
        header,
        cells,
        {place: groups[place] for place in starts},
        {place: read_figures()[row["figure"]].hint for place, row in enumerate(rows)},
        totals=frozenset(n for n, row in enumerate(rows) if row["figure"] in summary_page.TOTALS),
    )


def _titled(row: Row) -> str:
    """Return a figure's label, with its unit where the coin is not it."""
    kind = kind_of_unit(row["unit"])
    unit = unit_name(kind, row["currency"]) if kind in (USD, RATE) else ""
    return with_unit(row["label"], unit)


@dataclass(frozen=True)
class _Maker:
    """Makes the four cells of a figure: old, new, difference and percentage."""

    scales: Mapping[str, int]
    is_exact: bool

    def cells(self, row: Row) -> list[Cell]:
        """Return a figure's cells; a value that is not there is a dash with the reason."""
        kind = kind_of_unit(row["unit"])
        old, new = (self._cell(row, row[name], kind) for name in ("old", "new"))
        last = Cell(row["cause"] or "") if "cause" in row else self._percent(row)
        change = as_moved(row["figure"], row["difference"])
        return [old, new, _signed(self._difference(row, kind), change, kind), last]

    def _difference(self, row: Row, kind: str) -> Cell:
        old, new = (as_moved(row["figure"], row[name]) for name in ("old", "new"))
        if kind == COUNT or old is None or new is None or row["difference"] is None:
            return self._cell(row, row["difference"], kind)
        scale = self.scales.get(row["currency"])
        return read_difference(old, new, kind, scale, is_exact=self.is_exact)

    def _cell(self, row: Row, value: Decimal | None, kind: str) -> Cell:
        moved = as_moved(row["figure"], value)
        number = int(moved) if moved is not None and kind == COUNT else moved
        scale = self.scales.get(row["currency"])
        return number_cell(number, kind, scale, is_exact=self.is_exact, why=_note(row))

    def _percent(self, row: Row) -> Cell:
        value = row["percent"]
        if value is None and row["difference"] is not None:
            why = Message("comparison.not_meaningful")
            return Cell(NOT_MEANINGFUL, note=why, is_number=True)
        if value is None:
            return unknown_cell(_note(row), is_number=True)
        cell = number_cell(value.scaleb(-2, EXACT), RATIO, is_exact=self.is_exact)
        return _signed(cell, value)


def _note(row: Row) -> str:
    return stored_text(row["note"], row.get(MESSAGE_COLUMN))


def _signed(cell: Cell, value: Decimal | None, kind: str = "") -> Cell:
    """Write a plus before what rose, and percentage points behind a difference of ratios."""
    if value is None or cell.number is None:
        return cell
    number = replace(cell.number, is_signed=True)
    texts = [cell.text, cell.exact]
    if value > 0:
        texts = [text and f"+{text}" for text in texts]
    if kind == RATIO:  # the difference of two percentages
        texts = [text and Message("{number} pp", number=text.rstrip("%")) for text in texts]
        number = replace(number, value=value.scaleb(2, EXACT), kind=POINTS)
    return replace(cell, text=texts[0], exact=texts[1], number=number)


# ---------- What moved


SUM_OF_COINS = "all coins"  # the sum in USD of those with a USD value, as tables name it
_AT_RATE = "at the implied rate"  # not each record at its own, as other figures in USD are
_PRICE = ("price", "unpriced")
_UNPRICED = "no USD value: not in the figure"
_HEAD = ["figure", "coin", "in", "change", "%", "why", "prepared by", "reviewed by"]
_NOTHING = Cell("", is_number=True)
_SHOWN = (
    *("currency", "unit", "part", "of", "place", "period", "kind", "occurred_at", "customer"),
    *("order_reference", "receipt_no", "amount", "effect", "record_id"),
)
_OURS = {"unit", "part", "of", "kind"}  # of these columns, those that hold words of ours


@dataclass(frozen=True)
class MovedTables:
    """What moved, to display: table by table, and the records that add most, to open."""

    line: str  # what holds of every table
    bridges: list[DisplayTable]
    sentences: list[DisplayTable]  # one at most: what people wrote, and what is to be written
    records: list[DisplayTable]


@dataclass(frozen=True)
class Bridges:
    """Makes the tables of what moved; `names` are those of the periods, old and new."""

    names: tuple[str, str]
    scales: Mapping[str, int]
    coins: Sequence[str]  # of both periods, also those that are not shown
    is_exact: bool = False

    def tables(self, changes: Sequence[Row], parts: Sequence[Row]) -> list[DisplayTable]:
        """Return a table for each figure and unit: the old figure, the parts, the new figure."""
        keys = dict.fromkeys((row["figure"], row["unit"]) for row in changes)
        return [self._table(_of(changes, *key), _of(parts, *key)) for key in keys]

    def sentences(self, changes: Sequence[Row]) -> DisplayTable:
        """Return the changes that need a sentence or have one, and who wrote and reviewed it."""
        cells = [
            [
                Cell(row["label"], is_fixed=True),
                Cell(self._coin(row, changes), is_fixed=True),
                Cell(row["unit"], is_fixed=True),
                self._cell(row, "difference", "unknown"),
                self._percent(row),
                Cell(row["sentence"] or Message("to be written")),
                *(Cell(row[name] or "") for name in ("prepared_by", "reviewed_by")),
            ]
            for row in sorted(changes, key=_place_of_sum)
            if row["needs_sentence"] or row["sentence"]
        ]
        rows = lined_up(cells)
        return DisplayTable("Sentences on what moved", _HEAD, rows, keys=3)

    def _percent(self, row: Row) -> Cell:
        if row["percent"] is None:
            return Cell(NOT_MEANINGFUL, is_number=True)
        return number_cell(row["percent"].scaleb(-2, EXACT), RATIO, is_exact=self.is_exact)

    def _table(self, changes: Sequence[Row], parts: Sequence[Row]) -> DisplayTable:
        changes = sorted(changes, key=_place_of_sum)
        coins = [row["currency"] for row in changes]
        is_position = (changes[0]["figure"], changes[0]["unit"]) == ("usd_exposure", USD)
        amounts = {(row["part"], row["of"], row["currency"]): row for row in parts}
        rows = [self._stated("old", self.names[0], changes)]
        keys = dict.fromkeys((each["part"], each["of"], each["label"]) for each in parts)
        for part, of, text in keys:
            of_coins = [amounts.get((part, of, coin)) for coin in coins]
            cells = [self._cell(row, "amount", _UNPRICED) if row else _NOTHING for row in of_coins]
            of = of or _AT_RATE * (is_position and part not in _PRICE)
            rows.append([Cell(with_unit(Message(text), of)), *cells])
        rows.append(self._stated("new", self.names[1], changes))
        text, unit = changes[0]["label"], changes[0]["unit"]
        title = with_unit(Message(text), "" if unit == "coin" else unit)
        whole = frozenset({len(rows) - 1})
        heads = ["", *(self._coin(row, changes) for row in changes)]
        sums = frozenset({1} if SUM_OF_COINS in coins else ())
        return DisplayTable(title, heads, lined_up(rows), totals=whole, sums=sums)

    def _coin(self, row: Row, changes: Sequence[Row]) -> str:
        """Return the coin that a change is of; of a sum in USD, which coins it leaves out."""
        if row["currency"] != SUM_OF_COINS:
            return str(row["currency"])
        of_figure = _of(changes, row["figure"], row["unit"])
        summed = {each["currency"] for each in of_figure if each["difference"] is not None}
        return summary_page.head_of_sum([coin for coin in self.coins if coin not in summed])

    def _stated(self, side: str, name: str, changes: Sequence[Row]) -> list[Cell]:
        return [Cell(name, is_fixed=True), *(self._cell(row, side, "unknown") for row in changes)]

    def _cell(self, row: Row, name: str, why: str) -> Cell:
        kind = COIN if row["unit"] == "coin" else USD
        scale = self.scales.get(row["currency"])
        value = as_moved(row["figure"], row[name])
        return number_cell(value, kind, scale, is_exact=self.is_exact, why=why)


def _place_of_sum(row: Row) -> bool:
    return bool(row["currency"] != SUM_OF_COINS)  # it comes first


def _of(rows: Sequence[Row], figure: str, unit: str) -> list[Row]:
    return [row for row in rows if (row["figure"], row["unit"]) == (figure, unit)]


def records_tables(records: pa.Table, labels: Mapping[str, str]) -> list[DisplayTable]:
    """Return the largest records of each part, a table for each figure; parts by their labels."""
    tables = []
    for name in pc.unique(records["figure"]).to_pylist():
        own = records.filter(pc.equal(records["figure"], name))
        title = Message(
            "The largest records of each part: {FIGURE}", figure=translated(in_sentence(name))
        )
        table = display_table(own, title, most=len(own), only=_SHOWN)
        rows = [_worded(row, labels) for row in table.rows]
        tables.append(replace(table, rows=rows, caption=""))
    return tables


def _worded(row: Sequence[Cell], labels: Mapping[str, str]) -> list[Cell]:
    """Return a row of `_SHOWN` with the words of ours in it as such."""
    return [
        replace(cell, text=Message(labels.get(cell.text, cell.text))) if name in _OURS else cell
        for name, cell in zip(_SHOWN, row, strict=True)
    ]
