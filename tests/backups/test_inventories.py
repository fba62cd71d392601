"""An inventory that is damaged, or that somebody forged, is told; nothing is restored by it."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.backups.backup import backup
from svc_analytics.lake.lake import Lake, digest_of
from tests.simulation.simulate import quick_folder
from tests.support.altered import back_up, kept, restored
from tests.support.sealed_months import closer_at


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """A small lake, with a backup."""
    with quick_folder() as folder:
        closer_at(folder / "data").desk.extract()
        back_up(folder / "data", folder / "backups")
        yield folder


@pytest.fixture
def place(made, tmp_path) -> Path:
    """A working folder with a copy of both."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def forge(place: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the newest inventory, with a digest that fits."""
    [*_, file] = sorted((place / "backups" / "backups").iterdir())
    document = json.loads(file.read_bytes())
    document.pop("sha256")
    change(document)
    file.write_text(json.dumps(document | {"sha256": digest_of(document)}))


def of_file(**facts: Any) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["files"][0].update(facts)


FORGERIES = {
    "a size of a text": of_file(size="12"),
    "a size below zero": of_file(size=-1),
    "a size of a truth": of_file(size=True),
    "a broken size": of_file(size=1.5),
    "a size of a list": of_file(size=[1]),
    "a path of a number": of_file(path=5),
    "a path of nothing": of_file(path=None),
    "a path of half a letter": of_file(path="a\ud800"),
    "a digest of a number": of_file(sha256=5),
    "a digest of a folder": of_file(sha256="../../x"),
    "a word for private": of_file(is_private="no"),
    "a fact more": of_file(mode="777"),
    "a file that is a folder too": of_file(path="lake.json/x"),
    "a path twice": lambda document: document["files"].append(document["files"][0]),
    "no files": lambda document: document.update(files=[]),
    "files of another type": lambda document: document.update(files={"lake.json": 1}),
    "a merchant of a number": lambda document: document.update(merchant=5),
    "a release of a list": lambda document: document.update(tool_version=[]),
    "no time": lambda document: document.update(made_at="yesterday"),
    "a time of a number": lambda document: document.update(made_at=5),
    "no lake.json": lambda document: document.update(
        files=[each for each in document["files"] if each["path"] != "lake.json"]
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_inventory_is_no_backup(place, run, name):
    """Verify names it, restore refuses it, and the next backup is whole."""
    forge(place, FORGERIES[name])
    require_no_backup(place, run)


@pytest.mark.parametrize("text", ["", "null", "[]", "5", "{", "[" * 10**5, "\xff", '{"form": 1}'])
def test_a_damaged_inventory_is_no_backup(place, run, text):
    [file] = (place / "backups" / "backups").iterdir()
    file.write_text(text, encoding="latin-1")
    require_no_backup(place, run)


def require_no_backup(place: Path, run) -> None:
    checked = run("backup", "backups", "--verify")
    assert checked.code == 3 and "is altered: it cannot be read" in checked.out, checked
    done = run("restore", "backups", "--data-dir", "new")
    assert done.code == 1 and done.err.count("\n") == 1, done
    assert "is altered, and cannot be read, and there is no other" in done.err
    assert not (place / "new").exists()
    new = backup(Lake(place / "data"), place / "backups", progress=False)
    assert restored(place / "backups", place / "new", new.name) == kept(place / "data")


@pytest.mark.parametrize("name", ["Copy of {name}", "old/{name}", "{name} 2.json"])
def test_a_copy_of_an_inventory_is_no_backup(place, run, name):
    """It was taken for the newest one: restored, and the backup just made was removed."""
    [file] = (place / "backups" / "backups").iterdir()
    copy = file.parent / name.format(name=file.name)
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(file.read_bytes())
    (place / "data" / "books.toml").write_text("a chart\n")
    assert run("backup", "backups", "--keep", "1").code == 0
    assert run("restore", "backups", "--data-dir", "new").code == 0
    assert (place / "new" / "books.toml").exists() and copy.exists() and not file.exists()


def test_the_newest_backup_that_cannot_be_read_is_named_and_an_older_one_is_asked_for(place, run):
    """An older one was restored in its place, without a word; --keep removed nothing any more."""
    [older] = (place / "backups" / "backups").iterdir()
    newest = backup(Lake(place / "data"), place / "backups", progress=False)
    (place / "backups" / "backups" / f"{newest.name}.json").write_text("")
    done = run("restore", "backups", "--data-dir", "new")
    assert done.code == 1 and f"cannot be read: give --at {older.stem}" in done.err
    done = run("backup", "backups", "--keep", "1")
    assert done.code == 3 and f"{newest.name}.json is altered, and cannot be read" in done.err
    assert older.exists()


def test_an_altered_copy_is_named_in_each_backup_with_what_to_do(place, run):
    """One of the same size is never read by a backup: what it says is whole would not be."""
    backup(Lake(place / "data"), place / "backups", progress=False)
    file = place / "backups" / "lake" / "lake.json"
    file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes()))
    done = run("backup", "backups", "--verify")
    assert done.code == 3 and done.out.count("lake.json is altered") == 2
    assert "remove what is altered below" in done.err
    file.unlink()
    assert run("backup", "backups").code == run("backup", "backups", "--verify").code == 0


def test_a_link_into_the_lake_is_no_copy(place, run):
    """As programs make that find the same file twice: it would go with the lake."""
    file = place / "backups" / "lake" / "lake.json"
    file.unlink()
    file.symlink_to(place / "data" / "lake.json")
    assert "lake.json is missing" in run("backup", "backups", "--verify").out
    assert run("backup", "backups").code == 0 and not file.is_symlink()
