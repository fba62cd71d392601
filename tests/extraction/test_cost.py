"""What a run costs grows with what is new, not with what the lake already holds."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from svc_analytics.extraction import paging, workers
from svc_analytics.lake import month_file
from svc_analytics.lake.index import month_index
from svc_analytics.lake.layout import IDS_FOLDER
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.lake.writing.writer import LakeWriter
from svc_analytics.lakehouse import Lakehouse
from tests.support.desks import Desk
from tests.support.fake_service import NOW, ids, payment, spread
from tests.support.prepared import extracted

START = datetime(2026, 1, 3, tzinfo=UTC)


@pytest.fixture
def desk(service, settings, tmp_path) -> Desk:
    """A lake of eleven months, two payments a day, read up to the service's clock."""
    service.payments = spread(643, START, timedelta(hours=12))
    return extracted(Desk(service, settings, Lakehouse(tmp_path / "data")))


@pytest.fixture
def months_read(monkeypatch) -> set[str]:
    """The months whose rows or ids are read from now on, whole or in part."""
    found: set[str] = set()

    def watch(module: Any, name: str, real: Callable[..., Any]) -> None:
        def read(path: Path, *args: Any, **options: Any) -> Any:
            found.add(path.name.removeprefix(".").partition(".")[0])
            return real(path, *args, **options)

        monkeypatch.setattr(module, name, read)

    watch(month_file, "read_groups", month_file.read_groups)
    watch(month_index, "open_groups", month_index.open_groups)
    return found


def grow(desk: Desk) -> None:
    """Let a hundred payments come in within half an hour, and a minute pass."""
    desk.service.now = NOW + timedelta(minutes=1)
    new = datetime(2026, 11, 20, 11, 20, tzinfo=UTC)
    stamps = [new + n * timedelta(seconds=15) for n in range(100)]
    more = [payment(1_000 + n, f"{at:%Y-%m-%dT%H:%M:%SZ}") for n, at in enumerate(stamps)]
    desk.service.payments += more


def test_a_hundred_new_payments_cost_few_requests_and_one_file(desk, file_times):
    """At most eight requests beside the overlap's two pages; of each stream the newest month."""
    before = file_times()
    grow(desk)
    desk.extract()
    assert len(desk.service.requests) <= 8 + 2
    changed = dict(file_times().items() - before.items())
    assert {*changed} == {"payments/2026-11.parquet", "payout_records/2026-11.parquet"}
    assert desk.ids() == ids(desk.service.payments)


def test_months_without_news_are_not_read(desk, months_read):
    """Eleven months are held; only the newest is read, for it is written anew."""
    grow(desk)
    desk.extract()
    assert months_read == {"2026-11"}


def test_a_month_is_written_once_however_often_is_published(
    service, settings, tmp_path, monkeypatch
):
    """One that is still being read waits for its other pages."""
    written: list[str] = []
    publications: list[bool] = []
    write, publish = MonthFiles.write, LakeWriter.publish

    def note_write(self: MonthFiles, label: str, *rest: Any, **more: Any) -> None:
        written.append(f"{self.stream.name} {label}")
        write(self, label, *rest, **more)

    def note_publish(self: LakeWriter, *, holds_back: bool = False) -> None:
        publications.append(holds_back)
        publish(self, holds_back=holds_back)

    monkeypatch.setattr(MonthFiles, "write", note_write)
    monkeypatch.setattr(LakeWriter, "publish", note_publish)
    monkeypatch.setattr(paging, "BATCH_PAGES", 1)
    monkeypatch.setattr(workers, "BUFFER_LIMIT", 100_000)  # two pages or three, of 100
    service.payments = spread(643, START, timedelta(hours=12))
    desk = Desk(service, settings, Lakehouse(tmp_path / "data"))
    desk.extract(workers=1)
    assert publications == [True, True, False]
    months = [f"payments 2026-{month:02}" for month in range(1, 12)]
    assert sorted(name for name in written if name.startswith("payments 2026")) == months
    assert desk.ids() == ids(service.payments)


def test_on_a_slow_line_a_month_is_published_while_the_next_is_read(
    service, settings, tmp_path, monkeypatch
):
    """The last page of eleven months comes once November to March are in the lake."""
    months = [f"2026-{month:02}.parquet" for month in range(3, 12)]

    def wait(request: httpx.Request) -> None:
        until = time.monotonic() + 60
        while "cursor=600." in str(request.url) and time.monotonic() < until:
            if all((tmp_path / "data" / "payments" / each).exists() for each in months):
                waited.append(request)
                return
            time.sleep(0.01)

    waited: list[httpx.Request] = []
    monkeypatch.setattr(paging, "BATCH_PAGES", 1)
    service.payments, service.intercept = spread(643, START, timedelta(hours=12)), wait
    Desk(service, settings, Lakehouse(tmp_path / "data")).extract(workers=1)
    assert len(waited) == 1


def drop(desk: Desk) -> None:
    for path in (desk.lake.path / IDS_FOLDER / "payments").iterdir():
        path.unlink()


def test_hashes_that_cannot_be_kept_stop_no_run(desk):
    """A folder in the way of the hashes costs time, and nothing else."""
    drop(desk)
    (desk.lake.path / IDS_FOLDER / "payments").rmdir()
    (desk.lake.path / IDS_FOLDER / "payments").write_text("in the way")
    grow(desk)
    desk.extract()
    assert desk.ids() == ids(desk.service.payments)
