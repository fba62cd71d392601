"""Tables as CSV, JSON, text for a terminal and pandas frames; rows as files of any length."""

from __future__ import annotations

import json
import operator
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import ConfigError, system_refusals
from svc_analytics.files import atomic_write, require_outside_lake
from svc_analytics.formatting import values
from svc_analytics.formatting.cells import paddings, plain_spaces
from svc_analytics.formatting.status_line import frame_attributes
from svc_analytics.formatting.texts import (
    FORMULA,
    cut_short,
    escape_formula,
    escape_invisible,
    single_line,
)

if TYPE_CHECKING:
    import pandas as pd


LONGEST_CELL = 48
_MARKS = '[",\r\n]'  # a text with one of these is quoted
_MARKED = re.compile(_MARKS)


def to_csv(table: pa.Table) -> str:
    """Write a table as CSV: plain decimals, instants in UTC with Z, empty for NULL."""
    return "".join(csv_parts(table))


def to_safe_csv(table: pa.Table) -> str:
    """Write a table as CSV for spreadsheets: texts like formulas are escaped."""
    return "".join(safe for _, safe in csv_pairs(table))


def csv_parts(table: pa.Table) -> Iterator[str]:
    """Yield a table as CSV: its head, then some rows at a time."""
    yield csv_line(table.column_names)
    for columns in values.text_columns(table):
        yield _csv_lines(columns, table.schema)


def csv_digest(table: pa.Table) -> str:
    """Return the SHA-256 of a table as CSV."""
    digest = sha256()
    for part in csv_parts(table):
        digest.update(part.encode())
    return digest.hexdigest()


def csv_pairs(table: pa.Table) -> Iterator[tuple[str, str]]:
    """Yield a table as CSV as `csv_parts` does, and beside each part what spreadsheets may open."""
    head = csv_line(table.column_names)
    yield head, head
    for columns in values.text_columns(table):
        lines, safe = _csv_lines(columns, table.schema), _without_formulas(columns, table.schema)
        is_safe = all(map(operator.is_, columns, safe))
        yield lines, lines if is_safe else _csv_lines(safe, table.schema)


def _without_formulas(columns: list[pa.Array], schema: pa.Schema) -> list[pa.Array]:
    """Return columns of texts with those escaped that are like formulas, if any is."""
    return [
        values.changed_where(column, FORMULA, escape_formula)
        if pa.types.is_string(field.type)
        else column
        for column, field in zip(columns, schema, strict=True)
    ]


def _csv_lines(columns: list[pa.Array], schema: pa.Schema) -> str:
    quoted = [
        column if values.is_exact_number(field) else values.changed_where(column, _MARKS, _quote)
        for column, field in zip(columns, schema, strict=True)
    ]
    return "\n".join([*pc.binary_join_element_wise(*quoted, ",").to_pylist(), ""])


def csv_line(texts: Iterable[str]) -> str:
    """Write one line of CSV."""
    cells = (_quote(text) if _MARKED.search(text) else text for text in texts)
    return f"{','.join(cells)}\n"


def _quote(text: str) -> str:
    # Python's own csv does not quote a lone carriage return where lines end with \n.
    return '"' + text.replace('"', '""') + '"'


def to_objects(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as objects for JSON: decimals and instants as text, NULL as null."""
    names = table.column_names
    return [
        dict(zip(names, row, strict=True))
        for batch in table.to_batches(max_chunksize=values.BATCH)
        for row in zip(*map(_plain_column, batch.columns, table.schema), strict=True)
    ]


def _plain_column(column: pa.Array, field: pa.Field) -> list[Any]:
    """Return a column's values for JSON, exact numbers and instants as text."""
    is_text = pa.types.is_decimal(field.type) or pa.types.is_temporal(field.type)
    if is_text or pa.types.is_string(field.type):
        return list(values.column_texts(column, field).to_pylist())
    return [_plain(value) for value in values.python_values(column, field.name)]


def to_json(document: Any) -> str:
    """Write one JSON document."""
    return json.dumps(document, ensure_ascii=False, indent=2, default=values.value_text)


def to_text(table: pa.Table, longest: int | None = LONGEST_CELL) -> str:
    """Write a table for a terminal: numbers to the right, text to the left.

    Cells longer than `longest` letters are cut; with None, none is.
    """
    rights = [
        values.is_exact_number(field) or pa.types.is_floating(field.type) for field in table.schema
    ]
    ratios = [values.is_ratio(field) for field in table.schema]
    texts = [
        [values.display_text(value, is_ratio=flag) for value, flag in zip(row, ratios, strict=True)]
        for row in values.rows_of(table)
    ]
    rows = [
        [cut_short(line, longest or len(line)) for line in map(single_line, row)] for row in texts
    ]
    columns = [
        [text + plain_spaces(pad) for text, pad in zip(column, paddings(column), strict=True)]
        if right
        else column
        for column, right in zip(zip(*rows, strict=True), rights, strict=False)
    ]
    return align(table.column_names, list(map(list, zip(*columns, strict=True))), rights)


def align(
    header: list[str], rows: list[list[str]], rights: list[bool], least: Sequence[int] = ()
) -> str:
    """Write rows in columns under their header, some columns aligned to the right.

    `least` is how wide each column is, also where its texts are shorter.
    """
    header = list(map(single_line, header))
    columns = zip(least or [0] * len(header), zip(header, *rows, strict=True), strict=True)
    widths = [max(width, *map(len, column)) for width, column in columns]
    rule = ["-" * width for width in widths]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, rights, strict=True)
        ).rstrip()
        for row in [header, rule, *rows]
    ]
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return str(value)  # JSON has no such numbers
    if isinstance(value, (Decimal, datetime, date, bytes)):
        return values.value_text(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame that keeps every digit, Arrow-backed, and its table's standing."""
    import pandas as pd  # takes long to load

    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    frame.attrs.update(frame_attributes(table))
    return frame


# ---------- Rows as they are found, written to a file or to stdout
# Their texts come from whoever made the tokens. CSV is opened in spreadsheets and shown in
# terminals, so its texts are escaped; Parquet and JSON keep them as they are.


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
            _write_file(tables, schema, Path(out).suffix.lower(), temporary)
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
    require_outside_lake(out)
    with (
        system_refusals(ConfigError, f"cannot write {out}"),
        atomic_write(Path(out), is_durable=is_durable) as temporary,
    ):
        yield temporary


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


def _write_file(tables: Iterable[pa.Table], schema: pa.Schema, form: str, path: Path) -> None:
    """Write rows in one of `FORMS`, a table at a time."""
    if form == ".parquet":
        with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
            for table in tables:
                writer.write_table(table)
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        if form == ".csv":
            write_csv(tables, file)
            return
        lead = "[\n"
        for row in (row for table in tables for row in _verdict_objects(table)):
            file.write(lead + json.dumps(row, ensure_ascii=False))
            lead = ",\n"
        file.write("\n]\n" if lead != "[\n" else "[]\n")
