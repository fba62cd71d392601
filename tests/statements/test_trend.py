"""One figure by month: whole months, the running one, and those that are unknown."""

from decimal import Decimal
from typing import Any

import pytest

from svc_analytics import ConfigError, statement
from svc_analytics.charts.bridge import bridge_steps
from svc_analytics.instants import parse_bound
from svc_analytics.periods import month
from svc_analytics.render.bridge import bridge_table, stated_rows
from svc_analytics.render.front import TILES
from svc_analytics.render.summary_page import AllCoins, SummaryPage
from svc_analytics.statements.trend import monthly_figures
from tests.statements.test_comparison import LEDGER, NOW
from tests.support.desks import Desk
from tests.support.prepared import extracted

NOVEMBER = month("2026-11")


@pytest.fixture
def read(desk) -> Desk:
    """The ledger of the comparison, read whole."""
    desk.serve(LEDGER)
    return extracted(desk)


def trend(desk: Desk, figure: str = "net_settlement", **options: Any) -> list[tuple[Any, ...]]:
    last = options.pop("last", NOVEMBER)
    table = monthly_figures(desk.lake, [figure], last, now=parse_bound(NOW), **options)
    return [tuple(row.values()) for row in table.to_pylist()]


def test_every_month_is_there_and_the_running_one_is_marked(read):
    """From the first month with a record; a coin without a movement has none, which is zero."""
    assert [row for row in trend(read) if row[1] == "btc"] == [
        ("2026-08", "btc", Decimal("9.9"), False),
        ("2026-09", "btc", Decimal("-4.04"), False),
        ("2026-10", "btc", Decimal("2.02"), False),
        ("2026-11", "btc", Decimal("1"), True),
    ]
    assert ("2026-09", "usdt", Decimal("0"), False) in trend(read)


def test_months_that_were_not_read_are_unknown(desk):
    """NULL, and never zero."""
    desk.serve(LEDGER)
    desk.extract(start=parse_bound("2026-10-20"))
    assert [row[2] for row in trend(desk) if row[0] == "2026-10"] == [None, None]


def test_only_a_figure_that_is_a_number_has_a_trend(read):
    """One line says why, or which figure was meant."""
    names = {
        "net_setlement": "did you mean net_settlement",
        "implied_rate_at": "implied_rate_at is no number",
        "outside_movement": "outside_movement has no trend",
    }
    for name, message in names.items():
        with pytest.raises(ConfigError, match=message):
            trend(read, name)


def test_a_statement_holds_the_24_months_up_to_its_own_in_usd(desk):
    """So that each has the same month a year earlier; what one says is what its statement says.

    In Tehran the sale of 22:00 on 31 August is September's.
    """
    more = " payment  btc       10      0.1   2024-09-10T09:00\n"
    desk.serve(f"{LEDGER}{more} payment  btc       7       0     2026-08-31T22:00\n")
    lake, options = extracted(desk).lake, {"zone": "Asia/Tehran", "now": NOW}
    rows = statement(lake, "2026-09", **options).tables["trend"].to_pylist()
    months = sorted({row["month"] for row in rows})
    assert (len(months), months[0], months[-1]) == (24, "2024-10", "2026-09")
    for label in months[-2:]:
        of_month = statement(lake, label, **options).tables["summary"].to_pylist()
        for row, own in zip(
            (each for each in rows if each["month"] == label), of_month, strict=True
        ):
            shared = row.keys() & own.keys()
            assert {"usd_net_sales", "usd_exposure", "closing_position"} <= shared
            assert {name: row[name] for name in shared} == {name: own[name] for name in shared}


OF_TWO_YEARS = """
 kind     currency  amount  fee   usd_value  at                of
 payment  btc       10      0.1   1000       2025-01-10T09:00
 payment  btc       4       0.04  440        2026-04-10T09:00
 refund   btc       1             110        2026-05-12T09:00  2
 payment  usdt      50      0.5              2026-06-01T09:00
 payment  usdt      100     1     100        2026-06-30T22:00
 payment  btc       5       0.05  600        2026-07-10T09:00
 refund   btc       2             240        2026-08-12T09:00  1
 payout   btc       3       0.03  360        2026-09-12T09:00
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("label", "before"), [("2026-Q3", "2026-Q2"), ("2026", "2025")])
def test_a_longer_period_knows_the_one_before_as_its_own_statement_does(desk, label, before):
    """What moved in its months, what it closed with: what the later one opens with."""
    desk.serve(OF_TWO_YEARS)
    lake = extracted(desk).lake
    made, other = (statement(lake, each, now=parse_bound(NOW)) for each in (label, before))
    summary_page, own = SummaryPage(made), AllCoins(stated_rows(other.tables))
    assert summary_page.before and summary_page.opened and own.usd("usd_exposure")
    assert [summary_page.before.usd(name) for name in TILES] == [own.usd(name) for name in TILES]
    assert summary_page.opened.usd("usd_exposure") == own.usd("usd_exposure")
    steps = bridge_steps(bridge_table(made.tables, made.period).to_pylist())
    assert steps[0].amount == own.usd("usd_exposure") and len(steps) == 6
