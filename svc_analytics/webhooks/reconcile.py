"""Reconcile a log of webhook deliveries with the lake: which records does it lack?

The service repeats an event for about a day. So a record is missing when the lake covers
the whole day before the delivery and does not hold the record.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import check_path
from svc_analytics.config import read_settings
from svc_analytics.coverage import Coverage, difference
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import DAY, HOUR, format_instant, from_micros
from svc_analytics.lake.index.month_index import MonthIndex, SoughtTexts
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, clauses, json_of, translated
from svc_analytics.periods import Period, month_of
from svc_analytics.schema import STREAMS
from svc_analytics.signing.secrets import Secrets, SigningSecret, parse_ring
from svc_analytics.signing.webhooks import WEBHOOK_TOLERANCE
from svc_analytics.warehouse.acknowledgements import content_of
from svc_analytics.warehouse.models import CountedText
from svc_analytics.warehouse.sources import Sources
from svc_analytics.warehouse.warehouse import open_warehouse
from svc_analytics.webhooks import delivery_log

if TYPE_CHECKING:
    import pandas as pd

BATCH = 50_000
# Contract, Delivery 2: retries over roughly 24 hours; an hour more for "roughly".
RETRY_HORIZON = DAY + HOUR
LONGEST_FACT = 200  # characters of a differing fact that are shown
OUTPUT = pa.schema(
    [
        ("line_no", pa.int64()),
        ("event_id", pa.string()),
        ("event_type", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("subject", pa.string()),
        ("record_id", pa.string()),
        ("in_lake", pa.bool_()),
        ("differences", pa.string()),
    ]
)
_STREAM_OF = {"payment": "payments", "payout": "payout_records"}
_Key = tuple[str, str]  # a stream, and the id of a record of it
_Record = dict[str, str | None]
_MODELS = frozenset({"stg_files", "stg_spans", "stg_quarantine"})  # no rows of month files


@dataclass(frozen=True)
class ReconciledDelivery:
    """A webhook delivery, and whether the lake holds, or should hold, its record."""

    delivery: delivery_log.WebhookDelivery
    in_lake: bool | None = None
    is_missing: bool = False
    note: Message | None = None
    differences: str | None = None  # where the event contradicts the record, as JSON

    def to_row(self) -> dict[str, Any]:
        """Return the delivery as a row of `OUTPUT`."""
        row = {name: getattr(self.delivery, name, None) for name in OUTPUT.names}
        reason = clauses(self.delivery.reason, *filter(None, [self.note]))
        return row | {"in_lake": self.in_lake, "reason": reason, "differences": self.differences}


def reconcile(
    source: delivery_log.Lines, lake: Lake | None, ring: Sequence[SigningSecret]
) -> Iterator[list[ReconciledDelivery]]:
    """Yield the deliveries of a log in batches, reconciled with a lake; without one as they are."""
    deliveries = delivery_log.read_deliveries(source, ring)
    batches = iter(lambda: list(islice(deliveries, BATCH)), [])
    if lake is None or not lake.exists:
        yield from ([ReconciledDelivery(delivery) for delivery in batch] for batch in batches)
        return
    with open_warehouse(lake, _MODELS) as warehouse:
        rows = warehouse.query("select distinct stream, record_id from stg_quarantine").to_pylist()
        quarantined = {(row["stream"], row["record_id"]) for row in rows}
        held = _HeldRecords(warehouse.sources, quarantined, warehouse.coverage())
        yield from map(held.match, batches)


def to_table(deliveries: Iterable[ReconciledDelivery]) -> pa.Table:
    """Return reconciled deliveries as a table of `OUTPUT`."""
    return pa.Table.from_pylist([item.to_row() for item in deliveries], schema=OUTPUT)


def verify_webhooks(
    path_or_lines: delivery_log.Lines,
    lake: Lake | str | os.PathLike[str] | None = None,
    secrets: Secrets | None = None,
) -> pd.DataFrame:
    """Verify a saved log of webhook deliveries; return a frame with a verdict on each.

    The log is a file's path, or its lines: JSON objects of received_at, signature and
    body_base64. `secrets` are texts as in SVC_WEBHOOK_SECRETS, newest first, by default those
    of the settings.

    Returns:
        A frame with a row per delivery: line_no, event_id, event_type, verdict, reason,
        subject, record_id, in_lake, differences (where the event says something else than the
        record). Without a `lake`, `in_lake` is empty.

    Raises:
        ConfigError: when there is no secret or no file.
        LakeError: when a file of the lake was altered.

    Examples:
        >>> svc.verify_webhooks("webhooks.ndjson", "data")  # doctest: +SKIP
    """
    if not isinstance(path_or_lines, Iterable):
        check_path("path_or_lines", path_or_lines, "webhooks.ndjson")
    ring = read_settings().webhook_secrets if secrets is None else parse_ring(secrets)
    lake = lake if lake is None or isinstance(lake, Lake) else Lake(lake)
    tables = [to_table(batch) for batch in reconcile(path_or_lines, lake, ring)]
    return to_frame(pa.concat_tables([OUTPUT.empty_table(), *tables]))


@dataclass(frozen=True)
class _HeldRecords:
    """What the lake holds, and what it should: which of both an event names."""

    sources: Sources
    quarantined: set[_Key]
    coverage: dict[str, Coverage]

    def match(self, batch: Sequence[delivery_log.WebhookDelivery]) -> list[ReconciledDelivery]:
        """Reconcile deliveries, all at once."""
        keys = [
            (_STREAM_OF[item.subject or ""], item.record_id or "") if item.names_money else None
            for item in batch
        ]
        held = self._held({key for key in keys if key})
        return [
            self._classify(item, key, held.get(key)) if key else ReconciledDelivery(item)
            for item, key in zip(batch, keys, strict=True)
        ]

    def _held(self, keys: set[_Key]) -> dict[_Key, _Record]:
        """Return the lake's records that events name; no other row is read.

        They are looked for in the newest months first, for a log is mostly of those.
        """
        records: dict[_Key, _Record] = {}
        for name, footers in self.sources.footers.items():
            wanted = sorted(record_id for stream, record_id in keys if stream == name)
            texts = SoughtTexts.of(pa.chunked_array([wanted], pa.string()))
            index = MonthIndex(self.sources.lake, STREAMS[name], self.sources.folder)
            known = {column.name for column in STREAMS[name].columns}
            columns = ["id", *(fact for fact in delivery_log.FACTS if fact in known)]
            for _, rows in index.rows_by_month(sorted(footers, reverse=True), "id", texts, columns):
                records |= {(name, row["id"]): row for row in rows.to_pylist()}
        return records

    def _classify(
        self, item: delivery_log.WebhookDelivery, key: _Key, record: _Record | None
    ) -> ReconciledDelivery:
        if record is not None:
            differences = _differences(item, record)
            note = Message("webhook.contradicts") if differences else None
            return ReconciledDelivery(item, True, False, note, differences)
        if key in self.quarantined:
            return ReconciledDelivery(item, False, True, Message("webhook.in_quarantine"))
        at = item.received_at or 0
        day = (at - RETRY_HORIZON, at + WEBHOOK_TOLERANCE)
        if difference([day], self.coverage[key[0]].complete):
            return ReconciledDelivery(item, False, False, Message("webhook.unread"))
        return ReconciledDelivery(item, False, True, Message("webhook.missing"))


def _differences(item: delivery_log.WebhookDelivery, record: _Record) -> str | None:
    """Return as JSON where an event says something else than the record, with both values."""
    values = {
        name: {"event": said[:LONGEST_FACT], "record": held[:LONGEST_FACT]}
        for name, said in item.facts.items()
        if (held := record.get(name)) is not None and held != said
    }
    return json.dumps(values, ensure_ascii=False) if values else None


# ---------- Findings of a statement from a log of webhook deliveries, and counts of the log


MISSING = "webhook_names_a_record_the_lake_lacks"
NOT_VALID = "webhook_log_is_not_valid_throughout"
COUNTED_TEXTS = {
    MISSING: CountedText(
        "record that a webhook names is not in the lake",
        "records that webhooks name are not in the lake",
    ),
    NOT_VALID: CountedText(
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
            "not_valid": sum(self._verdicts[name] for name in delivery_log.INVALID),
            "events": self._events.total(),
            "in_lake": self._events[True],
            "missing": len(self._own_missing),
        }

    def findings(self, name: str) -> list[dict[str, Any]]:
        """Return a blocking finding per missing record, an advisory one on invalid deliveries."""
        rows = [
            _finding(MISSING, record_id, at, _named(subject, at), content_of(subject, record_id))
            for (subject, record_id), at in self._own_missing
        ]
        if bad := self.counts["not_valid"]:
            total = f"{self._verdicts.total():,}"
            detail = Message("finding.deliveries", bad=f"{bad:,}", total=total, name=name)
            content = content_of(bad, self._verdicts.total())
            rows.append(_finding(NOT_VALID, None, self._period.start, detail, content))
        return rows

    @property
    def _own_missing(self) -> list[tuple[tuple[str | None, str | None], int]]:
        items = sorted(self._missing.items(), key=str)
        return [(key, at) for key, at in items if self._concerns(at)]

    def _concerns(self, at: int) -> bool:
        return at - RETRY_HORIZON < self._period.end and self._period.start <= at


def _named(subject: str | None, at: int) -> Message:
    return Message("finding.webhook", instant=format_instant(at), subject=translated(str(subject)))


def _finding(
    name: str, record_id: str | None, at: int, detail: Message, content: str
) -> dict[str, Any]:
    return {
        "check_name": name,
        "severity": "blocking" if name == MISSING else "advisory",
        "record_id": record_id,
        "month": month_of(at).label,
        "currency": None,
        "detail": detail,
        "message": json_of(detail),
        "seen_at": from_micros(at),
        "content": content,
    }
