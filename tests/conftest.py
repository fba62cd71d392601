"""Fixtures shared by all tests: a model service, settings for it, an empty lake, the desk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fake_service import BASE_URL, CHECKOUT_KEY, PAYOUT_KEY, FakeService

from svc_analytics import extraction
from svc_analytics.client import Client
from svc_analytics.config import Settings
from svc_analytics.extraction import Extraction, Request
from svc_analytics.masked import Masked
from svc_analytics.pace import Pace
from svc_analytics.warehouse import AnalyticLake


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings and the working folder of whoever runs the tests out of them."""
    for name in ("BASE_URL", "CHECKOUT_KEY", "PAYOUT_KEY", "RECEIPT_SECRETS", "DATA_DIR"):
        monkeypatch.delenv(f"SVC_{name}", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def settings() -> Settings:
    return Settings(BASE_URL, Masked(CHECKOUT_KEY), Masked(PAYOUT_KEY), patience=60)


@pytest.fixture
def service() -> FakeService:
    return FakeService()


@pytest.fixture
def lake(tmp_path: Path) -> AnalyticLake:
    return AnalyticLake(tmp_path / "data")


@dataclass
class VirtualTime:
    """A clock that only waiting moves, so that patience is spent in no time."""

    now: float = 0.0

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return False


@dataclass
class Desk:
    """Extracts from the model service into the lake, as often as a test likes."""

    service: FakeService
    settings: Settings
    lake: AnalyticLake

    def extract(self, *, workers: int = 4, **request: Any) -> Extraction:
        self.service.requests.clear()
        time = VirtualTime()
        pace = Pace(self.settings.patience, time.clock, time.wait)
        with Client(self.settings, pace=pace, transport=self.service.transport) as client:
            return extraction.extract(
                self.lake, self.settings, Request(**request), workers=workers, client=client
            )

    def rows(self, stream: str = "payments") -> list[dict[str, Any]]:
        """Read a stream's folder as any outside tool would."""
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone='UTC'")
            found = connection.sql(
                f"from read_parquet('{self.lake.path}/{stream}/*.parquet') order by id"
            )
            return found.to_arrow_table().to_pylist()

    def ids(self, stream: str = "payments") -> list[str]:
        return [row["id"] for row in self.rows(stream)]


@pytest.fixture
def desk(service: FakeService, settings: Settings, lake: AnalyticLake) -> Desk:
    return Desk(service, settings, lake)


@pytest.fixture
def file_times(lake: AnalyticLake) -> Iterator[Callable[[], dict[str, int]]]:
    """Tell which month files are which, to see what a run rewrote."""

    def read() -> dict[str, int]:
        return {
            str(path.relative_to(lake.path)): path.stat().st_ino
            for folder in ("payments", "payout_records")
            for path in (lake.path / folder).glob("*.parquet")
        }

    yield read
