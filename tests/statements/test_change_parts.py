"""Parts of a change add up to it whatever the sums are: there is no residual to spread."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from svc_analytics.statements.change.parts import (
    Group,
    Part,
    Position,
    Sums,
    coin_parts,
    position_parts,
    usd_parts,
)

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
def test_parts_in_coin_add_up(groups: dict[Group, tuple[Sums, Sums]]) -> None:
    """To the new sums less the old ones, also where an old rate is absurd or missing."""
    change = [Fraction(new.amount) - Fraction(old.amount) for old, new in groups.values()]
    assert total(list(coin_parts(groups))) == sum(change)


@given(GROUPS, SUMS)
def test_parts_in_usd_add_up(groups: dict[Group, tuple[Sums, Sums]], unpriced: Sums) -> None:
    """What has no USD value is no amount among them."""
    parts = list(usd_parts(groups, (unpriced, Sums())))
    change = [Fraction(new.usd) - Fraction(old.usd) for old, new in groups.values()]
    assert total(parts) == sum(change)
    assert any(part.amount is None for part in parts) == (unpriced.records > 0)


@given(POSITIONS, POSITIONS, st.dictionaries(st.builds(Group, REASONS), SUMS))
def test_parts_of_a_position_add_up(old: Position, new: Position, moved: dict[Group, Sums]) -> None:
    """To the new worth less the old one, at whatever rates, or none."""
    change = Fraction(new.usd) - Fraction(old.usd)
    assert total(list(position_parts(old, new, moved))) == change


def test_equal_periods_have_no_part_at_all() -> None:
    """Nothing moved: no part makes up for another."""
    same = Sums(2, Decimal(3), Decimal("2.9"), Decimal("310.7"), Decimal(321))
    groups = {Group("sales", "kept"): (same, same), Group("refunds", "none"): (same, same)}
    parts = [*coin_parts(groups), *usd_parts(groups, (Sums(), Sums()))]
    assert {part.amount for part in parts} == {Decimal(0)}
