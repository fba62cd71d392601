"""The wallet balances that people typed in from the console: `data/assertions.csv`.

The API has no balance. Against these balances, a statement shows the movement that payments,
refunds and payouts do not explain. The last line of an instant and coin counts.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.instants import BEGINNING, DAY, format_instant, now, parse_bound
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.typed_files import TypedRow, append_rows, counts_from, read_rows
from svc_analytics.messages import Message, json_of
from svc_analytics.money import EXACT, format_amount, parse_amount
from svc_analytics.periods import Period
from svc_analytics.render.document import Unknown
from svc_analytics.render.findings import UNPLACED
from svc_analytics.warehouse.acknowledgements import content_of
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.figures import read_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.sql_text import fill_places, instant_literal
from svc_analytics.warehouse.warehouse import open_warehouse

FILE = "assertions.csv"
COLUMNS = ("at", "currency", "balance", "note")
OPTIONAL = ("note",)

Parameter = dict[str, Any]  # an assertion as the table macro `int_figures` takes it


@dataclass(frozen=True)
class Assertion:
    """The wallet's balance of one coin that a person saw at an instant (UTC microseconds)."""

    at: int
    currency: str
    balance: Decimal
    line: int = 0  # of the file
    counts_from: int = BEGINNING  # before that instant it lies ahead of the clock
    replaced: str = ""  # balances of earlier lines of its instant and coin, in their order

    @property
    def text(self) -> str:
        """The assertion in words."""
        amount, instant = format_amount(self.balance), format_instant(self.at)
        return Message("part.balance", amount=amount, coin=self.currency, instant=instant)

    def to_parameter(self) -> Parameter:
        """Return the assertion as the table macro `int_figures` takes it."""
        return {
            "asserted_at": format_instant(self.at),
            "currency": self.currency,
            "balance": format_amount(self.balance),
            "replaced": self.replaced or None,
        }

    def to_json(self) -> dict[str, Any]:
        """Return the assertion as a manifest names it."""
        return {
            "at": format_instant(self.at),
            "currency": self.currency,
            "balance": format_amount(self.balance),
            "line": self.line,
            **({"replaced": self.replaced} if self.replaced else {}),
        }


def read_assertions(folder: Path) -> tuple[Assertion, ...]:
    """Read the balances that count: of each instant and coin the last line of the file.

    None if there is no file. Raises `ConfigError` naming a line that cannot be read.
    """
    last: dict[tuple[int, str], Assertion] = {}
    for row in read_rows(folder / FILE, COLUMNS, OPTIONAL):
        assertion = _read_row(row)
        before = last.pop((assertion.at, assertion.currency), None)
        if before:
            earlier = filter(None, [before.replaced, format_amount(before.balance)])
            assertion = replace(assertion, replaced=", ".join(earlier))
        last[assertion.at, assertion.currency] = assertion
    return tuple(last.values())


def parse_assertions(facts: object) -> tuple[Assertion, ...]:
    """Read the balances that a manifest names; raise `ConfigError` where that cannot be."""
    try:
        return tuple(map(_from_json, facts if isinstance(facts, list) else [facts]))
    except (KeyError, TypeError, ValueError, AttributeError, DataError) as error:
        raise ConfigError(f"options.assertions are no balances: {facts!r:.60}") from error


def asserted_within(assertions: Iterable[Assertion], period: Period) -> list[Assertion]:
    """Return the balances that were read off in a period, at its end too, in their order."""
    within = [each for each in assertions if period.start < each.at <= period.end]
    return sorted(within, key=lambda each: (each.at, each.currency))


def unplaced_balances(
    assertions: Iterable[Assertion], period: Period, coins: Collection[str]
) -> list[dict[str, Any]]:
    """Return a finding for each balance of a period whose coin the statement does not have."""
    return [
        _unplaced(each, period)
        for each in asserted_within(assertions, period)
        if each.currency not in coins
    ]


def _unplaced(each: Assertion, period: Period) -> dict[str, Any]:
    values = {"line": each.line, "coin": each.currency, "month": period.folder}
    detail = Message("finding.balance", file=FILE, **values)
    return {
        "check_name": UNPLACED,
        "severity": "advisory",
        "record_id": None,
        "month": _month_of(period, each.at),
        "currency": each.currency,
        "detail": detail,
        "content": content_of(format_instant(each.at), each.currency, each.balance),
        "message": json_of(detail),
    }


def unread_balances(
    assertions: Iterable[Assertion], period: Period, coins: Collection[str], read_to: int
) -> list[Unknown]:
    """Say of which coins the newest balance was read off later than the lake was read."""
    newest = {each.currency: each for each in asserted_within(assertions, period)}
    return [
        Unknown(
            ("outside_movement",),
            (coin,),
            Message(
                "unknown.balance_later",
                instant=format_instant(each.at),
                end=format_instant(read_to),
            ),
        )
        for coin, each in sorted(newest.items())
        if coin in coins and each.at > read_to
    ]


def _month_of(period: Period, at: int) -> str:
    """Return the month of a period that a balance closes or stands in."""
    return next(month.label for month in period.months if month.start < at <= month.end)


def _read_row(row: TypedRow) -> Assertion:
    try:
        assertion = _parse(row.cells["at"], row.cells["currency"], row.cells["balance"])
        first = counts_from(row.cells["at"], assertion.at)
        return replace(assertion, line=row.line, counts_from=first)
    except (DataError, ConfigError) as error:
        raise row.refused(error) from error


def _from_json(fact: dict[str, Any]) -> Assertion:
    assertion = _parse(fact["at"], fact["currency"], fact["balance"])
    return replace(assertion, line=int(fact["line"]), replaced=str(fact.get("replaced", "")))


def _parse(at: str, currency: str, balance: str) -> Assertion:
    if not currency:
        raise DataError("currency is empty")
    if not currency.isprintable() or " " in currency:
        raise DataError(f"not the slug of a coin, such as btc: {currency!r:.60}")
    try:
        return Assertion(parse_bound(at), currency, parse_amount(balance))
    except DataError as error:
        raise DataError(f"{error}; write 1234.5, with a point and without separators") from error


# ---------- A balance is written down, and compared with the records


@dataclass(frozen=True)
class WalletBalance:
    """The balance of a coin at an instant (UTC microseconds), and what the records say of it."""

    at: int
    currency: str
    balance: Decimal
    explained: Decimal | None  # by payments, refunds and payouts up to then; None where unknown

    @property
    def outside(self) -> Decimal | None:
        """The part that they do not explain: deposits, withdrawals and conversions."""
        return None if self.explained is None else EXACT.subtract(self.balance, self.explained)


def assert_balance(
    lake: Lake, at: int, currency: str, balance: str, note: str = ""
) -> WalletBalance:
    """Add a balance to `assertions.csv` of the lake; statements then compare it with the records.

    `at` is in UTC microseconds, `balance` a plain decimal in the coin. Nothing is written where
    the balance cannot be read, or no record of the lake is in this coin.

    Raises:
        ConfigError: for a coin that the lake does not know, an amount that is none, an instant
            before 1970 or still to come, or a file with a line that cannot be read.
        LakeBusy: when another process is writing the file.
    """
    read_assertions(lake.path)  # a line that is wrong is named before another one is added
    try:
        amount = parse_amount(balance)
    except DataError as error:
        raise ConfigError(f"{error}: write the balance as 31907.35, without separators") from error
    if not 0 <= at <= now():
        wrong = "before 1970" if at < 0 else "still to come"
        raise ConfigError(f"{format_instant(at)} is {wrong}: give when the balance was read")
    positions = _positions(lake, at)
    if currency not in positions:
        known = ", ".join(sorted(positions)) or "no coin yet"
        raise ConfigError(
            f"no payment, refund or payout of {lake.place} is in {currency!r:.60}: "
            f"it knows {known}; nothing was written"
        )
    row = {"at": format_instant(at), "currency": currency, "balance": format_amount(amount)}
    append_rows(lake.storage, FILE, COLUMNS, [row | {"note": note}], OPTIONAL)
    return WalletBalance(at, currency, amount, positions[currency])


def _positions(lake: Lake, at: int) -> dict[str, Decimal | None]:
    """Return the position of every coin of the lake at an instant; None where it is unknown."""
    query = select_figures([read_figures()["closing_position"]], every_coin=True)
    places = {
        "starts_at": instant_literal(at - DAY),
        "ends_at": instant_literal(at),
        "known_to": instant_literal(at),
        "as_of": "null",
    }
    with open_warehouse(lake, models_used_by(query), period=(at - DAY, at)) as warehouse:
        rows = warehouse.query(fill_places(query, places)).to_pylist()
    return {row["currency"]: row["closing_position"] for row in rows}
