"""What a person said of a row that differs: `matches.csv` beside the lake, typed or added to."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant
from svc_analytics.lake.typed_files import append_rows, read_rows
from svc_analytics.storage import Storage

FILE = "matches.csv"
_KNOWN = pa.schema([(name, pa.string()) for name in ("code", "key", "said")])
_COLUMNS = ("kind", "code", "key", "reason", "by", "at")


@dataclass(frozen=True)
class Known:
    """A row that a person knows of, with the sentence and the name."""

    kind: str
    code: str
    key: str
    reason: str
    by: str


def add_known(storage: Storage, known: Known, at: int) -> None:
    """Write down what a person says of a row."""
    for name in ("reason", "by"):
        if not getattr(known, name).strip():
            raise ConfigError(f"there is no {name}: a row is known by a sentence and a name")
    append_rows(storage, FILE, _COLUMNS, [vars(known) | {"at": format_instant(at)}])


def read_known(folder: Path, kind: str) -> pa.Table:
    """Return the sentences by the code and the key of their rows, with who and when."""
    rows = [row.cells for row in read_rows(folder / FILE, _COLUMNS)]
    said = {
        (row["code"], row["key"]): f"{row['reason']} ({row['by']}, {row['at']})"
        for row in rows
        if row["kind"] == kind
    }
    known = [{"code": code, "key": key, "said": text} for (code, key), text in said.items()]
    return pa.Table.from_pylist(known, _KNOWN)
