"""Single orders, checkable by hand; and three hundred shops, of which nothing is left over."""

import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import svc_analytics as svc
from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, HOUR
from tests.support.rings import rings
from tests.support.seeded_shops import MONTH, Shop, counts, payment_of, record_of, write_lake

HEAD = "Order ID,Date,Status,Currency,Total"
ARRIVED = {"Date": ["2026-10-05"], "Coin": ["usdt"], "Amount": ["1"], "Reference": ["x"]}


def paid(name: str | None, coin: str, amount: str, **more: Any) -> dict[str, Any]:
    """A payment of 5 October."""
    record = payment_of(random.Random(name), coin, Decimal(amount), MONTH.start + 4 * DAY + HOUR)
    return record | {"reference_id": name} | more


def back(parent: dict[str, Any], amount: str) -> dict[str, Any]:
    rng = random.Random(parent["id"])
    at = parent["paid_at"] + HOUR
    record = record_of(rng, "refund", parent["currency"], Decimal(amount), at)
    return record | {"payment_id": parent["id"]}


@pytest.fixture
def match(tmp_path: Path):
    def match(payments, rows, refunds=(), head=HEAD, **how) -> svc.Match:
        lake = svc.open_lake(tmp_path / "lake")
        if payments is not None:
            write_lake(lake.path, list(payments), list(refunds))
        path = tmp_path / "orders.csv"
        path.write_text("\n".join([head, *rows]))
        return svc.match(lake, "orders", path, **{"month": "2026-10"} | how)

    return match


@pytest.mark.parametrize(
    ("status", "returned", "code", "is_open"),
    [
        ("completed", "10", "refunded", True),
        ("refunded", "10", "refunded", False),
        ("refunded", "4", "refunded_in_part", True),
        ("partially_refunded", "4", "refunded_in_part", False),
        ("refunded", None, "refunded", True),
        ("cancelled", "10", "refunded", False),
        ("cancelled", "4", "cancelled_but_paid", True),
        ("wc-completed", None, "agreed", False),
    ],
)
def test_a_refund_is_open_where_the_shop_does_not_say_it(status, returned, code, is_open, match):
    payment = paid("A-1", "usdt", "10")
    refunds = [back(payment, returned)] if returned else []
    both = match([payment], [f"A-1,2026-10-05,{status},USDT,10"], refunds)
    assert counts(both) == {code: 1} and bool(both.open_count) == is_open
    assert both.total("ours") == both.total("theirs") == {"usdt": Decimal(10)}


def test_an_order_in_usd_is_compared_with_what_the_payment_was_worth(match):
    """And a payment without an order is counted in USD too, where all orders are."""
    payments = [paid("A-1", "btc", "0.001", usd_value=Decimal(65))]
    payments += [paid("A-2", "btc", "0.002", usd_value=Decimal(7))]
    both = match(payments, ["A-1,2026-10-05,paid,USD,65.00"])
    assert counts(both) == {"agreed": 1, "no_order": 1}
    assert both.total("ours") == {"usd": Decimal(72)}


@pytest.mark.parametrize(
    ("returned", "said", "is_open"),
    [("0.001", "65", False), ("0.001", "60", True), ("0.0004", "26", False), ("0.0004", "0", True)],
)
def test_a_refund_of_an_order_in_usd_is_said_in_usd(returned, said, is_open, match):
    """Whole where it is the total, in part where it is less: the coin was returned at its rate."""
    payment = paid("A-1", "btc", "0.001", usd_value=Decimal(65))
    both = match(
        [payment],
        [f"A-1,2026-10-05,paid,USD,65.00,{said}"],
        [back(payment, returned)],
        head=f"{HEAD},Refunded Amount",
    )
    assert bool(both.open_count) == is_open


@pytest.mark.parametrize("status", ["paid", "cancelled", "pending"])
def test_one_payment_that_two_orders_name_is_shown_at_both_and_counted_once(status, match):
    """Nothing says which of them it paid; each row names the other."""
    payment = paid("x", "usdt", "10")
    rows = [
        f"A-{name},2026-10-05,{each},USDT,10,{payment['session_id']}"
        for name, each in enumerate(("paid", status))
    ]
    both = match([payment], rows, head=f"{HEAD},Session ID")
    assert counts(both) == {"ambiguous": 2} and both.total("ours") == {"usdt": Decimal(10)}
    assert both.total("theirs") == {"usdt": Decimal(10 if status == "pending" else 20)}
    receipt = payment["receipt_no"]
    candidates = {*both.rows["candidates"]}
    assert candidates == {f"{receipt} (or of A-0)", f"{receipt} (or of A-1)"}
    assert f"it could be {receipt} (or of A-1)" in str(both)


def test_a_list_without_a_key_in_any_row_is_matched_by_amounts(match):
    """It is not of another shop: it names none of its orders."""
    rows = [",2026-10-06,paid,USDT,20", ",2026-10-06,paid,USDT,7"]
    both = match([paid(None, "usdt", "20")], rows)
    assert counts(both) == {"agreed": 1, "no_payment": 1}


def test_an_order_is_known_by_any_key_that_a_payment_has(match):
    """Its reference, its receipt, or the number of the order in its metadata; a # is no part."""
    payments = [paid("A-1", "usdt", "1"), paid("x", "usdt", "2"), paid("y", "usdt", "3")]
    payments[2]["metadata"] = '{"order_id": 77}'
    rows = ["#A-1,2026-10-05,paid,USDT,1", f"{payments[1]['receipt_no']},2026-10-05,paid,USDT,2"]
    assert counts(match(payments, [*rows, "77,2026-10-05,paid,USDT,3"])) == {"agreed": 3}


def test_without_a_key_only_what_is_unique_is_matched(match):
    """What two payments may be is shown with both; a key of another order is no match."""
    payments = [paid(None, "usdt", "10"), paid(None, "usdt", "10"), paid("B-9", "usdt", "12")]
    payments += [paid("A-1", "usdt", "1"), paid(None, "usdt", "20")]
    payments[1]["receipt_no"] = "SVC-SECOND"
    rows = ["A-1,2026-10-05,paid,USDT,1", ",2026-10-06,paid,USDT,20", ",2026-10-05,paid,USDT,10"]
    both = match(payments, [*rows, "A-2,2026-10-05,paid,USDT,12"])
    wanted = {"agreed": 2, "ambiguous": 1, "no_payment": 1, "no_order": 1}
    assert counts(both) == wanted and both.by["ambiguous"]["ours"] == {"usdt": Decimal(20)}
    [row] = both.rows[both.rows["code"] == "ambiguous"].to_dict("records")
    assert "SVC-SECOND" in row["candidates"]
    assert counts(match(payments, [*rows[:1], ",2026-10-09,paid,USDT,20"], window=1)) == {
        "agreed": 1,
        "no_payment": 1,
        "no_order": 4,
    }


def test_a_list_of_lines_is_an_order_by_its_number(match):
    """Shopify leaves the total of each further line empty; lines with amounts add up."""
    lines = ["A-1,2026-10-05,paid,USDT,10", "A-1,2026-10-05,,,", "A-2,2026-10-05,paid,USDT,3"]
    payments = [paid("A-1", "usdt", "10"), paid("A-2", "usdt", "7")]
    assert counts(match(payments, [*lines, "A-2,2026-10-05,paid,USDT,4"])) == {"agreed": 2}
    assert counts(match(payments, [*lines, "A-2,2026-10-05,paid,USDT,3"])) == {
        "agreed": 1,
        "ambiguous": 1,
    }


def test_a_month_of_another_calendar_and_zone_is_cut_by_its_own_days(match):
    """Days are those of the zone; an instant with an offset is put into it."""
    at = MONTH.start - HOUR  # 30 September in UTC, 1 October in Tehran
    rows = ["A-1,2026-10-01T00:30:00+03:30,paid,USDT,10"]
    payments = [paid("A-1", "usdt", "10", paid_at=at), paid("A-2", "usdt", "5")]
    assert counts(match(payments, rows, zone="Asia/Tehran")) == {"agreed": 1, "no_order": 1}
    jalali = ["A-1,1405/07/09,paid,USDT,10"]
    assert counts(match(payments, jalali, month="1405-07", zone="Asia/Tehran")) == {
        "agreed": 1,
        "no_order": 1,
    }


def test_what_was_not_read_is_said_and_not_taken_for_nothing(match, tmp_path):
    """Without payout records no refund is known, and no payout can be matched."""
    payments, row = [paid("A-1", "usdt", "10")], "A-1,2026-10-05,paid,USDT,10"
    write_lake(tmp_path / "lake", payments, [], streams=["payments"])
    both = match(None, [row])
    assert counts(both) == {"agreed": 1}
    assert both.notes == (
        "payout_records of 2026-10 were not read completely: what was refunded is not known",
    )
    with pytest.raises(ConfigError, match="payout_records of 2026-10 were not read: run"):
        svc.match(both.lake, "payouts", pd.DataFrame(ARRIVED), month="2026-10")


# ---------- seeded shops: each order in the one line that it belongs to


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
