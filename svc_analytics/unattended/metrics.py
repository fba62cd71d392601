"""Metrics of runs and of their lake, as a text that Prometheus reads from a file."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from svc_analytics.closing.acceptances import breaches
from svc_analytics.closing.due import Reckoning, reckonings
from svc_analytics.errors import needs_extra
from svc_analytics.files import atomic_write
from svc_analytics.instants import SECOND, now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.status import lake_status
from svc_analytics.render.findings import shown_findings
from svc_analytics.unattended.notices import CommandState, months_unsealed
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import count

Sample = tuple[Mapping[str, str], float]  # labels, and the value
_RECEIPTS = "select verdict, count(*) from receipt_status group by verdict"
_REFUSALS = ("401", "403", "429", "503")  # those of the contract are there before they come
_ABOUT = {
    "last_success_timestamp_seconds": "When a command last ended with 0 or 3.",
    "last_run_timestamp_seconds": "When a command last ended.",
    "last_exit_code": "With which exit code a command last ended.",
    "last_duration_seconds": "How long its last run took.",
    "last_refused_calls": "Calls of its last run that the service refused, by status.",
    "rows": "Records of a stream in the lake.",
    "lag_seconds": "How long ago the time ends up to which a stream was read.",
    "months_due": "Months that are over and not sealed.",
    "findings": "Findings in the lake by severity.",
    "receipts": "Payments by what became of their receipt.",
}


def write_metrics(
    path: Path,
    lake: Lake,
    commands: Mapping[str, CommandState],
    scheduled: Reckoning | None = None,
) -> None:
    """Replace the file of metrics in one step; of a lake that cannot be read, those of runs."""
    samples, merchant = _of_runs(commands), ""
    try:
        if lake.exists:
            merchant = lake.merchant_id
            samples |= _of_streams(lake) | _of_records(lake)
            samples["months_due"] = _of_months(lake, scheduled)
    finally:
        of_lake = {"lake": lake.place, "merchant": merchant}
        with atomic_write(path) as temporary:
            temporary.write_bytes(_text(samples, of_lake))
            temporary.chmod(0o644)  # its reader is another user


def _of_months(lake: Lake, scheduled: Reckoning | None) -> list[Sample]:
    """Return the counts of months by zone and calendar, told by whether the schedule closes it."""
    first, *others = reckonings(lake, scheduled)
    samples: list[Sample] = []
    for zone, calendar in (first, *others):
        is_first = "yes" if (zone, calendar) == first else "no"
        label = {"zone": zone, "calendar": calendar, "scheduled": is_first}
        samples.append((label, len(months_unsealed(lake, now(), 0, zone, calendar))))
    return samples


def _of_runs(commands: Mapping[str, CommandState]) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {}
    for name, one in commands.items():
        facts = {
            "last_success_timestamp_seconds": _seconds(one.succeeded_at),
            "last_run_timestamp_seconds": _seconds(one.ended_at),
            "last_exit_code": one.exit_code,
            "last_duration_seconds": _seconds(one.duration),
        }
        for metric, value in facts.items():
            if value is not None:
                samples.setdefault(metric, []).append(({"command": name}, value))
        for status, number in {**dict.fromkeys(_REFUSALS, 0), **one.refused}.items():
            label = {"command": name, "status": status}
            samples.setdefault("last_refused_calls", []).append((label, number))
    return samples


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / SECOND


def _of_streams(lake: Lake) -> dict[str, list[Sample]]:
    """Return rows and lag; a stream that was never read has no lag."""
    streams = lake_status(lake).streams
    rows: list[Sample] = [({"stream": each.name}, each.rows) for each in streams]
    ends = {each.name: each.coverage.read[-1][1] for each in streams if each.coverage.read}
    lags: list[Sample] = [({"stream": name}, (now() - end) / SECOND) for name, end in ends.items()]
    return {"rows": rows, "lag_seconds": lags}


def _of_records(lake: Lake) -> dict[str, list[Sample]]:
    """Return the counts of findings, to which every rule is applied, and of receipts."""
    severities = Counter(shown_findings(breaches(lake))["severity"].to_pylist())
    verdicts = count(lake, models_used_by(_RECEIPTS), lambda views: views.query(_RECEIPTS))
    pairs = zip(*(column.to_pylist() for column in verdicts.columns), strict=True)
    return {
        "findings": [({"severity": name}, number) for name, number in severities.items()],
        "receipts": [({"verdict": name}, number) for name, number in pairs],
    }


def _text(samples: Mapping[str, list[Sample]], of_lake: Mapping[str, str]) -> bytes:
    """Return samples in the form of Prometheus, by its own library, each with its lake."""
    with needs_extra("metrics"):
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    registry = CollectorRegistry()
    for metric, each in samples.items():
        labels = [*of_lake, *sorted({label for labelled, _ in each for label in labelled})]
        gauge = Gauge(f"svc_analytics_{metric}", _ABOUT[metric], labels, registry=registry)
        for labelled, value in each:
            gauge.labels(**of_lake, **labelled).set(value)
    return generate_latest(registry)
