"""What a log of webhooks says to a statement: findings, and how much of it there was to say."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from svc_analytics.config import read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period, month_of
from svc_analytics.webhooks.delivery_log import INVALID
from svc_analytics.webhooks.reconcile import RETRY_HORIZON, ReconciledDelivery, reconcile

MISSING = "webhook_names_a_record_the_lake_lacks"
NOT_VALID = "webhook_log_is_not_valid_throughout"


@dataclass(frozen=True)
class LogFindings:
    """Findings as `checks` has them, and the log's name with its counts for the manifest.

    Of the whole log: `deliveries`, and `not_valid` of them. Of the period: the
    `events` that name a payment or payout, repetitions left out, and how many of those
    are `in_lake` and `missing`; the others were delivered behind what was read.
    """

    findings: list[dict[str, Any]]
    facts: dict[str, Any]


def reconcile_log(log: str | os.PathLike[str], lake: Lake, period: Period) -> LogFindings:
    """Hold a log against a lake, for one period.

    A record occurred within the day before its delivery; where that day reaches into
    two periods, the finding stands in both. Raises `ConfigError` without a secret, and
    for a log that is no file: the manifest names it by its hash.
    """
    if os.fspath(log) == "-":
        raise ConfigError("the log of a statement must be a file, not stdin")
    ring = read_settings(lake.path).webhook_secrets
    found = _Found(period)
    for batch in reconcile(log, lake, ring):
        for item in batch:
            found.add(item)
    name = Path(log).name
    return LogFindings(found.findings(name), {"name": name, **found.counts})


def describe(facts: dict[str, Any]) -> str:
    """Tell in a sentence what a log had to say."""
    return (
        "{name}: {deliveries:,} deliveries, {not_valid:,} not valid; {events:,} events name"
        " payments and payouts of this time, {in_lake:,} are in the lake, {missing:,} missing"
    ).format(**facts)


class _Found:
    """What passed by of a log."""

    def __init__(self, period: Period) -> None:
        self._period = period
        self._verdicts: Counter[str] = Counter()
        self._events: Counter[bool | None] = Counter()
        self._missing: dict[tuple[str | None, str | None], int] = {}

    def add(self, item: ReconciledDelivery) -> None:
        """Take in one delivery."""
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
        """The counts of `LogFindings`."""
        return {
            "deliveries": self._verdicts.total(),
            "not_valid": sum(self._verdicts[name] for name in INVALID),
            "events": self._events.total(),
            "in_lake": self._events[True],
            "missing": len(self._own_missing),
        }

    def findings(self, name: str) -> list[dict[str, Any]]:
        """A blocking one for each missing record, an advisory one for what was not valid."""
        rows = [
            _finding(MISSING, "blocking", record_id, month_of(at).label, _sighting(subject, at))
            for (subject, record_id), at in self._own_missing
        ]
        if bad := self.counts["not_valid"]:
            detail = (
                f"{bad:,} of {self._verdicts.total():,} deliveries in {name} are not valid; the"
                " records they name were not looked for; svc-analytics webhooks verify lists them"
            )
            month = month_of(self._period.start).label
            rows.append(_finding(NOT_VALID, "advisory", None, month, detail))
        return rows

    @property
    def _own_missing(self) -> list[tuple[tuple[str | None, str | None], int]]:
        items = sorted(self._missing.items(), key=str)
        return [(key, at) for key, at in items if self._concerns(at)]

    def _concerns(self, at: int) -> bool:
        return at - RETRY_HORIZON < self._period.end and self._period.start <= at


def _sighting(subject: str | None, at: int) -> str:
    return f"a webhook of {format_instant(at)} names this {subject}; run extract --reread"


def _finding(
    name: str, severity: str, record_id: str | None, month: str, detail: str
) -> dict[str, Any]:
    return {
        "check_name": name,
        "severity": severity,
        "record_id": record_id,
        "month": month,
        "currency": None,
        "detail": detail,
    }
