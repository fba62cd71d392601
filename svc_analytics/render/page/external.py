"""The part of a page that shows a statement's USD in another currency, and by which rates."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from svc_analytics.formatting.cells import Cell, CellMaker
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.numbers import exact_text
from svc_analytics.messages import Message
from svc_analytics.money import as_decimal
from svc_analytics.render.page.face import FigureTables
from svc_analytics.render.page.tables import PageTable, page_table

_NAMES = ("day", "rate", "source")


@dataclass(frozen=True)
class ExternalPart:
    """Figures in another currency below those in USD, and the rates that they rest on."""

    currency: str
    figures: PageTable
    rates: PageTable


def external_part(tables: FigureTables) -> ExternalPart | None:
    """Return the part of another currency; None where none was asked for."""
    external = tables.statement.external
    if external is None:
        return None
    days = pa.array([each.day for each in external.rates.by_day.values()], pa.date32())
    maker = CellMaker(pa.schema([("day", days.type)]), standing=tables.standing)
    rows = [
        [*maker.row([each.day]), Cell(exact_text(rate), is_number=True), Cell(each.said_by)]
        for each in external.rates.by_day.values()
        for rate in [as_decimal(each.per_usd)]
    ]
    head = ["Day", Message("1 USD in {CURRENCY}", CURRENCY=external.rates.name), "Source"]
    shown = DisplayTable(
        "", head, rows, len(rows), meanings=["", "", ""], caption=tables.standing.text
    )
    return ExternalPart(external.rates.name, tables.external(external), page_table(shown, _NAMES))
