"""Metrics of runs and of the lake, as Prometheus reads them."""

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from svc_analytics.api.responses import RetryableError, raise_api_error
from svc_analytics.errors import Unavailable
from svc_analytics.extraction import update
from svc_analytics.unattended import metrics

FILE = Path("out.prom")


def measured() -> dict[tuple[str, ...], float]:
    """Every value by its name and the values of its labels."""
    families = text_string_to_metric_families(FILE.read_text())
    return {
        (sample.name.removeprefix("svc_analytics_"), *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


def test_a_run_is_measured_with_its_lake(call, closer, monkeypatch):
    """A run that fails keeps when the last one succeeded; the ledger has three months."""
    monkeypatch.setenv("SVC_METRICS_FILE", str(FILE))
    assert call("extract").code == 0
    first = measured()
    assert first["rows", "payments"] == 3 and first["rows", "payout_records"] == 2
    assert first["months_due",] == 3 and first["lag_seconds", "payments"] > 0
    assert first["receipts", "missing"] + first.get(("receipts", "not_checked"), 0) == 3
    assert first["last_exit_code", "extract"] == 0
    assert first["last_refused_calls", "extract", "429"] == 0
    monkeypatch.setattr(update, "extract", lambda *_, **__: _away())
    monkeypatch.setattr(metrics, "_of_records", lambda lake: {})  # counted again, which takes long
    assert call("extract").code == 75
    second = measured()
    name = ("last_success_timestamp_seconds", "extract")
    assert second["last_exit_code", "extract"] == 75 and second[name] == first[name]
    refused = ("last_refused_calls", "extract", "503")
    assert (first[refused], second[refused]) == (0, 1)
    assert second["last_run_timestamp_seconds", "extract"] > first[name]


def _away() -> None:
    with suppress(RetryableError):
        raise_api_error(503, {}, b"", "/payments")
    raise Unavailable("the service is away")


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool")
def test_prometheus_accepts_the_file(call, closer, monkeypatch):
    """By its own tool."""
    monkeypatch.setenv("SVC_METRICS_FILE", str(FILE))
    call("extract")
    words = ["promtool", "check", "metrics"]
    done = subprocess.run(words, input=FILE.read_bytes(), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
