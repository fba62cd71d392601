"""Extraction killed at random moments, as a real process over a real socket."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from svc_analytics.instants import to_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.sandbox.core.behaviour import Quirks
from svc_analytics.sandbox.core.clock import Clock
from svc_analytics.sandbox.past.scenario import Scenario
from svc_analytics.sandbox.resources.seed import seed
from svc_analytics.sandbox.resources.service import Service
from svc_analytics.sandbox.server import Running, serve
from svc_analytics.sandbox.state.store import Store
from tests.support.rings import rings
from tests.support.served import check_all, check_claims

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
# This machine's clock is the service's.
AGREE = f"""
from svc_analytics.extraction import clock
clock.machine_clock = lambda: {to_micros(NOW)}
"""
# Publishes after every page, so that most kills fall near or into a publication.
EXTRACT = f"""{AGREE}
from svc_analytics.extraction import workers
workers.BUFFER_LIMIT = 1
from svc_analytics.cli.app import main
main()
"""


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with Store() as store:
        seed(store, Scenario(seed=5, months=3, payments=900, until=to_micros(NOW)))
        yield Service(store, Clock(to_micros(NOW)), Quirks(page_size=25))


@pytest.fixture(scope="module")
def running(service: Service) -> Iterator[Running]:
    with serve(service) as running:
        yield running


def start_extract(running: Running, folder: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", EXTRACT, "extract", "--data-dir", str(folder)]
    environment = os.environ | running.environment
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize("times", rings([4], [20]))
def test_killed_at_any_moment_nothing_is_lost_and_nothing_doubled(
    service: Service, running: Running, tmp_path: Path, times: int
) -> None:
    """After every kill -9 the lake claims only what it holds, and the next run completes it."""
    chance, kills, folder = random.Random(20), 0, tmp_path / "data"
    while kills < times:
        process = start_extract(running, folder)
        try:
            process.communicate(timeout=chance.uniform(0.5, 1.6))
            assert process.returncode == 0
            shutil.rmtree(folder)  # it was done before the kill: begin again
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
        check_claims(Lake(folder), service)
    process = start_extract(running, folder)
    told = process.communicate()[1].decode()
    assert process.returncode == 0
    # At most it tells of what a killed run had saved beside the lake.
    assert all("are published now" in line for line in told.splitlines()), told
    check_all(Lake(folder), service)
    assert not list(folder.rglob(".*.writing")) and not list(folder.glob(".snapshot-*"))
