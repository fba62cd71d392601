"""One value of a table as text: exact, plain, the same in every form."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.errors import QueryError
from svc_analytics.money import RATIO_SCALE, format_amount, group_digits


def is_ratio(field: pa.Field) -> bool:
    """Whether a column holds ratios: in our SQL these are decimals of 8 places."""
    return bool(pa.types.is_decimal(field.type) and field.type.scale == RATIO_SCALE)


def is_exact_number(field: pa.Field) -> bool:
    """Whether a column holds decimals or integers."""
    return bool(pa.types.is_decimal(field.type) or pa.types.is_integer(field.type))


def value_text(value: Any, *, is_ratio: bool = False) -> str:
    """Write a value for files: NULL is empty, amounts trimmed, ratios with 8 places.

    >>> value_text(Decimal("1.500000000")), value_text(Decimal("0.01500000"), is_ratio=True)
    ('1.5', '0.01500000')
    """
    if value is None:
        return ""
    if isinstance(value, Decimal):
        return format(value, "f") if is_ratio else format_amount(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def display_text(value: Any, *, is_ratio: bool = False) -> str:
    """Write a value for people: with thousands separators, unknown as a dash."""
    if value is None:
        return "-"
    text = value_text(value, is_ratio=is_ratio)
    is_number = isinstance(value, (Decimal, int)) and not isinstance(value, bool)
    return group_digits(text) if is_number else text


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield a table's rows as Python values; raise `QueryError` for one that Python lacks."""
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*map(python_values, batch.columns, batch.schema.names), strict=True)


def python_values(column: pa.Array, name: str) -> list[Any]:
    """Return a column's values; raise `QueryError` for one that Python lacks."""
    try:
        return list(column.to_pylist())
    except (OverflowError, ValueError, pa.ArrowException) as error:
        message = f"{name} holds a value that cannot be written ({error}): cast it to varchar"
        raise QueryError(message) from error
