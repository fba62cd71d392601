"""A statement as one page for screen and paper. It loads nothing from anywhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics import charts
from svc_analytics.formatting.display import Cell, cell_of, cells_of, label, unit_of
from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.formatting.values import rows_of
from svc_analytics.render.figures import (
    Figure,
    figure_cell,
    meaning,
    summary_groups,
    unknown_reason,
)
from svc_analytics.render.matrix import matrices
from svc_analytics.render.picture import draw_svg
from svc_analytics.webhooks.findings import describe

if TYPE_CHECKING:
    from svc_analytics.render.document import Document

MOST_ROWS = 200  # of one table; the rest is in the other forms
MOST_CHARTED = 8  # coins
LINE_COLUMNS = (
    *("line_no", "occurred_at_local", "kind", "reference_id", "receipt_no", "currency"),
    *("gross", "fee", "net", "running_position", "comment"),
)
OVERVIEW = (
    *("currency", "payments_count", "gross_sales", "net_settlement", "closing_position"),
    "usd_exposure",
)
FINDING_COLUMNS = ("severity", "check_name", "record_id", "currency", "detail")
FURTHER = ("figures", "position", "exposure", "restatement")
SEVERITIES = ("blocking", "advisory")


@dataclass(frozen=True)
class Grid:
    """A table as it is shown: some of its rows, and how many it has."""

    title: str
    header: list[tuple[str, str, bool]]  # label, meaning, whether numbers stand below
    rows: list[list[Cell]]
    total: int
    footer: list[Cell] | None = None

    @property
    def is_cut(self) -> bool:
        return self.total > len(self.rows)


@dataclass(frozen=True)
class Coin:
    """What the page shows of one currency."""

    currency: str
    groups: list[tuple[str, list[Figure]]]
    pictures: list[str]


def make_page(statement: Document, facts: dict[str, Any]) -> tuple[str, int]:
    """Return the page as HTML, and how many rows of tables it shows."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("svc_analytics.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = lambda text: escape_invisible(str(text))
    grids = _grids(statement)
    coins = list(_coins(statement))
    shown_rows = len(coins) + sum(len(grid.rows) for part in grids.values() for grid in part)
    page = environment.get_template("statement.html").render(
        facts=facts,
        checks=_severities(statement.tables["checks"]),
        receipts=_receipts(statement),
        webhooks=describe(log) if (log := facts["options"].get("webhooks")) else "",
        coins=coins,
        charted=MOST_CHARTED,
        exposure=_exposure_picture(statement) if coins else "",
        control=facts["control"],
        matrices=list(matrices(statement.tables["cohorts"])),
        overview=_overview(statement),
        **grids,
    )
    return escape_invisible(page), shown_rows  # coins and units are texts of others too


def _grids(statement: Document) -> dict[str, list[Grid]]:
    tables = statement.tables
    return {
        "daily": list(_daily(statement)),
        "reading": [_grid(statement, "reading", tables["reading"])],
        "findings": [_grid(statement, "checks", _only(tables["checks"], FINDING_COLUMNS))],
        "further": [
            _grid(statement, name, tables[name])
            for name in FURTHER
            if name in tables and tables[name].num_rows
        ],
        "lines": [_grid(statement, "lines", _only(tables["lines"], LINE_COLUMNS))],
    }


def _grid(statement: Document, name: str, table: pa.Table) -> Grid:
    header = [
        (label(field.name), meaning(name, field.name), _is_number(field)) for field in table.schema
    ]
    why = unknown_reason(statement)
    rows = [cells_of(table, row, why) for row in rows_of(table.slice(0, MOST_ROWS))]
    return Grid(label(name), header, rows, table.num_rows)


def _overview(statement: Document) -> Grid:
    """Return the figures that a reader looks for first, a currency a row."""
    summary = statement.tables["summary"]
    fields = list(_only(summary, OVERVIEW).schema)
    header = [
        (label(field.name), meaning("summary", field.name), _is_number(field)) for field in fields
    ]
    rows = [[figure_cell(statement, row, field) for field in fields] for row in summary.to_pylist()]
    return Grid("Overview", header, rows, len(rows))


def _daily(statement: Document) -> Iterator[Grid]:
    """Yield a grid per currency, closed by the summary's own figures."""
    daily = statement.tables["daily"]
    for row in statement.tables["summary"].to_pylist():
        currency = str(row["currency"])
        own = daily.filter(pc.equal(daily["currency"], currency)).drop_columns(["currency"])
        if own.num_rows:
            why = unknown_reason(statement)
            header = [
                (_with_unit(field, currency), meaning("daily", field.name), _is_number(field))
                for field in own.schema
            ]
            rows = [cells_of(own, values, why) for values in rows_of(own.slice(0, MOST_ROWS))]
            footer = [Cell("period")] + [
                cell_of(row.get(field.name), field, "", why) for field in list(own.schema)[1:]
            ]
            yield Grid(currency, header, rows, own.num_rows, footer)


def _with_unit(field: pa.Field, currency: str) -> str:
    unit = unit_of(field, currency)
    return f"{label(field.name)}, {unit}" if unit else label(field.name)


def _coins(statement: Document) -> Iterator[Coin]:
    for place, row in enumerate(statement.tables["summary"].to_pylist()):
        currency = str(row["currency"])
        pictures = list(_pictures(statement, currency, place)) if place < MOST_CHARTED else []
        yield Coin(currency, list(summary_groups(statement, row)), pictures)


def _pictures(statement: Document, currency: str, place: int) -> Iterator[str]:
    daily, summary = statement.tables["daily"], statement.tables["summary"]
    parts = (
        (charts.net_settlement_daily, daily, "net settlement by day", (7.2, 2.1)),
        (charts.fee_rate, daily, "fees over gross sales", (3.5, 1.9)),
        (charts.refund_ratio, summary, "refunds over charged total", (3.5, 1.9)),
    )
    for number, (draw, table, title, size) in enumerate(parts):
        drawn = partial(draw, table=table, currency=currency)
        yield draw_svg(f"c{place}-{number}", drawn, f"{title}, {currency}", size)


def _exposure_picture(statement: Document) -> str:
    summary = statement.tables["summary"]
    height = 0.9 + 0.25 * summary.num_rows
    drawn = partial(charts.usd_exposure, table=summary)
    return draw_svg("exposure", drawn, "exposure by coin, USD", (7.2, height))


def _severities(checks: pa.Table) -> list[tuple[str, int]]:
    found = Counter(checks["severity"].to_pylist())
    return [(name, found.pop(name, 0)) for name in SEVERITIES] + sorted(found.items())


def _receipts(statement: Document) -> list[tuple[str, list[tuple[str, Cell]]]]:
    """Return the receipts' figures of each currency that has any."""
    summary = statement.tables["summary"]
    names = [name for name in summary.column_names if name.startswith("receipts_")]
    names += [name for name in ("attested_ratio",) if name in summary.column_names]
    return [
        (
            str(row["currency"]),
            [(label(name), cell_of(row[name], summary.schema.field(name), "")) for name in names],
        )
        for row in summary.to_pylist()
        if any(row[name] is not None for name in names)
    ]


def _only(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    return table.select([name for name in names if name in table.column_names])


def _is_number(field: pa.Field) -> bool:
    return bool(pa.types.is_decimal(field.type) or pa.types.is_integer(field.type))
