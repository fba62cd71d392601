"""A thousand pairs of seeded months: each part is that of fractions, and they make the change."""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest

from svc_analytics.periods import Period
from svc_analytics.statements.change.change import Change, explain_comparison
from svc_analytics.statements.change.parts import OF
from svc_analytics.statements.comparison import compare
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
def test_parts_are_those_of_fractions(seed: int, pairs: int, tmp_path: Path) -> None:
    """Of lakes with refunds of every kind, odd customers and absurd amounts.

    In the deep ring a thousand pairs, forwards and backwards, next to each other and further apart.
    """
    lake = make_moved_lake(tmp_path / "data", seed)
    books = Books(lake.path)
    for old, new in PAIRS[:pairs]:
        found = explain_comparison(compare(lake, old.label, new.label, now=NOW))
        assert wrong_parts(found, books, old, new) == [] == wrong_sums(found), (old, new)


def test_a_wrong_part_is_told(tmp_path: Path) -> None:
    """The comparison with fractions sees a record that moved to another month."""
    old, new = PAIRS[0]
    lake = make_moved_lake(tmp_path / "data", 0)
    found = explain_comparison(compare(lake, old.label, new.label, now=NOW))
    books = Books(lake.path)
    sale = next(row for row in books.sales if new.start <= row["paid_at"] < new.end)
    sale["paid_at"] = old.start
    assert wrong_parts(found, books, old, new)
