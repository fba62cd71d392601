"""Backups made while a run writes: of one moment, from which the next run goes on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_analytics.backups import backup
from svc_analytics.errors import LakeBusy
from svc_analytics.lake.lake import Lake
from tests.lake.test_crash_points import Bench
from tests.simulation.simulate import quick_folder
from tests.support.altered import back_up, kept, restored
from tests.support.publishing import after, begin, contents, read_all
from tests.support.rings import rings

PARTS = 128


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """A publication, with the disk as it is before each of its calls."""
    with quick_folder() as folder:
        bench = Bench(folder, begin(folder / "start"), set())
        bench.rehearse()
        yield bench


@pytest.mark.parametrize("part", rings([7], range(PARTS)))
def test_a_backup_of_any_moment_of_a_run_is_a_lake_that_the_next_run_completes(
    bench, part, tmp_path
):
    """To the byte of the one whose run came to its end."""
    seen = set()
    for call in range(1 + part, bench.calls + 1, PARTS):
        lake, _ = bench.take_at(call)
        state = frozenset(kept(lake).items())
        if state in seen:
            continue
        seen.add(state)
        back_up(lake, tmp_path / "backups")
        shutil.rmtree(lake)
        assert frozenset(restored(tmp_path / "backups", lake).items()) == state
        shutil.copytree(tmp_path / "backups" / "lake", lake)  # as a person copies it
        read_all(lake, after())
        goal = {name: body for name, body in bench.goal.items() if not name.startswith(".")}
        assert {name: contents(lake)[name] for name in goal} == goal


def test_files_that_change_while_they_are_taken_are_taken_anew(bench, monkeypatch):
    """So that all are of one moment: never the first of one and the second of the next."""
    lake, real, later = bench.take(), backup.link_file, ["twice after", "after"]
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


def test_a_lake_that_never_stands_still_is_75(bench, monkeypatch):
    """And the statement that is replaced for ever, too."""
    lake = bench.take()
    (lake / "statements" / ".2026-10.0123abcd.writing" / "old").mkdir(parents=True)
    (lake / "statements" / ".2026-10.0123abcd.writing" / "mine").touch()  # nobody's to remove
    monkeypatch.setattr(backup, "_PAUSE", 0)
    with pytest.raises(LakeBusy, match="try again later"), backup.held_files(Lake(lake)):
        pass
