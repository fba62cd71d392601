"""Backups and restores that are killed anywhere: what was whole stays so, the next goes on."""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from svc_analytics import LakeBusy, LakeError, restore, verify_backup
from svc_analytics.backups import backup
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.writing.writer import open_writer
from tests.lake.test_crash_points import Bench as PublicationBench
from tests.simulation.disk import Disk
from tests.simulation.simulate import quick_folder
from tests.simulation.virtual import Killed
from tests.support.altered import Contents, back_up, kept, restored
from tests.support.publishing import after, before, begin, contents, read_all
from tests.support.rings import rings

KILLS = 100
NEVER = 10**9  # no work makes so many calls
USUALLY = 5


@dataclass
class Bench:
    """A backup of a lake as it was, and the lake as it is."""

    folder: Path
    first: str = ""  # the name of the backup
    old: Contents | None = None
    new: Contents | None = None

    def make(self) -> None:
        lake, start = self.folder / "start" / "data", self.folder / "start"
        start.mkdir()
        read_all(lake, before())
        (lake / "assertions.csv").write_text("at,currency,balance,note\n")
        (lake / "secret").write_bytes(b"of the lake".ljust(32))
        (lake / "secret").chmod(0o600)
        self.first, self.old = back_up(lake, start / "backups"), kept(lake)
        read_all(lake, after())
        (lake / "assertions.csv").unlink()
        self.new = kept(lake)

    def take(self) -> Path:
        """Copy both; return the folder that they lie in."""
        place = self.folder / "disk"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.folder / "start", place)
        return place


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with quick_folder() as folder:
        found = Bench(folder)
        found.make()
        yield found


def killed(place: Path, call: int, work: Callable[[], object]) -> Disk:
    """Do work until a call of the disk that is not made any more, nor any after it."""

    def fate(number: int, kind: str, path: str) -> None:
        if number >= call:
            raise Killed

    disk = Disk(place, fate)
    with suppress(Killed), disk.installed():
        work()
    return disk


@pytest.mark.parametrize("seed", rings(range(USUALLY), range(KILLS)))
def test_a_backup_killed_at_any_moment_costs_nothing(bench, seed):
    """Nor does a power cut: the last whole backup is restored, and the next one goes on."""
    chance, place = random.Random(seed), bench.take()
    lake, target = place / "data", place / "backups"
    calls = len(killed(place, NEVER, lambda: back_up(lake, target)).calls)
    place = bench.take()
    disk = killed(place, chance.randint(1, calls), lambda: back_up(lake, target))
    if seed % 2:
        disk.lose_power(chance)
    assert restored(target, bench.folder / "new") in (bench.old, bench.new)
    again = back_up(lake, target)
    assert restored(target, bench.folder / "new") == bench.new
    assert restored(target, bench.folder / "new", again) == bench.new
    assert restored(target, bench.folder / "new", bench.first) == bench.old
    assert verify_backup(target, progress=False).problems == ()


@pytest.mark.parametrize("seed", rings(range(USUALLY), range(KILLS)))
def test_half_a_restore_is_no_lake_and_the_next_one_completes_it(bench, seed):
    """Until the description has come, which comes last; no run begins a lake there."""
    chance, place = random.Random(seed), bench.take()
    target, folder = place / "backups", place / "new"
    calls = len(killed(place, NEVER, lambda: restore(target, folder, progress=False)).calls)
    place = bench.take()
    call = chance.randint(1, calls)
    disk = killed(place, call, lambda: restore(target, folder, progress=False))
    if seed % 2:
        disk.lose_power(chance)
    if Lake(folder).exists:
        assert kept(folder) == bench.old
    elif (folder / ".restoring").exists():
        with (
            pytest.raises(LakeError, match="was interrupted: run svc-analytics restore again"),
            open_writer(Lake(folder), {"id": "none"}, 0),
        ):
            pass
    restore(target, folder, progress=False)
    assert kept(folder) == bench.old and not (folder / ".restoring").exists()


PARTS = 128


@pytest.fixture(scope="module")
def publication() -> Iterator[PublicationBench]:
    """A publication, with the disk as it is before each of its calls."""
    with quick_folder() as folder:
        publication = PublicationBench(folder, begin(folder / "start"), set())
        publication.rehearse()
        yield publication


@pytest.mark.parametrize("part", rings([7], range(PARTS)))
def test_a_backup_of_any_moment_of_a_run_is_a_lake_that_the_next_run_completes(
    publication, part, tmp_path
):
    """To the byte of the one whose run came to its end."""
    seen = set()
    for call in range(1 + part, publication.calls + 1, PARTS):
        lake, _ = publication.take_at(call)
        state = frozenset(kept(lake).items())
        if state in seen:
            continue
        seen.add(state)
        back_up(lake, tmp_path / "backups")
        shutil.rmtree(lake)
        assert frozenset(restored(tmp_path / "backups", lake).items()) == state
        shutil.copytree(tmp_path / "backups" / "lake", lake)  # as a person copies it
        read_all(lake, after())
        goal = {name: body for name, body in publication.goal.items() if not name.startswith(".")}
        assert {name: contents(lake)[name] for name in goal} == goal


def test_files_that_change_while_they_are_taken_are_taken_anew(publication, monkeypatch):
    """So that all are of one moment: never the first of one and the second of the next."""
    lake, real, later = publication.take(), backup.link_file, ["twice after", "after"]
    pair = [lake / "acknowledgements.csv", lake / "sentences.csv"]

    def write(text: str) -> None:
        for file in pair:
            file.unlink(missing_ok=True)
            file.write_text(text)

    def link(file: Path, target: Path) -> None:
        real(file, target)
        if file == pair[0].resolve() and later:
            write(later.pop())

    write("before")
    monkeypatch.setattr(backup, "link_file", link)
    with backup.held_files(Lake(lake)) as links:
        assert [links[file.name].read_text() for file in pair] == ["twice after"] * 2


def test_a_lake_that_never_stands_still_is_75(publication, monkeypatch):
    """And the statement that is replaced for ever, too."""
    lake = publication.take()
    (lake / "statements" / ".2026-10.0123abcd.writing" / "old").mkdir(parents=True)
    (lake / "statements" / ".2026-10.0123abcd.writing" / "mine").touch()  # nobody's to remove
    monkeypatch.setattr(backup, "_PAUSE", 0)
    with pytest.raises(LakeBusy, match="try again later"), backup.held_files(Lake(lake)):
        pass
