"""Read the wallet balances that people typed in from the console: `data/assertions.csv`.

The API has no balance (design 15). Against these balances, a statement shows the movement
that payments, refunds and payouts do not explain.
"""

import csv
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.money import format_amount, parse_amount
from svc_analytics.periods import Period
from svc_analytics.render.balances import UNPLACED

FILE = "assertions.csv"
COLUMNS = ("at", "currency", "balance", "note")


@dataclass(frozen=True)
class Assertion:
    """The wallet's balance of one coin that a person saw at an instant (UTC microseconds)."""

    at: int
    currency: str
    balance: Decimal
    note: str = ""
    line: int = 0  # of the file

    def to_parameter(self) -> dict[str, str]:
        """Return the assertion as the table macro `int_figures` takes it."""
        return {
            "asserted_at": format_instant(self.at),
            "currency": self.currency,
            "balance": format_amount(self.balance),
        }


def read_assertions(folder: Path) -> tuple[Assertion, ...]:
    """Read the balance assertions of a lake; none if there is no file.

    Raises `ConfigError` naming a line that cannot be read.
    """
    path = folder / FILE
    if not path.exists():
        return ()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return tuple(_read_rows(path, csv.DictReader(file, strict=True)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"cannot read {path} as UTF-8 CSV: {error}") from error


def unplaced_balances(
    assertions: Iterable[Assertion], period: Period, coins: Collection[str]
) -> list[dict[str, Any]]:
    """Return a finding for each balance of a period whose coin the statement does not have."""
    return [
        {
            "check_name": UNPLACED,
            "severity": "advisory",
            "record_id": None,
            "month": _month_of(period, each.at),
            "currency": each.currency,
            "detail": (
                f"{FILE}, line {each.line}: a balance of {each.currency} was asserted, and "
                f"{period.folder} has no movement and no position in {each.currency}: "
                "it is compared with nothing"
            ),
        }
        for each in assertions
        if period.start < each.at <= period.end and each.currency not in coins
    ]


def _month_of(period: Period, at: int) -> str:
    """Return the month of a period that a balance closes or stands in."""
    return next(month.label for month in period.months if month.start < at <= month.end)


def _read_rows(path: Path, reader: "csv.DictReader[str]") -> Iterator[Assertion]:
    missing = set(COLUMNS[:3]) - set(reader.fieldnames or ())
    if missing:
        names, header = ", ".join(sorted(missing)), ",".join(COLUMNS)
        raise ConfigError(f"{path} has no column {names}: its first line must be {header}")
    for row in reader:
        yield _read_row(path, reader.line_num, row)


def _read_row(path: Path, line: int, row: dict[str, str | None]) -> Assertion:
    at, currency, balance, note = ((row.get(name) or "").strip() for name in COLUMNS)
    try:
        if not currency:
            raise DataError("currency is empty")
        return Assertion(parse_bound(at), currency, parse_amount(balance), note, line)
    except (DataError, ConfigError) as error:
        raise ConfigError(f"{path}, line {line}: {error}") from error
