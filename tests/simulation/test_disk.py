"""The disk of the simulation loses what a real one may lose, and nothing else."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from svc_analytics.files import sync_folder
from tests.simulation.disk import Disk
from tests.simulation.virtual import Lock, Stuck, Thread, World

CUTS = 40  # power cuts of which each may leave something else


@pytest.fixture
def folder(tmp_path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder


def write(path: Path, text: str, *, is_synced: bool) -> None:
    with path.open("w") as file:
        file.write(text)
        file.flush()
        if is_synced:
            os.fsync(file.fileno())


def after_cuts(folder: Path, name: str, *, syncs_file: bool, syncs_folder: bool) -> set[str]:
    """Replace a file again and again, cut the power, and say what stood there after it."""
    found = set()
    for seed in range(CUTS):
        (folder / name).write_text("old")
        with Disk(folder).installed() as disk:
            write(folder / ".new", "the new one", is_synced=syncs_file)
            (folder / ".new").replace(folder / name)
            if syncs_folder:
                sync_folder(folder)
        disk.lose_power(random.Random(seed))
        found.add((folder / name).read_text())
    return found


def test_what_was_synced_with_its_folder_survives(folder):
    assert after_cuts(folder, "a", syncs_file=True, syncs_folder=True) == {"the new one"}


def test_a_rename_that_was_not_synced_happens_or_does_not(folder):
    assert after_cuts(folder, "a", syncs_file=True, syncs_folder=False) == {"old", "the new one"}


def test_content_that_was_not_synced_may_be_torn_under_its_new_name(folder):
    found = after_cuts(folder, "a", syncs_file=False, syncs_folder=True)
    assert {"", "the new one"} < found and "old" not in found


def test_a_disk_that_lies_loses_what_it_said_was_safe(folder):
    found = set()
    for seed in range(CUTS):
        (folder / "a").write_text("old")
        with Disk(folder, lies=True).installed() as disk:
            write(folder / "a", "new", is_synced=True)
        disk.lose_power(random.Random(seed))
        found.add((folder / "a").read_text())
    assert {"", "new"} < found


def test_what_lies_elsewhere_is_left_alone(folder, tmp_path):
    with Disk(folder).installed() as disk:
        write(tmp_path / "other", "text", is_synced=True)
        (tmp_path / "other").unlink()
    assert not disk.calls and not list(tmp_path.glob("other"))


# ---------- the simulation's threads take turns, and happen again as they were


def test_threads_that_wait_for_one_another_are_told():
    world = World("stuck")
    first, second = Lock(world), Lock(world)

    def work(one: Lock, other: Lock) -> None:
        with one:
            world.sleep(1)
            with other:
                pass

    Thread(world, target=work, args=(first, second)).start()
    Thread(world, target=work, args=(second, first)).start()
    with pytest.raises(Stuck, match="outlived"):
        world.end_run()


def test_a_loop_without_end_is_told():
    world = World("loop")

    def work() -> None:
        while True:
            world.sleep(0.001)

    Thread(world, target=work).start()
    with pytest.raises(Stuck):
        world.end_run()
