"""The tables that a folder was sealed with, read from its Parquet and CSV.

Where its files of one table differ, the table is what the lake gives, if one of them says so,
or else what the manifest's control totals are of.
"""

import csv
from collections.abc import Callable, Collection, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.closing.diff import KEYS, Tables, as_texts, read_csv
from svc_analytics.closing.seals import Manifest
from svc_analytics.statements.digests import table_digest

Parse = Callable[[str], Any]


def sealed_tables(
    folder: Path, manifest: Manifest, names: Collection[str], files: Collection[str], lake: Tables
) -> Tables:
    """Return the named tables as they were sealed, typed, from some files of a folder.

    `lake` are those that the lake gives now. A table without a readable file is the lake's;
    one of CSV alone that has no types, for the lake is not there, is left out.
    """
    found = {}
    for name in names:
        candidates = list(_candidates(folder, name, files, lake.get(name)))
        if name in lake and (not candidates or _says_one(lake[name], candidates)):
            found[name] = lake[name]
        elif candidates:
            control = manifest["control"].get(name)
            sealed = (table for table in candidates if table_digest(table) == control)
            found[name] = next(sealed, candidates[0])
    return found


def _candidates(
    folder: Path, name: str, files: Collection[str], lake: pa.Table | None
) -> Iterator[pa.Table]:
    """Yield the table of the Parquet file, then of the CSV, as far as they can be read."""
    model = lake
    if f"{name}.parquet" in files:
        table = _parquet(folder / f"{name}.parquet", lake)
        if table is not None:
            model = table
            yield table
    if f"{name}.csv" in files and model is not None:
        typed = _csv(folder / f"{name}.csv", model)
        if typed is not None:
            yield typed


def _parquet(path: Path, lake: pa.Table | None) -> pa.Table | None:
    """Read a Parquet file, if it has the lake's columns and every text is one."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException):
        return None
    names = table.column_names
    is_right = names == lake.column_names if lake is not None else len(set(names)) == len(names)
    return table if is_right else None


def _csv(path: Path, model: pa.Table) -> pa.Table | None:
    """Read a CSV file as a table of a model's types; an empty cell is NULL.

    An empty text looks like NULL in CSV: it is one where the model's row has one.
    """
    try:
        texts = read_csv(path)
        if texts.column_names != model.column_names:
            return None
        columns = [_column(texts, model, field) for field in model.schema]
        return pa.Table.from_arrays(columns, schema=model.schema)
    except (OSError, ValueError, LookupError, ArithmeticError, StopIteration, csv.Error):
        return None


def _column(texts: pa.Table, model: pa.Table, field: pa.Field) -> pa.Array:
    cells, parse = texts[field.name].to_pylist(), _parser(field.type)
    if not pa.types.is_string(field.type) or "" not in model[field.name].to_pylist():
        return pa.array([parse(cell) if cell else None for cell in cells], field.type)
    keys = [one.name for one in model.schema if one.name in KEYS and pa.types.is_string(one.type)]
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
    return {"true": True, "false": False}.__getitem__ if pa.types.is_boolean(kind) else str


def _says_one(table: pa.Table, candidates: list[pa.Table]) -> bool:
    """Whether one of the candidates says the same as a table, text by text."""
    texts = as_texts({"": table})
    return any(as_texts({"": candidate}) == texts for candidate in candidates)
