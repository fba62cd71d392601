"""Every call of the disk that a publication makes fails once, fails for ever, and is the last.

The same publication is made again and again, each time with another of its calls
chosen (faults E1, E2, E5, E6, G1); so is one that spills, the one that begins a lake, and the
making of `analytics.duckdb`. What a kill or a power cut leaves is taken from one recording of
the disk. After each, every file is one that it also was without the failure, nothing is lost
or doubled, and the next run gives the lake that a run without failures gives, to the byte.

Each kind of failure has some of the calls in every run, each kind others, and all of them in
the deep ring.
"""

import os
import random
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse.images import write_views
from tests.simulation.disk import FULL, Disk, Fate, failure
from tests.simulation.simulate import quick_folder
from tests.support.publishing import after, before, begin, contents, read_all
from tests.support.rings import rings, sample

# Tests that share the calls of one kind of failure; one that spills makes many more.
PARTS = {"bench": 64, "nothing": 64, "spilling": 304}
HOME = Path("deep", "data")  # of a lake, below the root of its disk
UNTOUCHED = {record["id"] for record in before().payments} - {before().payments[3]["id"]}
MOVED = before().payments[20]["id"]

Contents = dict[str, bytes]


@dataclass
class Bench:
    """A lake to begin from, what a publication without failures makes of it, and on the way."""

    folder: Path
    start: Path  # without a lake when it does not exist
    kept: set[str]  # payments that must be there whatever happens
    spills: bool = False  # whether months wait on disk while they are read
    calls: int = 0
    replaced: list[str] = field(default_factory=list)
    last: int = 0  # of the calls that are chosen
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
            shutil.copytree(self.start, place / HOME)
        return place / HOME

    def take_at(self, call: int) -> tuple[Path, Disk]:
        """Copy the disk as a kill leaves it just before a call; return the path of its lake."""
        place = self.folder / "disk"
        shutil.rmtree(place, ignore_errors=True)
        return place / HOME, self.moments[call - 1].copy(place)

    def rehearse(self) -> None:
        """Make the publication once without failures, noting the disk before each of its calls."""
        lake = self.take()

        def note(*call: object) -> None:
            for name, body in contents(lake).items():
                self.states.setdefault(name, set()).add(body)
            self.moments.append(disk.copy(self.folder / "moments" / str(len(self.moments))))

        disk = Disk(self.folder / "disk", note)
        with disk.installed():
            read_all(lake, after(), spills=self.spills)
        note()
        self.calls = self.last = len(disk.calls)
        self.goal = contents(lake)
        self.replaced = [path for kind, path in disk.calls if kind == "replace"]
        if not self.start.exists():  # what follows its description is a publication as any
            self.last = disk.calls.index(("replace", f"{HOME}/lake.json")) + 1


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


def failing_once(call: int) -> Fate:
    """Let one call fail before it does anything."""

    def fate(number: int, kind: str, path: str) -> None:
        if number == call:
            raise failure(FULL[call % len(FULL)], path)

    return fate


def fails_once(bench: Bench, call: int) -> Path:
    return publish(bench, failing_once(call))


def fails_when_done(bench: Bench, call: int) -> Path:
    """Let one call do its work, and say that it failed."""
    code = FULL[(call + 2) % len(FULL)]  # another than where it fails before
    return publish(bench, lambda number, _, path: failure(code, path) if number == call else None)


def fails_for_ever(bench: Bench, call: int) -> Path:
    """Let a call fail, and all that follow."""

    def fate(number: int, kind: str, path: str) -> None:
        if number >= call:
            raise failure(FULL[(call + 4) % len(FULL)], path)

    return publish(bench, fate)


def is_killed(bench: Bench, call: int) -> Path:
    """Let a call be the first that is not made any more."""
    return bench.take_at(call)[0]


def loses_power(bench: Bench, call: int) -> Path:
    """The same, and of what was not synced any part is dropped, kept or torn, in any order."""
    lake, disk = bench.take_at(call)
    check(bench, lake)
    disk.lose_power(random.Random(call))
    return lake


FATES = {of.__name__: of for of in (fails_once, fails_when_done, fails_for_ever)}
FATES |= {of.__name__: of for of in (is_killed, loses_power)}
# Of what is spilled, and of a lake's beginning, the stories of runs and of the simulator tell too.
USUAL = [("bench", fate, part) for part, fate in enumerate(FATES)]
ALL = [(name, *of) for name in PARTS for of in product(FATES, range(PARTS[name]))]


@pytest.mark.parametrize(("name", "fate", "part"), rings(USUAL, ALL))
def test_each_call_of_a_publication(request, name, fate, part):
    """E1, E2, E5, E6, G1: whatever befalls which call, the next run makes it good."""
    bench: Bench = request.getfixturevalue(name)
    for call in range(1 + part, bench.last + 1, PARTS[name]):
        lake = FATES[fate](bench, call)
        check(bench, lake)
        check_recovery(bench, lake)


@pytest.mark.parametrize("step", rings([9], [3]))
def test_a_power_cut_at_one_call_of_several_loses_nothing(bench, step):
    """G1: more calls than above, without the run that follows."""
    for call in range(2, bench.calls + 1, step):
        check(bench, loses_power(bench, call))


@pytest.mark.parametrize("name", sample(["bench", "nothing"], 2))
def test_a_power_cut_takes_nothing_of_a_run_that_is_over(request, name):
    """G1: months, quarantine and older versions are safe, and so are the folders they lie in."""
    bench: Bench = request.getfixturevalue(name)
    goal = {file: body for file, body in bench.goal.items() if not file.startswith(".")}
    for seed in range(6):
        lake, disk = bench.take_at(bench.calls + 1)
        disk.lose_power(random.Random(seed))
        assert goal.items() <= contents(lake).items()


@pytest.mark.thorough
@pytest.mark.parametrize("step", rings([9], [1]))
def test_each_call_that_makes_the_file_for_other_tools(bench, step, tmp_path, monkeypatch):
    """E1, E5: analytics.duckdb is not there or is whole, and no failure stands in its way."""
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path))  # in which no other process makes room
    write_views(Lakehouse(bench.take()))  # the cache has what is kept there: no call of the lake's
    call, is_made = 1 - step, True
    while is_made:  # until a call is chosen that is not made any more
        call += step
        lake = Lakehouse(bench.take())
        disk = Disk(lake.path.parent, failing_once(call))
        with suppress(LakeError), disk.installed():
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


@pytest.mark.parametrize("count", sample(range(4), 2))
def test_where_too_few_files_may_be_open_no_file_is_blamed(bench, count):
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


def publish(bench: Bench, fate: Fate) -> Path:
    """Publish as far as it goes; what fails is said in one line that names the lake."""
    lake = bench.take()
    try:
        with Disk(bench.folder / "disk", fate).installed():
            read_all(lake, after(), spills=bench.spills)
    except LakeError as error:
        assert str(lake) in str(error) and "\n" not in str(error)
    return lake


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


def rows_outside(path: Path) -> int:
    """Count the payments as another tool does."""
    with duckdb.connect(path, read_only=True) as connection:
        return len(connection.sql("from payments").fetchall())
