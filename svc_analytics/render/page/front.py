"""The lines around the figures of a page: what is open above them, and the foot of each sheet."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.language.catalogue import Language
from svc_analytics.language.isolation import isolate
from svc_analytics.messages import Message, joined
from svc_analytics.render.document import Document
from svc_analytics.render.findings import describe_accepted
from svc_analytics.render.standing import status_word

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
        yield Message("Open: {FINDINGS}.", FINDINGS=severities(opened))
    else:
        yield Message("No finding is open.")
    if count := checks.num_rows - opened.num_rows:
        words = "{count} finding" if count == 1 else "{count} findings"
        yield Message("Accepted: {FINDINGS}.", FINDINGS=Message(words, count=f"{count:,}"))
    left_out = describe_accepted(statement.tables, is_short=True)
    yield from (Message("{LINE}.", LINE=line) for line in left_out)
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
    return Message(sentence, count=count, SEVERITY=severity)


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
