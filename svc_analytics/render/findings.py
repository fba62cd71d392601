"""Findings and asserted balances of a statement, as people read them.

Findings are folded by rule, those that hold up a close first. An accepted one stands as accepted;
a balance stands beside what the records explain of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

from svc_analytics import messages
from svc_analytics.formatting.cells import RATIO, Cell, exact_text
from svc_analytics.formatting.display import DisplayTable
from svc_analytics.messages import MESSAGE_COLUMN, Label, Message
from svc_analytics.money import EXACT, format_amount, round_half_up
from svc_analytics.warehouse.acknowledgements import LEFT_OUT, REMARKS, accepted_detail
from svc_analytics.warehouse.models import CountedText, count_findings, say_findings
from svc_analytics.webhooks.reconcile import COUNTED_TEXTS

CHECKS = "checks"  # the table of findings
MOST = 20  # findings of which a line says what people did with them


def shown_findings(checks: pa.Table) -> pa.Table:
    """Return findings as people read them: `accepted` is the severity of accepted ones.

    An earlier release sealed them without a word in `detail` of who did, and why.
    """
    rows = checks.to_pylist()
    for row in rows:
        row["severity"] = "accepted" if row["acknowledged_by"] else row["severity"]
        row["detail"] = readable(_detail(row))
        row[MESSAGE_COLUMN] = messages.json_of(row["detail"])
    return pa.Table.from_pylist(rows, checks.schema)


def describe_accepted(tables: Mapping[str, pa.Table], *, is_short: bool = False) -> list[Message]:
    """Say in a line each which findings a person accepted, or tried to: who, when and why.

    Those alone whose record is not counted, where it `is_short`.
    """
    lines = [
        Message(
            "{FINDING}, {record}: {DETAIL}",
            finding=messages.translated(count_findings(row["check_name"], 1, COUNTED_TEXTS)),
            record=row["record_id"] or "-",
            detail=messages.translated(readable(_detail(row))),
        )
        for row in tables[CHECKS].to_pylist()
        if _is_left_out(row) or (not is_short and _has_remark(row))
    ]
    more = Message("… and {count} more", count=len(lines) - MOST)
    return [*lines[:MOST], more] if len(lines) > MOST else lines


def _is_left_out(row: dict[str, Any]) -> bool:
    return bool(row["acknowledged_by"]) and row["check_name"] in LEFT_OUT


def _has_remark(row: dict[str, Any]) -> bool:
    detail = messages.stored_text(row["detail"], row.get(MESSAGE_COLUMN))
    return bool(row["acknowledged_by"]) or getattr(detail, "code", "") in REMARKS


def _detail(row: dict[str, Any]) -> str:
    """Return the text of a finding, with who accepted it, if anybody did."""
    detail = messages.stored_text(row["detail"], row.get(MESSAGE_COLUMN))
    if not row["acknowledged_by"] or getattr(detail, "code", "") in REMARKS:
        return detail
    return accepted_detail(row, row["acknowledged_by"], row["acknowledged_reason"])


# ---------- Folded by rule


# Of rules that are no file of the warehouse: what breaks one, and what breaks it in many rows.
_SAID = COUNTED_TEXTS | {
    "balance_is_of_a_coin_that_moved": CountedText(
        "asserted balance is of a coin that never moved",
        "asserted balances are of coins that never moved",
    ),
    "sealed_months_meet": CountedText(
        "sealed month does not open with what the month before closed with",
        "sealed months do not open with what the months before closed with",
    ),
    "typed_line_is_of_the_past": CountedText(
        "typed line lies ahead of the clock, and does not count",
        "typed lines lie ahead of the clock, and do not count",
    ),
    "statement_is_that_of_all_rows": CountedText(
        "month has other figures when they are made from every record",
        "months have other figures when they are made from every record",
    ),
}
FOLDED_HEADS = ("finding", "coins", "months", "holds up")


@dataclass(frozen=True)
class RuleFindings:
    """All that breaks one rule: its rows are those of `checks`, as people read them."""

    rule: str
    rows: tuple[dict[str, Any], ...]

    @property
    def open_blocks(self) -> list[dict[str, Any]]:
        """The rows that keep a month from being closed: nobody has accepted them."""
        return [row for row in self.rows if row["severity"] == "blocking"]

    @property
    def is_open(self) -> bool:
        """Whether its rows are shown unasked: they hold up a close, or are of money not counted.

        So are those that a person accepted, and rows of no record, such as a line that a person
        typed, where they are few.
        """
        is_left_out = self.rule in LEFT_OUT  # by now, if it holds nothing up
        is_accepted = self.is_accepted and len(self.rows) <= MOST
        is_typed = not any(row["record_id"] for row in self.rows)
        return is_left_out or is_accepted or is_typed or bool(self.open_blocks)

    @property
    def is_accepted(self) -> bool:
        """Whether a person accepted each of its rows."""
        return all(row["severity"] == "accepted" for row in self.rows)

    @property
    def text(self) -> Message:
        """What is wrong, and how often."""
        return rule_text(self.rule, len(self.rows))

    @property
    def coins(self) -> list[str]:
        """The coins that it is of."""
        return sorted({row["currency"] for row in self.rows if row["currency"]})

    @property
    def months(self) -> list[str]:
        """The UTC months that it is of, oldest first."""
        return sorted({row["month"] for row in self.rows if row["month"]})

    @property
    def holds_up(self) -> Message | Label:
        """What cannot be done before somebody mends or accepts it."""
        if self.open_blocks:
            months = sorted({row["month"] for row in self.open_blocks if row["month"]})
            span = messages.translated(_span(months))
            whole = messages.translated("every close")
            return Message("the close of {MONTHS}", months=span) if months else whole
        if not self.is_accepted:
            return Message("nothing")
        is_left_out = self.rule in LEFT_OUT
        return Message("nothing: accepted, and not counted" if is_left_out else "nothing: accepted")

    @property
    def cells(self) -> list[Cell]:
        """Its row in a table: `FOLDED_HEADS` are the heads."""
        months = Cell(_span(self.months), is_fixed=True)
        return [Cell(self.text), Cell(", ".join(self.coins)), months, Cell(self.holds_up)]


def rule_text(rule: str, count: int) -> Message:
    """Say in words what breaks a rule, and how often."""
    return say_findings(rule, count, _SAID) or count_findings(rule, count)


def _span(labels: list[str]) -> str:
    """Write months in a row by the first and the last of them.

    >>> _span(["2026-11", "2026-12", "2027-01"]), _span(["2026-08", "2026-10"])
    ('2026-11 to 2027-01', '2026-08, 2026-10')
    """
    months = [label for label in labels if label[5:].isdigit()]  # others are quarters and years
    places = [int(label[:4]) * 12 + int(label[5:]) for label in months]
    if len(labels) < 3 or months != labels or places[-1] - places[0] >= len(labels):
        return ", ".join(labels)
    return Message("{first} to {last}", first=labels[0], last=labels[-1])


def folded_findings(checks: pa.Table) -> list[RuleFindings]:
    """Return findings by rule: those that hold up a close first, then those of most rows."""
    by_rule: dict[str, list[dict[str, Any]]] = {}
    for row in shown_findings(checks).to_pylist():
        row["detail"] = messages.stored_text(row["detail"], row.get(MESSAGE_COLUMN))
        by_rule.setdefault(row["check_name"], []).append(row)
    folded = [RuleFindings(rule, tuple(rows)) for rule, rows in by_rule.items()]
    return sorted(folded, key=lambda each: (not each.open_blocks, -len(each.rows), each.rule))


def folded_table(checks: pa.Table, title: str = "") -> DisplayTable:
    """Return findings as a table of a row for each rule."""
    rows = [each.cells for each in folded_findings(checks)]
    return DisplayTable(title, [*FOLDED_HEADS], rows)


# ---------- The words of a finding: files keep theirs, with all digits of a column


_AS_READ = {
    "finding.fee_of_day": "found.fee_of_day",
    "finding.fee_of_payments": "found.fee_of_payments",
    "finding.fee_bearer": "found.fee_bearer",
}
_PADDED = re.compile(r"-?[0-9]+\.[0-9]*0")
_SCALES = (8, 18)  # the digits that columns of rates and of amounts have behind the point


def readable(text: str) -> str:
    """Return the text of a finding without zeros behind its amounts, its rates as percentages.

    >>> str(readable(Message("finding.fee_of_day", fee="2.00000000", amount="3", rate="0.01")))
    "fee 2 is 66.666667% of 3; that day's rate is 1%"
    """
    if not isinstance(text, Message):
        return text
    values = {name: _readable_value(value) for name, value in text.values.items()}
    code = _AS_READ.get(text.code, text.code)
    if not {"fee", "amount", "rate"} <= values.keys():
        return Message(code, **values)
    fee, amount, rate = (Decimal(str(text.values[each])) for each in ("fee", "amount", "rate"))
    share = round_half_up(Fraction(fee) / Fraction(amount), _SCALES[0]) if amount else None
    own = "-" if share is None else exact_text(share, RATIO)
    return Message(code, **values | {"own": own, "rate": exact_text(rate, RATIO)})


def _readable_value(value: object) -> object:
    if isinstance(value, Message):
        return readable(value)
    text = str(value)
    is_padded = _PADDED.fullmatch(text) and len(text.partition(".")[2]) in _SCALES
    shown = format_amount(Decimal(text)) if is_padded else text
    return messages.translated(shown) if isinstance(value, Label) else shown


# ---------- Balances that people read in the console


_ASSERTED = (
    "Asserted balance {balance} {coin}, {NOTE}; explained by the records {explained}; movement "
    "outside the API {outside}"
)
_UNEXPLAINED = (
    "Asserted balance {balance} {coin}, {NOTE}; explained by the records unknown; movement "
    "outside the API unknown"
)
UNPLACED = "balance_is_of_a_coin_that_moved"  # the check of a balance compared with nothing


def balances_table(tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the asserted balances of a statement, each with what nothing explains of it.

    One row per coin with an asserted balance: currency, asserted_balance, explained (what
    payments, refunds and payouts up to then left), outside_movement and note; no row before
    anyone asserted anything.
    """
    money = tables["figures"].schema.field("value").type
    names = ("currency", "asserted_balance", "explained", "outside_movement", "note")
    types = (pa.string(), money, money, money, pa.string())
    schema = pa.schema(list(zip(names, types, strict=True)))
    return pa.Table.from_pylist(_balances(tables["figures"]), schema)


def _balances(figures: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of asserted balances, each with the message of its note."""
    values = {(row["currency"], row["name"]): row for row in figures.to_pylist()}
    asserted = {
        currency: row
        for (currency, name), row in values.items()
        if name == "asserted_balance" and row["value"] is not None
    }
    return [
        {
            "currency": currency,
            "asserted_balance": row["value"],
            "explained": None if outside is None else EXACT.subtract(row["value"], outside),
            "outside_movement": outside,
            "note": row["note"],
            MESSAGE_COLUMN: row.get(MESSAGE_COLUMN),
        }
        for currency, row in asserted.items()
        for outside in [values[currency, "outside_movement"]["value"]]
    ]


def describe_balances(tables: Mapping[str, pa.Table]) -> list[str]:
    """Say in lines of text what was asserted, what nothing explains, and what stands nowhere."""
    lines: list[str] = []
    for row in _balances(tables["figures"]):
        known = {
            "coin": row["currency"],
            "note": messages.translated(messages.stored_text(row["note"], row[MESSAGE_COLUMN])),
        }
        known["balance"] = format_amount(row["asserted_balance"])
        outside = row["outside_movement"]
        if outside is None:
            lines.append(Message(_UNEXPLAINED, **known))
        else:
            known["explained"] = format_amount(row["explained"])
            lines.append(Message(_ASSERTED, **known, outside=format_amount(outside)))
    rows = [row for row in tables["checks"].to_pylist() if row["check_name"] == UNPLACED]
    return lines + [messages.stored_text(row["detail"], row.get(MESSAGE_COLUMN)) for row in rows]
