"""Accept a finding: what it is of, what accepting it does to the money, and who does and why.

The desk and the command do the same: the line that they write names the digest of what was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import pyarrow as pa

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.texts import canonical_id, single_line
from svc_analytics.instants import format_instant, now
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.lake.typed_files import append_rows, line_ahead
from svc_analytics.messages import MESSAGE_COLUMN, Message, stored_text, translated
from svc_analytics.render.findings import readable
from svc_analytics.statements.balance_assertions import FILE as ASSERTIONS, read_assertions
from svc_analytics.statements.rules import find_exceptions
from svc_analytics.warehouse.acknowledgements import (
    COLUMNS,
    FILE,
    LEFT_OUT,
    OPTIONAL,
    Acceptances,
    read_acknowledgements,
    without_remark,
)
from svc_analytics.warehouse.models import models_used_by, read_checks
from svc_analytics.warehouse.warehouse import count

AHEAD = "typed_line_is_of_the_past"  # the rule that a line breaks whose time has not come
_LEFT_OUT = (
    "This {RECORD} of {AMOUNT} {COIN} will not be counted. Accept only if it is not your money."
)
_NOTHING = "No figure changes by it: the finding stays listed, as accepted."
_AS_RECORDED = (
    "No figure changes by it: the USD value is counted as the service recorded it, so sums in USD "
    "may be too high or too low. The finding stays listed, as accepted."
)
_NO_FIGURE = (
    "No figure changes by it: the finding stays listed, as accepted, and no longer keeps a month "
    "from being final."
)
# What breaks one of these may be forged or damaged: each is looked at by itself.
ONE_BY_ONE = frozenset(
    {
        *("receipt_proves_its_payment", "listed_records_remain", "kept_files_are_there"),
        *("month_file_matches_its_footer", "month_file_matches_its_totals"),
        *("set_aside_records_are_on_file", "looked_up_objects_are_on_file"),
    }
)
_UNKNOWN = {"RECORD": "record", "AMOUNT": "an unknown amount of", "COIN": "(unknown coin)"}
_BY_RECEIPT = "select payment_id from payments where receipt_no = $record"


@dataclass(frozen=True)
class Finding:
    """A row that breaks a rule: `check` is the rule, `record_id` what breaks it, `detail` how.

    `effect` says what accepting it does to the money.

    Examples:
        >>> [each.effect for each in svc.accept(lake, rule, record, **why)]  # doctest: +SKIP
    """

    check: str
    record_id: str  # empty where it is of no single record
    is_blocking: bool
    detail: str
    accepted: str = ""  # why and by whom; empty while nobody accepted it
    content: str = ""  # the digest of what it is about, which accepting it names
    coin: str = ""

    @property
    def is_open_block(self) -> bool:
        """Whether it blocks the close, and nobody accepted it."""
        return self.is_blocking and not self.accepted

    @property
    def effect(self) -> Message:
        """What accepting it does to the money: its record is left out, or nothing changes."""
        if self.check in LEFT_OUT:
            return self._of_record(_LEFT_OUT)
        if self.check == "implied_rate_is_near_its_days_median":
            return Message(_AS_RECORDED)
        return Message(_NO_FIGURE if self.is_blocking else _NOTHING)

    @property
    def outcome(self) -> Message:
        """What became of it when a person accepted it."""
        if self.check in LEFT_OUT:
            return self._of_record("Accepted. This {RECORD} of {AMOUNT} {COIN} is not counted.")
        if self.is_blocking:
            return Message("Accepted. It no longer keeps a month from being final.")
        return Message("Accepted. It blocked no month.")

    def _of_record(self, sentence: str) -> Message:
        """Say it of its record: which, how much, in what coin."""
        known = getattr(without_remark(self.detail), "values", {})
        record, amount, coin = (
            translated(single_line(str(known.get(place, text)))) for place, text in _UNKNOWN.items()
        )
        return Message(sentence, record=record, amount=amount, coin=coin)


def findings_in(checks: pa.Table) -> list[Finding]:
    """Return the findings of a table: those that block a close first, accepted ones last."""
    findings = map(_finding, checks.to_pylist())
    return sorted(findings, key=lambda each: (bool(each.accepted), not each.is_blocking))


def _finding(row: dict[str, Any]) -> Finding:
    reason, by = row["acknowledged_reason"], row["acknowledged_by"]
    accepted = single_line(f"{reason} ({by})") if by else ""
    is_blocking = row["severity"] == "blocking"
    text = readable(stored_text(str(row["detail"] or ""), row.get(MESSAGE_COLUMN)))
    key, content = row["record_id"] or "", row["content"] or ""
    coin = row.get("currency") or ""
    return Finding(row["check_name"], key, is_blocking, text, accepted, content, coin)


def left_out(lake: Lake) -> list[Finding]:
    """Return the records of a lake that no figure counts because a person accepted that."""
    if not any(mark.check in LEFT_OUT for mark in read_acknowledgements(lake.path)):
        return []
    return [each for each in findings_in(breaches(lake, *sorted(LEFT_OUT))) if each.accepted]


def ahead_findings(lake: Lake, schema: pa.Schema) -> pa.Table:
    """Return a finding for each line of a lake that lies ahead of the clock."""
    rows = [{"check_name": AHEAD, "severity": "advisory", "detail": each} for each in ahead(lake)]
    return pa.Table.from_pylist(rows, schema)


def ahead(lake: Lake) -> list[Message]:
    """Name the lines of acceptances, and of balances, that lie ahead of the clock."""
    acceptances = Acceptances.of(lake)
    balances = (each for each in read_assertions(lake.path) if each.counts_from > acceptances.clock)
    return [
        *(line_ahead(FILE, each.line, each.at) for each in acceptances.ahead),
        *(line_ahead(ASSERTIONS, each.line, each.at) for each in balances),
    ]


def find(lake: Lake, rule: str, record: str) -> list[Finding]:
    """Return the findings of a rule on a record: one, or each content of it that was set aside.

    Raises `ConfigError` for a rule that there is none of, and where there is no such finding.
    """
    findings = _of_rule(lake, rule)
    names = {record, canonical_id(record), *_of_receipt(lake, record)}
    if chosen := [each for each in findings if each.record_id in names]:
        return chosen
    near = _near(record, [each.record_id for each in findings])
    what = f"{rule} finds nothing wrong with {record!r:.60}"
    raise ConfigError(f"{what}{near}; svc-analytics check --all lists what it finds")


def find_all(lake: Lake, rule: str) -> list[Finding]:
    """Return all findings of a rule, where they may be accepted in one act.

    Raises `ConfigError` for any other rule, and where there is no finding.
    """
    findings = _of_rule(lake, rule)
    if rule in ONE_BY_ONE:
        raise ConfigError(f"what {rule} finds is looked at one by one: name the RECORD")
    if not findings:
        raise ConfigError(f"{rule} finds nothing wrong")
    return findings


def _of_rule(lake: Lake, rule: str) -> list[Finding]:
    rules = [each.name for each in read_checks()]
    if rule not in rules:
        what = f"no finding of {rule!r:.60} can be accepted"
        raise ConfigError(f"{what}{_near(rule, rules)}; svc-analytics check --all lists what can")
    return [each for each in findings_in(breaches(lake, rule)) if each.content]


def _near(word: str, known: list[str]) -> str:
    near = [each for each in known if each.startswith(word)] or get_close_matches(word, known)
    return f": did you mean {near[0]}?" if near else ""


def _of_receipt(lake: Lake, record: str) -> list[str]:
    """Return the id of the payment with a receipt number, if there is one."""
    models, values = models_used_by(_BY_RECEIPT), {"record": record}
    answer = count(lake, models, lambda views: views.query(_BY_RECEIPT, values))
    ids: list[str] = answer["payment_id"].to_pylist()
    return ids


def breaches(lake: Lake, *rules: str) -> pa.Table:
    """Return the rows that break these rules, with who accepted them."""
    findings = count(lake, None, partial(find_exceptions, rules=rules), as_written=True)
    return Acceptances.of(lake).applied_to(findings)


def accept(lake: Lake, rule: str, record: str, *, reason: str, by: str) -> list[Finding]:
    """Accept what a rule finds wrong with a record: with the digest of what is there now.

    The line is added to `acknowledgements.csv` of the lake. `rule` and `record` are as `check`
    names them; a payment may be named by its receipt number. What was accepted stays as it was.
    A month that nothing else keeps open may then become final. A record that could not be read, or
    whose kind or status is unknown, is counted in no figure: `effect` of each finding says so.

    Returns:
        The findings, as they were before.

    Raises:
        ConfigError: for an unknown rule, where nothing is found, and without a reason or a name.
        LakeError: when there is no lake, or a file of it was altered.

    Examples:
        >>> named = {"reason": "a test", "by": "Mina"}
        >>> svc.accept(lake, "status_is_known", "5b1f...", **named)  # doctest: +SKIP
    """
    check_lake(lake)
    for name, value in {"rule": rule, "record": record, "reason": reason, "by": by}.items():
        check(name, value, str, "it as text")
    findings = find(lake, rule, record)
    acknowledge(lake, [each for each in findings if not each.accepted], reason, by)
    return findings


def acknowledge(lake: Lake, findings: Sequence[Finding], reason: str, by: str) -> None:
    """Write down that a person accepts findings, and why.

    Raises `ConfigError` without a reason or a name; then nothing is written.
    """
    reason, by = single_line(reason).strip(), single_line(by).strip()
    if not findings:
        return
    if not reason:
        raise ConfigError("say why it is accepted: the statement prints it")
    if not by:
        raise ConfigError("write your name: the statement prints who accepted it")
    read_acknowledgements(lake.path)  # a line that is wrong is told before another is added
    at = format_instant(now())
    rows = [
        dict(zip(COLUMNS, (each.check, each.record_id, reason, by, at, each.content), strict=True))
        for each in findings
    ]
    append_rows(lake.storage, FILE, COLUMNS, rows, OPTIONAL)


def last_name(lake: Lake) -> str:
    """Return who accepted a finding last, to offer it as the name; empty if nobody did."""
    try:
        accepted = read_acknowledgements(lake.path)
    except ConfigError:  # it is told when a statement is made
        return ""
    return accepted[-1].by if accepted else ""
