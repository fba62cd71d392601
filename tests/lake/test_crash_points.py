"""Every call of the disk that a publication makes fails once, fails for ever, and is the last.

The same publication is made again and again, each time with another of its calls
chosen (faults E1, E2, E5, E6, G1); so is the one that begins a lake, and the making of
`analytics.duckdb`. What a kill or a power cut leaves is taken from one recording of the
disk. After each, every file is one that it also was
without the failure, nothing is lost or doubled, and the next run gives the lake that
a run without failures gives, to the byte: and so in every view.

Each kind of failure has some of the calls in every run, each kind others, and all of them in
the deep ring.
"""

import os
import random
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse.database import write_views
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.simulation.disk import FULL, Disk, failure
from tests.simulation.simulate import quick_folder
from tests.simulation.virtual import Killed
from tests.support.publishing import after, before, begin, contents, read_all
from tests.support.rings import rings, sample

PARTS = 64  # tests that share the calls of one kind of failure
SPILLED = 152  # the same, of a publication that spills: it makes many more
KILLED = 5  # of so many calls one is that at which the system kills a process
USUALLY_KILLED = 90  # the same, in every run
UNTOUCHED = {record["id"] for record in before().payments} - {before().payments[3]["id"]}
MOVED = before().payments[20]["id"]

Contents = dict[str, bytes]
Failing = Callable[[Disk, int], None]


@dataclass
class Bench:
    """A lake to begin from, what a publication without failures makes of it, and on the way."""

    folder: Path
    start: Path  # without a lake when it does not exist
    kept: set[str]  # payments that must be there whatever happens
    spills: bool = False  # whether months wait on disk while they are read
    calls: int = 0
    replaced: list[str] = field(default_factory=list)
    begun: int = 0  # the call by which the lake has its description
    moments: list[Disk] = field(default_factory=list)  # the disk when each call was to be made
    goal: Contents = field(default_factory=dict)
    states: dict[str, set[bytes]] = field(default_factory=dict)
    recovered: set[frozenset[tuple[str, bytes]]] = field(default_factory=set)

    def take(self) -> Path:
        """Copy the lake to begin from, and return its path."""
        place = self.folder / "disk"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if self.start.exists():
            shutil.copytree(self.start, place / "data")
        return place / "data"

    def take_at(self, call: int) -> tuple[Path, Disk]:
        """Copy the disk as a kill leaves it just before a call; return the path of its lake."""
        place = self.folder / "disk"
        shutil.rmtree(place, ignore_errors=True)
        return place / "data", self.moments[call - 1].copy(place)

    def rehearse(self) -> None:
        """Make the publication once without failures, noting the disk before each of its calls."""
        lake = self.take()

        def note(*call: object) -> None:
            for name, body in contents(lake).items():
                self.states.setdefault(name, set()).add(body)
            self.moments.append(disk.copy(self.folder / "moments" / str(len(self.moments))))

        disk = Disk(lake.parent, note)
        with disk.installed():
            read_all(lake, after(), spills=self.spills)
        note()
        self.calls, self.goal = len(disk.calls), contents(lake)
        self.replaced = [path for kind, path in disk.calls if kind == "replace"]
        self.begun = disk.calls.index(("replace", "data/lake.json")) + 1


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Publish into a lake that is there."""
    with quick_folder() as folder:
        bench = Bench(folder, begin(folder / "start"), UNTOUCHED - {MOVED})
        bench.rehearse()
        yield bench


@pytest.fixture(scope="module")
def spilling() -> Iterator[Bench]:
    """Publish into a lake that is there what has waited on disk."""
    with quick_folder() as folder:
        bench = Bench(folder, begin(folder / "start"), UNTOUCHED - {MOVED}, spills=True)
        bench.rehearse()
        assert sum(path.endswith(".run") for path in bench.replaced) > 3
        yield bench


@pytest.fixture(scope="module")
def nothing() -> Iterator[Bench]:
    """Publish where no lake is yet."""
    with quick_folder() as folder:
        bench = Bench(folder, folder / "nowhere", set())
        bench.rehearse()
        yield bench


def fail_once(disk: Disk, call: int) -> None:
    """Let one call fail before it does anything."""

    def fate(number: int, kind: str, path: str) -> None:
        if number == call:
            raise failure(FULL[call % len(FULL)], path)

    disk.fate = fate


def fail_late(disk: Disk, call: int) -> None:
    """Let one call do its work, and say that it failed."""
    code = FULL[(call + 2) % len(FULL)]  # another than where it fails before
    disk.fate = lambda number, kind, path: failure(code, path) if number == call else None


def fail_for_ever(disk: Disk, call: int) -> None:
    """Let a call fail, and all that follow."""

    def fate(number: int, kind: str, path: str) -> None:
        if number >= call:
            raise failure(FULL[(call + 4) % len(FULL)], path)

    disk.fate = fate


def kill(disk: Disk, call: int) -> None:
    """Let a call be the last that is not made: nothing after it reaches the disk."""

    def fate(number: int, kind: str, path: str) -> None:
        if number >= call:
            raise Killed

    disk.fate = fate


FAILINGS: dict[str, Failing] = {
    "fails once": fail_once,
    "fails when done": fail_late,
    "fails for ever": fail_for_ever,
}


@pytest.mark.parametrize(
    ("kind", "part"),
    rings(zip(FAILINGS, range(PARTS), strict=False), product(FAILINGS, range(PARTS))),
)
def test_each_call_of_a_publication(bench: Bench, kind: str, part: int) -> None:
    """E1, E2, E5, E6: whichever call fails, and however, the next run makes it good."""
    for call in range(1 + part, bench.calls + 1, PARTS):
        lake = bench.take()
        disk = Disk(lake.parent)
        FAILINGS[kind](disk, call)
        publish(lake, disk)
        check(bench, lake)
        check_recovery(bench, lake)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "part"),
    rings([("fails for ever", 35)], product(FAILINGS, range(SPILLED))),
)
def test_each_call_of_a_publication_that_spills(spilling: Bench, kind: str, part: int) -> None:
    """E1, E2, E5, E6: of what waited on disk too, nothing is lost, doubled or left over."""
    for call in range(1 + part, spilling.calls + 1, SPILLED):
        lake = spilling.take()
        disk = Disk(lake.parent)
        FAILINGS[kind](disk, call)
        publish(lake, disk, spills=True)
        check(spilling, lake)
        check_recovery(spilling, lake)


@pytest.mark.parametrize("part", rings([24], range(SPILLED)))
def test_a_kill_and_a_power_cut_at_any_call_of_a_spill_lose_nothing(
    spilling: Bench, part: int
) -> None:
    """E1, G1: what the dead run spilled is published, or void and read again."""
    for call in range(1 + part, spilling.calls + 1, SPILLED):
        lake, disk = spilling.take_at(call)
        check(spilling, lake)
        if call % 2:
            disk.lose_power(random.Random(call))
            check(spilling, lake)
        check_recovery(spilling, lake)


@pytest.mark.parametrize("part", rings([1], range(3)))
def test_a_kill_and_a_power_cut_at_any_call_lose_nothing(bench: Bench, part: int) -> None:
    """E1, G1: of what was not synced any part is dropped, kept or torn, in any order."""
    for call in range(1 + part, bench.calls + 1, 3):
        lake, disk = bench.take_at(call)
        check(bench, lake)
        disk.lose_power(random.Random(call))
        check(bench, lake)


@pytest.mark.parametrize("part", rings([3], range(PARTS)))
def test_the_next_run_makes_a_kill_at_each_call_good(bench: Bench, part: int) -> None:
    """E1: it finds what the dead run began, and completes it."""
    for call in range(1 + part, bench.calls + 1, PARTS):
        lake, _ = bench.take_at(call)
        check_recovery(bench, lake)


@pytest.mark.parametrize("part", rings([0], range(PARTS)))
def test_the_next_run_makes_a_power_cut_at_each_call_good(bench: Bench, part: int) -> None:
    """G1: whatever the cut has left of it."""
    for call in range(1 + part, bench.calls + 1, PARTS):
        lake, disk = bench.take_at(call)
        disk.lose_power(random.Random(call))
        check_recovery(bench, lake)


@pytest.mark.parametrize("part", rings([0], range(PARTS)))
def test_each_call_that_begins_a_lake(nothing: Bench, part: int) -> None:
    """E1, E5, G1: half a beginning is no lake, and the next run makes a whole one of it."""
    fates = [*FAILINGS.values(), kill, kill]  # after the second the power goes too
    for call in range(1 + part, nothing.begun + 1, PARTS):
        lake = nothing.take()
        disk = Disk(lake.parent)
        fates[call % len(fates)](disk, call)
        publish(lake, disk)
        if call % len(fates) == len(fates) - 1:
            disk.lose_power(random.Random(call))
        check(nothing, lake)
        check_recovery(nothing, lake)


@pytest.mark.thorough
@pytest.mark.parametrize("step", rings([9], [1]))
@pytest.mark.parametrize("failing", sample([kill, fail_once], 2), ids=["is the last", "fails once"])
def test_each_call_that_makes_the_file_for_other_tools(
    bench: Bench, failing: Failing, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E1, E5: analytics.duckdb is not there or is whole, and no failure stands in its way."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path))  # in which no other process makes room
    write_views(Lakehouse(bench.take()))  # the cache has what is kept there: no call of the lake's
    call, is_made = 1 - step, True
    while is_made:  # until a call is chosen that is not made any more
        call += step
        lake = Lakehouse(bench.take())
        disk = Disk(lake.path.parent)
        failing(disk, call)
        with suppress(Killed, LakeError), disk.installed():
            write_views(lake)
        path = lake.path / "analytics.duckdb"
        assert not path.exists() or rows_outside(path) == len(before().payments) - 1
        write_views(lake)  # what was left stands in nobody's way
        assert rows_outside(path) == len(before().payments) - 1
        assert not list(lake.path.glob(".analytics*"))
        is_made = len(disk.calls) >= call
    assert call > 5


@contextmanager
def few_files(count: int) -> Iterator[None]:
    """Let this process open only so many files more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    top = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    held = [os.open(os.devnull, os.O_RDONLY)]
    while held[-1] < top:  # fill what is free between the open ones
        held.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)


@pytest.mark.parametrize("count", range(4))
def test_where_too_few_files_may_be_open_no_file_is_blamed(bench: Bench, count: int) -> None:
    """E5: the system's own limit is named; nobody is told to move a good file away."""
    lake = bench.take()
    try:
        with few_files(count):
            read_all(lake, after())
    except LakeError as error:
        assert "Too many open files" in str(error) and "torn" not in str(error)
    else:
        assert count > 1
    check(bench, lake)
    check_recovery(bench, lake)


@pytest.mark.parametrize("step", rings([USUALLY_KILLED], [KILLED]))
def test_a_process_that_the_system_kills_leaves_the_disk_as_recorded(
    bench: Bench, step: int, tmp_path: Path
) -> None:
    """E1: what a kill leaves by the recording was checked above; a real SIGKILL leaves the same."""
    calls = range(1, bench.calls + 1, step)
    for call in calls:
        shutil.copytree(bench.start, tmp_path / str(call) / "data")
    kill_processes(tmp_path, calls)
    for call in calls:
        recorded = bench.moments[call - 1].root / "data"
        assert contents(tmp_path / str(call) / "data") == contents(recorded), call


@pytest.mark.thorough
def test_a_recovered_lake_has_the_views_of_one_that_never_failed(bench: Bench) -> None:
    """Views are made of files alone: the same files are the same rows in every view."""
    lake, _ = bench.take_at(bench.calls * 2 // 3)
    read_all(lake, after())
    recovered = views(lake)
    shutil.rmtree(lake)
    for name, body in bench.goal.items():
        (lake / name).parent.mkdir(parents=True, exist_ok=True)
        (lake / name).write_bytes(body)
    assert recovered == views(lake)


def publish(lake: Path, disk: Disk, *, spills: bool = False) -> None:
    """Publish as far as it goes; what fails is said in one line that names the lake."""
    try:
        with disk.installed():
            read_all(lake, after(), spills=spills)
    except Killed:
        pass
    except LakeError as error:
        assert str(lake) in str(error) and "\n" not in str(error)


def check(bench: Bench, lake: Path) -> None:
    """Every file is old or new, and no payment is lost or doubled."""
    for name, body in contents(lake).items():
        is_temporary = Path(name).name.startswith(".") or name.startswith(
            (".snap", ".ids", ".runs")
        )
        assert is_temporary or body in bench.states[name], name
    ids = [
        record_id
        for path in (lake / "payments").glob("*.parquet")
        for record_id in pq.ParquetFile(path).read(["id"])["id"].to_pylist()
    ]
    assert len(ids) == len(set(ids))
    assert set(ids) >= bench.kept


def check_recovery(bench: Bench, lake: Path) -> None:
    """The next run gives the lake of a publication that never failed, to the byte."""
    state = frozenset(contents(lake).items())
    if state in bench.recovered:
        return
    read_all(lake, after(), spills=bench.spills)
    found = contents(lake)
    assert found.keys() == bench.goal.keys()
    assert [name for name in found if found[name] != bench.goal[name]] == []
    bench.recovered.add(state)


def kill_processes(folder: Path, calls: range) -> None:
    """Let a process publish in each of the folders, and be killed at the call of its name."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "tests.support.publishing", str(folder), *map(str, calls)]
    subprocess.run(command, env=environment, check=True)


def rows_outside(path: Path) -> int:
    """Count the payments as another tool does."""
    with duckdb.connect(path, read_only=True) as connection:
        return len(connection.sql("from payments").fetchall())


def views(lake: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of every view that users ask."""
    with open_warehouse(Lakehouse(lake)) as warehouse:
        listed = warehouse.query_readonly("select view_name from duckdb_views() where not internal")
        names = listed["view_name"].to_pylist()
        marts = [name for name in names if not name.startswith("stg_")]  # those name the snapshot
        return {
            name: warehouse.query_readonly(f"from {name} order by all").to_pylist()
            for name in marts
        }
