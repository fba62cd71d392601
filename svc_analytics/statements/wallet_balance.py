"""Write down a balance that a person read in the console, and compare it with the records."""

from dataclasses import dataclass
from decimal import Decimal

from svc_analytics.errors import ConfigError, DataError
from svc_analytics.instants import DAY, format_instant, now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.typed_files import append_rows
from svc_analytics.money import EXACT, format_amount, parse_amount
from svc_analytics.statements.balance_assertions import (
    COLUMNS,
    FILE,
    OPTIONAL,
    read_assertions,
)
from svc_analytics.statements.explain import fill, instant_literal
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.figures import read_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import open_warehouse


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
        rows = warehouse.query(fill(query, places)).to_pylist()
    return {row["currency"]: row["closing_position"] for row in rows}
