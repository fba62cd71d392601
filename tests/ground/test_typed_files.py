"""Files that people type, and to which a command adds rows."""

from pathlib import Path

import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.typed_files import append_row

COLUMNS = ("at", "coin", "note")
ROW = {"at": "2026-11-01", "coin": "btc", "note": "seen, by Sara"}
ADDED = '2026-11-01,btc,"seen, by Sara"'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, f"at,coin,note\n{ADDED}\n"),
        ("", f"at,coin,note\n{ADDED}\n"),
        ("at,coin,note\nx,eth,", f"at,coin,note\nx,eth,\n{ADDED}\n"),
        ("\ufeffat,coin,note\r\nx,eth,\r\n", f"\ufeffat,coin,note\r\nx,eth,\r\n{ADDED}\r\n"),
        ("note,who,coin,at\n", 'note,who,coin,at\n"seen, by Sara",,btc,2026-11-01\n'),
    ],
)
def test_a_row_is_added_and_all_else_stays(tmp_path: Path, before: str | None, after: str) -> None:
    """With the file's own order of columns, ends of lines and mark of UTF-8."""
    path = tmp_path / "typed.csv"
    if before is not None:
        path.write_bytes(before.encode())
    append_row(path, COLUMNS, ROW)
    assert path.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("text", "told"), [(b"at,note\n", "has no column coin"), (b"\xe4\n", "as UTF-8 CSV")]
)
def test_a_file_that_cannot_take_it_stays_as_it_is(tmp_path: Path, text: bytes, told: str) -> None:
    """The message names the file and what is wrong."""
    path = tmp_path / "typed.csv"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match=told):
        append_row(path, COLUMNS, ROW)
    assert path.read_bytes() == text
