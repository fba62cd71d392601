"""Findings of a statement from a log of webhook deliveries, and counts of the log."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant, from_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, json_of
from svc_analytics.periods import Period, month_of
from svc_analytics.signing.secrets import SigningSecret
from svc_analytics.warehouse.acknowledgements import content_of
from svc_analytics.warehouse.models import Saying
from svc_analytics.webhooks.delivery_log import INVALID
from svc_analytics.webhooks.reconcile import RETRY_HORIZON, ReconciledDelivery, reconcile

MISSING = "webhook_names_a_record_the_lake_lacks"
NOT_VALID = "webhook_log_is_not_valid_throughout"
SAYINGS = {
    MISSING: Saying(
        "record that a webhook names is not in the lake",
        "records that webhooks name are not in the lake",
    ),
    NOT_VALID: Saying(
        "log of webhooks holds deliveries that are not valid",
        "logs of webhooks hold deliveries that are not valid",
    ),
}


@dataclass(frozen=True)
class LogFindings:
    """Findings as rows of `checks`, and the log's name and counts for the manifest."""

    findings: list[dict[str, Any]]
    facts: dict[str, Any]


def reconcile_log(
    log: str | os.PathLike[str], lake: Lake, period: Period, ring: Sequence[SigningSecret]
) -> LogFindings:
    """Reconcile a log of webhook deliveries with a lake; return one period's findings.

    A record occurred within the day before its delivery; where that day reaches into two
    periods, both get the finding. Raises `ConfigError` without a secret, and for stdin.
    """
    if os.fspath(log) == "-":
        raise ConfigError("the log of a statement must be a file, not stdin")
    summary = _LogSummary(period)
    for batch in reconcile(log, lake, ring):
        for item in batch:
            summary.add(item)
    name = Path(log).name.encode("utf-8", "replace").decode()  # it need not be valid text
    return LogFindings(summary.findings(name), {"name": name, **summary.counts})


def describe(facts: dict[str, Any]) -> Message:
    """Describe the counts of a log in one sentence."""
    return Message(
        "{name}: {deliveries} deliveries, {not_valid} not valid; {events} events name payments "
        "and payouts of this time, {in_lake} are in the lake, {missing} missing",
        **{name: f"{fact:,}" if isinstance(fact, int) else fact for name, fact in facts.items()},
    )


class _LogSummary:
    """Counts the deliveries of a log and collects the records that the lake lacks."""

    def __init__(self, period: Period) -> None:
        self._period = period
        self._verdicts: Counter[str] = Counter()
        self._events: Counter[bool | None] = Counter()
        self._missing: dict[tuple[str | None, str | None], int] = {}

    def add(self, item: ReconciledDelivery) -> None:
        """Count one delivery, and note its record if it is missing."""
        delivery = item.delivery
        self._verdicts[delivery.verdict] += 1
        at = delivery.received_at
        if at is None or item.in_lake is None:
            return
        if self._concerns(at) and delivery.verdict != "repeated":
            self._events[item.in_lake] += 1
        if item.is_missing:
            key = (delivery.subject, delivery.record_id)
            self._missing[key] = min(at, self._missing.get(key, at))

    @property
    def counts(self) -> dict[str, int]:
        """Deliveries of the whole log; events of the period that name money, each once."""
        return {
            "deliveries": self._verdicts.total(),
            "not_valid": sum(self._verdicts[name] for name in INVALID),
            "events": self._events.total(),
            "in_lake": self._events[True],
            "missing": len(self._own_missing),
        }

    def findings(self, name: str) -> list[dict[str, Any]]:
        """Return a blocking finding per missing record, an advisory one on invalid deliveries."""
        rows = [
            _finding(MISSING, "blocking", record_id, at, _named(subject, at))
            | {"content": content_of(subject, record_id)}
            for (subject, record_id), at in self._own_missing
        ]
        if bad := self.counts["not_valid"]:
            total = f"{self._verdicts.total():,}"
            detail = Message("finding.deliveries", bad=f"{bad:,}", total=total, name=name)
            row = _finding(NOT_VALID, "advisory", None, self._period.start, detail)
            rows.append(row | {"content": content_of(bad, self._verdicts.total())})
        return rows

    @property
    def _own_missing(self) -> list[tuple[tuple[str | None, str | None], int]]:
        items = sorted(self._missing.items(), key=str)
        return [(key, at) for key, at in items if self._concerns(at)]

    def _concerns(self, at: int) -> bool:
        return at - RETRY_HORIZON < self._period.end and self._period.start <= at


def _named(subject: str | None, at: int) -> Message:
    return Message("finding.webhook", instant=format_instant(at), SUBJECT=subject)


def _finding(
    name: str, severity: str, record_id: str | None, at: int, detail: Message
) -> dict[str, Any]:
    return {
        "check_name": name,
        "severity": severity,
        "record_id": record_id,
        "month": month_of(at).label,
        "currency": None,
        "detail": detail,
        "message": json_of(detail),
        "seen_at": from_micros(at),
    }
