"""Verdicts on receipts and deliveries as CSV, Parquet or JSON, written as they are found.

Their texts come from whoever made the tokens. CSV is opened in spreadsheets and
shown in terminals, so there no cell begins a formula and none holds a control
character; Parquet and JSON keep the texts as they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError
from svc_analytics.files import atomic_write
from svc_analytics.formatting.tables import to_csv

FORMS = (".csv", ".parquet", ".json")
_FORMULA = tuple("=+-@\t\r")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def check_form(out: str) -> None:
    """Refuse a file name that does not say which form is wanted."""
    if Path(out).suffix.lower() not in FORMS:
        raise ConfigError(f"--out {out}: its suffix must be one of {', '.join(FORMS)}")


def write_rows(
    tables: Iterable[pa.Table], schema: pa.Schema, name: str, out: str | None, as_json: bool
) -> dict[str, Any]:
    """Write rows to the file `out`, or as CSV to stdout; return what a JSON document says of them.

    With `as_json` stdout is left to that document, which holds the rows as `name`
    where no file does.
    """
    if out:
        write_file(tables, schema, out)
        return {"out": out}
    if as_json:
        return {name: [row for table in tables for row in to_objects(table)]}
    write_csv(tables, sys.stdout)
    return {}


def write_csv(tables: Iterable[pa.Table], file: TextIO) -> None:
    """Write verdicts as CSV, the header first."""
    is_first = True
    for table in tables:
        text = to_csv(_harmless(table))
        file.write(text if is_first else text.partition("\n")[2])
        is_first = False


def write_file(tables: Iterable[pa.Table], schema: pa.Schema, out: str) -> None:
    """Write verdicts atomically to a file of the form its suffix names."""
    path = Path(out)
    try:
        with atomic_write(path, is_durable=False) as temporary:  # the command makes it again
            _WRITERS[path.suffix.lower()](tables, schema, temporary)
    except OSError as error:
        raise ConfigError(f"cannot write {out}: {error.strerror}") from error


def to_objects(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield verdicts as objects for JSON, their differences, if any, as objects too."""
    for row in table.to_pylist():
        if row.get("differences"):
            row["differences"] = json.loads(row["differences"])
        yield row


def _harmless(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and field.name not in ("verdict", "reason"):
            texts = [text and _harmless_text(text) for text in table[field.name].to_pylist()]
            table = table.set_column(place, field, pa.array(texts, pa.string()))
    return table


def _harmless_text(text: str) -> str:
    """Make a text safe to show.

    >>> _harmless_text('=HYPERLINK("x")'), _harmless_text("a" + chr(27) + "[2J")
    ('\\'=HYPERLINK("x")', 'a\ufffd[2J')
    """
    shown = text if text.isalnum() else _CONTROL.sub("\ufffd", text)
    return f"'{shown}" if shown.startswith(_FORMULA) else shown


def _to_csv_file(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(tables, file)


def _to_parquet_file(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for table in tables:
            writer.write_table(table)


def _to_json_file(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        lead = "[\n"
        for table in tables:
            for row in to_objects(table):
                file.write(lead + json.dumps(row, ensure_ascii=False))
                lead = ",\n"
        file.write("\n]\n" if lead != "[\n" else "[]\n")


_WRITERS: dict[str, Callable[[Iterable[pa.Table], pa.Schema, Path], None]] = {
    ".csv": _to_csv_file,
    ".parquet": _to_parquet_file,
    ".json": _to_json_file,
}
