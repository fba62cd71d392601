"""Answers to people's queries as Arrow tables: each value exact, as text, or refused.

DuckDB has types that Arrow, Python or pandas have not. Some would come out as wrong values
without a word: 2^128 - 1 as -1, a time with an offset without it.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.errors import QueryError
from svc_analytics.instants import DAY, EPOCH, SECOND, to_micros

_AS_TEXT = re.compile(
    r"\b(UHUGEINT|BIGNUM|VARINT|BIT|INTERVAL|UNION|VARIANT|TIME_NS|TIME WITH TIME ZONE)\b"
)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")  # labels of enums, names of members
_INSTANT = "TIMESTAMP WITH TIME ZONE"
_FIRST_DAY, _LAST_DAY = ((day - EPOCH.date()).days for day in (date.min, date.max))
_FIRST, _LAST = (to_micros(at.replace(tzinfo=EPOCH.tzinfo)) for at in (datetime.min, datetime.max))
_TICKS = {"s": 1, "ms": 1_000, "us": SECOND, "ns": 1_000 * SECOND}  # in a second


def to_exact_table(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return an answer whose every value is the one that DuckDB has, or raise `QueryError`."""
    names = relation.columns
    kinds = [_QUOTED.sub("", str(kind)).replace(_INSTANT, "") for kind in relation.types]
    casts = ["::varchar" if _AS_TEXT.search(kind) else "" for kind in kinds]
    if any(casts):
        values = (f"#{place}{cast}" for place, cast in enumerate(casts, 1))
        relation = relation.project(", ".join(values))
    table = relation.to_arrow_table().rename_columns(names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if any(map(_has_odd_times, column.chunks)):
            message = f"column {name!r:.60} has times that no calendar of Python has (infinite, "
            raise QueryError(f"{message}or beyond the years 1 to 9999): cast it to varchar")
    return table


def _has_odd_times(values: pa.Array) -> bool:
    """Tell whether an array holds a date, instant or time of day that Python cannot hold."""
    kind = values.type
    if pa.types.is_date32(kind):
        return _is_beyond(values.view(pa.int32()), _FIRST_DAY, _LAST_DAY)
    if pa.types.is_timestamp(kind):
        ticks = _TICKS[kind.unit]
        bounds = _FIRST * ticks // SECOND, _LAST * ticks // SECOND
        return _is_beyond(values.view(pa.int64()), *bounds)
    if pa.types.is_time64(kind):  # 24:00:00 would become midnight
        return _is_beyond(values.view(pa.int64()), 0, DAY * _TICKS[kind.unit] // SECOND - 1)
    return any(map(_has_odd_times, _parts(values)))


def _is_beyond(numbers: pa.Array, first: int, last: int) -> bool:
    bounds: dict[str, Any] = pc.min_max(numbers).as_py()
    return bounds["min"] is not None and not first <= bounds["min"] <= bounds["max"] <= last


def _parts(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays that an array of lists, structs or maps is made of."""
    kind = values.type
    if pa.types.is_map(kind):
        yield from (values.keys, values.items)
    elif pa.types.is_struct(kind):
        yield from values.flatten()
    elif (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        yield values.flatten()
