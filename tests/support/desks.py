"""A desk to extract at, without real waiting, and a command line in the process of its test.

The desk has the model service, settings for it and a lake.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, Self

import pyarrow.parquet as pq
import pytest

from svc_analytics import Client, Lakehouse, Secret, Settings
from svc_analytics.cli import app
from svc_analytics.extraction import clock, segments, update
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request
from svc_analytics.instants import SECOND, to_micros
from tests.support.fake_service import BASE_URL, CHECKOUT_KEY, NOW, PAYOUT_KEY, FakeService
from tests.support.ledgers import read_ledger
from tests.support.unit_material import Hours

SETTINGS = Settings(BASE_URL, Secret(CHECKOUT_KEY), Secret(PAYOUT_KEY), patience=60)


def machine_clock_at(at: datetime) -> AbstractContextManager[Any]:
    """Set the clock by which a run judges that of the service."""
    return replaced(clock, "machine_clock", lambda: to_micros(at))


_replaced: dict[tuple[Any, str], list[Any]] = {}  # what was there, and what each thread put there
_replacing = Lock()


@contextmanager
def replaced(module: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a name of a module for a while; threads that do so at once may end in any order."""
    with _replacing:
        values = _replaced.setdefault((module, name), [getattr(module, name)])
        values.append(value)
        setattr(module, name, value)
    try:
        yield
    finally:
        with _replacing:
            values.remove(value)
            setattr(module, name, values[-1])
            if len(values) == 1:
                del _replaced[module, name]


@dataclass
class Desk:
    """Extracts from the model service into the lake, as often as a test likes.

    This machine's clock is `machine`; it agrees with the service's unless it is given. Records
    are seen by the service's clock, a second later at each extraction: lakes that are read alike
    have the same bytes, and what was counted of one need not be counted of another.
    """

    service: FakeService
    settings: Settings
    lake: Lakehouse
    machine: Callable[[], int] | None = None
    extractions: int = 0

    @classmethod
    def at(cls, folder: Path, service: FakeService | None = None) -> Self:
        """Have a lake in a folder, and a service that holds nothing unless one is given."""
        return cls(service or FakeService(), SETTINGS, Lakehouse(folder))

    def serve(self, ledger: str) -> None:
        """Let the service hold what a text table says."""
        self.service.payments, self.service.payouts = read_ledger(ledger)

    def extract(
        self, *, workers: int = 4, on_page: OnPage | None = None, **request: Any
    ) -> ExtractionResult:
        self.service.requests.clear()
        limiter = Hours().limiter(self.settings.patience)
        seen_at = to_micros(self.service.now or NOW) + self.extractions * SECOND
        self.extractions += 1
        with (
            replaced(time, "time_ns", lambda: seen_at * 1000),
            # A model in memory answers at once: share all the same.
            replaced(segments, "WORTH_WAITING", 0.0),
            replaced(clock, "machine_clock", self._machine_clock()),
            Client(self.settings, limiter=limiter, transport=self.service.transport) as client,
        ):
            how = {"workers": workers, "client": client, "on_page": on_page}
            return update.read_missing(self.lake, self.settings, Request(**request), **how)

    def _machine_clock(self) -> Callable[[], int]:
        agreed = self.service.now
        own = self.machine or clock.machine_clock
        return own if self.machine or agreed is None else lambda: to_micros(agreed)

    def rows(self, stream: str = "payments") -> list[dict[str, Any]]:
        """Read a stream's folder as any outside tool would, in the order of its ids."""
        files = (self.lake.path / stream).glob("*.parquet")
        found = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
        return sorted(found, key=lambda row: str(next(iter(row.values()))))

    def ids(self, stream: str = "payments") -> list[str]:
        return [row["id"] for row in self.rows(stream)]


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.strip().splitlines()


Run = Callable[..., Outcome]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command line as `svc-analytics` would."""

    def run(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["svc-analytics", *words])
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return run
