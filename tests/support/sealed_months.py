"""Two sealed months, kept as the program of today wrote them; every later one must keep them.

    python -m tests.support.sealed_months

makes the folder `tests/closing/sealed_months` again, from the ledger below. That is allowed only
while nothing is released: from then on a folder that was sealed once is never made again, and a
newer release gets a folder of its own beside it.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.closings import Closer
from tests.support.desks import Desk

KEPT = Path(__file__).parents[1] / "closing" / "sealed_months"
MONTHS = ("2026-09", "2026-10")
FORMS = ("csv", "parquet", "html", "xlsx", "json", "journal")
LEDGER = """
 kind    currency amount               fee                  at               of usd_value fee_bearer
 payment btc      0.5                  0.005                2026-09-03T09:00    31000.5   merchant
 payment usdt     1200.25              12.0025              2026-09-10T10:00    1200.25   merchant
 payment eth      2.000000000000000001 0.020000000000000001 2026-09-30T23:59    5000      merchant
 refund  usdt     200.25                                    2026-09-12T08:00 2  200.25
 payout  usdt     300                  3                    2026-09-20T08:00    300
 payment btc      0.25                 0.0025               2026-10-01T00:00    16000     customer
 payment usdt     80                   0.8                  2026-10-05T08:00              merchant
 refund  btc      0.1                                       2026-10-07T08:00 1  6100
 refund  usdt     1000                                      2026-10-08T08:00 2  1000
 payout  eth      1                    0.01                 2026-10-09T08:00    2600
"""
BALANCES = "at,currency,balance,note\n2026-10-01T00:00:00Z,usdt,700,read off by Sara\n"


def closer_at(lake: Path) -> Closer:
    """Return what closes months of a lake at a service that holds the ledger."""
    closer = Closer(Desk.at(lake))
    closer.serve(LEDGER)
    return closer


def make(lake: Path, formats: Sequence[str] = FORMS, balances: str = "") -> None:
    """Write a lake, with both months sealed in every form but PDF, or in some."""
    closer = closer_at(lake)
    closer.confirm(*MONTHS)
    if balances:
        (lake / "assertions.csv").write_text(balances, encoding="utf-8")
    for month in MONTHS:
        closed = closer.close(month, formats=formats)
        assert closed.state == "sealed", closed.reasons


def main() -> None:
    with TemporaryDirectory() as place:
        lake = Path(place) / "data"
        make(lake, balances=BALANCES)
        shutil.rmtree(KEPT, ignore_errors=True)
        unwanted = shutil.ignore_patterns("analytics.duckdb", ".*")
        shutil.copytree(lake, KEPT, ignore=unwanted)


if __name__ == "__main__":
    main()
