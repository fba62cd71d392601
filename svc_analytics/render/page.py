"""A statement as one HTML page, for screen and paper; it loads nothing from elsewhere."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import pyarrow.compute as pc
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from svc_analytics import charts
from svc_analytics.charts.drawing import dark_styles
from svc_analytics.formatting.cells import Cell
from svc_analytics.formatting.display import DisplayTable, label
from svc_analytics.formatting.texts import escape_invisible
from svc_analytics.instants import from_micros, parse_instant, readable_instant
from svc_analytics.language.catalogue import ENGLISH, WORDED, Language, merchant_names
from svc_analytics.messages import Message, clauses, joined, translated
from svc_analytics.periods import GREGORIAN
from svc_analytics.render import document, findings, front
from svc_analytics.render.bridge import TREND, bridge_table, year_name
from svc_analytics.render.differences import RESTATEMENT, known_names
from svc_analytics.render.document import Document
from svc_analytics.render.figures import definition_groups, meaning
from svc_analytics.render.front import UNCLEAR, Band
from svc_analytics.render.picture import Look, css_families, draw_svg
from svc_analytics.render.tables import StatementTables
from svc_analytics.render.words import PageWords
from svc_analytics.warehouse.figures import in_sentence
from svc_analytics.webhooks.reconcile import describe

MOST_CHARTED = 8  # coins
# Inches that charts as wide as the text are drawn for: wider than a sheet, less than a page.
ACROSS = 9.0
MOST_REASONS = 3  # in the head; the others are told further below
LINE_COLUMNS = (
    *("line_no", "occurred_at_local", "kind", "reference_id", "receipt_no", "currency"),
    *("gross", "fee", "net", "running_position", "comment"),
)
FINDING_COLUMNS = ("record_id", "currency", "detail")
MONTH_COLUMNS = (
    *("month", "currency", "payments_count", "net_sales", "refunds_debited", "payouts_debited"),
    *("net_settlement", "rail_movement", "opening_position", "closing_position"),
)
FURTHER = ("months", "position", "exposure", RESTATEMENT)
_TITLES = {
    "exposure": "position in USD by coin",
    "year": "{FIGURE} by month, USD",
    "bridge": "from opening to closing, USD",
}


@dataclass(frozen=True)
class ChartSvg:
    """A chart as an `<svg>`, its share of the width of the text, and its name in words."""

    svg: str
    share: float
    title: str


def make_page(
    statement: Document, facts: dict[str, Any], language: Language = ENGLISH
) -> tuple[str, int]:
    """Return the page as HTML, and how many rows of tables it shows."""
    blocks, shown_rows = page_blocks(statement, facts, language)
    blocks |= PageWords(language).functions
    blocks["foot"] = front.foot_of(statement, facts, language)
    blocks["symbols"] = front.page_symbols(language)
    return load_template("statement.html").render(blocks), shown_rows


def page_blocks(
    statement: Document, facts: dict[str, Any], language: Language
) -> tuple[dict[str, Any], int]:
    """Return all that a page or a PDF shows, by name, and how many rows of tables that is."""
    status_line = document.document_status_line(statement, language)
    tables = StatementTables(statement, status_line)
    parts = _tables(tables)
    shown_rows = sum(len(table.rows) for part in parts.values() for table in part)
    broken = [*_findings(tables)]
    shown_rows += sum(len(table.rows) for _, table in broken)
    figures = parts["figures"] + parts["details"] + parts["more"]
    blocks = {
        "facts": facts,
        "status_line": status_line.text,
        "head": _head(statement, facts, language),
        "band": Band(tables.summary_page, status_line.is_running(statement.period.label)),
        "unclear": UNCLEAR,
        "usd_head": tables.summary_page.coins.head,
        "findings": broken,
        "folded": findings.folded_table(statement.tables[findings.CHECKS]),
        "cohorts": list(tables.cohorts()),
        "open_part": _open_part(tables),
        "external": tables.external(),
        "said_sentences": tables.sentences(),
        "unread_sentences": statement.unread_sentences,
        "definitions": definition_groups(),
        "shown": {name for table in figures for name in table.names},
        "worded": () if language.is_english else WORDED,
        "lang": "en" if language.is_both else language.code,
        "direction": language.direction,
    }
    return blocks | _lines(statement, facts) | _charts(tables, language) | parts, shown_rows


def _lines(statement: Document, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the sentences around the tables: what is open, what was read, what was proven."""
    log = facts["options"].get("webhooks")
    read_to = Message("Data as of {instant}.", instant=instant_text(facts["as_of"]))
    return {
        "front": joined("list.sentences", [*front.front_lines(statement), read_to]),
        "checks": front.severities(findings.shown_findings(statement.tables[findings.CHECKS])),
        "coverage": {name: _spans(spans) for name, spans in facts["coverage"].items()},
        "notes": findings.describe_balances(statement.tables),
        "receipts": front.receipts_of(statement.tables["summary"]),
        "statuses": document.proof_statuses(statement),
        "webhooks": describe(log) if log else "",
    }


def _head(statement: Document, facts: dict[str, Any], language: Language) -> dict[str, Any]:
    """Return the head of the page: which month it is, and how far it can be relied on."""
    period, state = statement.period, document.sealed_state(statement)
    reasons = [reason.text for reason in statement.reasons]
    return {
        "title": period.title,
        "bounds": period.local_bounds,
        "is_local": (period.zone, period.calendar) != ("UTC", GREGORIAN),
        "status": document.status_word(statement),
        "look": document.status_look(statement),
        "rests": "" if reasons and not state else document.status_note(statement),
        "is_settled": bool(state and state.kind == "sealed" and not reasons),
        "reasons": reasons,
        "unknown": document.unknown_lines(facts),
        "most": MOST_REASONS,
        "is_translated": not language.is_english,
        "names": _names(statement.merchant, language),
    }


def _names(merchant: dict[str, Any], language: Language) -> dict[str, list[tuple[str, str]]]:
    """Return a merchant's names with their languages: in the page's language, and others."""
    names = merchant_names(merchant, language.code)
    lead = [named for named in names if named[0] in ("", language.code)]
    others = [named for named in names if named not in lead]
    return {"lead": lead or [("", str(merchant["id"]))], "others": others}


def _tables(tables: StatementTables) -> dict[str, list[Any]]:
    known = tables.statement.tables
    has_coins = known["summary"].num_rows > 0
    return {
        "figures": [tables.main()] if has_coins else [],
        "details": [tables.details()] if has_coins else [],
        "more": list(tables.more_figures()),
        "daily": list(tables.days()),
        "further": [
            tables.restated()
            if name == RESTATEMENT
            else tables.table(name, MONTH_COLUMNS if name == "months" else ())
            for name in FURTHER
            if name in known and known[name].num_rows
        ],
        "lines": [tables.table("lines", LINE_COLUMNS)],
        "reading": [tables.table("reading")],
    }


def _findings(tables: StatementTables) -> Iterator[tuple[findings.RuleFindings, DisplayTable]]:
    """Yield each rule that is broken, with its records: those that hold up a close first."""
    known = tables.statement.tables
    checks = findings.shown_findings(known[findings.CHECKS])
    names = known_names(checks["record_id"].to_pylist(), known["lines"])
    for of_rule in findings.folded_findings(known[findings.CHECKS]):
        rows = checks.filter(pc.equal(checks["check_name"], of_rule.rule))
        shown = tables.of_rows(findings.CHECKS, rows, "", FINDING_COLUMNS)
        cells = [[_named(first, names), *others] for first, *others in shown.rows]
        yield of_rule, replace(shown, header=[label("record"), *shown.header[1:]], rows=cells)


def _named(record: Cell, names: Mapping[str, Message]) -> Cell:
    """Return a record as people know it: by its receipt, its order and its time."""
    return Cell(names[record.text]) if record.text in names else record


def _open_part(tables: StatementTables) -> str:
    """Word an empty table: unknown must not look like none."""
    statement = tables.statement
    is_whole = all(reason.is_unfinished for reason in statement.reasons) and not statement.unknown
    return "" if is_whole else tables.why


def _charts(tables: StatementTables, language: Language) -> dict[str, Any]:
    """Return the charts of a page, and of how many coins there is one by day."""
    return {
        "charts": [*_charts_of_all(tables, language)],
        "daily_charts": [*_daily_charts(tables, language)],
        "charted": MOST_CHARTED,
        "coins": tables.statement.tables["summary"].num_rows,
    }


def _charts_of_all(tables: StatementTables, language: Language) -> Iterator[ChartSvg]:
    """Yield the charts of all coins together."""
    known = tables.statement.tables
    if not (coins := known["summary"].num_rows):
        return
    if name := year_name(known):
        year = partial(charts.usd_year, table=tables.source(name))
        width = 0.6 * ACROSS if TREND in known else ACROSS  # the bridge stands beside it
        yield _chart(tables, "year", year, (width, 2.8), language)
    if TREND in known:
        bridge = partial(charts.usd_bridge, table=bridge_table(known, tables.statement.period))
        yield _chart(tables, "bridge", bridge, (0.4 * ACROSS, 2.8), language)
    exposure = partial(charts.usd_exposure, table=tables.source("summary"))
    yield _chart(tables, "exposure", exposure, (ACROSS, 0.9 + 0.25 * coins), language)


def _daily_charts(tables: StatementTables, language: Language) -> Iterator[ChartSvg]:
    """Yield a chart of the days of each coin, two beside each other."""
    daily = partial(charts.net_settlement_daily, table=tables.source("daily"))
    coins = map(str, tables.statement.tables["summary"]["currency"].to_pylist()[:MOST_CHARTED])
    for place, coin in enumerate(coins):
        of_coin = partial(daily, currency=coin)
        yield _chart(tables, f"c{place}", of_coin, (0.5 * ACROSS, 2.2), language, coin)


def _chart(
    tables: StatementTables,
    name: str,
    draw: partial[None],
    size: tuple[float, float],
    language: Language,
    coin: str = "",
) -> ChartSvg:
    """Return a chart, whose name for those who do not see it says what it is worth."""
    figure = {"figure": translated(in_sentence("net_settlement")), "coin": coin}
    chart = Message(_TITLES.get(name, "{FIGURE} by day, {coin}"), **figure)
    caption = Message("part.chart", chart=chart, standing=translated(tables.status_line.text))
    drawn = draw_svg(name, draw, caption, Look(size, language=language))
    return ChartSvg(drawn, size[0] / ACROSS, language.text(caption))


def _spans(spans: Sequence[tuple[str, str, str]]) -> str:
    """Say which time of a stream was read, and how certainly."""
    known = [
        Message(
            "{STATE} from {start} up to {end}",
            state=translated(state),
            start=instant_text(start),
            end=instant_text(end),
        )
        for start, end, state in spans
    ]
    return clauses(*known) if known else ""


# ---------- The templates of pages, which escape every text


def template_environment(finalize: Callable[[object], object], **syntax: Any) -> Environment:
    """Make what loads the templates of documents; `finalize` makes a text of each value in them."""
    environment = Environment(
        loader=PackageLoader("svc_analytics.render"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
        **syntax,
    )
    environment.filters |= {"instant": instant_text, "translated": translated}
    return environment


@cache
def load_template(name: str) -> Template:
    """Return a page's template, which escapes every text."""
    environment = template_environment(_visible)
    environment.globals["families"] = css_families()
    environment.globals["narrow_families"] = css_families("DejaVu Sans Condensed")
    environment.globals["dark_charts"] = dark_styles("figure svg")
    environment.globals["meaning"] = partial(meaning, "summary")
    return environment.get_template(name)


def _visible(value: object) -> object:
    """Return a value of a template: HTML as it is, any other with its characters visible."""
    return value if hasattr(value, "__html__") else escape_invisible(str(value))


def instant_text(text: str) -> str:
    """Write an instant of a manifest for people."""
    return readable_instant(from_micros(parse_instant(text)[0]))
