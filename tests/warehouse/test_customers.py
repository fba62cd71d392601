"""The view `customers`: USD over all coins, the share refunded, and who is verified."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from svc_analytics.instants import parse_bound
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.extraction.test_lookups import look_up
from tests.support.desks import Desk
from tests.support.fake_service import binding
from tests.support.prepared import extracted

# Rows 1 and 8 have one payer, for payers go round by seven; a refund has that of its payment.
LEDGER = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       1       0.01  2026-09-01T08:00      60000
 payment  usdt      100     1     2026-10-02T08:00      100.5
 payment  eth       2       0.02  2026-10-03T08:00
 refund   btc       0.25          2026-10-05T08:00  1   15625
 refund   eth       1             2026-10-06T08:00  3
 payment  sol       1       0.01  2026-10-07T08:00      150
 payment  sol       9       0.01  2026-10-07T09:00      1350
 payment  usdt      2500    25    2026-10-08T08:00      2500
"""
PAID = ("payments_count", "payments_without_usd", "usd_paid")
RETURNED = ("refunds_count", "refunds_without_usd", "usd_refunded", "usd_refund_ratio")


@pytest.fixture
def sold(desk) -> Desk:
    """The ledger above at the service; nothing is read yet. The payment of row 7 has no payer."""
    desk.serve(LEDGER)
    desk.service.payments[-2]["payer_id"] = None
    return desk


def payer(desk: Desk, number: int) -> str:
    """The payer of a payment of the service, by its place among them."""
    return str(desk.service.payments[number]["payer_id"])


def rows(desk: Desk, *names: str, **payer: str | None) -> list[list[Any]]:
    """Read columns of the view, of all rows or of a payer; None for what is unknown."""
    query = f"select {', '.join(names)} from customers"
    query += " where payer_id is not distinct from $payer_id" if payer else ""
    with open_warehouse(desk.lake, models_used_by(query)) as warehouse:
        return [[*row.values()] for row in warehouse.query(query, payer).to_pylist()]


def row(desk: Desk, payer_id: str | None, *names: str) -> list[Any]:
    """Read columns of the only row of a payer."""
    [found] = rows(desk, *names, payer_id=payer_id)
    return found


def test_a_customer_is_summed_in_usd_over_all_coins(sold):
    """60,000 in btc and 2,500 in usdt, of which a quarter went back."""
    extracted(sold)
    assert row(sold, payer(sold, 0), *PAID) == [2, 0, 62500]
    assert row(sold, payer(sold, 0), *RETURNED) == [1, 0, 15625, Decimal("0.25")]
    assert row(sold, payer(sold, 1), *PAID, *RETURNED) == [1, 0, Decimal("100.5"), 0, 0, 0, 0]


def test_what_has_no_value_in_usd_is_counted_and_unknown(sold):
    """No zero stands for it, and no share is made without it."""
    extracted(sold)
    assert row(sold, payer(sold, 2), *PAID, *RETURNED) == [1, 1, None, 1, 1, None, None]


def test_payments_without_a_payer_have_a_row(sold):
    """So that the rows add up to all payments."""
    extracted(sold)
    assert row(sold, None, *PAID) == [1, 0, 1350]


def test_refunds_that_were_never_read_are_unknown(sold):
    """Without a payout-class key nobody knows of refunds: that is not zero."""
    Desk(sold.service, replace(sold.settings, payout_key=None), sold.lake).extract()
    assert row(sold, payer(sold, 0), *PAID, *RETURNED) == [2, 0, 62500, None, None, None, None]


def test_refunds_are_known_of_those_who_paid_since_they_were_read(sold):
    """Payout records of October only: the first payer paid in September, the second in October."""
    sold.extract(streams=("payments",))
    sold.extract(streams=("payout_records",), start=parse_bound("2026-10-01"))
    assert row(sold, payer(sold, 0), *RETURNED) == [None] * 4
    assert row(sold, payer(sold, 1), *RETURNED) == [0, 0, 0, 0]


def test_a_refund_of_a_payment_that_was_not_read_has_no_share(sold):
    """The September file is lost: the payer keeps 2,500 and the refund; of what, nobody knows."""
    extracted(sold)
    (sold.lake.path / "payments" / "2026-09.parquet").unlink()
    assert row(sold, payer(sold, 0), *PAID, *RETURNED) == [1, 0, 2500, 1, 0, 15625, None]


def test_a_payer_with_nothing_but_a_refund_has_a_row(sold):
    """No payment was read: what they paid is unknown, not zero."""
    extracted(sold)
    (sold.lake.path / "payments" / "2026-10.parquet").unlink()
    assert row(sold, payer(sold, 2), *PAID, *RETURNED) == [0, 0, None, 1, 1, None, None]


def test_a_customer_has_one_row_with_the_newest_binding(sold):
    """Two ids of one payer, one who never paid, and two without a live binding."""
    answers = [
        binding("first", payer_id=payer(sold, 0), created_at="2026-10-03T00:00:00Z"),
        binding("newer", payer_id=payer(sold, 0), created_at="2026-10-04T00:00:00Z"),
        binding("never paid", status="pending_review"),
        *({"customer_id": name, "state": "none", "binding": None} for name in ("left", "other")),
    ]
    sold.service.bindings = {answer["customer_id"]: answer for answer in answers}
    extracted(sold)
    look_up(sold, customers=[*sold.service.bindings])
    found = rows(sold, "customer_id", "binding_state", "payments_count", "usd_paid")
    assert [each for each in found if not each[0]] == [  # of whom nobody asked
        [None, None, 1, 1350],
        [None, None, 1, 150],
        [None, None, 1, Decimal("100.5")],
        [None, None, 1, None],
    ]
    assert [each for each in found if each[0]] == [
        ["newer", "active", 2, 62500],
        ["never paid", "pending_review", 0, None],
        ["left", "none", None, None],
        ["other", "none", None, None],
    ]


def test_a_customer_has_the_id_of_its_binding_or_of_its_metadata(sold):
    """Of several payments the newest that names one; texts that are none are left out."""
    of_shop = ({"customer": {"id": "C-1"}}, {"customer": {"id": "C-2"}}, {"customer": {"id": ""}})
    first, second, other = (sold.service.payments[place] for place in (0, -1, 1))
    first["metadata"], second["metadata"], other["metadata"] = of_shop
    extracted(sold)
    assert row(sold, first["payer_id"], "customer", "customer_id") == ["C-2", None]
    assert row(sold, other["payer_id"], "customer") == [None]
    sold.service.bindings = {"C-3": binding("C-3", payer_id=first["payer_id"])}
    look_up(sold, customers=["C-3"])
    assert row(sold, first["payer_id"], "customer", "customer_id") == ["C-3", "C-3"]
