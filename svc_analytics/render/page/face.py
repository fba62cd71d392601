"""The tables of a statement's figures on its page: the face, then the details by coin."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, partial

from svc_analytics.formatting.cells import Cell, number_cell, unknown_cell
from svc_analytics.formatting.display_table import DisplayTable, headings_of
from svc_analytics.formatting.numbers import COIN, COUNT, RATE, USD, kind_of
from svc_analytics.formatting.standing import Standing
from svc_analytics.messages import Message
from svc_analytics.render.document import Document
from svc_analytics.render.external import FIGURES, ExternalFigures
from svc_analytics.render.face.all_coins import ALL_COINS
from svc_analytics.render.face.face import (
    EXTERNAL,
    UNPRICED,
    UNPRICED_LABEL,
    Face,
    FaceRow,
)
from svc_analytics.render.figures import FigureCells, summary_groups, why_unknown
from svc_analytics.render.page.tables import PageTable, figures_of_kinds

_EMPTY = Cell("")


@dataclass(frozen=True)
class FigureTables:
    """Makes the two tables of a summary's figures; all coins in USD stand in the last column."""

    statement: Document
    standing: Standing

    @cached_property
    def face(self) -> Face:
        """The main figures in the order of a statement."""
        return Face(self.statement)

    @cached_property
    def _cells(self) -> FigureCells:
        return FigureCells(self.statement, self.standing.scales)

    def main(self) -> PageTable:
        """Return the face: sales, refunds, payouts and positions."""
        groups = self.face.groups
        rows = [row for group in groups.values() for row in group]
        table = self._table("Figures", groups, map(self._face_row, rows))
        return figures_of_kinds(table, self.face.names, [row.weight for row in rows])

    def details(self) -> PageTable:
        """Return the summary's other figures; of those in USD all coins add up."""
        columns = self.statement.tables["summary"].column_names
        known = {*self.face.names}
        groups = {
            title: [name for name in names if name not in known]
            for title, names in summary_groups(columns).items()
        }
        names = [name for group in groups.values() for name in group]
        return figures_of_kinds(self._table("", groups, map(self._detail_row, names)), names)

    def _table(
        self, title: str, groups: Mapping[str, Sequence[object]], rows: Iterable[list[Cell]]
    ) -> DisplayTable:
        groups = {title: group for title, group in groups.items() if group}
        cells, coins = list(rows), [str(row["currency"]) for row in self._cells.rows]
        return DisplayTable(
            title,
            ["figure", *coins, ALL_COINS, *self._external_head()],
            cells,
            len(cells),
            headings_of(groups),
            caption=self.standing.text,
        )

    def _face_row(self, row: FaceRow) -> list[Cell]:
        head = Cell(UNPRICED_LABEL) if row.name == UNPRICED else self._cells.head(row.name)
        values = zip(self._cells.rows, row.values, strict=True)
        coins = [self._coin_cell(str(coin["currency"]), row.name, value) for coin, value in values]
        total = self._total_cell(row)
        if (external := self.statement.external) is None:
            return [head, *coins, total]
        is_shown = row.usd and row.has_total
        other = self._in_currency(external, row.external, total.note) if is_shown else _EMPTY
        return [head, *coins, total, other]

    def _coin_cell(self, coin: str, name: str, value: Decimal | int | None) -> Cell:
        if value is None:
            return unknown_cell(self._why(coin, name), is_number=True)
        if name == UNPRICED:
            return number_cell(value, COUNT)
        kind: str = kind_of(self.statement.tables["summary"].schema.field(name))
        if kind == RATE and value >= 1:
            kind = USD
        return number_cell(value, kind, self.standing.scales.get(coin))

    def _total_cell(self, row: FaceRow) -> Cell:
        if not row.has_total:
            return _EMPTY
        if row.total is None:
            why = self._cells.why_no_total(row.usd or row.name)
            return unknown_cell(why, is_number=True)
        return number_cell(row.total, COUNT if isinstance(row.total, int) else USD)

    def _detail_row(self, name: str) -> list[Cell]:
        usd = self._usd_row(name)
        external, coins = self.statement.external, self.face.in_currency
        if external is None or coins is None:
            return usd
        if name not in FIGURES:
            return [*usd, _EMPTY]
        return [*usd, self._in_currency(external, coins.usd(name), usd[-1].note)]

    def external(self, external: ExternalFigures) -> PageTable:
        """Return each figure in USD, and below it the same in another currency."""
        names = [name for name in FIGURES if name in self.statement.tables["summary"].column_names]
        rows = [row for name in names for row in self._pair(external, name)]
        coins = [str(row["currency"]) for row in self._cells.rows]
        header = ["figure", *coins, "All coins"]
        table = DisplayTable("", header, rows, len(rows), caption=self.standing.text)
        return figures_of_kinds(table, [f"{row[0].text}" for row in rows])

    def _pair(self, external: ExternalFigures, name: str) -> Iterator[list[Cell]]:
        """Yield a figure in USD, and the same in another currency."""
        usd, coins = self._usd_row(name), self.face.in_currency
        values = [external.amounts.get((str(row["currency"]), name)) for row in self._cells.rows]
        values.append(coins.usd(name) if coins else None)
        notes = [cell.note for cell in usd[1:]]
        head = Cell(Message("in {CURRENCY}, external rates", CURRENCY=external.rates.name))
        yield usd
        yield [head, *map(partial(self._in_currency, external), values, notes)]

    def _external_head(self) -> list[str]:
        external = self.statement.external
        return [Message(EXTERNAL, CURRENCY=external.rates.name)] if external else []

    @staticmethod
    def _in_currency(external: ExternalFigures, value: Decimal | int | None, why: str = "") -> Cell:
        """Return an amount of the other currency, rounded to its places."""
        if value is None:
            return unknown_cell(why, is_number=True)
        return number_cell(value, COIN, external.rates.places)

    def _usd_row(self, name: str) -> list[Cell]:
        return self._cells.row(self._cells.rows, name, has_total=True)

    def _why(self, coin: str, name: str) -> str:
        row = next(each for each in self._cells.rows if each["currency"] == coin)
        return why_unknown(self.statement, row, name)
