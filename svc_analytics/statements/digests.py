"""Compute the control totals of a statement's tables: rows, sums of money by coin, a hash.

The hash covers the rows in order, as the texts of their CSV. It is the same in every
form, and any tool can compute it from `<table>.csv`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.formatting.tables import csv_parts
from svc_analytics.formatting.values import drop_pages, is_ratio
from svc_analytics.money import format_amount

TableDigest = dict[str, Any]
_WIDEST = 76  # digits of the widest decimal
_RATES = ("implied_rate", "implied_usd_rate", "fee_percent", "value")  # not summed


def table_digests(
    tables: Mapping[str, pa.Table], names: Iterable[str], hashes: Mapping[str, str] | None = None
) -> dict[str, TableDigest]:
    """Return the control totals of each table; some `hashes` may be known."""
    known = hashes or {}
    return {name: table_digest(tables[name], known.get(name)) for name in names}


def table_digest(table: pa.Table, sha256: str | None = None) -> TableDigest:
    """Return the control totals of one table: `rows`, `sha256`, and `totals` by coin.

    Whoever has just written it as CSV knows its `sha256`.
    """
    sha256 = sha256 or _hash(table)
    return {"rows": table.num_rows, "sha256": sha256, "totals": _totals(table)}


def _hash(table: pa.Table) -> str:
    digest = hashlib.sha256()
    for part in csv_parts(table):
        digest.update(part.encode())
    return digest.hexdigest()


def _totals(table: pa.Table) -> dict[str, dict[str, str]]:
    """Return the sum of each amount by coin; of a coin that has none of it there is no sum."""
    if "currency" not in table.column_names:
        return {}
    names = [field.name for field in table.schema if _is_money(field)]
    coins = pc.fill_null(table["currency"], "")
    return {
        coin: _sums(table.select(names), pc.equal(coins, coin))
        for coin in sorted(pc.unique(coins).to_pylist())
    }


def _sums(amounts: pa.Table, mask: pa.ChunkedArray) -> dict[str, str]:
    """Return the sum of each column with a value, in the order in which rows first have one.

    The rows are those of the mask, of one column at a time: all would be a copy of the table.
    """
    places, sums = {}, {}
    for name in amounts.column_names:
        column = amounts[name].filter(mask)
        places[name] = pc.index(pc.is_valid(column), True).as_py()
        sums[name] = pc.sum(column.cast(_wide(column.type))).as_py()
        drop_pages()
    known = [name for name in sums if places[name] >= 0]
    return {name: format_amount(sums[name]) for name in sorted(known, key=places.__getitem__)}


def _wide(kind: pa.DataType) -> pa.DataType:
    """Return a type that holds any sum of a column: Arrow's own wraps around without a word."""
    return pa.decimal256(_WIDEST, kind.scale)


def combined_digest(controls: Mapping[str, TableDigest]) -> str:
    """Return one hash over every table's hash."""
    hashes = {name: digest["sha256"] for name, digest in controls.items()}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def _is_money(field: pa.Field) -> bool:
    is_amount = pa.types.is_decimal(field.type) and not is_ratio(field)
    return bool(is_amount and field.name not in _RATES)
