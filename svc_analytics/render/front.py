"""The lines around the figures of a page: what is open above them, and the foot of each sheet."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.cells import COIN, DASH, USD, Cell, number_cell
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.texts import single_line
from svc_analytics.language.catalogue import Language, isolate
from svc_analytics.messages import Message, joined, translated
from svc_analytics.money import HALF_UP, percent_change
from svc_analytics.render.document import Document, status_word
from svc_analytics.render.findings import describe_accepted
from svc_analytics.render.summary_page import SummaryPage
from svc_analytics.warehouse.figures import as_moved

SEVERITIES = ("blocking", "advisory")
_LONGEST_NAME = 40
_DOT = " \N{MIDDLE DOT} "
_DIGEST = 16  # letters of it that a foot shows
# What would end a text of a style sheet, or the sheet; and isolates, which are not seen in it.
_UNSAFE = re.compile(r"[\\\"'<>;{}\x00-\x1f\u2066-\u2069]")


def front_lines(statement: Document) -> Iterator[Message]:
    """Yield in a sentence each which findings are open, and how many receipts are proven."""
    checks = statement.tables["checks"]
    is_open = pc.is_null(checks["acknowledged_by"])
    opened = checks.filter(is_open)
    if opened.num_rows:
        yield Message("Open: {FINDINGS}.", findings=translated(severities(opened)))
    else:
        yield Message("No finding is open.")
    if count := checks.num_rows - opened.num_rows:
        words = "{count} finding" if count == 1 else "{count} findings"
        yield Message("Accepted: {FINDINGS}.", findings=Message(words, count=f"{count:,}"))
    left_out = describe_accepted(statement.tables, is_short=True)
    yield from (Message("{LINE}.", line=line) for line in left_out)
    summary = statement.tables["summary"]
    if receipts := receipts_of(summary):
        total = max(receipts[0], sum(filter(None, summary["payments_count"].to_pylist())))
        counts = {"valid": f"{receipts[1]:,}", "total": f"{total:,}"}
        yield Message("{valid} of {total} receipts are proven.", **counts)
    elif summary.num_rows:
        yield Message("No receipt was verified.")


def severities(checks: pa.Table) -> str:
    """Say how many findings there are of each severity."""
    counts = Counter(checks["severity"].to_pylist())
    pairs = [(name, counts.pop(name, 0)) for name in SEVERITIES] + sorted(counts.items())
    return joined("list.comma", [_counted(*each) for each in pairs])


def _counted(severity: str, count: int) -> Message:
    sentence = "{count} {SEVERITY} finding" if count == 1 else "{count} {SEVERITY} findings"
    return Message(sentence, count=count, severity=translated(severity))


def receipts_of(summary: pa.Table) -> tuple[int, int] | None:
    """Return how many receipts were checked and are valid; None if none was verified.

    Of a coin both are known or neither is; an unknown count is no zero.
    """
    counts = [
        (row.get("receipts_checked"), row.get("receipts_valid")) for row in summary.to_pylist()
    ]
    known = [(checked, valid) for checked, valid in counts if None not in (checked, valid)]
    if not known:
        return None
    return sum(checked for checked, _ in known), sum(valid for _, valid in known)


def foot_of(statement: Document, facts: dict[str, Any], language: Language) -> str:
    """Return the foot of each sheet as a text of a style sheet: whose, which month, what seal."""
    return style_text(f"{running_head(statement, language)}{_DOT}{foot_text(facts, language)}")


def foot_text(facts: dict[str, Any], language: Language) -> str:
    """Return the beginning of a statement's digest, to tell its sheets from those of another."""
    return language.text("digest {digest}", digest=facts["content_digest"][:_DIGEST])


def running_head(statement: Document, language: Language) -> str:
    """Return whose statement it is, of which month, and what it is worth."""
    name = names_of(statement.merchant, _LONGEST_NAME, language.code).split(_DOT)[0]
    title, status = statement.period.title, status_word(statement)
    return _DOT.join((isolate(single_line(name)), language.text(title), language.text(status)))


def style_text(text: str) -> str:
    """Return a text as a style sheet has it; nothing in it ends the text or the sheet.

    >>> style_text('</style>"')
    '"\\\\3c /style\\\\3e \\\\22 "'
    """
    escaped = _UNSAFE.sub(lambda letter: f"\\{ord(letter[0]):x} ", text)
    return f'"{escaped}"'


def page_symbols(language: Language) -> str:
    """Return the digits of page numbers as a style sheet lists them."""
    return " ".join(f'"{language.number(str(digit))}"' for digit in range(10))


# ---------- The headline band of a page
# Five sums of all coins in USD, and how each has changed.


NOT_MEANINGFUL = "n/m"
UNCLEAR = (
    "n/m: no meaningful change, for some records have no USD value, or the figure before is zero "
    "or of the other sign."
)
# What stands in the band, with what it is called there.
TILES = {
    "usd_net_sales": "Sales after fees",
    "usd_fees": "Payment fees",
    "usd_refunds": "Refunds",
    "usd_payouts": "Payouts",
    "usd_exposure": "Closing position",
}
_MONTHS = 12  # of a line, though the trend may have more
_WIDTH, _HEIGHT = 100, 20  # of a line of months, in its own units
_ONE_PLACE = Decimal("0.1")


@dataclass(frozen=True)
class Tile:
    """One sum in USD: its value, its change on the period before, and the months up to it."""

    name: str
    label: str
    value: Cell
    change: str
    before: str  # the period that the change is on; no text where there is no change
    unpriced: int | None  # the records without a USD value, which add nothing
    lines: Sequence[str]  # the points of its line, in pieces where a month is unknown
    end: tuple[str, str] | None  # the last point
    external: Cell | None = None  # the same in another currency, where it was asked for

    @property
    def is_unclear(self) -> bool:
        """Whether its change has no meaning."""
        return self.change == NOT_MEANINGFUL


@dataclass(frozen=True)
class Band:
    """Makes the tiles of a statement."""

    summary_page: SummaryPage
    is_running: bool

    def tiles(self) -> Iterator[Tile]:
        """Yield the tiles; none where the statement has no coin."""
        if self.summary_page.coins.rows:
            yield from (self._tile(name, label) for name, label in TILES.items())

    def _tile(self, name: str, label: str) -> Tile:
        value = self.summary_page.coins.usd(name)
        change = self._change(name, value)
        before = self.summary_page.statement.period.shift(-1).title if change[-1:] == "%" else ""
        months = [*self.summary_page.months.values()][-_MONTHS:]
        lines = lines_of([month.usd(name) for month in months])
        last = lines[-1].split()[-1].split(",") if lines else None
        return Tile(
            name,
            label,
            number_cell(as_moved(name, value), USD),
            change,
            before,
            self.summary_page.coins.unpriced_behind(name),
            lines,
            (last[0], last[1]) if last else None,
            self._external(name),
        )

    @property
    def currency(self) -> str:
        """The other currency; empty where none was asked for."""
        external = self.summary_page.statement.external
        return external.rates.name if external else ""

    def _external(self, name: str) -> Cell | None:
        if (external := self.summary_page.statement.external) is None:
            return None
        return number_cell(self.summary_page.external(name), COIN, external.rates.places)

    def _change(self, name: str, value: Decimal | None) -> str:
        """Word the change on the period before; a dash where there is none to compare with."""
        if not self.summary_page.months:
            return ""
        earlier = self.summary_page.before
        before = earlier.usd(name) if earlier else None
        if earlier is None or before is None or value is None or self.is_running:
            return DASH
        is_alike = earlier.is_alike(self.summary_page.coins, name)
        return change_text(before, value) if is_alike else NOT_MEANINGFUL


def change_text(before: Decimal, now: Decimal) -> str:
    """Word a change in per cent; one from nothing, or to the other side of it, means nothing.

    >>> change_text(Decimal(40), Decimal(50)), change_text(Decimal(-1), Decimal(1))
    ('+25.0%', 'n/m')
    """
    percent = percent_change(before, now)
    if percent is None:
        return NOT_MEANINGFUL
    shown = percent.quantize(_ONE_PLACE, context=HALF_UP)
    return f"{shown:+,f}%" if shown else "0.0%"


def lines_of(values: Sequence[Decimal | None]) -> list[str]:
    """Return the points of a line through values, a piece for each run of known ones.

    >>> lines_of([Decimal(1), Decimal(3), None, Decimal(2), Decimal(2)])
    ['0,20 25,0', '75,10 100,10']
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return []
    low, high = min(known), max(known)
    pieces: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            pieces.append([])
            continue
        across = _WIDTH * place // (len(values) - 1)
        up = _HEIGHT * (high - value) / (high - low) if high > low else Decimal(_HEIGHT // 2)
        pieces[-1].append(f"{across},{up.quantize(Decimal(1), context=HALF_UP)}")
    return [" ".join(piece) for piece in pieces if piece]
