"""A thousand pairs of seeded months: each part is that of fractions, and they make the change."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.periods import Period
from svc_analytics.statements.change import Change, explain_comparison
from svc_analytics.statements.comparison import compare
from svc_analytics.statements.moved import (
    OF,
    Group,
    Part,
    Position,
    Sums,
    coin_parts,
    position_parts,
    usd_parts,
)
from tests.support.full_scan.rows import Books
from tests.support.moved_months import MONTHS, NOW, Model, Parts, make_moved_lake
from tests.support.rings import rings

PAIRS = [*permutations(MONTHS, 2)]
SEEDS = 84  # of twelve pairs each
FIGURES = ("net_settlement", "payment_fees", "refunds_paid")


def parts(found: Change, figure: str, coin: str) -> Parts:
    return {
        (row["unit"], row["part"], {text: name for name, text in OF.items()}[row["of"]]): Fraction(
            row["amount"]
        )
        for row in found.table.to_pylist()
        if (row["figure"], row["currency"]) == (figure, coin) and row["amount"]
    }


def wrong_parts(found: Change, books: Books, old: Period, new: Period) -> list[object]:
    """Where a part is not that of the fractions, for each change that is known."""
    wrong: list[object] = []
    for row in found.changes.to_pylist():
        figure, coin, unit = row["figure"], row["currency"], row["unit"]
        if figure in FIGURES and coin != "all coins" and row["difference"] is not None:
            model = Model(books, old, new, coin).parts(figure)
            expected = {key: value for key, value in model.items() if value and key[0] == unit}
            actual = {
                key: value for key, value in parts(found, figure, coin).items() if key[0] == unit
            }
            wrong += [(figure, coin, unit, actual, expected)] if actual != expected else []
    return wrong


def wrong_sums(found: Change) -> list[object]:
    """Where parts do not add up to the change, to the last digit."""
    sums: Counter[tuple[str, ...]] = Counter()
    for row in found.table.to_pylist():
        sums[row["figure"], row["currency"], row["unit"]] += Fraction(row["amount"] or 0)
    return [
        row
        for row in found.changes.to_pylist()
        if row["difference"] is not None
        and (
            sums.get((row["figure"], row["currency"], row["unit"]), 0)
            != Fraction(row["difference"])
            or Fraction(row["new"]) - Fraction(row["old"]) != Fraction(row["difference"])
        )
    ]


@pytest.mark.parametrize(
    ("seed", "pairs"), rings([(0, 1)], ((seed, len(PAIRS)) for seed in range(SEEDS)))
)
def test_parts_are_those_of_fractions(seed, pairs, tmp_path):
    """Of lakes with refunds of every kind, odd customers and absurd amounts.

    In the deep ring a thousand pairs, forwards and backwards, next to each other and further apart.
    """
    lake = make_moved_lake(tmp_path / "data", seed)
    books = Books(lake.path)
    for old, new in PAIRS[:pairs]:
        found = explain_comparison(compare(lake, old.label, new.label, now=NOW))
        assert wrong_parts(found, books, old, new) == [] == wrong_sums(found), (old, new)
    if seed == 0:  # a record that moved to another month is seen
        sale = next(row for row in books.sales if new.start <= row["paid_at"] < new.end)
        sale["paid_at"] = old.start
        assert wrong_parts(found, books, old, new)


# ---------- parts of a change add up to it whatever the sums are


AMOUNTS = st.one_of(
    st.sampled_from(
        [Decimal(0), Decimal("1E-18"), Decimal("-0.5"), Decimal("99999999999999999999")]
    ),
    st.integers(-(10**38), 10**38).map(lambda units: Decimal(units).scaleb(-18)),
)
SUMS = st.builds(Sums, st.integers(0, 9), AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS)
REASONS = st.sampled_from(["one_off", "new_customers", "sales", "refunds"])
GROUPS = st.dictionaries(
    st.builds(Group, REASONS, st.sampled_from(["", "kept", "none"])), st.tuples(SUMS, SUMS)
)
POSITIONS = st.builds(Position, AMOUNTS, AMOUNTS, st.none() | AMOUNTS, st.none() | AMOUNTS)


def total(parts: list[Part]) -> Fraction:
    return sum((Fraction(part.amount or 0) for part in parts), Fraction())


@given(GROUPS)
def test_parts_in_coin_add_up(groups):
    """To the new sums less the old ones, also where an old rate is absurd or missing."""
    change = [Fraction(new.amount) - Fraction(old.amount) for old, new in groups.values()]
    assert total(list(coin_parts(groups))) == sum(change)


@given(GROUPS, SUMS)
def test_parts_in_usd_add_up(groups, unpriced):
    """What has no USD value is no amount among them."""
    parts = list(usd_parts(groups, (unpriced, Sums())))
    change = [Fraction(new.usd) - Fraction(old.usd) for old, new in groups.values()]
    assert total(parts) == sum(change)
    assert any(part.amount is None for part in parts) == (unpriced.records > 0)


@given(POSITIONS, POSITIONS, st.dictionaries(st.builds(Group, REASONS), SUMS))
def test_parts_of_a_position_add_up(old, new, moved):
    """To the new worth less the old one, at whatever rates, or none."""
    change = Fraction(new.usd) - Fraction(old.usd)
    assert total(list(position_parts(old, new, moved))) == change


def test_equal_periods_have_no_part_at_all():
    """Nothing moved: no part makes up for another."""
    same = Sums(2, Decimal(3), Decimal("2.9"), Decimal("310.7"), Decimal(321))
    groups = {Group("sales", "kept"): (same, same), Group("refunds", "none"): (same, same)}
    parts = [*coin_parts(groups), *usd_parts(groups, (Sums(), Sums()))]
    assert {part.amount for part in parts} == {Decimal(0)}
