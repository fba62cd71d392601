"""What holds of statements whatever the ledger: parts add up, order is nothing, rows are local."""

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from svc_analytics.instants import from_micros, to_micros
from svc_analytics.periods import month
from svc_analytics.statements.statement import Statement, statement
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.desks import Desk
from tests.support.fake_service import payment, payout, refund
from tests.support.rings import rings, sample

COINS = {"usdt": 6, "btc": 8, "eth": 18}
NOW = datetime(2026, 11, 20, tzinfo=UTC)
ADDITIVE = [
    *("payments_count", "gross_sales", "charged_total", "payment_fees", "net_sales"),
    *("refunds_count", "refunds_paid", "payouts_count", "payouts_debited", "rail_movement"),
    *("fee_leakage", "usd_gross", "usd_fees"),
]


def stamp(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def ledger(seed: int, count: int = 60) -> tuple[list[Any], list[Any]]:
    """Make a random but regular ledger of three coins over three months."""
    dice = random.Random(seed)
    payments, records = [], []
    for number in range(1, count):
        coin, places = dice.choice(list(COINS.items()))
        at = datetime(2026, 8, 20, tzinfo=UTC) + timedelta(seconds=dice.randrange(80 * 86_400))
        amount = format(Decimal(dice.randrange(10**6, 10**9)).scaleb(-min(places, 8)), "f")
        more = {"currency": coin, "usd_value": str(dice.randrange(1, 10**4))}
        if dice.random() < 0.7 or not payments:
            fee = format(Decimal(dice.randrange(1, 10**4)).scaleb(-places), "f")
            payments.append(payment(number, stamp(at), amount, fee, **more))
        elif dice.random() < 0.5:
            records.append(payout(number, stamp(at), amount, "0", **more))
        else:
            parent = dice.choice(payments)
            records.append(refund(number, parent, stamp(at), "0.000001", usd_value="1"))
    return payments, records


def made(desk: Desk, payments: list[Any], records: list[Any], label: str) -> Statement:
    desk.service.payments, desk.service.payouts = payments, records
    desk.extract(rereads=True)
    return statement(desk.lake, label)


def figures(found: Statement) -> dict[str, dict[str, Any]]:
    return {row["currency"]: row for row in found.tables["summary"].to_pylist()}


@pytest.mark.parametrize("seed", rings([1], range(3)))
def test_the_parts_of_a_month_add_up_to_it(desk: Desk, seed: int) -> None:
    """Any cut of the month into intervals: the sums of their figures are the month's."""
    whole = figures(made(desk, *ledger(seed), "2026-10"))
    period = month("2026-10")
    cuts = sorted(random.Random(seed).sample(range(period.start, period.end), 3))
    bounds = [period.start, *cuts, period.end]
    with open_warehouse(desk.lake) as warehouse:
        parts = [
            warehouse.query(
                "from statement_summary($a::timestamptz, $b::timestamptz)",
                {"a": str(from_micros(a)), "b": str(from_micros(b))},
            ).to_pylist()
            for a, b in pairwise(bounds)
        ]
    for currency, row in whole.items():
        mine = [found for part in parts for found in part if found["currency"] == currency]
        for name in ADDITIVE:
            assert sum(found[name] for found in mine) == row[name], name


@pytest.mark.parametrize("seed", rings([2], range(3)))
def test_the_order_of_the_records_is_nothing(
    desk: Desk, seed: int, service: Any, settings: Any, tmp_path: Any
) -> None:
    """The same records, read in another order, make the same statement to the byte."""
    payments, records = ledger(seed)
    first = made(desk, payments, records, "2026-10")
    dice = random.Random(seed + 1)
    other = Desk(service, settings, type(desk.lake)(tmp_path / "other"))
    service.order = lambda found: dice.sample(found, len(found))
    again = made(other, payments, records, "2026-10")
    for name in ("summary", "daily", "position", "cohorts", "exposure", "refunds"):
        assert first.tables[name].equals(again.tables[name]), name


def test_one_more_payment_changes_only_its_coin_and_its_month(desk: Desk) -> None:
    """A payment of btc in September leaves every other coin of October as it was."""
    payments, records = ledger(7)
    before = figures(made(desk, payments, records, "2026-10"))
    more = payment(900, "2026-09-15T12:00:00Z", "0.5", "0.005", currency="btc")
    after = figures(made(desk, [*payments, more], records, "2026-10"))
    for currency in set(before) - {"btc"}:
        assert before[currency] == after[currency]
    moved = {name for name, value in after["btc"].items() if before["btc"][name] != value}
    assert moved == {"opening_position", "closing_position", "usd_exposure"}
    assert after["btc"]["opening_position"] - before["btc"]["opening_position"] == Decimal("0.495")


# Instants at which a month begins somewhere: clocks that change, half hours, the Jalali new year.
BOUNDARIES = [
    ("2026-11", "UTC", "gregorian", "2026-11-01T00:00:00Z"),
    ("2026-11", "America/New_York", "gregorian", "2026-11-01T04:00:00Z"),  # clocks go back that day
    ("2026-10", "Asia/Kolkata", "gregorian", "2026-09-30T18:30:00Z"),
    ("2026-10", "Australia/Lord_Howe", "gregorian", "2026-09-30T13:30:00Z"),
    ("2024-10", "America/Asuncion", "gregorian", "2024-10-01T04:00:00Z"),
    ("1405-08", "Asia/Tehran", "jalali", "2026-10-22T20:30:00Z"),
    ("1405-01", "Asia/Tehran", "jalali", "2026-03-20T20:30:00Z"),  # new year
    ("1400-01", "Asia/Tehran", "jalali", "2021-03-20T20:30:00Z"),  # after a leap year
]


@pytest.mark.parametrize(("label", "zone", "calendar", "start"), sample(BOUNDARIES, 8))
def test_a_microsecond_decides_the_month(
    desk: Desk, label: str, zone: str, calendar: str, start: str
) -> None:
    """One microsecond before the boundary is the old month, the boundary itself the new."""
    at = datetime.fromisoformat(start)
    edge = timedelta(microseconds=1)
    times = [at - edge, at, at + edge]
    desk.service.payments = [payment(n, stamp(t), "1", "0") for n, t in enumerate(times, 1)]
    desk.extract()
    counts = []
    for shift in (-1, 0):
        period = month(label, zone, calendar).shift(shift)
        # As of the service's day: a month that has ended since then was not read whole.
        now = to_micros(desk.service.now)
        found = statement(desk.lake, period.label, zone=zone, calendar=calendar, now=now)
        counts.append(found.tables["summary"]["payments_count"].to_pylist())
    assert counts == [[1], [2]]
