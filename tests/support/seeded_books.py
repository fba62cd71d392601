"""Months of lines from a seed, with accounts: prices and none, other bearers, long amounts."""

import random
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from svc_analytics.books.accounts import Accounts, parse_accounts, starter
from svc_analytics.books.export import BooksSource
from svc_analytics.external_rates import ExternalRate, ExternalRates
from svc_analytics.periods import Period, month

COINS = ("usdt", "btc", "eth", "jpy0", "=cmd()", "a;b|c:d", "طلا", "x\u202ey")
WIDE = Context(prec=200, rounding=ROUND_HALF_UP)
MONEY = pa.decimal128(38, 18)
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("entry_id", "kind", "currency", "fee_bearer")),
        ("occurred_at_local", pa.timestamp("us")),
        *((name, MONEY) for name in ("gross", "fee", "net", "usd_value")),
    ]
)
Row = dict[str, Any]
RATES = {date(2026, 1, 1) + timedelta(days=n): Decimal(80 + n % 40).scaleb(-2) for n in range(400)}


def accounts(**settings: str) -> Accounts:
    """Return a whole chart, all settings of all systems filled in."""
    chart = parse_accounts(starter())
    of_systems = {
        "odoo": {"journal": "Miscellaneous Operations"},
        "erpnext": {"company": "Acme Ltd", "cost_center": "Main - ACME"},
        "netsuite": {"subsidiary": "Parent Company"},
        "datev": {"consultant": "29098", "client": "55003", "clearing": "1599"},
    }
    coins = {coin: ("cash", "intangible", "other")[place % 3] for place, coin in enumerate(COINS)}
    tax = {"default": "0000"}  # a code that Xero and DATEV both may have
    return replace(chart, coins=coins, tax=tax, settings=of_systems, **settings)


def chart_of(preset: str) -> Accounts:
    """Return the same chart as a system names accounts: Beancount's begin with their kind."""
    chart = accounts()
    if preset != "beancount":
        return chart
    mapped = {figure: f"Income:A{name}" for figure, name in chart.accounts.items()}
    wallet = {kind: f"Assets:A{name}" for kind, name in chart.wallet.items()}
    return replace(chart, accounts=mapped, wallet=wallet)


def euro(places: int = 2) -> ExternalRates:
    """Return a rate for each day of the seeded months."""
    by_day = {day: ExternalRate(day, "EUR", rate, "ECB") for day, rate in RATES.items()}
    return ExternalRates("EUR", places, by_day)


class SeededMonth:
    """The lines of a month, and what the same month is when it is restated."""

    def __init__(self, seed: int, *, largest: int = 10**6) -> None:
        self.rng = random.Random(seed)
        self.largest = largest
        self.period = self.rng.choice(
            (month("2026-10"), month("2026-02"), month("2026-10", "Asia/Tehran"), jalali())
        )
        self.rows = [self._row(number) for number in range(self.rng.choice((1, 5, 60)))]

    def restate(self) -> None:
        """Change a record, take one away, and add one."""
        self.rows[0] = self._row(0)
        if len(self.rows) > 1:
            self.rows.pop()
        self.rows.append(self._row(1000))

    def source(self, seal: str | None = "1" * 64) -> BooksSource:
        """Return it as books are made of it."""
        lines = pa.Table.from_pylist(self.rows, schema=SCHEMA)
        return BooksSource(
            self.period, {"lines": lines, "summary": summary([])}, self.period.end, seal
        )

    def _row(self, number: int) -> Row:
        rng = self.rng
        kind = rng.choice(("payment", "payment", "payment", "refund", "payout"))
        amount = self._amount()
        share = Decimal(rng.choice(("0", "0.01", "0.0137")))
        places = Decimal(1).scaleb(-rng.choice((0, 2, 8, 18)))
        fee = WIDE.multiply(amount, share).quantize(places, context=WIDE)
        bearer = rng.choice(("merchant", "merchant", "merchant", "customer", None))
        fee = Decimal(0) if kind == "refund" else fee
        paid = kind == "payment"  # no minus: it would round to 28 digits
        net = WIDE.subtract(amount, fee) if paid else WIDE.add(amount, fee).copy_negate()
        usd = rng.choice((None, *[self._amount()] * 9))
        day = self.days[rng.randrange(len(self.days))]
        return {
            "entry_id": f"{kind}:{number}",
            "kind": kind,
            "currency": rng.choice(COINS),
            "fee_bearer": bearer if kind == "payment" else None,
            "occurred_at_local": datetime(day.year, day.month, day.day, rng.randrange(24)),
            "gross": amount if kind == "payment" else amount.copy_negate(),
            "fee": fee.copy_negate(),
            "net": net,
            "usd_value": usd,
        }

    @property
    def days(self) -> list[date]:
        """The days of the month in its zone."""
        source = BooksSource(self.period, {}, 0)
        first, last = source.days
        return [first + timedelta(days=n) for n in range((last - first).days + 1)]

    def _amount(self) -> Decimal:
        places = self.rng.choice((0, 2, 8, 18))
        most = self.largest * 10**places * 9 // 10  # with its fee it has no digit more
        return Decimal(self.rng.randrange(1, most)).scaleb(-places, WIDE)


def jalali() -> Period:
    """A month of the Jalali calendar that begins in one year and ends in the next."""
    return month("1405-10", "Asia/Tehran", "jalali")


def summary(rows: list[Row]) -> pa.Table:
    """Return the columns of a summary that a roll-forward reads."""
    names = ("opening_position", "closing_position", "implied_rate")
    fields = [("currency", pa.string()), *((name, MONEY) for name in names)]
    schema = pa.schema([*fields, ("implied_rate_at", pa.timestamp("us", "UTC"))])
    return pa.Table.from_pylist(rows, schema=schema)
