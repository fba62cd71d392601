"""Backups in a folder: what they hold, what they tell, what they refuse."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from svc_analytics import LakeError, backup, restore, verify_backup
from svc_analytics.backups.archive import BackupFile, Inventory
from svc_analytics.config import read_data_dir
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import NOTIFIED_MARK
from tests.support.altered import back_up, flip, kept, restored
from tests.support.rings import rings
from tests.support.sealed_months import MONTHS

LEAST = {"lake.json": BackupFile(2, "0" * 64)}  # of an inventory: without it, there is no lake
TYPED = "at,currency,balance,note\n"


@pytest.fixture
def place(sealed, tmp_path) -> Path:
    """A working folder with a sealed lake: a secret, typed and derived files."""
    shutil.copytree(sealed, tmp_path / "data")
    (tmp_path / "data" / "assertions.csv").write_text(TYPED)
    (tmp_path / "data" / NOTIFIED_MARK).write_text("{}")
    return tmp_path


def test_a_restored_lake_has_the_same_bytes(place):
    """Its owner's group reads it; of a secret nobody else reads anything, in the backup neither."""
    back_up(place / "data", place / "disk" / "backups")
    restore(place / "disk" / "backups", place / "new", progress=False)
    assert kept(place / "new") == kept(place / "data")
    for secret in (place / "new" / "secret", place / "disk" / "backups" / "lake" / "secret"):
        assert secret.stat().st_mode & 0o777 == 0o600
    assert (place / "new" / "lake.json").stat().st_mode & 0o777 == 0o640
    for folder in (place / "new", place / "disk" / "backups"):
        assert not folder.stat().st_mode & 0o007


def test_a_backup_behind_a_killed_run_holds_the_statement_that_it_was_replacing(place):
    """Its folder lay aside, in a hidden one."""
    before = kept(place / "data")
    folder = place / "data" / "statements" / MONTHS[0]
    aside = folder.with_name(f".{folder.name}.0a0a0a0a.writing")
    (aside / "new").mkdir(parents=True)
    folder.rename(aside / "old")
    back_up(place / "data", place / "backups")
    assert restored(place / "backups", place / "new") == before


def test_only_what_is_new_and_changed_is_copied(place):
    """What was replaced or removed is set aside, and the newest files are named as in the lake."""
    lake, target = place / "data", place / "backups"
    first = back_up(lake, target)
    (lake / "assertions.csv").write_text(f"{TYPED}2026-10-01,btc,1,\n")
    (lake / "rates.csv").write_text("date,currency,rate,source\n")
    (lake / "secret").unlink()
    made = backup(Lake(lake), target, progress=False)
    assert (made.copied, made.changed) == (("assertions.csv", "rates.csv"), ("assertions.csv",))
    assert made.gone == ("secret",)
    assert kept(target / "lake") == kept(lake)
    assert restored(target, place / "new", first)["assertions.csv"] == TYPED.encode()


def test_only_so_many_backups_are_kept_as_are_wanted(place):
    """With the contents that these name, and no other."""
    lake, target = place / "data", place / "backups"
    names = []
    for text in "abcd":
        (lake / "sentences.csv").write_text(text)
        names.append(backup(Lake(lake), target, keep=2, progress=False).name)
    assert sorted(file.stem for file in (target / "backups").iterdir()) == names[2:]
    older = [file.read_text() for file in (target / "older").rglob("sentences.csv")]
    assert older == ["c"]
    assert restored(target, place / "new", names[2])["sentences.csv"] == b"c"
    assert verify_backup(target, progress=False).problems == ()


@pytest.mark.parametrize(
    "path", ["payments/2026-09.parquet", f"statements/{MONTHS[0]}/lines.csv"], ids=["month", "seal"]
)
def test_a_file_that_was_altered_in_the_lake_is_told_and_replaces_no_good_one(place, run, path):
    """Each time again, until it is mended."""
    good = (place / "data" / path).read_bytes()
    first = back_up(place / "data", place / "backups")
    flip(place / "data" / path, 99)
    for _ in range(2):
        done = run("backup", "backups")
        assert done.code == 3
        told = f"{path} is torn or altered in the lake: an earlier backup may hold it whole"
        assert done.err == f"svc-analytics: {told}\n"
    assert restored(place / "backups", place / "new", first)[path] == good


def spoil(file: Path) -> None:
    flip(file, file.stat().st_size // 2)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("damage", "place_of"),
    rings(
        [(spoil, "lake"), (cut, "older"), (Path.unlink, "lake")],
        [(spoil, "older"), (cut, "lake"), (Path.unlink, "older")],
    ),
)
def test_verify_finds_each_kind_of_damage(place, run, place_of, damage):
    """By the backup and the path; restore refuses it, and brings back the other one."""
    lake, target = place / "data", place / "backups"
    names = [back_up(lake, target)]
    (lake / "assertions.csv").write_text(f"{TYPED}2026-10-01,btc,1,\n")
    names.append(back_up(lake, target))
    assert run("backup", "backups", "--verify").code == 0
    [file] = (target / place_of).rglob("assertions.csv")
    damage(file)
    done = run("backup", "backups", "--verify")
    broken, whole = (names[1], names[0]) if place_of == "lake" else names
    assert done.code == 3 and f"{broken}: assertions.csv is " in done.out
    assert done.out.count("assertions.csv") == 1
    with pytest.raises(LakeError, match=r"assertions\.csv is missing or altered"):
        restore(target, place / "half", at=broken, progress=False)
    assert {path.name for path in (place / "half").glob("*")} <= {".lock"}
    assert restored(target, place / "new", whole)


def test_an_altered_inventory_is_told_and_costs_no_content(place, run):
    """The backup before it is still there, and what it alone names is not removed."""
    lake, target = place / "data", place / "backups"
    older = back_up(lake, target)
    (lake / "sentences.csv").write_text("a")
    spoil(target / "backups" / f"{back_up(lake, target)}.json")
    done = run("backup", "backups", "--verify")
    assert done.code == 3 and "is altered: it cannot be read" in done.out
    assert "sentences.csv" not in restored(target, place / "new", older)
    (lake / "sentences.csv").write_text("b")
    backup(Lake(lake), target, keep=1, progress=False)
    assert [file.read_text() for file in (target / "older").rglob("sentences.csv")] == ["a"]


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "a//b", ""])
def test_an_inventory_that_names_a_file_outside_of_the_lake_is_refused(path):
    """Whoever can write into the backup cannot write elsewhere by it."""
    made = Inventory(0, "m", "0.1.0", LEAST)
    assert Inventory.parse(made.to_bytes()) == made
    with pytest.raises(ValueError, match="outside of the lake"):
        Inventory.parse(replace(made, files=LEAST | {path: BackupFile(0, "0" * 64)}).to_bytes())


def test_a_dry_run_lists_what_it_would_write_and_writes_nothing(place, run):
    back_up(place / "data", place / "backups")
    done = run("restore", "backups", "--data-dir", "new", "--dry-run")
    assert done.code == 0 and not (place / "new").exists()
    *files, last = done.out.splitlines()
    assert sorted(line.split()[1] for line in files) == sorted(kept(place / "data"))
    assert last.startswith("would write backup ")
    (place / "backups" / "lake" / "assertions.csv").unlink()
    done = run("restore", "backups", "--data-dir", "new", "--dry-run")
    assert (done.code, done.out) == (1, "") and "assertions.csv is missing" in done.err


def test_a_restored_lake_answers_other_tools(place, run):
    """Its `analytics.duckdb` is made anew, over its own files."""
    back_up(place / "data", place / "backups")
    shutil.rmtree(place / "data")
    assert run("restore", "backups").code == 0
    assert (read_data_dir() / "analytics.duckdb").is_file()
    assert run("restore", "backups").err.endswith("restored into an empty folder only\n")


MIDNIGHT = "T00-00-00.000000Z"
_NEWEST = f"2026-10-02{MIDNIGHT}, 2026-10-03{MIDNIGHT}, 2026-10-04{MIDNIGHT}\n"
REFUSED = [
    (("backup", "data/backups"), 2, "lie within one another"),
    (("backup", "."), 2, "lie within one another"),
    (("backup", "other"), 1, "holds files that are no backups"),
    (("backup", "none", "--verify"), 1, "there is none"),
    (("backup", "backups", "--verify", "--keep", "3"), 2, "not both"),
    (("backup", "backups", "--data-dir", "none"), 1, "no lake in"),
    (("backup", "theirs"), 2, "holds backups of merchant somebody-else"),
    (("restore", "backups"), 1, "is not empty"),
    (("restore", "backups", "--data-dir", "other"), 1, "is not empty"),
    (("restore", "backups", "--at", "2020", "--data-dir", "new"), 2, "holds no backup 2020"),
    (("restore", "many", "--at", "2020", "--data-dir", "new"), 2, _NEWEST),
    (("restore", "none", "--data-dir", "new"), 1, "there is none"),
    (("restore", "backups", "--data-dir", "s3://bucket/lake"), 2, "is a bucket"),
]


@pytest.mark.parametrize(("words", "code", "said"), REFUSED)
def test_what_cannot_be_done_is_said_in_one_line(place, run, words, code, said):
    """And changes nothing."""
    (place / "other").mkdir()
    (place / "other" / "mine.txt").write_text("mine")
    (place / "theirs" / "backups").mkdir(parents=True)
    (place / "many" / "backups").mkdir(parents=True)
    for day in range(1, 5):
        (place / "many" / "backups" / f"2026-10-0{day}{MIDNIGHT}.json").touch()
    strange = Inventory(0, "somebody-else", "0.1.0", LEAST)
    (place / "theirs" / "backups" / f"{strange.name}.json").write_bytes(strange.to_bytes())
    back_up(place / "data", place / "backups")
    before = kept(place)
    done = run(*words)
    assert done.code == code and said in done.err and done.err.count("\n") == 1, done.err
    assert kept(place) == before and not (place / "other" / ".lock").exists()
