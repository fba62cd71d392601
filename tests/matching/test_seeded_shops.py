"""Three hundred shops: each order in the one line that it belongs to, and nothing left over."""

import pytest

import svc_analytics as svc
from tests.support.rings import rings
from tests.support.seeded_shops import Shop


@pytest.mark.parametrize("seed", rings(range(24), range(300)))
def test_every_order_and_payment_is_in_the_one_line_that_it_belongs_to(seed, tmp_path):
    """Counts and sums by code and coin are those of plain arithmetic: 0 wrong, 0 left over."""
    shop = Shop(seed)
    lake = shop.lake(tmp_path / "lake")
    both = svc.match(lake, "orders", shop.write_orders(tmp_path / "a.csv"), month="2026-10")
    assert both.by == shop.expected.by()
    assert both.total("theirs") == shop.expected.total("theirs")
    assert both.total("ours") == shop.expected.total("ours")
    turned = shop.write_orders(tmp_path / "b.csv", is_turned=True)
    assert svc.match(lake, "orders", turned, month="2026-10").digest == both.digest
