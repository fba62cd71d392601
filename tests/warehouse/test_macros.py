"""The macros in which every figure counts: exact, or unknown, whatever they are given."""

import random
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from svc_analytics.warehouse.models import read_macros
from tests.support.full_scan.values import EXACT, ratio, share, worth
from tests.support.rings import rings

UNIT, LONG_DIVISOR = Decimal("1e-18"), Decimal("8e15")  # from there on bit by bit

NEAR_THE_END = [
    Decimal(text) for text in ("99999999999999999999.999999999999999999", "5e19", "3e19")
]


def columns(cases: list[Any]) -> list[pa.Array]:
    """Cases as columns: amounts, and numbers that count."""
    types = {Decimal: pa.decimal128(38, 18), int: pa.int64()}
    return [pa.array(each, types[type(each[0])]) for each in zip(*cases, strict=True)]


@pytest.mark.parametrize("count", rings([1_000], [20_000]))
def test_macros_equal_decimal_arithmetic_on_random_cases(count):
    """ratio, muldiv and muldiv18 round once, half up, like exact arithmetic does."""
    chance = random.Random(18)
    cases = [[_amount(chance) for _ in range(3)] for _ in range(count)]
    cases = [(a, b, c) for a, b, c in cases if abs(a * b) < abs(c) * 10**19 or not c]
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        connection.register("cases", pa.table(columns(cases), ["a", "b", "c"]))
        found = connection.execute(
            "select a, b, c, ratio(a, c), muldiv(a, b, c), muldiv18(a, b, c) from cases"
        ).fetchall()
    for a, b, c, *got in found:
        exact = [ratio(a, c), worth(a, b, c), share(a, b, c)]
        assert got == exact


@pytest.mark.parametrize(
    ("exact", "rounded"),
    [
        ("0.000000004999999999", "0"),
        ("0.000000005", "0.00000001"),
        ("0.000000014999999999", "0.00000001"),
        ("-0.000000004999999999", "0"),
        ("-0.000000005", "-0.00000001"),
    ],
)
def test_a_product_is_rounded_half_up_at_8_places(exact, rounded):
    """The last unit below a half is rounded down, whichever factor brings it."""
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        for factors in ("?, 1, 1", "1, ?, 1", "?, 3, 3"):
            values = factors.replace("?", f"{exact}::decimal(38,18)")
            (found,) = connection.execute(f"select muldiv({values})").fetchall()[0]
            assert found == Decimal(rounded)


@pytest.mark.parametrize("count", rings([1_000], [20_000]))
def test_ratios_and_means_of_the_longest_amounts_are_exact_or_unknown(count):
    """By divisors of up to 38 digits too; what 38 digits cannot hold is NULL."""
    chance = random.Random(38)
    cases = [(_long(chance), _long(chance), chance.randrange(10**9)) for _ in range(count)]
    cases += [(Decimal(7), sign * LONG_DIVISOR - last, 3) for sign in (1, -1) for last in (0, UNIT)]
    cases += [(a, c, 3) for a, c in product(NEAR_THE_END, NEAR_THE_END)]
    with duckdb.connect() as connection:
        connection.execute(f"PRAGMA disable_optimizer; {read_macros()}")
        connection.register("cases", pa.table(columns(cases), ["a", "c", "n"]))
        found = connection.execute("select *, ratio(a, c), mean18(a, n) from cases").fetchall()
    with localcontext(EXACT):
        for a, c, n, quotient, mean in found:
            assert (quotient, mean) == (ratio(a, c), share(a, 1, n))


@pytest.mark.parametrize(
    ("amounts", "places_18", "places_8"),
    [
        (["2", "7", "3"], "3", "3"),
        (["632.123456789012345677", "633.123456789012345671"], "632.623456789012345674", None),
        (["0.000000000000000001", "0.000000000000000002"], "0.000000000000000002", "0"),
        (["0.00999943", "0.00999944"], "0.009999435", "0.00999944"),
        (["99999999999999999999", "99999999999999999998"], "99999999999999999998.5", None),
        ([], None, None),
    ],
)
def test_a_median_is_halved_exactly(amounts, places_18, places_8):
    """Half up between the two in the middle; the engine's own median is a unit or more off."""
    values = [Decimal(text) for text in amounts]
    query = "select middle18(x), middle8(x) from (select unnest($1::decimal(38,18)[]) as x)"
    with duckdb.connect() as connection:
        connection.execute(read_macros())
        [(exact, rounded)] = connection.execute(query, [values]).fetchall()
    assert exact == (places_18 and Decimal(places_18))
    assert places_8 is None or rounded == Decimal(places_8)


def _amount(chance: random.Random) -> Decimal:
    places = chance.choice([0, 2, 6, 8, 18])
    units = chance.choice([0, 1, 5, chance.randrange(10**6), chance.randrange(10**9)])
    return Decimal(chance.choice([1, 1, -1]) * units).scaleb(-places)


def _long(chance: random.Random) -> Decimal:
    units = chance.choice(
        [0, 1, LONG_DIVISOR.scaleb(18), chance.randrange(10 ** chance.randrange(39))]
    )
    return Decimal(chance.choice([1, -1]) * int(units)).scaleb(-18, EXACT)
