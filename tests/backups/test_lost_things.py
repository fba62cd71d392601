"""A backup forgets nothing that cannot be read again, until a person lets it go."""

import json
import shutil
from pathlib import Path

import pytest

from svc_analytics import ConfigError, backup, verify_backup
from svc_analytics.lake.lake import Lake
from tests.support.altered import back_up, flip, restored
from tests.support.sealed_months import MONTHS, closer_at

SEALED = f"statements/{MONTHS[0]}"
PROVISIONAL = f"statements/{MONTHS[1]}"


TEXTS = {
    "assertions.csv": "at,currency,balance,note\n",
    "books.toml": "[books]\n",
    "books/booked.json": "{}\n",
    "books/2026-09.csv.csv": "a\n",
    "notes.txt": "mine\n",
}


@pytest.fixture
def place(sealed, tmp_path) -> Path:
    """A working folder with a backup of a lake: a sealed and a provisional month, typed files."""
    data = Path(shutil.copytree(sealed, tmp_path / "data"))
    shutil.copytree(data / SEALED, data / PROVISIONAL)
    manifest = data / PROVISIONAL / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"seal": None}))
    for name, text in TEXTS.items():
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_text(text)
    back_up(tmp_path / "data", tmp_path / "backups")
    return tmp_path


def kept_copies(place: Path, path: str) -> list[bytes]:
    return [file.read_bytes() for file in (place / "backups" / "older").glob(f"*/{path}")]


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def empty(path: Path) -> None:
    path.write_bytes(b"")


LOST = ["secret", "assertions.csv", "books.toml", "books/booked.json", "statements/seals.csv"]


@pytest.mark.parametrize("path", [*LOST, "notes.txt", f"{SEALED}/lines.csv"])
@pytest.mark.parametrize("lose", [remove, empty])
def test_a_lost_thing_is_told_until_a_person_lets_it_go(place, run, path, lose):
    """Each time again, and rotation keeps its last good copy."""
    good = (place / "data" / path).read_bytes()
    lose(place / "data" / path)
    for _ in range(3):
        done = run("backup", "backups", "--keep", "1")
        assert done.code == 3 and path in done.err and done.err.count("\n") == 1, done.err
        assert kept_copies(place, path) == [good]
        assert run("backup", "backups", "--verify").code == 0
    assert run("backup", "backups", "--let-go", path).code == 0
    done = run("backup", "backups", "--keep", "1")
    assert (done.code, done.err) == (0, "") and kept_copies(place, path) == []


@pytest.mark.parametrize("name", LOST)
def test_what_is_there_again_is_not_lost(place, run, name):
    """As it was, or typed anew."""
    path = place / "data" / name
    good = path.read_bytes()
    path.unlink()
    assert run("backup", "backups").code == 3
    path.write_bytes(good)
    done = run("backup", "backups", "--keep", "1")
    assert (done.code, done.err) == (0, "")
    path.write_text("typed anew\n")
    never_anew = ("statements/seals.csv", "secret", "books/booked.json")
    assert run("backup", "backups").code == 3 * (name in never_anew)


@pytest.mark.parametrize("name", ["books/booked.json", "statements/chain.json", "secret"])
def test_what_is_torn_is_named_and_its_last_good_copy_stays(place, run, name):
    """Neither gone nor empty, it was "changed", and --keep removed what could mend it."""
    path = place / "data" / name
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2])
    done = run("backup", "backups", "--keep", "1")
    assert done.code == 3 and name in done.err and kept_copies(place, name) == [good]


def test_an_older_list_of_what_was_booked_is_a_loss(place, run):
    """With it a month would be booked whole once more."""
    path = place / "data" / "books" / "booked.json"
    older = path.read_bytes()
    path.write_text('{"2026-09": [{"seal": "0"}]}')
    assert run("backup", "backups").code == 0
    path.write_bytes(older)
    done = run("backup", "backups", "--keep", "1")
    assert done.code == 3 and "books/booked.json is lost" in done.err


def test_a_sealed_statement_is_one_thing(place, run):
    """It is told, and let go, by its folder."""
    count = len([*(place / "data" / SEALED).iterdir()])
    remove(place / "data" / SEALED)
    done = run("backup", "backups", "--keep", "1")
    assert done.code == 3 and done.err.count("\n") == 1
    assert f"{SEALED} is lost" in done.err and f"--let-go {SEALED}" in done.err
    document = json.loads(run("backup", "backups", "--json").out)
    assert len(document["lost"]) == count
    assert run("backup", "backups", "--let-go", SEALED).code == 0
    assert run("backup", "backups").code == 0


def test_a_seal_that_was_replaced_by_another_is_lost(place, run):
    """Each file fits the new manifest; the backup had another seal."""
    manifest = place / "data" / SEALED / "manifest.json"
    good = manifest.read_bytes()
    manifest.write_text(json.dumps(json.loads(good) | {"seal": "0" * 64}))
    for _ in range(2):
        done = run("backup", "backups", "--keep", "1")
        assert done.code == 3 and f"{SEALED} is lost" in done.err
        assert kept_copies(place, f"{SEALED}/manifest.json") == [good]


def test_a_register_that_lacks_a_line_is_lost(place, run):
    """It grows only."""
    register = place / "data" / "statements" / "seals.csv"
    good = register.read_bytes()
    register.write_bytes(good + b"a,2026-10,gregorian,UTC,1,b\n")
    assert run("backup", "backups").code == 0
    register.write_bytes(good)
    assert run("backup", "backups").code == 3


def test_the_last_good_copy_of_a_damaged_file_is_kept(place, run):
    """However often it rots, or is copied; letting it go ends the telling of this content."""
    path = f"{SEALED}/lines.csv"
    good = (place / "data" / path).read_bytes()
    for at in (9, 19):
        flip(place / "data" / path, at)
        for _ in range(2):
            done = run("backup", "backups", "--keep", "1")
            assert done.code == 3 and f"{path} is torn or altered" in done.err
            assert good in kept_copies(place, path)
    assert run("backup", "backups", "--let-go", path).code == 0
    assert run("backup", "backups", "--keep", "1").code == 0
    assert kept_copies(place, path) == []
    flip(place / "data" / path, 29)
    assert run("backup", "backups").code == 3


@pytest.mark.parametrize(
    "path", ["payments/2026-09.parquet", "books/2026-09.csv.csv", PROVISIONAL, "analytics.duckdb"]
)
def test_what_can_be_made_again_is_not_lost(place, run, path):
    """The service tells records again, and the lake the rest. What is gone is named once."""
    remove(place / "data" / path)
    done = run("backup", "backups")
    assert (done.code, done.err) == (0, "")
    is_kept = path != "analytics.duckdb"  # by a backup
    assert done.out.endswith(f"since the last backup{f': {path}' * is_kept}\n")
    assert run("backup", "backups").out.endswith("; 0 gone from the lake since the last backup\n")


def test_a_month_with_a_record_that_the_service_lists_no_more_is_lost(place, run):
    """Whoever reads the month again does not get it."""
    closer = closer_at(place / "data")
    closer.desk.service.payments.pop()
    closer.desk.extract(rereads=True)
    assert run("backup", "backups").code == 0
    remove(place / "data" / "payments" / f"{MONTHS[1]}.parquet")
    done = run("backup", "backups")
    assert done.code == 3 and f"payments/{MONTHS[1]}.parquet is lost" in done.err


def change_typed(data: Path) -> None:
    (data / "assertions.csv").write_text("at,currency,balance,note\n2026-10-01,btc,1,\n")


def seal_again(data: Path) -> None:
    shutil.rmtree(data / PROVISIONAL)
    shutil.copytree(data / SEALED, data / PROVISIONAL)


@pytest.mark.parametrize("change", [change_typed, seal_again])
def test_what_was_changed_on_purpose_is_not_lost(place, run, change):
    change(place / "data")
    assert run("backup", "backups").code == 0


def test_a_copy_that_rotted_is_told(place, run):
    """The last good one is read back too."""
    remove(place / "data" / "secret")
    backup(Lake(place / "data"), place / "backups", keep=1, progress=False)
    [copy] = (place / "backups" / "older").glob("*/secret")
    flip(copy, 3)
    [(_, path, wrong)] = verify_backup(place / "backups", progress=False).problems
    assert (path, wrong) == ("secret", "altered")


@pytest.mark.parametrize("path", ["secret", "none", "..", "statements"])
def test_only_what_is_lost_can_be_let_go(place, run, path):
    """It is told what is lost; nothing is made."""
    before = {file.name for file in (place / "backups" / "backups").iterdir()}
    remove(place / "data" / "assertions.csv")
    done = run("backup", "backups", "--let-go", path)
    assert done.code == 2 and f"{path} is not lost: assertions.csv is" in done.err
    assert {file.name for file in (place / "backups" / "backups").iterdir()} == before
    assert run("backup", "backups", "--verify", "--let-go", path).code == 2


def test_it_is_let_go_in_python_too(place):
    lake = Lake(place / "data")
    remove(place / "data" / "secret")
    assert backup(lake, place / "backups", progress=False).lost == ("secret",)
    assert backup(lake, place / "backups", let_go=["secret"], progress=False).lost == ()
    with pytest.raises(ConfigError, match="secret is not lost: nothing is"):
        backup(lake, place / "backups", let_go=["secret"], progress=False)
    assert "secret" not in restored(place / "backups", place / "new")
