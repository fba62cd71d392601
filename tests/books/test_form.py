"""The form `books`: a file of a final month that rests on the statement alone."""

from decimal import Decimal

import pytest

from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.config import Settings
from svc_analytics.errors import PeriodNotClosed
from svc_analytics.statements.statement import statement
from tests.support.closings import Closer
from tests.support.importers import IMPORTERS

LEDGER = """
 kind     currency  amount  fee   at                of  usd_value  fee_bearer
 payment  usdt      100     1     2026-10-05T08:00      100.005    merchant
 payment  btc       2       0.02  2026-10-05T09:00      130000     merchant
 payment  usdt      10      0     2026-10-06T09:00                 merchant
 payout   usdt      50      0.5   2026-10-09T08:00      50
"""


@pytest.fixture
def closer(desk) -> Closer:
    closer = Closer(desk)
    closer.serve(LEDGER)
    return closer


def test_a_sealed_month_holds_its_books_and_they_are_made_again(closer):
    """By hand: 130,100.005 USD are 130,100.00 in the day's entry, and 130,100.01 in the month."""
    done = closer.close("2026-10", formats=("csv", "books"))
    found = IMPORTERS["csv"]((done.folder / "books.csv").read_bytes())
    assert [dict(each.lines) for each in found] == [
        {
            "Sales": Decimal("-130100.00"),
            "Payment fees": Decimal("1301.00"),
            "Wallet btc": Decimal("128700.00"),
            "Wallet usdt": Decimal("99.00"),
        },
        {
            "Payouts": Decimal("50.00"),
            "Payout fees": Decimal("0.50"),
            "Wallet usdt": Decimal("-50.50"),
        },
        {"Sales": Decimal("-0.01"), "Rounding": Decimal("0.01")},
    ]
    assert verify_statement(done.folder).holds


def test_a_provisional_month_has_no_books(closer, tmp_path):
    """A close that cannot seal writes the statement without them: payouts were never read.

    Asked for by themselves they are refused, and nothing is written.
    """
    desk = closer.desk
    desk.settings = Settings(desk.settings.base_url, desk.settings.checkout_key)
    done = closer.close("2026-10", formats=("csv", "books"))
    assert done.state == "provisional"
    assert (done.folder / "summary.csv").exists() and not (done.folder / "books.csv").exists()
    with pytest.raises(PeriodNotClosed, match="books is a form of a final month"):
        statement(desk.lake, "2026-10").save(tmp_path / "out", ["books"])
    assert not (tmp_path / "out").exists()
