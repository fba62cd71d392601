"""Why figures moved between two periods: each change split into parts, to the last digit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import ConfigError, LakeChanged
from svc_analytics.formatting.display import Display, select_known
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.status_line import attach, status_line_of
from svc_analytics.formatting.tables import to_frame, to_objects
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message
from svc_analytics.money import EXACT, PERCENT_SCALE, SCALE
from svc_analytics.render.compared.figures import Side, change_of, comparable_figures
from svc_analytics.render.compared.side_by_side import (
    SUM_OF_COINS,
    Bridges,
    MovedTables,
    head_lines,
    records_tables,
)
from svc_analytics.schema import INSTANT
from svc_analytics.statements.comparison import Comparison, compared_of, save, side_of
from svc_analytics.statements.moved_records import (
    CUSTOMERS,
    LABELS,
    MOST_RECORDS,
    OF,
    UNPRICED,
    Moved,
    Part,
    Position,
    coin_parts,
    keep_moved,
    largest_records,
    position_parts,
    usd_parts,
)
from svc_analytics.statements.sentences import read_sentences
from svc_analytics.warehouse.figures import label_of
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.statements.statement import Statement

DISPLAYED = 3  # records of each part in a terminal and a notebook; saved forms have all
THRESHOLD = 10  # per cent: a figure that changed by more needs a sentence
COIN, USD = "coin", "USD"
# The stated figures behind each change, and those that are taken off.
_STATED = {
    ("net_settlement", COIN): ("net_settlement",),
    ("net_settlement", USD): ("usd_net_sales", "usd_refunds"),
    ("payment_fees", COIN): ("payment_fees",),
    ("payment_fees", USD): ("usd_fees",),
    ("refunds_paid", COIN): ("refunds_paid",),
    ("refunds_paid", USD): ("usd_refunds",),
    ("usd_exposure", COIN): ("closing_position",),
    ("usd_exposure", USD): ("usd_exposure",),
}
EXPLAINED = tuple(dict.fromkeys(figure for figure, _ in _STATED))
Row = dict[str, Any]
_PROMISE = "The parts of each column add up to its change, to the last digit."
_WIDE = pa.decimal256(76, SCALE)
_TEXTS = ("figure", "label", "currency", "unit")
_SAID = ("sentence", "prepared_by", "reviewed_by")
CHANGES = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, _WIDE) for name in ("old", "new", "difference")),
        ("percent", pa.decimal256(50, PERCENT_SCALE)),
        ("needs_sentence", pa.bool_()),
        *((name, pa.string()) for name in _SAID),
    ]
)
PARTS = pa.schema(
    [
        *((name, pa.string()) for name in ("figure", "currency", "unit", "part", "label", "of")),
        ("amount", _WIDE),
        *((name, pa.int64()) for name in ("old_records", "new_records")),
    ]
)
RECORDS = pa.schema(
    [
        *((name, pa.string()) for name in ("figure", "currency", "unit", "part", "of")),
        ("place", pa.int64()),
        *((name, pa.string()) for name in ("period", "kind", "record_id")),
        ("occurred_at", INSTANT),
        *((name, pa.string()) for name in ("customer", "order_reference", "receipt_no")),
        *((name, pa.decimal128(38, SCALE)) for name in ("amount", "effect")),
    ]
)


@dataclass(frozen=True)
class FigureChange:
    """A figure of a coin, in coin or in USD, on both sides, and the parts of its change."""

    figure: str
    currency: str
    unit: str
    old: Decimal | None
    new: Decimal | None
    parts: Sequence[Part]

    @property
    def difference(self) -> Decimal | None:
        """The change; None where a side is unknown."""
        change: Decimal | None = change_of(self.old, self.new)["difference"]
        return change

    def row(self, line: Mapping[str, str], threshold: Decimal | int) -> Row:
        """Return its row of the table of changes; `line` is that of the file of sentences."""
        percent = change_of(self.old, self.new)["percent"]
        is_large = bool(self.difference) if percent is None else abs(percent) > threshold
        said = {name: line.get(name) or None for name in _SAID}
        return {
            "figure": self.figure,
            "label": self._label,
            "currency": self.currency,
            "unit": self.unit,
            "old": self.old,
            "new": self.new,
            "difference": self.difference,
            "percent": percent,
            "needs_sentence": is_large and not said["sentence"],
            **said,
        }

    @property
    def _label(self) -> str:
        """The label of the stated figure; of two in USD, that of their difference in coin."""
        stated = _STATED[self.figure, self.unit]
        return label_of(stated[0] if len(stated) == 1 else self.figure)

    def part_rows(self) -> Iterator[Row]:
        """Yield the rows of its parts."""
        for part in self.parts:
            yield {
                "figure": self.figure,
                "currency": self.currency,
                "unit": self.unit,
                "part": part.name,
                "label": LABELS[part.name],
                "of": OF[part.of],
                "amount": part.amount,
                "old_records": part.old_records,
                "new_records": part.new_records,
            }


def figure_changes(
    old: Side, new: Side, moved: Moved, coins: Sequence[str] | None
) -> Iterator[FigureChange]:
    """Yield the change of each figure of each coin, in coin and in USD."""
    known = sorted({*old.figures, *new.figures})
    for coin in known if coins is None else select_known(coins, known):
        for figure, unit in _STATED:
            before, after = (_stated(side, figure, unit, coin) for side in (old, new))
            parts = _added(list(_parts((old, new), figure, unit, coin, moved)))
            change = FigureChange(figure, coin, unit, before, after, parts)
            if change.difference is None:
                parts = [part for part in parts if part.name == UNPRICED]
                yield replace(change, parts=parts)
                continue
            amounts = (part.amount for part in parts if part.amount is not None)
            if reduce(EXACT.add, amounts, Decimal()) != change.difference:
                message = f"{figure} of {coin} changed while it was read: compare again"
                raise LakeChanged(message)
            yield change


def _stated(side: Side, figure: str, unit: str, coin: str) -> Decimal | None:
    """Return a stated figure, less the one that is taken off it; None where one is unknown."""
    values = [side.value(coin, comparable_figures()[name]) for name in _STATED[figure, unit]]
    known = [value for value in values if value is not None]
    return reduce(EXACT.subtract, known) if len(known) == len(values) else None


def _explained(both: Comparison) -> set[tuple[str, str]]:
    """Return the figures to explain and their units: all, or those a comparison was narrowed to."""
    if not both.is_narrowed:
        return {*_STATED}
    chosen = {*both.table["figure"].to_pylist()}
    explained = {key for key in _STATED if chosen & {key[0], *_names(*key)}}
    if not explained:
        raise ConfigError(f"what moved is shown of {', '.join(EXPLAINED)}: choose of these")
    return explained


def _names(figure: str, unit: str) -> tuple[str, ...]:
    """Return the names by which a figure in this unit may be chosen, beside its own."""
    stated = _STATED[figure, unit]
    return stated if len(stated) == 1 else (f"usd_{figure}",)


def _parts(
    sides: tuple[Side, Side], figure: str, unit: str, coin: str, moved: Moved
) -> Iterator[Part]:
    """Yield the parts of a change."""
    groups = moved.groups(figure, coin, is_priced=unit == USD and figure != "usd_exposure")
    if figure == "usd_exposure" and unit == USD:
        old, new = (
            _position(side, coin, rates) for side, rates in zip(sides, moved.rates, strict=True)
        )
        if old and new:
            yield from position_parts(old, new, {group: each[1] for group, each in groups.items()})
        elif None not in [_stated(side, figure, COIN, coin) for side in sides]:
            yield Part(UNPRICED, "", None, 0, 0)  # what was not read may well have a USD value
    elif unit == USD:
        yield from usd_parts(groups, moved.unpriced(figure, coin))
    else:
        yield from coin_parts(groups)


def _position(side: Side, coin: str, rates: dict[str, Row]) -> Position | None:
    coins, worth = (_stated(side, "usd_exposure", unit, coin) for unit in (COIN, USD))
    if coins is None or worth is None:
        return None
    rate = rates.get(coin, {})
    return Position(coins, worth, rate.get("usd_value"), rate.get("amount"))


def of_all_coins(changes: Sequence[FigureChange]) -> list[FigureChange]:
    """Return the changes in USD of all coins together, but those without a USD value.

    None where a coin's is unknown in coin too: of such a coin nobody can say what it is worth.
    """
    totals = []
    for figure in EXPLAINED:
        coins, own = (
            [each for each in changes if (each.figure, each.unit) == (figure, unit)]
            for unit in (COIN, USD)
        )
        known = [each for each in own if each.difference is not None]
        if len(own) > 1 and known and all(each.difference is not None for each in coins):
            olds, news = ([getattr(each, name) for each in known] for name in ("old", "new"))
            old, new = (reduce(EXACT.add, values) for values in (olds, news))
            parts = _added([part for each in own for part in each.parts])
            totals.append(FigureChange(figure, SUM_OF_COINS, USD, old, new, parts))
    return totals


def _added(parts: Sequence[Part]) -> list[Part]:
    """Return parts in their order, those of one name as one."""
    sums: dict[tuple[str, str], Part] = {}
    for part in parts:
        key = (part.name, part.of)
        sums[key] = _sum(sums[key], part) if key in sums else part
    order = list(LABELS)
    return sorted(sums.values(), key=lambda part: (order.index(part.name), part.of))


def _sum(a: Part, b: Part) -> Part:
    amount = None if a.amount is None or b.amount is None else EXACT.add(a.amount, b.amount)
    olds, news = a.old_records + b.old_records, a.new_records + b.new_records
    return replace(a, amount=amount, old_records=olds, new_records=news)


@dataclass(frozen=True)
class Change(Displayable):
    """Why figures moved between two periods; `svc.explain_change` makes one.

    Examples:
        >>> why = svc.explain_change(lake, "2026-09", "2026-10")  # doctest: +SKIP
        >>> why.parts[["figure", "currency", "unit", "part", "amount"]]  # doctest: +SKIP
    """

    comparison: Comparison = field(repr=False)
    changes: pa.Table = field(repr=False)
    table: pa.Table = field(repr=False)
    largest: pa.Table = field(repr=False)

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure, coin and unit: old, new, difference, and the sentence on it."""
        return to_frame(self.changes)

    @property
    def parts(self) -> pd.DataFrame:
        """One row per part of each change; the parts add up to the difference."""
        return to_frame(self.table)

    @property
    def records(self) -> pd.DataFrame:
        """The ten records that add most to each part, and what each adds."""
        return to_frame(self.largest)

    @property
    def new(self) -> Statement:
        """The newer statement of the two."""
        return self.comparison.new

    @property
    def needs_attention(self) -> bool:
        """Whether anything but a running month keeps one of the statements from being final."""
        return self.comparison.needs_attention

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it: the comparison, and why its figures moved."""
        why = {name: to_objects(table) for name, table in self._tables.items()}
        return self.comparison.to_json() | {"why": why}

    def save(
        self,
        out: str | Path,
        formats: Collection[str] = ("html", "xlsx", "csv"),
        *,
        lang: str = "en",
        digits: str = "latin",
    ) -> Path:
        """Write the comparison with its parts into a folder, as `Comparison.save` does."""
        whole = compared_of(self.comparison)
        more = dict(whole.tables) | self._tables
        compared = replace(
            whole, moved=self._moved(), tables=more, facts=self.to_json(), words=LABELS
        )
        return save(replace(compared, language=Language(lang, digits)), out, formats)

    @property
    def _tables(self) -> dict[str, pa.Table]:
        return {"changes": self.changes, "parts": self.table, "records": self.largest}

    def _display(self) -> Display:
        old, new = self.comparison.sides
        own = self._moved(DISPLAYED)
        lines = [*head_lines(old, new, has_percentage=False), own.line]
        title = Message("What moved from {old} to {new}", old=old.name, new=new.name)
        return Display(title, lines, [*own.bridges, *own.sentences], folded=own.records)

    def _moved(self, most: int = MOST_RECORDS) -> MovedTables:
        """Return the tables of what moved, part by part, with so many records of each."""
        both, rows, order = self.comparison, self.changes.to_pylist(), list(LABELS)
        parts = sorted(self.table.to_pylist(), key=lambda row: order.index(row["part"]))
        if not any(row["of"] == OF["kept"] or row["part"] in CUSTOMERS for row in parts):
            parts = [row | {"of": ""} for row in parts]  # no payment has a customer
        old, new = (side.name for side in both.sides)
        coins = sorted({coin for side in both.sides for coin in side.figures})
        bridges = Bridges((old, new), status_line_of(both.table).scales, coins, both.is_exact)
        sentences = [table for table in [bridges.sentences(rows)] if table.rows]
        records = records_tables(self.largest.filter(pc.field("place") <= most), LABELS)
        return MovedTables(_PROMISE, bridges.tables(rows, parts), sentences, records)

    def __repr__(self) -> str:
        return f"Change({self.comparison.old.period.folder}, {self.comparison.new.period.folder})"


def explain_comparison(
    both: Comparison, coins: Sequence[str] | None = None, threshold: Decimal | int = THRESHOLD
) -> Change:
    """Split the changes of a comparison into parts; those above the threshold need a sentence."""
    old, new = both.old.period, both.new.period
    span = (min(old.start, new.start), max(old.end, new.end))
    wanted = _explained(both)
    with open_warehouse(both.lake, period=span) as warehouse:
        moved = keep_moved(warehouse, old, new)
        figures = list(figure_changes(side_of(both.old), side_of(both.new), moved, coins))
        named = _named(warehouse, moved, (old.label, new.label))
    figures = [
        each for each in (*figures, *of_all_coins(figures)) if (each.figure, each.unit) in wanted
    ]
    sentences = read_sentences(both.lake.path, new.folder, EXPLAINED)
    periods = (old.folder, new.folder)
    keys = {(each.figure, each.unit, each.currency) for each in figures}
    largest = [row for row in named if (row["figure"], row["unit"], row["currency"]) in keys]
    changes = [
        each.row(sentences.get((*periods, each.figure, each.currency), {}), threshold)
        for each in figures
    ]
    parts = [row for each in figures for row in each.part_rows()]
    status_line = status_line_of(both.table)
    return Change(
        both,
        attach(pa.Table.from_pylist(changes, schema=CHANGES), status_line),
        attach(pa.Table.from_pylist(parts, schema=PARTS), status_line),
        attach(pa.Table.from_pylist(largest, schema=RECORDS), status_line),
    )


def _named(warehouse: Warehouse, moved: Moved, labels: tuple[str, str]) -> list[Row]:
    """Return the largest records of each part, with the labels of their periods."""
    return [
        row | {"of": OF[row["whose"]], "period": labels[min(row["side"], 1)]}
        for row in largest_records(warehouse, moved).to_pylist()
    ]
