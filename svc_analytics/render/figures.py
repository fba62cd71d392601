"""Figures of a statement to display: in groups, with units, and why one is unknown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from svc_analytics.formatting import display
from svc_analytics.formatting.cells import COUNT, RATE, USD, Cell, CellMaker, kind_of, number_cell
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.formatting.status_line import status_line_of
from svc_analytics.formatting.values import is_exact_number
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.render.document import Document, Open
from svc_analytics.render.summary_page import (
    COUNTS,
    TOTALS,
    UNPRICED,
    UNPRICED_LABEL,
    SummaryPage,
    parts_of,
    value_of,
)
from svc_analytics.warehouse.figures import (
    PRICED,
    as_moved,
    describe,
    grouped_figures,
    in_sentence,
    label_of,
    read_figures,
)
from svc_analytics.warehouse.models import read_statement_macros

_KEYS = ("period", "currency")
_EMPTY = Cell("")
UNDEFINED = Message("unknown.or_undefined")


def figures_table(
    statement: Document,
    title: str = "",
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
    *,
    exact: bool = False,
) -> DisplayTable:
    """Return a statement's figures, a row per figure and a column per coin.

    They stand in groups in the order of the page, unless `only` some figures are named. Where all
    coins are shown, what they are worth in USD adds up in the last column, if there is room for a
    total.
    """
    status_line = status_line_of(statement.tables["summary"])
    maker = FigureCells(statement, status_line.scales, is_exact=exact)
    rows = maker.rows if coins is None else _of_coins(maker.rows, coins)
    has_total = coins is None and len(rows) > 1
    groups = (maker.priced_groups if has_total else maker.groups) if rows else {}
    names = [name for group in groups.values() for name in group]
    headings = display.headings_of(groups)
    if only is not None:
        names, headings = display.select_known(only, names) if rows else [], {}
    has_total = has_total and any(map(maker.summary_page.usd_name, names))
    header = ["figure", *(str(row["currency"]) for row in rows)]
    return DisplayTable(
        title,
        [*header, *[maker.summary_page.coins.head] * has_total],
        display.lined_up([maker.row(rows, name, has_total=has_total) for name in names]),
        headings,
        {place: meaning("summary", name) for place, name in enumerate(names)},
        caption=status_line.text,
        totals=frozenset(place for place, name in enumerate(names) if name in TOTALS),
        sums=frozenset({len(rows) + 1} if has_total else ()),
    )


def _of_coins(rows: list[dict[str, Any]], coins: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of these coins; a month without any has none of them."""
    chosen = display.select_known(coins, [row["currency"] for row in rows]) if rows else ()
    return [row for row in rows if row["currency"] in chosen]


def by_group(names: Collection[str]) -> dict[str, list[str]]:
    """Return names of figures by group, in the order of the glossary; others come last."""
    known = {title: [each.name for each in group] for title, group in grouped_figures().items()}
    grouped = {*_KEYS, *(name for group in known.values() for name in group)}
    groups = {title: [name for name in group if name in names] for title, group in known.items()}
    groups["Other"] = [name for name in names if name not in grouped]
    return {title: group for title, group in groups.items() if group}


def more_on(group: str) -> Message:
    """Head the figures of a group that do not stand on the face of a statement."""
    return Message("More on {GROUP}", group=translated(group.lower()))


def definition_groups() -> dict[str, list[dict[str, str]]]:
    """Return the rows of the glossary by group, both in the statement's order."""
    return {group: list(map(describe, figures)) for group, figures in grouped_figures().items()}


@cache
def _meanings() -> dict[tuple[str, str], str]:
    return {
        (macro.name.removeprefix("statement_"), name): text
        for macro in read_statement_macros()
        for name, text in macro.columns.items()
    }


def meaning(table: str, column: str) -> str:
    """Return the meaning of a column, as its SQL says; of a figure, how it is made too."""
    figure = read_figures().get(column)
    if table in ("summary", "months", "trend") and figure and figure.label:
        return figure.hint
    return _meanings().get((table, column), "")


def unknown_reason(statement: Open) -> str:
    """Say why figures of what was not read are unknown."""
    reasons = unknown_causes(statement)
    return Message("unknown.because", reasons=translated(reasons)) if reasons else UNDEFINED


def unknown_causes(statement: Open) -> str:
    """Return the causes that leave figures unknown; no text where there is none."""
    reasons = [reason.text for reason in statement.reasons if not reason.is_unfinished]
    reasons += [unknown.cause for unknown in statement.unknown]
    return clauses(*reasons) if reasons else ""


@dataclass(frozen=True)
class FigureCells:
    """The figures of a statement's summary as cells, each coin's at its own scale."""

    statement: Document
    scales: Mapping[str, int]
    is_exact: bool = False

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The summary: a row per coin."""
        rows: list[dict[str, Any]] = self.statement.tables["summary"].to_pylist()
        return rows

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The figures by group in the order of the page: those of its face, then the others."""
        columns, of_face = self.statement.tables["summary"].column_names, self.summary_page.groups
        first = {
            title: [name for name in names if name in columns] for title, names in of_face.items()
        }
        return first | {
            more_on(title) if title in of_face else title: names
            for title, names in self.details.items()
        }

    @cached_property
    def details(self) -> dict[str, list[str]]:
        """The figures that do not stand on the face, by group."""
        columns, face = self.statement.tables["summary"].column_names, self.summary_page.names
        return by_group([name for name in columns if name not in face])

    @property
    def priced_groups(self) -> dict[str, list[str]]:
        """The same, with how many records have no USD value, where any has none."""
        groups = self.groups
        if self.summary_page.coins.unpriced() == 0:
            return groups
        return groups | {"Position": [*groups["Position"], UNPRICED]}

    def head(self, name: str) -> Cell:
        """Return a figure's label, with its unit where that is not the coin."""
        field = self.statement.tables["summary"].schema.field(name)
        return Cell(display.head_of(field, label_of), is_fixed=True)

    def row(
        self, coins: Sequence[Mapping[str, Any]], name: str, *, has_total: bool = False
    ) -> list[Cell]:
        """Return a figure of these coins below its label, and of all of them together."""
        if name == UNPRICED:
            return self._unpriced()
        cells = [self.head(name), *(self.cell(coin, name) for coin in coins)]
        return [*cells, *[self.total(name)] * has_total]

    def cell(self, row: Mapping[str, Any], name: str) -> Cell:
        """Return a coin's figure; an unknown one says why."""
        field = self.statement.tables["summary"].schema.field(name)
        value = as_moved(name, row[name])
        if value is None or not is_exact_number(field):
            why = why_unknown(self.statement, row, name)
            return CellMaker(self.statement.tables["summary"].schema, why).cell(row, field)
        kind, scale = kind_of(field), self.scales.get(str(row["currency"]))
        kind = USD if kind == RATE and value >= 1 else kind  # a rate that looks like a price
        return number_cell(value, kind, scale, is_exact=self.is_exact)

    def _unpriced(self) -> list[Cell]:
        """Return how many records of each coin have no USD value, and of all of them."""
        coins = self.summary_page.coins.rows
        whys = [why_unknown(self.statement, coin, UNPRICED) for coin in coins]
        values = zip((value_of(coin, UNPRICED) for coin in coins), whys, strict=True)
        cells = [number_cell(value, COUNT, why=why) for value, why in values]
        return [Cell(UNPRICED_LABEL, is_fixed=True), *cells, self.total(UNPRICED)]

    @cached_property
    def summary_page(self) -> SummaryPage:
        """The statement's face, which has the coins to add up."""
        return SummaryPage(self.statement)

    def total(self, name: str) -> Cell:
        """Return a count of all coins, or their worth in USD; an empty cell where neither is."""
        is_count = name in COUNTS
        stated = name if is_count else self.summary_page.usd_name(name)
        if not stated:
            return _EMPTY
        coins, usd = self.summary_page.coins, self.summary_page.usd
        value = coins.count(name) if is_count else as_moved(stated, usd(name))
        why = self.why_no_total(stated) if value is None else ""
        return number_cell(value, COUNT if is_count else USD, is_exact=self.is_exact, why=why)

    def why_no_total(self, name: str) -> str:
        """Say why all coins together have no value: the reason of the first that has none."""
        reasons = (
            why_unknown(self.statement, coin, each)
            for each in parts_of(name)
            for coin in self.summary_page.coins.rows
            if value_of(coin, each) is None
        )
        return next(reasons, UNDEFINED)  # as where a coin has a rate only since the period began


def why_unknown(statement: Open, row: Mapping[str, Any], name: str) -> str:
    """Say why a figure of the summary has no value."""
    if name == UNPRICED:
        name = next((each for each in PRICED if row.get(each) is None), name)
    for unknown in statement.unknown:
        if name in unknown.figures and row["currency"] in unknown.coins:
            return Message("unknown.because", reasons=translated(unknown.cause))
    figure = read_figures().get(name)
    is_read = figure is not None and figure.is_read(row)
    if figure and (unread := figure.why_unread(row)):
        return Message("unknown.because", reasons=translated(unread))
    if figure and figure.denominator and row.get(figure.denominator) == 0:
        return Message("unknown.zero_below", figure=translated(in_sentence(figure.denominator)))
    if figure and figure.unstated and is_read:
        return Message("unknown.no_usd", coin=row["currency"])
    return unknown_reason(statement)
