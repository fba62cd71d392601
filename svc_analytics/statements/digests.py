"""Compute the control totals of a statement's tables: rows, sums of money by coin, a hash.

The hash covers the rows in order, as the texts of their CSV. It is the same in every
form, and any tool can compute it from `<table>.csv`.
"""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.formatting.tables import csv_line
from svc_analytics.formatting.values import is_ratio, rows_of, value_text
from svc_analytics.money import EXACT, format_amount

TableDigest = dict[str, Any]
_RATES = ("implied_rate", "implied_usd_rate", "fee_percent", "value")  # not summed


def table_digest(table: pa.Table) -> TableDigest:
    """Return the control totals of one table: `rows`, `sha256`, and `totals` by coin."""
    names = table.column_names
    ratios = [is_ratio(field) for field in table.schema]
    money = [place for place, field in enumerate(table.schema) if _is_money(field)]
    coin = names.index("currency") if "currency" in names else None
    digest = hashlib.sha256(csv_line(names).encode())
    sums: dict[str, dict[str, Decimal]] = {}
    for row in rows_of(table):
        texts = [value_text(value, is_ratio=flag) for value, flag in zip(row, ratios, strict=True)]
        digest.update(csv_line(texts).encode())
        if coin is not None:
            _add(sums.setdefault(texts[coin], {}), {names[p]: row[p] for p in money})
    totals = {
        currency: {name: format_amount(total) for name, total in by_column.items()}
        for currency, by_column in sorted(sums.items())
    }
    return {"rows": table.num_rows, "sha256": digest.hexdigest(), "totals": totals}


def combined_digest(controls: Mapping[str, TableDigest]) -> str:
    """Return one hash over every table's hash."""
    hashes = {name: digest["sha256"] for name, digest in controls.items()}
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is_money(field: pa.Field) -> bool:
    is_amount = pa.types.is_decimal(field.type) and not is_ratio(field)
    return bool(is_amount and field.name not in _RATES)


def _add(sums: dict[str, Decimal], amounts: Mapping[str, Decimal | None]) -> None:
    for name, amount in amounts.items():
        if amount is not None:
            sums[name] = EXACT.add(sums.get(name, Decimal()), amount)
