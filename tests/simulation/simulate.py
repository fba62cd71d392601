"""Run seeds: the real extractor, lake and clock against a simulated service, disk and time.

    pytest -m thorough tests/simulation        thousands
    python -m tests.simulation.simulate 17     one, told step by step

Two modes. Safety: whatever befalls the runs, no row is wrong or doubled and nothing is
claimed that was not read. Liveness: once the troubles end, a few runs read everything.
"""

import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from svc_analytics import Client, LakeError, Request, SvcError
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.extraction import paging, update, workers
from svc_analytics.instants import MINUTE, SECOND
from svc_analytics.lake import month_file
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import data_folders
from svc_analytics.lake.side_files import read_side_file
from svc_analytics.lake.writing import publisher
from svc_analytics.schema import STREAMS
from tests.simulation.disk import Disk, failure
from tests.simulation.oracle import Broken, Oracle, require
from tests.simulation.plan import Plan, Run, Trouble, draw_plan
from tests.simulation.service import Service, Wire
from tests.simulation.virtual import Killed, Stuck, World, installed
from tests.support.desks import SETTINGS
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY

MOST_TORN = 30  # files of one lake
MODES = ["safety", "liveness"]


@dataclass
class Told:
    """What became of a seed."""

    seed: int
    outcomes: list[str] = field(default_factory=list)
    digest: str = ""
    lines: list[str] = field(default_factory=list)


class Simulation:
    """One seed: its world, and a lake that lives through all of its runs."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.plan: Plan = draw_plan(seed)
        self.world = World(f"world {seed}", self.plan.epoch)
        folder.mkdir()
        self.disk = Disk(folder, lies=self.plan.lies)
        self.lake = Lake(folder / "data")
        nature, chance = self.plan.nature, self.world.chance
        self.service = Service(self.plan.entries, nature, lambda: self.world.micros, chance)
        error = 0 if nature.date == "told" else 25 * MINUTE
        self.oracle = Oracle(self.lake, self.service, error)
        self.told = Told(seed)
        self._trace = hashlib.sha256()

    def run(self, run: Run) -> str:
        """Make one run, and return how it ended."""
        self.world.sleep(run.gap)
        if run.gap > 60:
            self.disk.settle()  # a system writes what it held back
        began = self.world.now
        trouble = run.trouble
        self.service.cursor_life = trouble.cursor_life
        low, high = trouble.weather.outage
        trouble.weather.outage = (began + low, began + high)
        wire = Wire(self.world, self.service, trouble.weather)
        self._arm(trouble)
        outcome = self._extract(run, wire)
        if outcome == "killed" and trouble.loses_power:
            self.disk.lose_power(self.world.chance)
            outcome = "power lost"
            if self.disk.lies:
                self.oracle.forget()
        self._note(outcome, wire)
        return outcome

    def mend(self) -> None:
        """End the troubles that are of no run."""

    def check_end(self) -> None:
        """Check what must hold once, when all is over."""

    def _extract(self, run: Run, wire: Wire) -> str:
        began, world, outcome = self.world.now, self.world, "done"

        def skew() -> int:
            return run.skew - (run.step_back if world.now > began + 1 else 0)

        with self.disk.installed(), installed(world, skew), sized(self.plan):
            limiter = RateLimiter(SETTINGS.patience, lambda: world.now)
            try:
                with Client(SETTINGS, limiter=limiter, transport=wire) as client:
                    request = Request(**run.request)
                    update.read_missing(
                        self.lake, SETTINGS, request, workers=run.workers, client=client
                    )
            except SvcError as error:
                outcome = f"{type(error).__name__}: {error}"
                self._check_told(error)
            except Killed:
                pass
            return "killed" if world.end_run() else outcome

    def _arm(self, trouble: Trouble) -> None:
        disk, world = self.disk, self.world
        world.kill_at = world.now + trouble.killed_at
        first = len(disk.calls)

        def fate(number: int, kind: str, path: str) -> OSError | None:
            call = number - first
            if call == trouble.killed_at_call:
                world.kill()
            if not trouble.fails(call, kind):
                return None
            if trouble.failing_late:
                return failure(trouble.code, path)
            raise failure(trouble.code, path)

        disk.fate, disk.on_step = fate, world.check

    def _check_told(self, error: SvcError) -> None:
        """I8: no key in what a person is told."""
        text = f"{error!r} {error.__cause__!r} {error.__context__!r}"
        require(CHECKOUT_KEY not in text and PAYOUT_KEY not in text, "a key was told", text)

    def _note(self, outcome: str, wire: Wire) -> None:
        self.told.outcomes.append(outcome.split(":")[0])
        self.told.lines += [*wire.log, f"{self.world.now:.3f} -> {outcome}"]
        outcome = outcome.replace(str(self.lake.path), "")
        self._trace.update("\n".join([*wire.log, outcome, repr(self.disk.calls)]).encode())
        for path in sorted(self.lake.path.rglob("*.parquet")):
            self._trace.update(path.read_bytes())
        self.told.digest = self._trace.hexdigest()


@contextmanager
def sized(plan: Plan) -> Iterator[None]:
    """Make the package's portions small, so that a few rows are many of them."""
    with (
        patch.object(month_file, "ROW_GROUP", plan.row_group),
        patch.object(workers, "BUFFER_LIMIT", plan.staged_limit),
        patch.object(workers, "CHECKPOINT", plan.checkpoint),
        patch.object(paging, "BATCH_PAGES", plan.batch_pages),
        patch.object(publisher, "LARGE_MONTH", plan.large_month),
    ):
        yield


def simulate(seed: int, mode: str, folder: Path, kind: type[Simulation] = Simulation) -> Told:
    """Live through a seed; raise `Broken` or `Stuck` where the package does not hold."""
    place = folder / f"{mode}-{seed}"
    simulation = kind(seed, place)
    try:
        for run in simulation.plan.runs:
            simulation.oracle.check(simulation.run(run))
            if simulation.disk.lies and kind is Simulation:
                _look_after(simulation)
        if mode == "liveness":
            simulation.mend()
            _recover(simulation)
        simulation.check_end()
    except (Broken, Stuck) as error:
        error.add_note(f"seed {seed}, mode {mode}: {simulation.told.outcomes}")
        error.add_note("\n".join(simulation.told.lines[-40:]))
        raise
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return simulation.told


def _look_after(simulation: Simulation) -> None:
    """Do what a person does who is told of a torn file: move it away, and run again (G1)."""
    for _ in range(MOST_TORN):
        outcome = simulation.run(Run(gap=0.0, workers=2))
        if outcome == "done":
            _move_torn_away(simulation.lake)
            return simulation.oracle.check(outcome)
        file = re.search(r"(/\S+) is torn", outcome)
        require(file, "not told which file is torn", outcome)
        Path(file[1]).unlink()
        simulation.disk.settle()
    raise Broken("ever more files are torn")


def _move_torn_away(lake: Lake) -> None:
    """Do what a person does whom a statement tells of a torn file beside the months.

    The next run tells it too, unless the disk lost the mark of the run it cut off as well.
    """
    for name in {*data_folders()} - {*STREAMS}:
        for path in (lake.path / name).glob("*.parquet"):
            try:
                read_side_file(path)
            except LakeError:
                path.unlink()


def _recover(simulation: Simulation) -> None:
    """Check that without further troubles everything comes to be read."""
    service, world = simulation.service, simulation.world
    for request in ({}, {}, {"rereads": True}):
        gap = 0.0 if request else 26 * 3600.0
        asked, began_at = service.requests, world.micros + int(gap * SECOND)
        outcome = simulation.run(Run(gap, workers=2, request=request))
        require(outcome == "done", "a run without troubles failed", outcome)
        simulation.oracle.check(outcome)
        simulation.oracle.check_read(began_at)
        _check_cost(simulation, service.requests - asked)
    simulation.oracle.check_rows(began_at)


def _check_cost(simulation: Simulation, requests: int) -> None:
    size = simulation.plan.nature.page_sizes[0]
    bound = 40 + 12 * (len(simulation.plan.entries) // size + 1)
    require(requests <= bound, "too many requests", requests, bound)


def try_seeds(
    seeds: range, mode: str, live: Callable[[int, str, Path], Told] = simulate
) -> list[str]:
    """Run some seeds; return a line for each that failed."""
    failed = []
    with quick_folder() as folder:
        for seed in seeds:
            try:
                live(seed, mode, folder)
            except Exception as error:
                failed.append(f"seed {seed}, {mode}: {type(error).__name__}: {error!s:.400}")
    return failed


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Give a folder in memory, where there is one: nothing here needs a real disk."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as folder:
        yield Path(folder)


def tell(seed: int, mode: str) -> str:
    """Run a seed, and tell it step by step."""
    with quick_folder() as folder:
        told = simulate(seed, mode, folder)
    return "\n".join([*told.lines, f"seed {seed}, {mode}: {told.outcomes}, {told.digest[:16]}\n"])


if __name__ == "__main__":
    sys.stdout.writelines(tell(int(sys.argv[1]), mode) for mode in MODES)
