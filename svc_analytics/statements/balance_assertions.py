"""Read the wallet balances that people typed in from the console: `data/assertions.csv`.

The API has no balance (design 15). Against these balances, a statement shows the movement
that payments, refunds and payouts do not explain.
"""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.instants import format_instant, parse_bound
from svc_analytics.money import EXACT, format_amount, parse_amount
from svc_analytics.periods import Period

FILE = "assertions.csv"
COLUMNS = ("at", "currency", "balance", "note")
UNPLACED = "balance_is_of_a_coin_that_moved"  # the check of `unplaced_balances`


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


def balances_table(tables: Mapping[str, pa.Table]) -> pa.Table:
    """Return the asserted balances of a statement, each with what nothing explains of it.

    One row per coin with an asserted balance: currency, asserted_balance, explained (what
    payments, refunds and payouts up to then left), outside_movement and note; no row before
    anyone asserted anything.
    """
    figures = tables["figures"]
    values = {(row["currency"], row["name"]): row for row in figures.to_pylist()}
    asserted = {
        currency: row
        for (currency, name), row in values.items()
        if name == "asserted_balance" and row["value"] is not None
    }
    rows = [
        {
            "currency": currency,
            "asserted_balance": row["value"],
            "explained": _less(row["value"], values[currency, "outside_movement"]["value"]),
            "outside_movement": values[currency, "outside_movement"]["value"],
            "note": row["note"],
        }
        for currency, row in asserted.items()
    ]
    money = figures.schema.field("value").type
    names = ("currency", "asserted_balance", "explained", "outside_movement", "note")
    types = (pa.string(), money, money, money, pa.string())
    return pa.Table.from_pylist(rows, pa.schema(list(zip(names, types, strict=True))))


def describe_balances(tables: Mapping[str, pa.Table]) -> list[str]:
    """Say in lines of text what was asserted, what nothing explains, and what stands nowhere."""
    lines = []
    for row in balances_table(tables).to_pylist():
        explained, outside = (
            "unknown" if row[name] is None else format_amount(row[name])
            for name in ("explained", "outside_movement")
        )
        balance = f"{format_amount(row['asserted_balance'])} {row['currency']}"
        lines.append(
            f"asserted balance {balance}, {row['note']}; "
            f"explained by the records {explained}; outside movement {outside}"
        )
    checks = tables["checks"].select(["check_name", "detail"]).to_pylist()
    return lines + [row["detail"] for row in checks if row["check_name"] == UNPLACED]


def _less(balance: Decimal, outside: Decimal | None) -> Decimal | None:
    return None if outside is None else EXACT.subtract(balance, outside)


def unplaced_balances(
    assertions: Iterable[Assertion], period: Period, coins: Collection[str]
) -> list[dict[str, Any]]:
    """Return a finding for each balance of a period whose coin the statement does not have."""
    return [
        {
            "check_name": UNPLACED,
            "severity": "advisory",
            "record_id": None,
            "month": period.label,
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
