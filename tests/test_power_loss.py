"""Power cuts: what a run has published is safe, and what is torn is found and read anew."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from desks import Desk
from fake_service import FakeService, payout, spread
from simulation.disk import Disk

from svc_analytics.config import Settings
from svc_analytics.warehouse import AnalyticLake

CUTS = range(6)


@pytest.fixture
def desk(service: FakeService, settings: Settings, tmp_path: Path) -> Desk:
    """A desk whose lake does not exist yet, in a folder that is all of a disk."""
    start = datetime(2026, 9, 25, tzinfo=UTC)
    service.payments = spread(60, start, timedelta(hours=20))
    service.payments[7]["amount"] = "1e3"  # goes to the quarantine
    service.payouts = [payout(n, "2026-10-05T00:00:00Z") for n in range(3)]
    (tmp_path / "disk").mkdir()
    return Desk(service, settings, AnalyticLake(tmp_path / "disk" / "deep" / "data"))


def disk_of(desk: Desk) -> Path:
    return desk.lake.path.parents[1]


def rows_beside(desk: Desk, folder: str) -> int:
    files = (desk.lake.path / folder).glob("*.parquet")
    return sum(pq.read_metadata(path).num_rows for path in files)


def restate(desk: Desk) -> None:
    """Change a payment, so that the next run keeps its older version."""
    desk.service.payments[20]["amount"] = "11"


@pytest.mark.parametrize("seed", CUTS)
def test_a_power_cut_takes_nothing_of_a_run_that_is_over(desk: Desk, seed: int) -> None:
    """G1: rows, quarantine and older versions are safe, and so are the folders they lie in."""
    disk = Disk(disk_of(desk))
    with disk.installed():
        desk.extract()
        restate(desk)
        desk.extract(rereads=True)
    disk.lose_power(random.Random(seed))
    assert len(desk.ids()) == len(desk.service.payments) - 1
    assert rows_beside(desk, "quarantine/payments") == rows_beside(desk, "changes/payments") == 1
