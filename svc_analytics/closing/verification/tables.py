"""The tables that a folder was sealed with, read from its Parquet and CSV.

Where its files of one table differ, the table is the one that the manifest's control totals are of.
"""

import csv
from collections.abc import Callable, Collection, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing.restatement.diff import KEYS, Tables, read_csv
from svc_analytics.closing.seals import Manifest
from svc_analytics.messages import Message
from svc_analytics.render.folder import DEFINITIONS, TABLE_FORMATS
from svc_analytics.render.formats import form_of
from svc_analytics.render.tables import RESTATEMENT
from svc_analytics.statements.digests import table_digest
from svc_analytics.statements.months import MONTHS

Parse = Callable[[str], Any]
# Tables that every release has sealed; of another release, further ones may be missing.
_ALWAYS = (
    *("summary", "figures", "lines", "daily", "position", "fees", "refunds", "cohorts"),
    *("payouts", "exposure", "receipts", "reading", "checks"),
)


def table_names(manifest: Manifest, own: Collection[str], *, is_own: bool) -> list[str]:
    """Return the tables that a sealed folder must have: `own`, or those of another release."""
    later = [RESTATEMENT] if manifest["version"] > 1 else []
    if is_own:
        return [*own, *later]
    stems = {
        Path(file).stem: None
        for file in manifest["files"]
        if Path(file).suffix[1:] in TABLE_FORMATS and file != DEFINITIONS and not form_of(file)
    }
    always = [name for name in own if name in (*_ALWAYS, MONTHS)]
    return [*dict.fromkeys([*always, *stems, *later])]


def missing_tables(manifest: Manifest, names: Collection[str]) -> list[Message]:
    """Name the tables that have no file."""
    files = manifest["files"]
    return [
        Message("seal.no_table", name=name)
        for name in names
        if not {f"{name}.{suffix}" for suffix in TABLE_FORMATS} & files.keys()
    ]


def sealed_tables(
    folder: Path, manifest: Manifest, names: Collection[str], files: Collection[str], lake: Tables
) -> Tables:
    """Return the named tables as they were sealed, typed, from some files of a folder.

    `lake` are those that the lake gives now, of which a sealed table may lack columns and
    figures. A table without a readable file is the lake's; one of CSV alone that has no types,
    for the lake is not there, is left out.
    """
    tables = {}
    for name in names:
        control = manifest["control"].get(name)
        candidates = list(_candidates(folder, name, files, lake.get(name)))
        if candidates:
            sealed = (table for table in candidates if table_digest(table) == control)
            tables[name] = next(sealed, candidates[0])
        elif name in lake:
            tables[name] = lake[name]
    return tables


def _candidates(
    folder: Path, name: str, files: Collection[str], lake: pa.Table | None
) -> Iterator[pa.Table]:
    """Yield the table of the Parquet file, then of the CSV, as far as they can be read."""
    models = [lake] if lake is not None else []
    if f"{name}.parquet" in files:
        table = _parquet(folder / f"{name}.parquet")
        if table is not None:
            models.append(table)
            yield table
    if f"{name}.csv" in files and models:
        typed = _csv(folder / f"{name}.csv", models[-1])
        if typed is not None:
            yield typed


def _parquet(path: Path) -> pa.Table | None:
    """Read a Parquet file, if each of its columns stands once and every text is one."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException):
        return None
    names = table.column_names
    return table if len(set(names)) == len(names) else None


def _csv(path: Path, model: pa.Table) -> pa.Table | None:
    """Read a CSV file as a table of a model's types; an empty cell is NULL.

    A column that the model lacks is one of texts. An empty text looks like NULL in CSV: it is
    one where the model's row has one.
    """
    try:
        texts = read_csv(path)
        names = texts.column_names
        if len(set(names)) < len(names):
            return None
        known = set(model.column_names)
        fields = [(model if name in known else texts).schema.field(name) for name in names]
        schema = pa.schema(fields)
        return pa.Table.from_arrays([_column(texts, model, each) for each in schema], schema=schema)
    except (OSError, ValueError, LookupError, ArithmeticError, csv.Error):
        return None


def _column(texts: pa.Table, model: pa.Table, field: pa.Field) -> pa.Array:
    cells, parse = texts[field.name].to_pylist(), _parser(field.type)
    is_known = field.name in model.column_names and pa.types.is_string(field.type)
    if not is_known or "" not in model[field.name].to_pylist():
        return pa.array([parse(cell) if cell else None for cell in cells], field.type)
    names = KEYS.intersection(texts.column_names)
    keys = [one.name for one in model.schema if one.name in names and pa.types.is_string(one.type)]
    pairs = zip(_rows(model, keys), model[field.name].to_pylist(), strict=True)
    empty = {key for key, value in pairs if value == ""}
    rows = zip(_rows(texts, keys), cells, strict=True)
    return pa.array([cell or ("" if key in empty else None) for key, cell in rows], field.type)


def _rows(table: pa.Table, keys: list[str]) -> Iterator[tuple[str, ...]]:
    columns = [[value or "" for value in table[key].to_pylist()] for key in keys]
    return zip(*columns, strict=True)


def _parser(kind: pa.DataType) -> Parse:
    if pa.types.is_decimal(kind):
        return Decimal
    if pa.types.is_integer(kind):
        return int
    if pa.types.is_date(kind):
        return date.fromisoformat
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat
    return str
