"""Files written whole or not at all, and locks that name who holds them."""

import os
from pathlib import Path

import pytest
from filelock import FileLock

from svc_analytics.errors import ConfigError, LakeBusy
from svc_analytics.files import (
    MOST_MADE,
    atomic_write,
    locked,
    make_folder,
    require_outside_lake,
    write_cached,
    write_json,
)
from svc_analytics.formatting.tables import output_file
from svc_analytics.lake.typed_files import append_rows, read_rows
from svc_analytics.storage import LocalStorage
from tests.simulation.disk import Disk


def replace_file(path: Path, *, is_durable: bool = True) -> list[tuple[str, str]]:
    """Write a file atomically, and return the calls of the disk that it takes."""
    with Disk(path.parent).installed() as disk:
        with atomic_write(path, is_durable=is_durable) as temporary:
            temporary.write_text("new")
            assert path.read_text() == "old"
        return disk.calls


@pytest.fixture
def path(tmp_path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("old")
    return path


def test_a_file_is_synced_before_it_takes_the_name_and_its_folder_after(path):
    """G1: a power cut leaves the old content or the new, never half of it."""
    *_, synced, replaced, opened, folder = replace_file(path)
    assert synced == ("fsync", ".a.txt.writing") and replaced == ("replace", "a.txt")
    assert (opened, folder) == (("open", "."), ("fsync", "."))
    assert path.read_text() == "new"


def test_what_can_be_made_again_is_replaced_without_waiting_for_the_disk(path):
    """An index or an export is whole under its name; a power cut may undo it."""
    assert "fsync" not in dict(replace_file(path, is_durable=False))
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_nothing_beside_it(path, error):
    """E5: whatever ends the writing, it ends as if it had never begun."""
    with pytest.raises(error), atomic_write(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


def test_json_is_written_for_people_too(tmp_path):
    make_folder(tmp_path / "deep" / "down")
    path = tmp_path / "deep" / "down" / "a.json"
    write_json(atomic_write(path), {"name": "فروشگاه"})
    assert path.read_text(encoding="utf-8") == '{\n  "name": "فروشگاه"\n}\n'


def test_a_lock_is_waited_for_and_then_its_holder_is_named(tmp_path):
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


# ---------- what a command makes and keeps for the next ones, in the cache folder


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path))
    return tmp_path / "views"


def test_an_image_is_made_once_for_all_commands(cache):
    """Of another SQL, or another version of DuckDB, there is another one."""
    assert write_cached("views", "this", lambda: b"image") == b"image"
    assert write_cached("views", "this", cannot_be_made) == b"image"
    assert write_cached("views", "that", lambda: b"other") == b"other"
    assert len([*cache.iterdir()]) == 2


@pytest.mark.parametrize("damage", [b"", b"x", bytes(32) + b"image"], ids=["none", "cut", "other"])
def test_a_damaged_image_is_made_again(cache, damage):
    write_cached("views", "this", lambda: b"image")
    (path,) = cache.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert (
        write_cached("views", "this", lambda: b"image") == b"image" and path.read_bytes() == whole
    )


def test_another_users_image_is_not_taken(cache, monkeypatch):
    write_cached("views", "this", lambda: b"theirs")
    monkeypatch.setattr(os, "getuid", lambda: 7, raising=False)
    assert write_cached("views", "this", lambda: b"ours") == b"ours"


def test_a_folder_that_cannot_be_written_costs_time_alone(cache):
    cache.write_text("a file stands where the folder would be")
    assert [write_cached("views", "this", lambda: b"image") for _ in range(2)] == [
        b"image",
        b"image",
    ]


def test_a_user_without_a_home_loses_time_alone(monkeypatch):
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("SVC_CACHE_DIR", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert write_cached("views", "this", lambda: b"image") == b"image"


def test_the_oldest_images_go(cache):
    for number in range(MOST_MADE + 3):
        write_cached("views", str(number), lambda: b"image")
        os.utime(max(cache.iterdir(), key=modified), (number, number))
    assert len([*cache.iterdir()]) == MOST_MADE


def modified(path: Path) -> float:
    return path.stat().st_mtime


def cannot_be_made() -> bytes:
    raise AssertionError("it was there")


# ---------- files that people type, and to which a command adds rows


COLUMNS = ("at", "coin", "note")
ROW = {"at": "2026-11-01", "coin": "btc", "note": "seen, by Sara"}
ADDED = '2026-11-01,btc,"seen, by Sara"'
TYPED = "at,coin,note\n1,btc,seen\n\n2,eth,\n"


def typed(folder: Path, content: bytes) -> Path:
    path = folder / "typed.csv"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content",
    [
        TYPED.encode(),
        TYPED.encode("utf-8-sig"),
        TYPED.replace("\n", "\r\n").encode(),
        TYPED.replace("\n", "\r").encode(),
        TYPED.rstrip().encode(),
        TYPED.replace(",", " , ").encode(),
        TYPED.replace("seen", '"seen"').encode(),
        TYPED.replace("\n\n", "\n,,\n").encode(),
        b"coin,at,note\nbtc,1,seen\n\neth,2,\n",
        TYPED.replace(",", ";").encode("utf-8-sig"),
        TYPED.replace(",", "\t").encode(),
        TYPED.replace("at,coin,note", "At,COIN,Note").encode(),
        TYPED.replace("\n", ",, \n").encode(),
    ],
    ids=[
        *("plain", "mark", "CRLF", "CR", "no end", "spaces", "quotes", "empty cells", "order"),
        *("semicolons", "tabs", "capitals", "empty cells behind the last"),
    ],
)
def test_what_has_one_meaning_is_read(tmp_path, content):
    """The same two rows, with the lines that they stand in."""
    rows = read_rows(typed(tmp_path, content), COLUMNS)
    assert [(row.line, row.cells) for row in rows] == [
        (2, {"at": "1", "coin": "btc", "note": "seen"}),
        (4, {"at": "2", "coin": "eth", "note": ""}),
    ]


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"at,coin,note\n"])
def test_a_file_without_rows_has_none(tmp_path, content):
    """Nor has one that is not there."""
    path = tmp_path / "typed.csv" if content is None else typed(tmp_path, content)
    assert read_rows(path, COLUMNS) == []


def test_a_column_that_is_optional_may_lack(tmp_path):
    [row] = read_rows(typed(tmp_path, b"at,coin\n1,btc\n"), COLUMNS, {"note"})
    assert row.cells["note"] == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("at,coin,note\n1,btc,500,25\n", "line 2: 4 cells, and the first line names 3"),
        ("at,coin,note\n1,btc,x\n2,eth\n", "line 3: 2 cells, and the first line names 3"),
        ('at,coin,note\n1,btc,"a\nb"\n2\n', "line 4: 1 cells, and the first line names 3"),
        ("at,coin,note,who\n", "line 1: no column 'who' is known: the first line must be at,coin"),
        ("at,coin,at,note\n", "line 1: at stands twice"),
        ("at,note\n", "line 1: the column coin is missing"),
        ("1,btc,x\n", "line 1: no column '1' is known"),
        ("at,,coin,note\n", "line 1: no column '' is known"),
        ("At,AT,coin,note\n", "line 1: at stands twice"),
        ("at,coin,note,\n1,btc,x,y\n", "line 2: 4 cells, and the first line names 3"),
        ("at;coin;note\n1,btc,x\n", "line 2: 1 cells, and the first line names 3"),
        ('at,coin,note\n1,btc,x\n2,"eth,x\n3,sol,x\n', "line 3: a quote is opened and never"),
        ('at,coin,note\n1,"b"tc,x\n', "line 2: it is no CSV: ',' expected after '\"'"),
        ("at,coin,note\n1,b\0tc,x\n", r"line 2: it holds the control character U\+0000"),
        ("at,coin,note\n1,b\x1btc,x\n", r"line 2: it holds the control character U\+001B"),
        (b"at,coin,note\n1,btc,\xe4\n", "line 2: the text is not UTF-8: save it as CSV in UTF-8"),
        ("at,coin,note\n".encode("utf-16"), "line 1: the text is UTF-16: save it as CSV in UTF-8"),
    ],
)
def test_what_could_mean_two_things_is_refused(tmp_path, content, told):
    """By the file's name, the number of the line, and what is wrong with it; by both doors."""
    before = content if isinstance(content, bytes) else content.encode()
    path = typed(tmp_path, before)
    with pytest.raises(ConfigError, match=rf"typed\.csv, {told}"):
        read_rows(path, COLUMNS)
    with pytest.raises(ConfigError, match=rf"typed\.csv, {told}"):
        append_rows(LocalStorage(tmp_path), path.name, COLUMNS, [ROW])
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"at,coin,note\n{ADDED}\n"),
        ("", f"at,coin,note\n{ADDED}\n"),
        ("at,coin,note\nx,eth,", f"at,coin,note\nx,eth,\n{ADDED}\n"),
        ("\ufeffat,coin,note\r\nx,eth,\r\n", f"\ufeffat,coin,note\r\nx,eth,\r\n{ADDED}\r\n"),
        ("note,coin,at\n", 'note,coin,at\n"seen, by Sara",btc,2026-11-01\n'),
        ("At;coin;note\n1;eth;\n", "At;coin;note\n1;eth;\n2026-11-01;btc;seen, by Sara\n"),
    ],
)
def test_a_row_is_added_and_all_else_stays(tmp_path, before, after):
    """With the file's own order of columns, ends of lines and mark of UTF-8."""
    path = tmp_path / "typed.csv"
    if before is not None:
        path.write_bytes(before.encode())
    append_rows(LocalStorage(tmp_path), path.name, COLUMNS, [ROW])
    assert path.read_bytes().decode() == after


def test_a_column_is_added_before_the_empty_cells_that_a_spreadsheet_left(tmp_path):
    path = typed(tmp_path, b"at;coin;;\n1;eth;;\n")
    append_rows(LocalStorage(tmp_path), path.name, COLUMNS, [ROW], {"note"})
    assert path.read_text() == "at;coin;note\n1;eth;\n2026-11-01;btc;seen, by Sara\n"


def test_a_sign_that_would_be_refused_is_added_as_its_code_point(tmp_path):
    """A command that wrote it would close the file to all commands."""
    row = ROW | {"note": "seen\x1b[2J\udcff, by\tSara"}
    append_rows(LocalStorage(tmp_path), "typed.csv", COLUMNS, [row])
    [read] = read_rows(tmp_path / "typed.csv", COLUMNS)
    assert read.cells["note"] == "seen[U+001B][2J[U+DCFF], by\tSara"


def test_a_column_that_a_row_needs_is_added(tmp_path):
    """Rows of more lines than one, and blank lines, stay what they were."""
    path = typed(tmp_path, b'at,coin\r\n1,"b\ntc"\r\n\r\n2,eth')
    append_rows(LocalStorage(tmp_path), path.name, COLUMNS, [ROW], {"note"})
    said = f'at,coin,note\r\n1,"b\ntc",\r\n\r\n2,eth,\r\n{ADDED}\r\n'
    assert path.read_bytes().decode() == said
    assert [row.cells["coin"] for row in read_rows(path, COLUMNS)] == ["b\ntc", "eth", "btc"]


@pytest.mark.parametrize(
    "name", ["lake.json", "statements/2026-10/x.csv", "books/booked.json", "x"]
)
def test_a_file_that_a_person_names_replaces_none_of_a_lake(tmp_path, name):
    """`--out data/lake.json` lost the lake with exit code 0; entries lie in `books` by default."""
    (tmp_path / "lake.json").write_text("ours")
    with pytest.raises(ConfigError, match="lies in the lake"), output_file(tmp_path / name):
        raise AssertionError("it was begun")
    require_outside_lake(tmp_path / "books" / "2026-10.csv")
    require_outside_lake(tmp_path / "statements" / "2026-10.zip")
    require_outside_lake(tmp_path.parent / "x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["lake.json"]
