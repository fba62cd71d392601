"""Books of seeded lakes tie to the figures that the statement's own SQL has."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from svc_analytics.books.movements import SALES, WALLET, read_movements
from tests.support.rings import sample
from tests.support.seeded_lakes import make_seeded_lake, state


@pytest.mark.parametrize("seed", sample(range(40), 40))
def test_units_and_dollars_are_those_of_the_statement(seed: int, tmp_path: Path) -> None:
    """Sales in dollars where each has a price, and what the wallet gained, coin by coin."""
    seeded = replace(make_seeded_lake(tmp_path / "lake", seed), as_of=None)
    for period in seeded.asked[:3]:
        made = state(seeded, period)
        found = read_movements(made.tables["lines"])
        lacking = {each.coin for each in found.unpriced}
        for row in made.tables["summary"].to_pylist():
            coin = row["currency"]
            if row["rail_movement"] is not None:
                assert found.units(WALLET, coin) == row["rail_movement"]
            if row["usd_gross"] is not None and coin not in lacking:
                sold = [
                    each.usd
                    for (_, figure, of), each in found.sums.items()
                    if figure == SALES and of == coin
                ]
                assert -sum(sold, Decimal(0)) == row["usd_gross"]
