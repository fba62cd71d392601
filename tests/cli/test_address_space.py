"""Little memory (H6): real processes under `ulimit -v`, large records, and what is said."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.cli.address_space import is_out_of_memory
from svc_analytics.files import damaged_file
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY, FakeService, ids, spread
from tests.support.loopback import on_a_socket

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits as on Linux")

MEGABYTE = 1_000_000
GIBIBYTE = 1 << 30
LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
del sys.argv[1]
from svc_analytics.cli.app import main
main()
"""


def extract(url: str, lake: Path, most: int) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {
        "SVC_BASE_URL": url,
        "SVC_CHECKOUT_KEY": CHECKOUT_KEY,
        "SVC_PAYOUT_KEY": PAYOUT_KEY,
    }
    command = [sys.executable, "-c", LIMITED, str(most), "extract", "--data-dir", str(lake)]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.fixture
def large(service) -> FakeService:
    """Two hundred payments with a megabyte of metadata each, ninety on a page."""
    service.payments = spread(200, datetime(2026, 10, 3, tzinfo=UTC), timedelta(hours=3))
    for record in service.payments:
        record["metadata"] = {"note": "x" * MEGABYTE}
    service.page_size = lambda page: 90
    return service


@pytest.mark.thorough
def test_large_records_are_read_in_a_gibibyte(large, tmp_path):
    """Pages of 90 MB are refused, smaller ones asked for, a few kept in memory at a time."""
    large.heeds_limit = True
    with on_a_socket(large) as url:
        done = extract(url, tmp_path / "data", GIBIBYTE)
    assert (done.returncode, done.stderr) == (0, "")
    held = pq.read_table(tmp_path / "data" / "payments" / "2026-10.parquet", columns=["id"])
    assert held["id"].to_pylist() and sorted(held["id"].to_pylist()) == ids(large.payments)


@pytest.mark.thorough
def test_large_pages_of_a_service_that_heeds_no_limit_are_refused(large, tmp_path):
    """One line, no crash, nothing claimed."""
    with on_a_socket(large) as url:
        done = extract(url, tmp_path / "data", GIBIBYTE)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "more than 64 MiB was refused, although only one record was asked for" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("most", [660 << 20, 720 << 20])
def test_memory_that_runs_out_ends_in_a_line(large, tmp_path, most):
    """Where even that is too much: exit code 1 and what to do."""
    with on_a_socket(large) as url:
        done = extract(url, tmp_path / "data", most)
    assert done.returncode in (0, 1) and len(done.stderr.splitlines()) <= 1


def test_a_process_that_may_have_next_to_nothing_says_so(tmp_path):
    """Before the libraries load, which crash there."""
    done = extract("http://127.0.0.1:9", tmp_path / "data", 500 << 20)
    assert done.returncode == 1
    assert done.stderr.startswith("svc-analytics: error: this process may have 500 MiB of memory")


def test_every_way_to_run_out_of_memory_is_known():
    """Python's, Arrow's, and a thread that cannot be started."""
    assert is_out_of_memory(MemoryError()) and is_out_of_memory(pa.ArrowMemoryError("malloc"))
    assert is_out_of_memory(RuntimeError("can't start new thread"))
    assert not is_out_of_memory(RuntimeError("something else"))


def test_a_file_is_not_damaged_because_memory_ran_out(tmp_path):
    """G2: nobody is told to move away a file that is whole."""
    told = damaged_file(tmp_path / "2026-10.parquet", pa.ArrowMemoryError("malloc failed"))
    assert "not enough memory" in str(told) and "move it" not in str(told)
