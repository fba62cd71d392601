"""Files that people type into the lake's folder: rows that a command adds to them."""

import csv
from collections.abc import Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path

from svc_analytics.errors import ConfigError
from svc_analytics.files import atomic_write, locked, merge_into

_BOM = "\ufeff"


def append_row(path: Path, columns: Sequence[str], row: Mapping[str, str]) -> None:
    """Add a row to a CSV file, which gets its first line with these `columns` if it has none.

    What people typed stays as it is, byte for byte. Raises `ConfigError` for a file that is no
    UTF-8, or whose first line lacks a column.
    """
    with locked(path.with_name(f".{path.name}.lock"), f"is writing {path}"):
        merge_into(path, partial(_append_row, path, columns, row))


def _append_row(path: Path, columns: Sequence[str], row: Mapping[str, str]) -> None:
    try:
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path} as UTF-8 CSV: {error}") from error
    end = "\r\n" if "\r\n" in old else "\n"
    text = old if old.removeprefix(_BOM).strip() else old.strip() + ",".join(columns) + end
    text += "" if text.endswith(("\n", "\r")) else end
    heads = next(csv.reader(StringIO(text.removeprefix(_BOM), newline="")))
    if missing := [name for name in columns if name not in heads]:
        message = f"{path} has no column {', '.join(missing)}"
        raise ConfigError(f"{message}: its first line must be {','.join(columns)}")
    line = StringIO(newline="")
    csv.writer(line, lineterminator=end).writerow([row.get(name, "") for name in heads])
    with atomic_write(path) as temporary:
        temporary.write_bytes((text + line.getvalue()).encode())
