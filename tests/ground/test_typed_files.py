"""Files that people type, and to which a command adds rows."""

from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.lake.typed_files import append_row, read_rows
from svc_analytics.storage import LocalStorage

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
    ],
    ids=["plain", "mark", "CRLF", "CR", "no end", "spaces", "quotes", "empty cells", "order"],
)
def test_what_has_one_meaning_is_read(tmp_path: Path, content: bytes) -> None:
    """The same two rows, with the lines that they stand in."""
    rows = read_rows(typed(tmp_path, content), COLUMNS)
    assert [(row.line, row.cells) for row in rows] == [
        (2, {"at": "1", "coin": "btc", "note": "seen"}),
        (4, {"at": "2", "coin": "eth", "note": ""}),
    ]


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"at,coin,note\n"])
def test_a_file_without_rows_has_none(tmp_path: Path, content: bytes | None) -> None:
    """Nor has one that is not there."""
    path = tmp_path / "typed.csv" if content is None else typed(tmp_path, content)
    assert read_rows(path, COLUMNS) == []


def test_a_column_that_is_optional_may_lack(tmp_path: Path) -> None:
    [row] = read_rows(typed(tmp_path, b"at,coin\n1,btc\n"), COLUMNS, {"note"})
    assert row.cells["note"] == ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("at,coin,note\n1,btc,500,25\n", "line 2: 4 cells, and the first line names 3"),
        ("at,coin,note\n1,btc,x\n2,eth\n", "line 3: 2 cells, and the first line names 3"),
        ('at,coin,note\n1,btc,"a\nb"\n2\n', "line 4: 1 cells, and the first line names 3"),
        ("at,coin,note,who\n", "line 1: no column 'who' is known: the first line must be at,coin"),
        ("at,coin,note,\n", "line 1: no column '' is known"),
        ("at,coin,at,note\n", "line 1: at stands twice"),
        ("at,note\n", "line 1: the column coin is missing"),
        ("at;coin;note\n1;btc;x\n", "line 1: no column 'at;coin;note' is known"),
        ("At,coin,note\n", "line 1: no column 'At' is known"),
        ("1,btc,x\n", "line 1: no column '1' is known"),
        ('at,coin,note\n1,btc,x\n2,"eth,x\n3,sol,x\n', "line 3: a quote is opened and never"),
        ('at,coin,note\n1,"b"tc,x\n', "line 2: it is no CSV: ',' expected after '\"'"),
        ("at,coin,note\n1,b\0tc,x\n", r"line 2: it holds the control character U\+0000"),
        ("at,coin,note\n1,b\x1btc,x\n", r"line 2: it holds the control character U\+001B"),
        (b"at,coin,note\n1,btc,\xe4\n", "line 2: the text is not UTF-8: save it as CSV in UTF-8"),
        ("at,coin,note\n".encode("utf-16"), "line 1: the text is UTF-16: save it as CSV in UTF-8"),
    ],
)
def test_what_could_mean_two_things_is_refused(
    tmp_path: Path, content: str | bytes, told: str
) -> None:
    """By the file's name, the number of the line, and what is wrong with it; by both doors."""
    before = content if isinstance(content, bytes) else content.encode()
    path = typed(tmp_path, before)
    with pytest.raises(ConfigError, match=rf"typed\.csv, {told}"):
        read_rows(path, COLUMNS)
    with pytest.raises(ConfigError, match=rf"typed\.csv, {told}"):
        append_row(LocalStorage(tmp_path), path.name, COLUMNS, ROW)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"at,coin,note\n{ADDED}\n"),
        ("", f"at,coin,note\n{ADDED}\n"),
        ("at,coin,note\nx,eth,", f"at,coin,note\nx,eth,\n{ADDED}\n"),
        ("\ufeffat,coin,note\r\nx,eth,\r\n", f"\ufeffat,coin,note\r\nx,eth,\r\n{ADDED}\r\n"),
        ("note,coin,at\n", 'note,coin,at\n"seen, by Sara",btc,2026-11-01\n'),
    ],
)
def test_a_row_is_added_and_all_else_stays(tmp_path: Path, before: str | None, after: str) -> None:
    """With the file's own order of columns, ends of lines and mark of UTF-8."""
    path = tmp_path / "typed.csv"
    if before is not None:
        path.write_bytes(before.encode())
    append_row(LocalStorage(tmp_path), path.name, COLUMNS, ROW)
    assert path.read_bytes().decode() == after


def test_a_column_that_a_row_needs_is_added(tmp_path: Path) -> None:
    """Rows of more lines than one, and blank lines, stay what they were."""
    path = typed(tmp_path, b'at,coin\r\n1,"b\ntc"\r\n\r\n2,eth')
    append_row(LocalStorage(tmp_path), path.name, COLUMNS, ROW, {"note"})
    said = f'at,coin,note\r\n1,"b\ntc",\r\n\r\n2,eth,\r\n{ADDED}\r\n'
    assert path.read_bytes().decode() == said
    assert [row.cells["coin"] for row in read_rows(path, COLUMNS)] == ["b\ntc", "eth", "btc"]
