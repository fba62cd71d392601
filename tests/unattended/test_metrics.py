"""Metrics of runs and of the lake, as Prometheus reads them; and what the doctor says of seals."""

import json
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from svc_analytics.api.responses import RetryableError, raise_api_error
from svc_analytics.errors import Unavailable
from svc_analytics.extraction import update
from svc_analytics.instants import DAY, now
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.unattended import metrics
from svc_analytics.unattended.notices import overdue
from tests.support.fake_service import MERCHANT_ID, payment

FILE = Path("out.prom")
TEHRAN = ("--calendar", "jalali", "--zone", "Asia/Tehran")


def measured() -> dict[tuple[str, ...], float]:
    """Every value by its name and the values of its labels, but those that all have."""
    samples = [
        each
        for family in text_string_to_metric_families(FILE.read_text())
        for each in family.samples
    ]
    lakes = {(each.labels.pop("lake"), each.labels.pop("merchant")) for each in samples}
    assert lakes == {(str(Path("data").absolute()), MERCHANT_ID)}
    return {
        (each.name.removeprefix("svc_analytics_"), *each.labels.values()): each.value
        for each in samples
    }


def test_a_run_is_measured_with_its_lake(call, closer, monkeypatch):
    """A run that fails keeps when the last one succeeded; the ledger has three months."""
    monkeypatch.setenv("SVC_METRICS_FILE", str(FILE))
    assert call("extract").code == 0
    first = measured()
    assert first["rows", "payments"] == 3 and first["rows", "payout_records"] == 2
    assert first["months_due", "gregorian", "yes", "UTC"] == 3
    assert first["lag_seconds", "payments"] > 0
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


def test_a_seal_by_another_calendar_hides_no_month(call, closer, monkeypatch):
    """What the schedule closes alarms; the other is counted and shown, and alarms nobody."""
    monkeypatch.setenv("SVC_METRICS_FILE", str(FILE))
    monkeypatch.setenv("SVC_PATIENCE", "1")  # its service is not there
    monkeypatch.setattr(metrics, "_of_records", lambda lake: {})  # which takes long
    closer.sealed("2026-08")
    assert call("close", "1405-07", *TEHRAN).code == 0
    utc, jalali = ["2026-09", "2026-10"], ["1405-05", "1405-06"]

    def shown() -> tuple[list[str], list[tuple[str, str, str]]]:
        """What `status` says is due, and how many of each are by the metrics."""
        found = json.loads(call("status", "--json").out)
        names = {each["zone"]: each["calendar"] for each in found["months"]}
        assert names == {"UTC": "gregorian", "Asia/Tehran": "jalali"}
        due = [each["label"] for each in found["due"] if each["label"] != "1405-08"]
        return due, [key[1:] for key in measured() if key[0] == "months_due"]

    usual, other = ("gregorian", "yes", "UTC"), ("jalali", "no", "Asia/Tehran")
    assert shown() == ([*utc, *jalali], [usual, other])
    text = call("status").out
    assert "months    gregorian, UTC" in text and "months    jalali, Asia/Tehran" in text
    points = {line for line in call("doctor").out.splitlines() if " months: " in line}
    assert {line.split(":")[0] for line in points} == {"wrong months", "note months"}
    assert any(", ".join(utc) in line for line in points)
    assert any("close --all-due --zone Asia/Tehran --calendar jalali" in line for line in points)
    [late] = overdue(Lakehouse("data"), now() + 30 * DAY, "UTC", "gregorian")
    assert "1405" not in late.subject
    monkeypatch.setenv("SVC_CLOSE_ZONE", "Asia/Tehran")
    monkeypatch.setenv("SVC_CLOSE_CALENDAR", "jalali")
    assert call("extract").code == 0
    usual, other = ("gregorian", "no", "UTC"), ("jalali", "yes", "Asia/Tehran")
    assert shown() == ([*jalali, *utc], [other, usual])
    monkeypatch.setenv("SVC_CLOSE_ZONE", "Asia/Teheran")
    assert shown()[0] == [*utc, *jalali]


def test_a_file_that_cannot_be_written_is_a_warning_that_names_its_setting(call, monkeypatch):
    """And no exception of Python's."""
    monkeypatch.setenv("SVC_METRICS_FILE", "none/out.prom")
    done = call("extract")
    [warning] = [line for line in done.lines if "warning" in line]
    assert done.code == 0 and "SVC_METRICS_FILE was not written: " in warning
    assert "No such file or directory" in warning and "Error" not in warning


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


# ---------- how the doctor finds a lake whose months are sealed


def lines(call, *names: str) -> list[str]:
    """The doctor's lines of some names."""
    found = call("doctor").out.splitlines()
    return [line for line in found if line.partition(":")[0].split()[-1] in names]


def test_a_sealed_month_that_changed_or_was_altered_is_wrong(call, closer, monkeypatch):
    """It is over, and has a seal, and still a person should look."""
    monkeypatch.setenv("SVC_PATIENCE", "1")  # its service is not there
    closer.closed("2026-08", "2026-09", "2026-10")
    assert lines(call, "months", "seals") == [
        "well months: every month that is over is sealed, and holds"
    ]
    table = Path("data/statements/2026-09/summary.csv")
    content = table.read_bytes()
    table.write_bytes(content.replace(b"2", b"3", 1))
    [wrong] = lines(call, "months", "seals")
    assert wrong.startswith("wrong seals: 2026-09 is sealed, and ") and "summary.csv" in wrong
    table.write_bytes(content)
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.desk.extract(rereads=True)
    [wrong] = lines(call, "months", "seals")
    assert wrong.startswith("wrong seals: 2026-10 is sealed, and changed since it was sealed")
