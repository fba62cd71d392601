"""A statement as one HTML page, for screen and paper; it loads nothing from elsewhere."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from typing import Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from svc_analytics import charts
from svc_analytics.charts.palette import dark_styles
from svc_analytics.formatting.cells import Cell, number_cell, unknown_cell
from svc_analytics.formatting.display import lined_up
from svc_analytics.formatting.numbers import COIN, RATIO, scale_of
from svc_analytics.formatting.sanitize import escape_invisible
from svc_analytics.formatting.standing import NOWHERE, Standing, running
from svc_analytics.instants import from_micros, parse_instant, readable_instant
from svc_analytics.language.catalogue import ENGLISH, WORDED, Language
from svc_analytics.language.fonts import css_families
from svc_analytics.language.words import merchant_names
from svc_analytics.messages import Message, clauses, joined
from svc_analytics.periods import GREGORIAN
from svc_analytics.render.balances import describe_balances
from svc_analytics.render.bridge import TREND, bridge_table, year_name
from svc_analytics.render.document import Document, unknown_lines
from svc_analytics.render.face.all_coins import describe_pricing
from svc_analytics.render.face.restated import RESTATEMENT
from svc_analytics.render.figures import definition_groups, meaning
from svc_analytics.render.findings import CHECKS, shown_findings
from svc_analytics.render.page.front import (
    Band,
    foot_of,
    front_lines,
    page_symbols,
    receipts_of,
    severities,
)
from svc_analytics.render.page.tables import FigureTables, PageTables, external_part, sentences_part
from svc_analytics.render.page.words import PageWords
from svc_analytics.render.picture import Look, draw_svg
from svc_analytics.render.standing import (
    document_standing,
    proof_statuses,
    sealed_state,
    status_look,
    status_note,
    status_word,
)
from svc_analytics.warehouse.figures import in_sentence
from svc_analytics.webhooks.reconcile import describe

MOST_CHARTED = 8  # coins
MOST_REASONS = 3  # in the head; the others are told further below
LINE_COLUMNS = (
    *("line_no", "occurred_at_local", "kind", "reference_id", "receipt_no", "currency"),
    *("gross", "fee", "net", "running_position", "comment"),
)
FINDING_COLUMNS = ("severity", "check_name", "record_id", "currency", "detail")
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
    """A chart as an `<svg>` element, its width in inches, and its name for who does not see it."""

    svg: str
    width: float
    title: str


def make_page(
    statement: Document, facts: dict[str, Any], language: Language = ENGLISH
) -> tuple[str, int]:
    """Return the page as HTML, and how many rows of tables it shows."""
    blocks, shown_rows = page_blocks(statement, facts, language)
    own = _of_language(statement, facts, language)
    return load_template("statement.html").render(blocks | own), shown_rows


def page_blocks(
    statement: Document, facts: dict[str, Any], language: Language
) -> tuple[dict[str, Any], int]:
    """Return all that a page or a PDF shows, by name, and how many rows of tables that is."""
    standing = document_standing(statement, language)
    tables, own = PageTables(statement, standing), FigureTables(statement, standing)
    parts = _tables(tables, own)
    shown_rows = sum(len(table.rows) for part in parts.values() for table in part)
    figures = parts["figures"] + parts["details"] + parts["more"]
    blocks = {
        "facts": facts,
        "standing": standing.text,
        "head": _head(statement, facts, language),
        "band": Band(own.face, standing.is_running(statement.period.label)),
        "charts": _charts(tables, language),
        "charted": MOST_CHARTED,
        "coins": statement.tables["summary"].num_rows,
        "matrices": list(matrices(statement.tables["cohorts"], standing)),
        "open_part": _open_part(tables),
        "external": external_part(own),
        "said_sentences": sentences_part(statement, standing),
        "unread_sentences": statement.unread_sentences,
        "definitions": definition_groups(),
        "shown": {name for table in figures for name in table.names},
    }
    return blocks | _lines(statement, facts) | parts, shown_rows


def _of_language(statement: Document, facts: dict[str, Any], language: Language) -> dict[str, Any]:
    """Return direction, words and foot of the page in its language."""
    return {
        "worded": () if language.is_english else WORDED,
        "lang": "en" if language.is_both else language.code,
        "direction": language.direction,
        "foot": foot_of(statement, facts, language),
        "symbols": page_symbols(language),
        **PageWords(language).functions,
    }


def _lines(statement: Document, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the sentences around the tables: what is open, what was read, what was proven."""
    log = facts["options"].get("webhooks")
    read_to = Message("Data as of {instant}.", instant=instant_text(facts["as_of"]))
    return {
        "front": joined("list.sentences", [*front_lines(statement), read_to]),
        "checks": severities(shown_findings(statement.tables[CHECKS])),
        "coverage": {name: _spans(spans) for name, spans in facts["coverage"].items()},
        "notes": describe_pricing(statement.tables) + describe_balances(statement.tables),
        "receipts": receipts_of(statement.tables["summary"]),
        "statuses": proof_statuses(statement),
        "webhooks": describe(log) if log else "",
    }


def _head(statement: Document, facts: dict[str, Any], language: Language) -> dict[str, Any]:
    """Return the head of the page: which month it is, and how far it can be relied on."""
    period, state = statement.period, sealed_state(statement)
    reasons = [reason.text for reason in statement.reasons]
    return {
        "title": period.title,
        "bounds": period.local_bounds,
        "is_local": (period.zone, period.calendar) != ("UTC", GREGORIAN),
        "status": status_word(statement),
        "look": status_look(statement),
        "rests": "" if reasons and not state else status_note(statement),
        "is_settled": bool(state and state.kind == "sealed" and not reasons),
        "reasons": reasons,
        "unknown": unknown_lines(facts),
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


def _tables(tables: PageTables, own: FigureTables) -> dict[str, list[Any]]:
    known = tables.statement.tables
    has_coins = known["summary"].num_rows > 0
    return {
        "figures": [own.main()] if has_coins else [],
        "details": [own.details()] if has_coins else [],
        "more": list(tables.more_figures()),
        "daily": list(tables.days()),
        "further": [
            tables.restated()
            if name == RESTATEMENT
            else tables.table(name, MONTH_COLUMNS if name == "months" else ())
            for name in FURTHER
            if name in known and known[name].num_rows
        ],
        "findings": [tables.table(CHECKS, FINDING_COLUMNS)],
        "lines": [tables.table("lines", LINE_COLUMNS)],
        "reading": [tables.table("reading")],
    }


def _open_part(tables: PageTables) -> str:
    """Word an empty table: unknown must not look like none."""
    statement = tables.statement
    is_whole = all(reason.is_unfinished for reason in statement.reasons) and not statement.unknown
    return "" if is_whole else tables.why


def _charts(tables: PageTables, language: Language) -> list[tuple[str, list[ChartSvg]]]:
    """Return the charts of all coins together, then the days of each coin."""
    known = tables.statement.tables
    currencies = [str(coin) for coin in known["summary"]["currency"].to_pylist()]
    if not currencies:
        return []
    height = 0.9 + 0.25 * len(currencies)
    exposure = partial(charts.usd_exposure, table=tables.source("summary"))
    together = [_chart(tables, "exposure", exposure, (7.2, height), language)]
    if name := year_name(known):
        year = partial(charts.usd_year, table=tables.source(name))
        width = 4.3 if TREND in known else 7.2  # the bridge stands beside it
        together.insert(0, _chart(tables, "year", year, (width, 2.6), language))
    if TREND in known:
        bridge = partial(charts.usd_bridge, table=bridge_table(known, tables.statement.period))
        together.insert(1, _chart(tables, "bridge", bridge, (2.9, 2.6), language))
    daily = partial(charts.net_settlement_daily, table=tables.source("daily"))
    days = [
        _chart(tables, f"c{place}", partial(daily, currency=coin), (3.55, 2.1), language, coin)
        for place, coin in enumerate(currencies[:MOST_CHARTED])
    ]
    return [("All coins", together), ("Each coin by day", days)]


def _chart(
    tables: PageTables,
    name: str,
    draw: partial[None],
    size: tuple[float, float],
    language: Language,
    coin: str = "",
) -> ChartSvg:
    """Return a chart, whose name for those who do not see it says what it is worth."""
    figure = {"FIGURE": in_sentence("net_settlement"), "coin": coin}
    chart = Message(_TITLES.get(name, "{FIGURE} by day, {coin}"), **figure)
    caption = Message("part.chart", CHART=chart, STANDING=tables.standing.text)
    drawn = draw_svg(name, draw, caption, Look(size, language=language))
    return ChartSvg(drawn, size[0], language.text(caption))


def _spans(spans: Sequence[tuple[str, str, str]]) -> str:
    """Say which time of a stream was read, and how certainly."""
    known = [
        Message(
            "{STATE} from {start} up to {end}",
            STATE=state,
            start=instant_text(start),
            end=instant_text(end),
        )
        for start, end, state in spans
    ]
    return clauses(*known) if known else ""


# ---------- Refund cohorts as a matrix
# Months of payment down, months of refund across.


MOST_MONTHS = 12  # on a page; older ones are in the table itself
MOST_PLACES = 8  # of an amount below a share, so that twelve months fit the paper
STEPS = 5  # shades
_NO_RATIO = "undefined: nothing was charged"
_NO_AMOUNT = "unknown"
_NOTHING = Cell("")


@dataclass(frozen=True)
class CohortCell:
    """The refunds in one month of the payments of one month."""

    ratio: Cell = _NOTHING
    amount: Cell = _NOTHING
    shade: int = 0  # from 0, nothing, to STEPS, the highest ratio of the matrix

    @property
    def hover(self) -> str:
        """Every digit of both, or why one is unknown."""
        if not self.ratio.hover and not self.amount.hover:
            return ""
        return ", ".join(each.hover or each.text for each in (self.ratio, self.amount))


@dataclass(frozen=True)
class Matrix:
    """The refunds of one coin in its newest months."""

    currency: str
    months: list[str]  # of refunds
    rows: list[tuple[str, Cell, list[CohortCell]]]  # month of payment, its charged total, cells
    is_cut: bool

    @property
    def hides_digits(self) -> bool:
        """Whether it shows a rounded number."""
        crossings = [crossing for *_, row in self.rows for crossing in row]
        return any(each.ratio.exact or each.amount.exact for each in crossings) or any(
            charged.exact for _, charged, _ in self.rows
        )


def matrices(cohorts: pa.Table, standing: Standing = NOWHERE) -> Iterator[Matrix]:
    """Yield a matrix for each coin that has refunds of known payments."""
    rows = cohorts.to_pylist()
    for currency in sorted({row["currency"] for row in rows}):
        own = [row for row in rows if row["currency"] == currency]
        yield _matrix(currency, own, standing)


def _matrix(currency: str, rows: list[dict[str, Any]], standing: Standing) -> Matrix:
    across = sorted({row["refund_month"] for row in rows})
    down = sorted({row["payment_month"] for row in rows})
    shown_across, shown_down = across[-MOST_MONTHS:], down[-MOST_MONTHS:]
    scale = scale_of(standing.scales, currency)
    by_months = {(row["payment_month"], row["refund_month"]): row for row in rows}
    charged = {row["payment_month"]: row["charged_total"] for row in rows}
    most = max((row["ratio"] or Decimal() for row in rows), default=Decimal())
    totals = lined_up([[_amount(charged[paid], scale)] for paid in shown_down])
    shown_rows = [
        (
            _month(paid, standing),
            total,
            [_cell(by_months.get((paid, back)), most, scale) for back in shown_across],
        )
        for paid, [total] in zip(shown_down, totals, strict=True)
    ]
    months = [_month(back, standing) for back in shown_across]
    is_cut = len(across) > len(shown_across) or len(down) > len(shown_down)
    return Matrix(currency, months, shown_rows, is_cut)


def _month(month: str, standing: Standing) -> str:
    return running(month) if standing.is_running(month) else month


def _cell(row: dict[str, Any] | None, most: Decimal, scale: int | None) -> CohortCell:
    if row is None:
        return CohortCell()
    ratio: Decimal | None = row["ratio"]
    if ratio is None:
        percent = unknown_cell(_NO_RATIO, is_number=True)
    else:
        percent = number_cell(ratio, RATIO)
    places = None if scale is None else min(scale, MOST_PLACES)
    shade = -(-STEPS * ratio // most) if ratio and most else Decimal()
    return CohortCell(percent, _amount(row["refunds_paid"], places), int(shade))


def _amount(value: Decimal | None, scale: int | None) -> Cell:
    if value is None:
        return unknown_cell(_NO_AMOUNT, is_number=True)
    return number_cell(value, COIN, scale)


# ---------- The templates of pages, which escape every text


@cache
def load_template(name: str) -> Template:
    """Return a page's template, which escapes every text."""
    environment = Environment(
        loader=PackageLoader("svc_analytics.render.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters["instant"] = instant_text
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
