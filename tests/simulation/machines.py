"""Many machines that write to one bucket at once: seeds as elsewhere, but nothing is shared else.

Each machine has its own copy. PUTs get lost, arrive late, or arrive without an answer; machines
are killed, and the lease may be over as soon as it was taken. The bucket alone decides.
"""

import random
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics import Client, ExtractionResult, Request, StoreUnavailable, SvcError
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.bucket import writing
from svc_analytics.bucket.mirror import open_folder
from svc_analytics.bucket.objects import is_month
from svc_analytics.bucket.store import Conflict, ObjectStore, Version
from svc_analytics.extraction import update
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS
from tests.simulation import simulate as simulation
from tests.simulation.oracle import require
from tests.simulation.plan import Run, _draw_request
from tests.simulation.service import Wire
from tests.simulation.simulate import Simulation, sized
from tests.simulation.virtual import Killed, installed
from tests.support.buckets import MemoryStore, copy_of
from tests.support.desks import SETTINGS

URL = "s3://simulated/lake"
MOST = 16  # machines at work at the same time


class Network:
    """The way of one world's machines to the store: slow, and not always there."""

    def __init__(self, simulation: "Machines", chance: random.Random) -> None:
        self.store = MemoryStore()
        self._simulation = simulation
        self._chance = chance
        self._late: list[tuple[float, str, bytes, Version | None]] = []
        self.faults = chance.choice([0.0, 0.0, 0.05])
        self.stalls = chance.choice([0.0, 0.03, 0.2])
        self.arrived: dict[str, set[str]] = {}  # ids of all rows that were ever put, by stream
        self.puts = 0
        self.killed_at_put = 0

    def list(self) -> dict[str, Version]:
        self._travel()
        return self.store.list()

    def get(self, key: str, version: Version | None = None) -> tuple[bytes, Version]:
        self._travel()
        return self.store.get(key, version)

    def put(self, key: str, body: bytes, replaces: Version | None) -> Version:
        self.puts += 1
        try:
            if self.puts == self.killed_at_put:
                self._simulation.world.kill()
            self._travel()
        except Killed:
            if self._chance.random() < 0.5:  # it was on its way
                self._send_late(key, body, replaces)
            raise
        if self._chance.random() < self.faults:
            return self._lose(key, body, replaces)
        return self._put(key, body, replaces)

    def _put(self, key: str, body: bytes, replaces: Version | None) -> Version:
        done = self.store.put(key, body, replaces)
        if is_month(key):
            stream = key.partition("/")[0]
            ids = pq.ParquetFile(pa.BufferReader(body)).read(["id"])["id"].to_pylist()
            self.arrived.setdefault(stream, set()).update(ids)
        return done

    def delete(self, key: str) -> None:
        self.store.delete(key)

    def arrive(self, *, all_of_them: bool = False) -> None:
        """Let PUTs arrive whose senders have given up, where their conditions still hold."""
        now = self._simulation.world.now
        due = [each for each in self._late if all_of_them or each[0] <= now]
        self._late = [each for each in self._late if each not in due]
        for _, key, body, replaces in due:
            try:
                self._put(key, body, replaces)
            except Conflict:
                continue

    def _lose(self, key: str, body: bytes, replaces: Version | None) -> Version:
        match self._chance.choice(["the request", "the answer", "the way"]):
            case "the answer":
                self._put(key, body, replaces)
            case "the way":
                self._send_late(key, body, replaces)
        raise StoreUnavailable("the store does not answer")

    def _send_late(self, key: str, body: bytes, replaces: Version | None) -> None:
        at = self._simulation.world.now + self._chance.choice([0.1, 5.0, 100.0])
        self._late.append((at, key, body, replaces))

    def _travel(self) -> None:
        is_stalled = self._chance.random() < self.stalls
        seconds = self._chance.choice([20.0, 300.0] if is_stalled else [0.0, 0.01, 0.3])
        self._simulation.world.sleep(seconds)
        self.arrive()


class Machines(Simulation):
    """One seed: two to sixteen machines with a copy each, and one more that only reads."""

    def __init__(self, seed: int, folder: Path) -> None:
        super().__init__(seed, folder)
        self.chance = random.Random(f"machines {seed}")
        self.length = self.chance.choice([60, 0])
        self.network = Network(self, self.chance)
        count = self.chance.randint(2, MOST)
        self.folders = [self.disk.root / f"machine-{n}" for n in range(count)]
        for each in self.folders:
            open_folder(each, URL)
        self.oracle.lake = self.lake = self._open(self.disk.root / "reader", self.network.store)
        self.disk.settle()

    def _open(self, folder: Path, store: ObjectStore) -> Lake:
        """Open the lake as a new process does."""
        bucket = copy_of(store, folder, URL)
        bucket.at_once = 1
        return Lake(folder, storage=bucket)

    def run(self, run: Run) -> str:
        """Make one run on several machines at once, and return how they ended."""
        began = len(self.told.outcomes)
        trouble, self.network.puts = run.trouble, 0
        if trouble.killed_at_call:
            self.network.killed_at_put, trouble.killed_at_call = trouble.killed_at_call // 4 + 1, 0
        outcome = super().run(run)
        self.network.killed_at_put = 0
        self.network.arrive(all_of_them=self.chance.random() < 0.5)
        self.told.outcomes[began:] = [each.split(":")[0] for each in outcome.split(" | ")]
        self.lake.refresh()
        self._check_arrived()
        return "done" if outcome == "done" else outcome.replace("power lost", "killed")

    def mend(self) -> None:
        self.network.faults = 0.0

    def check_end(self) -> None:
        bodies = self.network.store.objects.values()
        require(not any(b"svc_live_" in body for body in bodies), "a key is in the bucket")

    def _check_arrived(self) -> None:
        """What any machine ever put is there: no other machine's PUT took it away."""
        for stream in STREAMS.values() if self.lake.exists else ():
            held = self.oracle._rows(stream)
            lost = self.network.arrived.get(stream.name, set()) - held.keys()
            lost = {each for each in lost if not self.oracle._may_move(stream, each)}
            require(not lost, "rows that were put are gone", lost)

    def _extract(self, run: Run, wire: Wire) -> str:
        world, ended = self.world, dict[int, str]()
        count = min(self.chance.choice([1, 2, 3, MOST]), len(self.folders))
        folders = self.chance.sample(self.folders, count)
        chosen = [self._open(folder, self.network) for folder in folders]
        if run.workers == 2 and not run.trouble.killed_at_call and run.gap in (0.0, 26 * 3600.0):
            chosen = chosen[:1]

        requests = [self._request(run) if len(chosen) > 1 else run.request for _ in chosen]

        def work(number: int) -> None:
            world.sleep(self.chance.choice([0.0, 1.0, 10.0]) if number else 0.0)
            ended[number] = self._extract_into(chosen[number], requests[number], run, wire)

        with (
            self.disk.installed(),
            installed(world, lambda: run.skew),
            sized(self.plan),
            patch.object(writing, "LEASE_LENGTH", self.length),  # seconds, after which it is over
            suppress(Killed),
        ):
            for number in range(1, len(chosen)):
                world.begin(partial(work, number))
            work(0)
            world.pause(lambda: len(ended) == len(chosen), 10**6)
        is_killed = world.end_run()
        if is_killed:
            return "killed"
        return " | ".join({*ended.values()} if len({*ended.values()}) == 1 else ended.values())

    def _request(self, run: Run) -> dict[str, Any]:
        """Let each machine be asked for something else: they are to merge, not to repeat."""
        if self.chance.random() < 0.3:
            return run.request
        return _draw_request(self.chance, self.world.micros)

    def _extract_into(self, lake: Lake, asked: dict[str, Any], run: Run, wire: Wire) -> str:
        def read() -> ExtractionResult:
            limiter = RateLimiter(SETTINGS.patience, lambda: self.world.now)
            with Client(SETTINGS, limiter=limiter, transport=wire) as client:
                request = Request(**asked)
                return update.read_missing(
                    lake, SETTINGS, request, workers=run.workers, client=client
                )

        try:
            update._until_first(read)
        except SvcError as error:
            self._check_told(error)
            return f"{type(error).__name__}: {error}"
        return "done"


simulate = partial(simulation.simulate, kind=Machines)


def try_seeds(seeds: range, mode: str) -> list[str]:
    """Run some seeds; return a line for each that failed."""
    return simulation.try_seeds(seeds, mode, simulate)
