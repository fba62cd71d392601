"""Rows as CSV, Parquet or JSON, written to a file or to stdout as they are found.

Their texts come from whoever made the tokens. CSV is opened in spreadsheets and
shown in terminals, so its texts are escaped; Parquet and JSON keep them as they are.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError
from svc_analytics.files import atomic_write
from svc_analytics.formatting.sanitize import escape_formula, escape_invisible
from svc_analytics.formatting.tables import to_csv, to_objects

FORMS = (".csv", ".parquet", ".json")


def check_form(out: str) -> None:
    """Refuse a file name that does not say which form is wanted."""
    if Path(out).suffix.lower() not in FORMS:
        raise ConfigError(f"--out {out}: its suffix must be one of {', '.join(FORMS)}")


def write_rows(
    tables: Iterable[pa.Table], schema: pa.Schema, name: str, out: str | None, as_json: bool
) -> dict[str, Any]:
    """Write rows to the file `out`, or else as CSV to stdout.

    With `as_json` nothing goes to stdout: return what the JSON document says of the rows,
    which it holds as `name` if no file does.
    """
    if out:
        with output_file(out) as temporary:
            _WRITERS[Path(out).suffix.lower()](tables, schema, temporary)
        return {"out": out}
    if as_json:
        return {name: [row for table in tables for row in _verdict_objects(table)]}
    write_csv(tables, sys.stdout)
    return {}


def write_csv(tables: Iterable[pa.Table], file: TextIO) -> None:
    """Write rows as CSV, the header first."""
    is_first = True
    for table in tables:
        text = to_csv(_escaped(table))
        file.write(text if is_first else text.partition("\n")[2])
        is_first = False


@contextmanager
def output_file(out: str | Path, *, is_durable: bool = False) -> Iterator[Path]:
    """Write a file that a person named: whole, or not at all with a `ConfigError`."""
    try:
        with atomic_write(Path(out), is_durable=is_durable) as temporary:
            yield temporary
    except OSError as error:
        raise ConfigError(f"cannot write {out}: {error.strerror}") from error


def _verdict_objects(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield verdicts as objects for JSON, with their differences as objects too."""
    for row in to_objects(table):
        if row.get("differences"):
            row["differences"] = json.loads(row["differences"])
        yield row


def _escaped(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) and field.name not in ("verdict", "reason"):
            texts = [text and _safe(text) for text in table[field.name].to_pylist()]
            table = table.set_column(place, field, pa.array(texts, pa.string()))
    # Columns that were kept have names of other people too.
    return table.rename_columns([_safe(name) for name in table.column_names])


def _safe(text: str) -> str:
    return escape_formula(escape_invisible(text))


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
            for row in _verdict_objects(table):
                file.write(lead + json.dumps(row, ensure_ascii=False))
                lead = ",\n"
        file.write("\n]\n" if lead != "[\n" else "[]\n")


_WRITERS: dict[str, Callable[[Iterable[pa.Table], pa.Schema, Path], None]] = {
    ".csv": _to_csv_file,
    ".parquet": _to_parquet_file,
    ".json": _to_json_file,
}
