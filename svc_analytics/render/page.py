"""A statement as one HTML page, for screen and paper; it loads nothing from elsewhere."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from svc_analytics import charts
from svc_analytics.formatting.cells import Cell, CellMaker
from svc_analytics.formatting.display import display_table, head_of, label, lined_up
from svc_analytics.formatting.display_table import DisplayTable
from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.render.document import Document, unknown_lines
from svc_analytics.render.figures import (
    FigureCells,
    label_of,
    meaning,
    summary_groups,
    unknown_reason,
    with_labels,
)
from svc_analytics.render.matrix import matrices
from svc_analytics.render.picture import draw_svg
from svc_analytics.render.standing import document_standing
from svc_analytics.webhooks.findings import describe

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
class Coin:
    """What the page shows of one currency."""

    currency: str
    groups: list[tuple[str, list[tuple[str, str, Cell]]]]  # of label, meaning and value
    pictures: list[str]


def make_page(statement: Document, facts: dict[str, Any]) -> tuple[str, int]:
    """Return the page as HTML, and how many rows of tables it shows."""
    tables = _tables(statement)
    coins = list(_coins(statement))
    shown_rows = len(coins) + sum(len(table.rows) for part in tables.values() for table in part)
    page = load_template("statement.html").render(
        facts=facts,
        checks=_severities(statement.tables["checks"]),
        receipts=_receipts(statement),
        webhooks=describe(log) if (log := facts["options"].get("webhooks")) else "",
        unknown=unknown_lines(facts),
        coins=coins,
        charted=MOST_CHARTED,
        exposure=_exposure_picture(statement) if coins else "",
        control=facts["control"],
        matrices=list(matrices(statement.tables["cohorts"])),
        overview=_overview(statement),
        **tables,
    )
    return escape_invisible(page), shown_rows  # names of coins come from the service too


def load_template(name: str) -> Template:
    """Return a page's template, which escapes every text."""
    environment = Environment(
        loader=PackageLoader("svc_analytics.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["visible"] = lambda text: escape_invisible(str(text))
    return environment.get_template(name)


def _tables(statement: Document) -> dict[str, list[DisplayTable]]:
    tables = statement.tables
    return {
        "daily": list(_daily(statement)),
        "reading": [_table(statement, "reading", tables["reading"])],
        "findings": [_table(statement, "checks", _only(tables["checks"], FINDING_COLUMNS))],
        "further": [
            _table(
                statement, name, with_labels(tables[name]) if name == "figures" else tables[name]
            )
            for name in FURTHER
            if name in tables and tables[name].num_rows
        ],
        "lines": [_table(statement, "lines", _only(tables["lines"], LINE_COLUMNS))],
    }


def _table(statement: Document, name: str, table: pa.Table) -> DisplayTable:
    """Return a table to display, its columns labelled and explained."""
    why, title = unknown_reason(statement), label(name)
    shown = display_table(table, title, why=why, most=MOST_ROWS, label_of=label_of)
    meanings = [meaning(name, column) for column in table.column_names]
    return replace(shown, meanings=meanings)


def _overview(statement: Document) -> DisplayTable:
    """Return the most important figures, a row per currency."""
    summary = statement.tables["summary"]
    shown = _table(statement, "summary", _only(summary, OVERVIEW))
    names = [name for name in OVERVIEW if name in summary.column_names]
    maker = _figures(statement)
    rows = [[maker.cell(row, name) for name in names] for row in maker.rows]
    return replace(shown, rows=lined_up(rows))


def _daily(statement: Document) -> Iterator[DisplayTable]:
    """Yield a table of days per currency, with the summary's own figures as footer."""
    daily = statement.tables["daily"]
    for row in statement.tables["summary"].to_pylist():
        currency = str(row["currency"])
        own = daily.filter(pc.equal(daily["currency"], currency)).drop_columns(["currency"])
        if own.num_rows:
            yield replace(
                _table(statement, "daily", own),
                title=currency,
                header=[head_of(field, label_of, currency) for field in own.schema],
                footer=_footer(statement, row, own.schema),
            )


def _coins(statement: Document) -> Iterator[Coin]:
    for place, row in enumerate(statement.tables["summary"].to_pylist()):
        currency = str(row["currency"])
        pictures = list(_pictures(statement, currency, place)) if place < MOST_CHARTED else []
        maker = _figures(statement)
        groups = [
            (title, [_figure(maker, row, name) for name in names])
            for title, names in summary_groups(list(row)).items()
        ]
        yield Coin(currency, groups, pictures)


def _figure(maker: FigureCells, row: dict[str, Any], name: str) -> tuple[str, str, Cell]:
    return label_of(name), meaning("summary", name), maker.cell(row, name)


def _figures(statement: Document) -> FigureCells:
    return FigureCells(statement, document_standing(statement).scales)


def _footer(statement: Document, row: dict[str, Any], schema: pa.Schema) -> list[Cell]:
    """Return the summary's figures of one coin below its days."""
    maker = CellMaker(schema, unknown_reason(statement), document_standing(statement))
    cells = [maker.cell(row | {field.name: row.get(field.name)}, field) for field in [*schema][1:]]
    return [Cell("period"), *cells]


def _pictures(statement: Document, currency: str, place: int) -> Iterator[str]:
    daily, summary = statement.tables["daily"], statement.tables["summary"]
    parts = (
        (charts.net_settlement_daily, daily, "net settlement by day", (7.2, 2.1)),
        (charts.fee_rate, daily, "fees over gross sales", (3.5, 1.9)),
        (charts.refund_ratio, summary, "refunds over total charged", (3.5, 1.9)),
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
    counts = Counter(checks["severity"].to_pylist())
    return [(name, counts.pop(name, 0)) for name in SEVERITIES] + sorted(counts.items())


def _receipts(statement: Document) -> list[tuple[str, list[tuple[str, Cell]]]]:
    """Return the receipts' figures of each currency that has any."""
    summary = statement.tables["summary"]
    names = [name for name in summary.column_names if name.startswith("receipts_")]
    names = [name for name in (*names, "attested_ratio") if name in summary.column_names]
    maker = _figures(statement)
    return [
        (str(row["currency"]), [(label_of(name), maker.cell(row, name)) for name in names])
        for row in maker.rows
        if any(row[name] is not None for name in names)
    ]


def _only(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    return table.select([name for name in names if name in table.column_names])
