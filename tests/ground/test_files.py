"""Files written whole or not at all, and locks that name who holds them."""

from pathlib import Path

import pytest
from filelock import FileLock

from svc_analytics.errors import LakeBusy
from svc_analytics.files import atomic_write, locked, make_folder, write_json
from tests.simulation.disk import Disk


def replace_file(path: Path, *, is_durable: bool = True) -> list[tuple[str, str]]:
    """Write a file atomically, and return the calls of the disk that it takes."""
    with Disk(path.parent).installed() as disk:
        with atomic_write(path, is_durable=is_durable) as temporary:
            temporary.write_text("new")
            assert path.read_text() == "old"
        return disk.calls


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("old")
    return path


def test_a_file_is_synced_before_it_takes_the_name_and_its_folder_after(path: Path) -> None:
    """G1: a power cut leaves the old content or the new, never half of it."""
    *_, synced, replaced, opened, folder = replace_file(path)
    assert synced == ("fsync", ".a.txt.writing") and replaced == ("replace", "a.txt")
    assert (opened, folder) == (("open", "."), ("fsync", "."))
    assert path.read_text() == "new"


def test_what_can_be_made_again_is_replaced_without_waiting_for_the_disk(path: Path) -> None:
    """An index or an export is whole under its name; a power cut may undo it."""
    assert "fsync" not in dict(replace_file(path, is_durable=False))
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(
    path: Path, error: type[BaseException]
) -> None:
    """E5: whatever ends the writing, it ends as if it had never begun."""
    with pytest.raises(error), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


def test_json_is_written_for_people_too(tmp_path: Path) -> None:
    make_folder(tmp_path / "deep" / "down")
    path = tmp_path / "deep" / "down" / "a.json"
    write_json(atomic_write(path), {"name": "فروشگاه"})
    assert path.read_text(encoding="utf-8") == '{\n  "name": "فروشگاه"\n}\n'


def test_a_lock_is_waited_for_and_then_its_holder_is_named(tmp_path: Path) -> None:
    """E3: one wording for every lock: who, what it does, and that later will do."""
    lock = tmp_path / ".lock"
    with (
        FileLock(lock),
        pytest.raises(LakeBusy, match=r"^another process is closing a month: try again later$"),
        locked(lock, "is closing a month", patience=0),
    ):
        pass
    with locked(lock, "is closing a month", patience=0):
        pass
