"""Every command works on a lake in a bucket, and from a machine that has no copy of it yet."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import svc_analytics as svc
from svc_analytics import LakeBusy, Lakehouse, backup, restore, verify_backup, verify_statement
from svc_analytics.backups.targets import BucketTarget
from svc_analytics.files import cache_folder
from svc_analytics.lake.lake import Lake
from svc_analytics.sandbox import Running
from tests.support import buckets
from tests.support.altered import flip, kept, restored
from tests.support.buckets import MemoryStore, keys_in
from tests.support.closings import Closer
from tests.support.desks import Desk, Run
from tests.support.fake_service import FakeService
from tests.support.publishing import after, before, read_all
from tests.support.rings import rings
from tests.support.sandboxes import sandbox

URL = "s3://commands/finance/lake"
OCTOBER = f"{URL}/statements/2026-10"


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with sandbox(3, 2, 120) as running:
        yield running


@pytest.fixture
def call(run, service, server, monkeypatch) -> Run:
    """Run a command line as on a machine with these settings, and an empty cache."""
    for name, value in (service.environment | {"SVC_DATA_DIR": URL}).items():
        monkeypatch.setenv(name, value)
    return run


@pytest.fixture(scope="module")
def made() -> list[str]:
    """Of the lake in the bucket, what was said of its close: it is made once."""
    return []


@pytest.fixture
def closed(made, call, server) -> Run:
    """A lake whose October is closed, seen from another machine than the one that closed it."""
    if not made:
        server.make_bucket("commands")
        assert call("extract").code == 0
        made.append(call("close", "--month", "2026-10", "--format", "csv").out)
    return call


def test_a_month_is_closed_into_a_bucket(closed, made):
    """The register, and one object that is put once."""
    assert made[0].startswith("2026-10 sealed as ")
    keys = buckets.keys_in("commands")
    assert {"finance/lake/statements/2026-10.zip", "finance/lake/lake.json"} <= keys
    assert not any(key.endswith((".duckdb", ".lock", ".hashes", ".run")) for key in keys)


READING = {
    "status": (("status",), 0, f"lake      {URL}"),
    "sql": (("sql", "--csv", "select count(*) as n from payments"), 0, "n\n"),
    "check": (("check",), 0, ""),
    "figures": (("figures",), 0, "gross_sales"),
    "statement": (("statement", "--month", "2026-10"), 0, "status: sealed"),
    "explain": (
        ("statement", "--month", "2026-10", "--explain", "gross_sales", "--currency", "btc"),
        0,
        "gross_sales",
    ),
    "compare": (("compare", "2026-09", "2026-10"), 0, "2026-10"),
    "verify": (("statement-verify", OCTOBER), 0, " holds: the files and the lake agree"),
    "diff": (("statement-diff", OCTOBER, f"{OCTOBER}.zip"), 0, ""),
    "package": (("package", "2026-10"), 0, " is packed into 2026-10.zip"),
    "views": (("views",), 0, "fees_monthly"),
    "close again": (("close", "--month", "2026-10"), 0, "was sealed before and is unchanged"),
    "receipts": (("receipts", "verify"), 0, "verdict,reason"),
}


@pytest.mark.usefixtures("no_printer")
@pytest.mark.parametrize("name", rings(["sql"], READING))
def test_a_command_works_from_a_machine_without_a_copy(name, closed):
    words, code, said = READING[name]
    done = closed(*words)
    assert (done.code, done.err if done.code else "") == (code, "") and said in done.out


@pytest.mark.thorough
def test_a_copy_that_was_damaged_on_its_way_is_got_again(closed):
    """A bit that turned in transit or on this disk stops one command, and no other."""
    assert closed("status").code == 0
    [path] = cache_folder().rglob("payments/2026-10.parquet")
    times = path.stat()
    flip(path, times.st_size // 3)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    count = ("sql", "--csv", "select sum(amount) as n from payments")
    first, second = closed(*count), closed(*count)
    assert first.code == 1 and "was removed: run the command again" in first.err
    assert second.code == 0 and second.out.startswith("n\n")


@pytest.mark.thorough
def test_a_lake_of_a_folder_is_moved_into_a_bucket(call, server, monkeypatch, tmp_path):
    """As the page says, name by name; its sealed statement is a folder there, and holds."""
    server.make_bucket("moved")
    monkeypatch.setenv("SVC_DATA_DIR", str(tmp_path / "data"))
    assert call("extract").code == 0
    assert call("close", "--month", "2026-10").code == 0
    buckets.copy(tmp_path / "data", "moved", "lake")
    monkeypatch.setenv("SVC_DATA_DIR", "s3://moved/lake")
    done = call("statement-verify", "s3://moved/lake/statements/2026-10")
    assert done.code == 0 and " holds: the files and the lake agree" in done.out
    again = call("close", "--month", "2026-10")
    assert again.code == 0 and "was sealed before and is unchanged" in again.out
    assert "lake/statements/2026-10/manifest.json" in buckets.keys_in("moved")


def test_a_balance_that_is_typed_in_is_seen_by_every_machine(closed, monkeypatch, tmp_path):
    assert closed("assert", "2026-11-01", "btc", "1", "--note", "seen by Sara").code == 0
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "another machine"))
    lake = svc.open_lake(URL)
    assert lake.exists and "seen by Sara" in (lake.path / "assertions.csv").read_text()


def test_deliveries_are_compared_with_a_lake_in_a_bucket(closed, tmp_path):
    """Whatever they are: the lake is found."""
    line = {"received_at": "2026-11-20T12:00:00Z", "signature": "t=1,v1=00", "body_base64": "e30="}
    log = tmp_path / "log.ndjson"
    log.write_text(json.dumps(line) + "\n")
    done = closed("webhooks", "verify", str(log))
    assert "line_no,event_id" in done.out and "no lake in" not in done.err


@pytest.mark.thorough
def test_a_notebooks_process_opens_the_copy_as_the_bucket(closed):
    """A kernel is told the folder alone; what it writes goes to the bucket all the same."""
    assert closed("status").code == 0
    folder = svc.open_lake(URL).path
    script = f"import svc_analytics as svc; print(svc.open_lake({str(folder)!r}))"
    command = [sys.executable, "-c", script]
    told = subprocess.run(command, capture_output=True, check=True, text=True)
    assert URL in told.stdout


def test_a_bucket_that_breaks_conditions_gets_no_lake(call, server, monkeypatch):
    """Exit 2, the store's name, and nothing was written."""
    server.make_bucket("careless")
    monkeypatch.setenv("SVC_DATA_DIR", "s3://careless/lake")
    server.fault = buckets.ignores("If-Match")
    done = call("extract")
    assert done.code == 2 and "s3://careless/lake: this store cannot hold a lake" in done.err
    assert buckets.keys_in("careless") == set()


def test_a_bucket_that_is_not_there_is_told_in_one_line(call):
    done = call("status", "--data-dir", "s3://nowhere/lake")
    assert done.code == 2 and "s3://nowhere/lake: there is no such bucket" in done.err
    assert len(done.lines) == 1


def test_an_empty_bucket_holds_no_lake(call, server):
    server.make_bucket("empty")
    done = call("status", "--data-dir", "s3://empty/lake")
    assert done.code == 1 and "no lake in s3://empty/lake: run svc-analytics extract" in done.err


YEAR = [f"2025-{number:02}" for number in range(1, 13)]
LEDGER = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2025-01-10T09:00
 payment  btc       2       0.02  2025-12-10T09:00
 payment  btc       7       0.07  2026-01-10T09:00
"""


@pytest.mark.thorough
def test_a_year_sealed_in_a_bucket_names_its_twelve_seals(url, settings, monkeypatch, tmp_path):
    """3 + 2 btc were sold in 2025. A machine without a copy verifies the year, and states it."""
    desk = Desk(
        FakeService(now=datetime(2026, 11, 20, tzinfo=UTC)), replace(settings), Lakehouse(url)
    )
    closer = Closer(desk)
    closer.serve(LEDGER)
    for label in (*YEAR, "2025"):
        assert closer.close(label).state == "sealed", label
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "another"))
    lake = Lakehouse(url)
    lake.refresh()
    folder = lake.path / "statements" / "2025"
    facts = json.loads((folder / "manifest.json").read_text())
    assert [each["label"] for each in facts["month_seals"]] == YEAR
    assert verify_statement(folder, lake).holds
    assert svc.statement(lake, "2025").summary["gross_sales"].tolist() == [5]
    assert verify_statement(folder, lake, earlier=folder.parent / "chain.json").holds
    keys = keys_in(url.split("/")[2])
    assert {"lake/statements/2025.zip", "lake/statements/chain.json"} <= {*keys}


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("backup") / "data"
    read_all(folder, before())
    for name in ("books.toml", "statements/2026-10@Asia-Tehran/a b é مهر #%41.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "secret").touch(0o600)
    return folder


def test_a_backup_in_a_bucket_is_restored_and_the_older_one_too(filled, url, tmp_path):
    """Each object is a plain file of the lake; damage is found there too."""
    shutil.copytree(filled, tmp_path / "data")
    lake, old = Lake(tmp_path / "data"), kept(filled)
    first = backup(lake, url, progress=False)
    read_all(lake.path, after())
    (lake.path / "books.toml").unlink()
    second = backup(lake, url, progress=False)
    assert first.copied and 0 < len(second.copied) < len(old) and second.gone == ("books.toml",)
    assert restored(url, tmp_path / "new") == kept(lake.path)
    assert restored(url, tmp_path / "new", first.name) == old
    assert (tmp_path / "data" / "secret").stat().st_mode & 0o777 == 0o600
    assert verify_backup(url, progress=False).problems == ()
    bucket = url.split("/")[2]
    assert {f"lake/lake/{name}" for name in kept(lake.path)} <= buckets.keys_in(bucket)
    buckets.copy_object(bucket, "lake/lake/lake.json", "lake/lake/payments/2026-10.parquet")
    problems = verify_backup(url, progress=False).problems
    assert [path for _, path, _ in problems] == ["payments/2026-10.parquet"]


def test_a_lake_in_a_bucket_is_backed_up_and_restored_into_a_folder(filled, url, tmp_path):
    """As its objects are now."""
    buckets.copy(filled, url.split("/")[2], "lake")
    backup(Lake(url), tmp_path / "backups", progress=False)
    restore(tmp_path / "backups", tmp_path / "new", progress=False)
    found, wanted = kept(tmp_path / "new"), kept(filled)
    assert found == {name: body for name, body in wanted.items() if name in found}
    assert wanted.keys() - found.keys() <= {"secret"}  # no object of a lake in a bucket


def test_two_backups_at_once_in_one_bucket_are_75():
    """Whoever was killed holds the lease for a minute; an error gives it back."""
    store = MemoryStore()
    one, other = (BucketTarget("s3://bucket/backups", store) for _ in range(2))
    with one.writing(), pytest.raises(LakeBusy, match="try again later"), other.writing():
        pass
    with pytest.raises(ValueError, match="of the work"), one.writing():
        raise ValueError("of the work")
    with other.writing():
        pass
