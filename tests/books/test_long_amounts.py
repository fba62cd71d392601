"""Amounts of 38 digits: no digit is lost where a sign is taken away or turned."""

from datetime import date

from svc_analytics.books.accounts import NeutralAccounts
from svc_analytics.books.entries import Booking, make_entries
from svc_analytics.books.movements import SALES, WALLET, Movements, Sum
from svc_analytics.books.rollforward import roll_forward

DAY = date(2026, 10, 9)
WHOLE, TEXT = 12345678901234567890123456789012345678, "12345678901234567890.123456789012345678"
MOVED = Movements(
    {
        (DAY, SALES, "xyz"): Sum(-WHOLE, -WHOLE, 1),
        (DAY, WALLET, "xyz"): Sum(WHOLE, WHOLE, 1),
    }
)


def test_a_roll_forward_keeps_38_digits() -> None:
    """In units and in US dollars, whose sign is that of the wallet."""
    summary = {"currency": "xyz", "opening_position": None, "closing_position": None}
    summary |= {"implied_rate": None, "implied_rate_at": None}
    [row] = roll_forward(MOVED, [summary], DAY, None)
    assert (row["additions_units"], row["additions_value"]) == (TEXT, TEXT)
    assert row["dispositions_units"] == "0"


def test_a_description_keeps_38_digits() -> None:
    """Sales are named without a sign."""
    [entry] = make_entries(MOVED, Booking("2026-10", date(2026, 10, 31), NeutralAccounts({})))
    assert entry.lines[0].description == f"Sales: 1 payment, {TEXT} xyz"
