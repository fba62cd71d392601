"""Power cuts: what a run has published is safe, and what is torn is found and read anew."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from svc_analytics.errors import LakeError
from svc_analytics.instants import to_micros
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.schema import PAYOUT_RECORDS
from tests.simulation.disk import Disk
from tests.simulation.virtual import Killed
from tests.support.desks import Desk
from tests.support.fake_service import ids, payout, spread


@pytest.fixture
def desk(service, settings, tmp_path) -> Desk:
    """A desk whose lake does not exist yet, in a folder that is all of a disk."""
    start = datetime(2026, 9, 25, tzinfo=UTC)
    service.payments = spread(60, start, timedelta(hours=20))
    service.payments[7]["amount"] = "1e3"  # goes to the quarantine
    service.payouts = [payout(n, "2026-10-05T00:00:00Z") for n in range(3)]
    (tmp_path / "disk").mkdir()
    return Desk(service, settings, Lakehouse(tmp_path / "disk" / "deep" / "data"))


def disk_of(desk: Desk) -> Path:
    return desk.lake.path.parents[1]


@contextmanager
def killed_at(disk: Disk, kind: str, path: str) -> Iterator[None]:
    """Kill what runs right after a call of the disk."""

    def fate(number: int, called: str, name: str) -> None:
        if (kind, path) in disk.calls[:-1] or is_dead:
            is_dead.append(True)
            raise Killed

    is_dead: list[bool] = []
    disk.fate = fate
    with disk.installed(), pytest.raises(Killed):
        yield
    disk.fate = lambda *_: None


def restate(desk: Desk) -> None:
    """Change a payment, so that the next run keeps its older version."""
    desk.service.payments[20]["amount"] = "11"


def test_a_killed_run_has_its_months_read_by_the_next(desk):
    """E6, G1: what may be torn is compared with its checksums, named, and read anew once moved.

    The month torn is none that the run would otherwise have looked into.
    """
    disk = Disk(disk_of(desk))
    with killed_at(disk, "replace", "deep/data/payments/2026-11.parquet"):
        desk.extract(workers=1)
    torn = desk.lake.path / "payments" / "2026-10.parquet"
    content = torn.read_bytes()
    torn.write_bytes(content[:200] + bytes(64) + content[264:])
    with pytest.raises(LakeError, match=r"2026-10\.parquet is torn or altered: move it away"):
        desk.extract()
    torn.unlink()
    desk.extract()
    assert desk.ids() == ids(r for r in desk.service.payments if r["amount"] != "1e3")


def test_a_killed_run_has_the_files_beside_its_months_read_too(desk):
    """G1: older versions and what was set aside are evidence: a torn file of them is named."""
    desk.extract()
    restate(desk)
    disk = Disk(disk_of(desk))
    with killed_at(disk, "replace", "deep/data/payments/2026-10.parquet"):
        desk.extract(workers=1, rereads=True)
    torn = next((desk.lake.path / "changes" / "payments").glob("2026*.parquet"))
    torn.write_bytes(bytes(len(torn.read_bytes())))
    with pytest.raises(LakeError, match=rf"{torn.name} is torn or altered: move it away"):
        desk.extract()
    torn.unlink()
    desk.extract()


def test_a_run_that_came_to_its_end_leaves_nothing_to_look_after(desk):
    """The next run reads no month again for it, however long the history."""
    desk.extract()
    assert not (desk.lake.path / ".writer").exists()


def test_time_that_a_power_cut_leaves_proven_by_the_origin_alone_is_not_dropped(desk):
    """G1: of the files of empty months one is gone, and the origin's is as it was before them."""
    desk.service.payouts = []
    desk.extract()
    folder = desk.lake.path / "payout_records"
    origin = (folder / "0000-00.parquet").read_bytes()
    micros = [to_micros(datetime(2026, month, 1, tzinfo=UTC)) for month in (8, 10)]
    desk.extract(start=micros[0], end=micros[1], rereads=True)
    (folder / "2026-09.parquet").unlink()
    (folder / "0000-00.parquet").write_bytes(origin)
    desk.service.payouts = [payout(1, "2026-11-19T00:00:00Z")]
    desk.extract()
    assert len(desk.lake.coverage(PAYOUT_RECORDS).complete) == 1
