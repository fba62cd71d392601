"""What a person said of a row that differs: `matches.csv` beside the lake, typed or added to."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant
from svc_analytics.lake.typed_files import append_rows, read_rows
from svc_analytics.storage import Storage

FILE = "matches.csv"
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


def read_known(folder: Path, kind: str) -> Mapping[tuple[str, str], str]:
    """Return the sentences by the code and the key of their rows, each with who and when."""
    rows = [row.cells for row in read_rows(folder / FILE, _COLUMNS)]
    return {
        (row["code"], row["key"]): f"{row['reason']} ({row['by']}, {row['at']})"
        for row in rows
        if row["kind"] == kind
    }


def with_known(table: pa.Table, known: Mapping[tuple[str, str], str]) -> pa.Table:
    """Return rows with what is known of them; what is known is not open."""
    texts: list[str | None] = [None] * len(table)
    if known:
        names = ("code", "theirs_key", "ours_key", "is_open")
        rows = zip(*(table[name].to_pylist() for name in names), strict=True)
        texts = [
            (known.get((code, theirs)) or known.get((code, ours))) if is_open else None
            for code, theirs, ours, is_open in rows
        ]
    column = pa.array(texts, pa.string())
    is_open = pc.and_(table["is_open"], pc.is_null(column))
    place = table.column_names.index("is_open")
    return table.set_column(place, "is_open", is_open).append_column("known", column)
