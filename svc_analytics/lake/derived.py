"""Amounts that follow from records alone: stored beside them, so that they are divided once.

Each is a product of a record's own amounts, or of a refund's and its payment's, divided by one
of them and rounded once, half up, away from zero. The macros `muldiv18` and `ratio` say the same
in SQL: tests compare the two, and checks do so over every lake. Python's whole numbers, which
have any size, need a third of their time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from svc_analytics.money import PRECISION, RATIO_SCALE, SCALE
from svc_analytics.schema import MONEY, Stream

_MOST_UNITS = 10**PRECISION - 1  # that a decimal holds
_MASK = 2**128 - 1  # of its bits

_Mask = npt.NDArray[np.bool_]
_Units = Mapping[str, list[int]]  # by the column of an amount


@dataclass(frozen=True)
class _Quotient:
    """An amount of a record that is a product divided by another of its amounts."""

    factor: str
    other: str | int  # what it is multiplied by: an amount, or the units of the column's scale
    divisor: str = "amount"
    is_by_size: bool = False  # whether the sign of the divisor does not matter

    @property
    def amounts(self) -> list[str]:
        """The amounts that it is made of."""
        return [each for each in (self.factor, self.other, self.divisor) if isinstance(each, str)]


_OF_RECORD = {
    "usd_net": _Quotient("usd_value", "net_amount"),
    "usd_fee": _Quotient("usd_value", "fee_amount"),
    # The price of a coin, whichever way it moved.
    "usd_rate": _Quotient("usd_value", 10**SCALE, is_by_size=True),
    "fee_rate": _Quotient("fee_amount", 10**RATIO_SCALE),
}
_OF_RETURN = {
    "fee_kept": _Quotient("fee_amount", "returned_amount", "charged_amount"),
    "usd_when_paid": _Quotient("usd_value", "returned_amount"),
}


def with_derived(stream: Stream, table: pa.Table) -> pa.Table:
    """Return records as a month file holds them: each with what is derived of it.

    A derived amount is NULL, which means unknown, where an amount that it needs is, where the
    divisor is zero, or where 38 digits do not hold it. Rows that have derived amounts keep them.
    """
    if table.schema.names == stream.schema.names:
        return table
    wanted = {column.name: _OF_RECORD[column.name] for column in stream.derived}
    for name, values in _divided(table, wanted, stream.schema).items():
        table = table.append_column(stream.schema.field(name), values)
    return table


def with_returned(payments: pa.Table) -> pa.Table:
    """Return payments, each with the `returned_amount` of a refund of it, and what follows.

    `fee_kept` is the fee that was charged on what was returned, and `usd_when_paid` what that was
    worth in USD at the payment's rate. Either is NULL as a derived amount is.
    """
    schema = pa.schema([(name, MONEY) for name in _OF_RETURN])
    for name, values in _divided(payments, _OF_RETURN, schema).items():
        payments = payments.append_column(schema.field(name), values)
    return payments


def _divided(
    table: pa.Table, wanted: Mapping[str, _Quotient], schema: pa.Schema
) -> dict[str, pa.Array]:
    """Return these quotients of a table's rows, as columns of this schema."""
    amounts = {name for quotient in wanted.values() for name in quotient.amounts}
    units = {name: _units(table[name]) for name in amounts}
    is_signed = any(min(each) < 0 for each in units.values() if each)
    divide = _divide_signed if is_signed else _divide
    can_divide: dict[str, _Mask] = {}
    for name in {quotient.divisor for quotient in wanted.values()}:
        can_divide[name] = np.array([each != 0 for each in units[name]], bool)
        units[name] = [each or 1 for each in units[name]]
    quotients = {}
    for name, quotient in wanted.items():
        known = [np.asarray(table[each].is_valid()) for each in quotient.amounts]
        is_known = np.logical_and.reduce([can_divide[quotient.divisor], *known])
        quotients[name] = _decimals(divide(quotient, units), is_known, schema.field(name).type)
    return quotients


def _divide(quotient: _Quotient, units: _Units) -> list[int]:
    """Return the quotients of amounts from zero on, in units of the column's scale."""
    other = quotient.other
    factors = repeat(other) if isinstance(other, int) else units[other]
    rows = zip(units[quotient.factor], factors, units[quotient.divisor], strict=False)
    return [(a * b + (c >> 1)) // c for a, b, c in rows]


def _divide_signed(quotient: _Quotient, units: _Units) -> list[int]:
    """Return the quotients of amounts of either sign, rounded away from zero."""
    sizes = _divide(quotient, {each: list(map(abs, amounts)) for each, amounts in units.items()})
    signs = [1] * len(sizes)
    for name in quotient.amounts:
        if not (name == quotient.divisor and quotient.is_by_size):
            pairs = zip(signs, units[name], strict=True)
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
    least, most = min(units, default=0), max(units, default=0)
    if max(most, -least) > _MOST_UNITS:
        fits = [abs(each) <= _MOST_UNITS for each in units]
        is_known = is_known & np.array(fits, np.bool_)
        units = [each if is_small else 0 for each, is_small in zip(units, fits, strict=True)]
    if least < 0:  # as two's complement
        units = [each & _MASK for each in units]
    content = b"".join([each.to_bytes(16, "little") for each in units])
    known = None if is_known.all() else pa.array(is_known).buffers()[1]
    return pa.Array.from_buffers(kind, len(units), [known, pa.py_buffer(content)])
