"""What follows from a record alone is derived as the macros of the SQL say."""

import random
from decimal import Context, Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from svc_analytics.lake.derived import with_derived
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream
from svc_analytics.warehouse.models import read_macros

BY_MACROS = {
    "usd_net": "muldiv18(usd_value, net_amount, amount)",
    "usd_fee": "muldiv18(usd_value, fee_amount, amount)",
    "usd_rate": "muldiv18(usd_value, 1, abs(amount))",
    "fee_rate": "ratio(fee_amount, amount)",
}
# Around what the macros treat in another way: 9 places, 1e10, 8e15 as a divisor; in 1e-18.
EDGES = [0, 1, 2, 3, 10**8, 10**9, 15 * 10**15, 10**18, 15 * 10**17, 9_999_999_999 * 10**9]
EDGES += [10**28 - 1, 10**28, 8 * 10**33 - 1, 8 * 10**33, 10**38 - 2, 10**38 - 1]
WIDE = Context(prec=60)


def rows_of(stream: Stream, amounts: list[dict[str, Decimal | None]]) -> pa.Table:
    """Make records of which only these amounts matter."""
    blank: dict[str, Any] = dict.fromkeys(stream.record_schema.names)
    rows = [blank | each for each in amounts]
    return pa.Table.from_pylist(rows, schema=stream.record_schema)


def some_amount(chance: random.Random) -> Decimal | None:
    """Choose an amount: an edge, or any number of digits, of either sign; at times none."""
    size = chance.choice([*EDGES, chance.randrange(10 ** chance.randrange(1, 39))])
    units = chance.choice([size, size, size, size, -size, None])
    return None if units is None else Decimal(units).scaleb(-18, WIDE)


def test_one_unit_below_zero_keeps_its_sign():
    """Three USD by minus 1e-18 of one coin are minus 3e-18."""
    given = {"amount": 1, "net_amount": "-0.000000000000000001", "fee_amount": 0, "usd_value": 3}
    table = rows_of(PAYMENTS, [{name: Decimal(value) for name, value in given.items()}])
    found = with_derived(PAYMENTS, table).to_pylist()[0]
    assert found["usd_net"] == Decimal("-0.000000000000000003")


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_derived_amounts_are_those_of_the_macros(stream):
    """For amounts of up to 38 digits, negative ones, zero and none, to the last digit."""
    chance = random.Random(2)
    amounts = [{name: some_amount(chance) for name in stream.money} for _ in range(300)]
    rows = with_derived(stream, rows_of(stream, amounts))
    rows.validate(full=True)
    assert rows.schema.equals(stream.schema)
    names = [column.name for column in stream.derived]
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        quotients = ", ".join(f"{BY_MACROS[name]} as {name}" for name in names)
        expected = connection.sql(f"select {quotients} from rows").to_arrow_table()
    assert rows.select(names).to_pydict() == expected.to_pydict()
    assert all(0 < rows[name].null_count < len(rows) for name in names)


def test_a_payment_is_divided_at_its_own_rate():
    """Of 3 coins worth 10 USD, 2.7 are net and 0.3 are fee: 10 * 2.7 / 3 = 9, and 1 USD."""
    given = {"amount": 3, "net_amount": "2.7", "fee_amount": "0.3", "usd_value": 10}
    table = rows_of(PAYMENTS, [{name: Decimal(value) for name, value in given.items()}])
    found = with_derived(PAYMENTS, table).to_pylist()[0]
    assert (found["usd_net"], found["usd_fee"], found["fee_rate"]) == (9, 1, Decimal("0.1"))
    assert found["usd_rate"] == Decimal("3.333333333333333333")


@pytest.mark.parametrize(("usd_value", "amount"), [(None, "1"), ("1", "0")])
def test_what_cannot_be_told_is_null(usd_value, amount):
    """Without a value in USD, or an amount to divide by, nobody knows a rate."""
    value = usd_value and Decimal(usd_value)
    given = {"amount": Decimal(amount), "fee_amount": Decimal(0), "usd_value": value}
    found = with_derived(PAYOUT_RECORDS, rows_of(PAYOUT_RECORDS, [given])).to_pylist()[0]
    assert found["usd_rate"] is None


def test_rows_that_have_derived_amounts_keep_them():
    """A month is rewritten many times; its rows are divided once."""
    table = with_derived(PAYMENTS, rows_of(PAYMENTS, [{"amount": Decimal(1)}]))
    assert with_derived(PAYMENTS, table) is table
    empty = with_derived(PAYMENTS, PAYMENTS.no_rows)
    assert empty.schema.equals(PAYMENTS.schema) and not len(empty)


@pytest.mark.parametrize("cut", [(0, 2), (1, 2), (2, 1)])
def test_a_slice_of_a_table_has_its_own_amounts(cut):
    """Rows are cut at the bounds of months without being copied."""
    amounts = [{"amount": Decimal(n), "fee_amount": Decimal(1)} for n in (1, 2, 4)]
    found = with_derived(PAYMENTS, rows_of(PAYMENTS, amounts).slice(*cut))
    expected = [Decimal(1), Decimal("0.5"), Decimal("0.25")][cut[0] :][: cut[1]]
    assert found["fee_rate"].to_pylist() == expected
