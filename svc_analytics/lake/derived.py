"""Amounts that follow from one record alone: stored beside it, so that they are divided once.

Each is a product of the record's own amounts, divided by its amount and rounded once, half up,
away from zero. The macros `muldiv18` and `ratio` say the same in SQL: a test holds the two
against each other, and a check does so over every lake. Python's whole numbers, which have any
size, need a third of their time.
"""

from collections.abc import Mapping
from itertools import repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.money import PRECISION, RATIO_SCALE, SCALE
from svc_analytics.schema import Stream

# Of each derived column, what is multiplied: two amounts, or one and the units of its scale.
_FACTORS: Mapping[str, tuple[str, str | int]] = {
    "usd_net": ("usd_value", "net_amount"),
    "usd_fee": ("usd_value", "fee_amount"),
    "usd_rate": ("usd_value", 10**SCALE),
    "fee_rate": ("fee_amount", 10**RATIO_SCALE),
}
_DIVISOR = "amount"
_BY_SIZE = {"usd_rate"}  # the price of a coin, whichever way it moved
_MOST_UNITS = 10**PRECISION - 1  # that a decimal holds
_MOST_DIVISOR = 8 * 10**33 - 1  # in units of 1e-18: the macros divide by no larger one

_Mask = npt.NDArray[np.bool_]


def with_derived(stream: Stream, table: pa.Table) -> pa.Table:
    """Return records as a month file holds them: each with what is derived of it.

    A derived amount is NULL, which means unknown, where an amount that it needs is, where the
    divisor is zero or 8e15 and more, or where 38 digits do not hold it. Rows that have
    derived amounts keep them.
    """
    if table.schema.names == stream.schema.names:
        return table
    needed = {each for column in stream.derived for each in _amounts_of(column.name)}
    units = {name: _units(table[name]) for name in needed}
    can_divide = np.array([0 < abs(each) <= _MOST_DIVISOR for each in units[_DIVISOR]], np.bool_)
    units[_DIVISOR] = [each or 1 for each in units[_DIVISOR]]
    divide = _divide_signed if any(min(each, default=0) < 0 for each in units.values()) else _divide
    for column in stream.derived:
        given = [np.asarray(table[name].is_valid()) for name in _amounts_of(column.name)]
        found = divide(column.name, units)
        field = stream.schema.field(column.name)
        is_known = np.logical_and.reduce([can_divide, *given])
        table = table.append_column(field, _decimals(found, is_known, field.type))
    return table


def _amounts_of(name: str) -> list[str]:
    """Return the amounts that a derived one is made of."""
    return [each for each in (*_FACTORS[name], _DIVISOR) if isinstance(each, str)]


def _divide(name: str, units: Mapping[str, list[int]]) -> list[int]:
    """Return the quotients of amounts from zero on, in units of the column's scale."""
    first, second = _FACTORS[name]
    factors = repeat(second) if isinstance(second, int) else units[second]
    rows = zip(units[first], factors, units[_DIVISOR], strict=False)
    return [(2 * a * b + c) // (2 * c) for a, b, c in rows]


def _divide_signed(name: str, units: Mapping[str, list[int]]) -> list[int]:
    """Return the quotients of amounts of either sign, rounded away from zero."""
    sizes = _divide(name, {each: list(map(abs, amounts)) for each, amounts in units.items()})
    signs = [1] * len(sizes)
    for each in _amounts_of(name):
        if not (each == _DIVISOR and name in _BY_SIZE):
            pairs = zip(signs, units[each], strict=True)
            signs = [-sign if unit < 0 else sign for sign, unit in pairs]
    return [sign * size for sign, size in zip(signs, sizes, strict=True)]


def _units(column: pa.ChunkedArray) -> list[int]:
    """Return amounts as whole numbers of units of 1e-18, a missing one as zero."""
    values = column.fill_null(0).combine_chunks()
    words = np.frombuffer(values.buffers()[1] or b"", "<i8")
    words = words[2 * values.offset : 2 * (values.offset + len(values))]
    lows, highs = words[::2].view("<u8").tolist(), words[1::2].tolist()
    return [high << 64 | low if high else low for high, low in zip(highs, lows, strict=True)]


def _decimals(units: list[int], is_known: _Mask, kind: pa.DataType) -> pa.Array:
    """Return a column of these units; NULL where they are not known or too many."""
    if max(map(abs, units), default=0) > _MOST_UNITS:
        fits = [abs(each) <= _MOST_UNITS for each in units]
        is_known = is_known & np.array(fits, np.bool_)
        units = [each if is_small else 0 for each, is_small in zip(units, fits, strict=True)]
    content = b"".join([each.to_bytes(16, "little", signed=True) for each in units])
    known = None if is_known.all() else pa.array(is_known).buffers()[1]
    return pa.Array.from_buffers(kind, len(units), [known, pa.py_buffer(content)])
