"""The records that an explanation shows make its figure: no more of them, and no fewer."""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.lakehouse import Lakehouse
from svc_analytics.signing.receipts import ATTESTED
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.explain import origin_of
from svc_analytics.statements.statement import Statement, statement
from svc_analytics.warehouse.definitions import find_figure
from svc_analytics.warehouse.figures import Figure, read_figures, stated_figures
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from tests.support.desks import Desk
from tests.support.full_scan import quotients
from tests.support.full_scan.quotients import ratio
from tests.support.ledgers import read_ledger
from tests.support.rings import sample
from tests.support.seeded_lakes import make_seeded_lake, state

# Every sort of bearer, a broken identity, refunds of this month, of an earlier one and of nothing
# that is there, in full and in part, priced and unpriced.
ODD = """
 kind     currency amount  fee   at                of usd_value fee_bearer net_amount charged_amount
 payment  btc      4       0.04  2026-09-10T09:00     400       merchant   3.96       4
 payment  btc      10      0.1   2026-10-01T09:00     1000      merchant   9.9        10
 payment  btc      5       0.05  2026-10-02T09:00               customer   5          5.05
 payment  btc      7       0.07  2026-10-03T09:00     700                  6.9        7
 payment  btc      3       0.03  2026-10-04T09:00     300       merchant   3          3
 refund   btc      1             2026-10-10T09:00  1  100
 refund   btc      10            2026-10-11T09:00  2  1100
 refund   btc      2             2026-10-12T09:00  3
 payout   btc      1       0.01  2026-10-13T09:00
 payout   btc      2       0.02  2026-10-14T09:00     200
"""
Rows = list[dict[str, Any]]


def total(rows: Rows, column: str) -> Decimal:
    """Add a column up, exactly; a row without a value adds nothing."""
    return quotients.total(row[column] for row in rows if row[column] is not None)


def is_attested(rows: Rows) -> Rows:
    return [row for row in rows if row["verdict"] in ATTESTED]


def has_refund(rows: Rows) -> Rows:
    return [row for row in rows if row["refunded"] is not None]


# How the records make a figure that is made of others. A position in USD shows the record that
# gives its rate, and a movement outside the API what the records explain: neither is a sum.
MADE_OF_OTHERS: dict[str, Callable[[Rows], Any]] = {
    "effective_fee_rate": lambda rows: ratio(total(rows, "fee_amount"), total(rows, "amount")),
    "refund_ratio_period": lambda rows: ratio(
        total(rows, "refunded_amount"), total(rows, "charged_amount")
    ),
    "refund_ratio_cohort": lambda rows: ratio(
        total(rows, "refunded"), total(rows, "charged_amount")
    ),
    "refunded_payments_ratio": lambda rows: ratio(len(has_refund(rows)), len(rows)),
    "attested_ratio": lambda rows: ratio(
        total(is_attested(rows), "charged_amount"), total(rows, "charged_amount")
    ),
    "attested_count_ratio": lambda rows: ratio(len(is_attested(rows)), len(rows)),
    "open_refundable": lambda rows: total(rows, "charged_amount") - total(rows, "refunded"),
    "total_fees_borne": lambda rows: total(rows, "fee"),
}
APART = {"usd_exposure", "outside_movement", "ticket_avg", "ticket_median", "fee_rate_median"}


def reckoned(figure: Figure, rows: Rows) -> Any:
    """Make a figure from the records shown, by the one aggregate of its expression."""
    if figure.name in MADE_OF_OTHERS:
        return MADE_OF_OTHERS[figure.name](rows)
    # A sum in two parts is one of what they are parts of; a condition is that of the rows.
    expression = figure.expression.replace("net_small", "net").replace("net_large", "net")
    expression = re.sub(rf"case when {re.escape(figure.rows)} then (\w+) end", r"\1", expression)
    expression = expression.replace("total_of_parts(net, net)", "total(net)")
    for aggregate, distinct, column in re.findall(
        r"\b(total|max|min|count)\((distinct )?(\*|\w+)\)", expression
    )[::-1]:
        if column == "*" and "total" not in expression:
            return len(rows)
        values = [row[column] for row in rows if column != "*" and row[column] is not None]
        if distinct:
            return len(set(values))
        if aggregate in ("max", "min"):
            return {"max": max, "min": min}[aggregate](values, default=None)
        if aggregate == "total":
            return quotients.total(values)
    return pytest.fail(f"{figure.name} has no aggregate that this test knows")


def values_of(made: Statement) -> Iterable[tuple[str, Figure, Any]]:
    """Yield each known figure of a statement, with its coin."""
    for row in made.tables["summary"].to_pylist():
        names = (name for name in row if name in read_figures())
        yield from ((row["currency"], find_figure(name), row[name]) for name in names)
    for row in made.tables["figures"].to_pylist():
        yield row["currency"], find_figure(row["name"]), row["value"]


def differing(warehouse: Warehouse, made: Statement, lake: Lakehouse) -> list[Any]:
    """Return the figures that their records do not make."""
    found = []
    for coin, figure, value in values_of(made):
        if value is None or figure.name in APART:
            continue
        origin = origin_of(made.period, coin, figure, read_assertions(lake.path))
        rows = warehouse.query(f"{origin.records} order by {origin.order}").to_pylist()
        if reckoned(figure, rows) != value:
            found.append((coin, figure.name, value, reckoned(figure, rows)))
    return found


@pytest.fixture
def lake(desk: Desk) -> Lakehouse:
    """The odd ledger, with a refund whose payment is nowhere."""
    desk.service.payments, desk.service.payouts = read_ledger(ODD)
    lost = "99999999-9999-4999-8999-999999999999"
    desk.service.payouts[2] |= {"payment_id": lost}
    desk.service.payments[3] |= {"fee_bearer": None}
    desk.extract()
    return desk.lake


def test_of_an_odd_month_every_figure_is_made_of_the_records_shown(lake: Lakehouse) -> None:
    """Sums, counts, extremes and ratios, of each bearer and of every sort of refund."""
    made = statement(lake, "2026-10")
    with open_warehouse(lake) as warehouse:
        assert differing(warehouse, made, lake) == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_of_a_seeded_month_every_figure_is_made_of_the_records_shown(
    tmp_path: Path, seed: int
) -> None:
    """The same of lakes with gaps, late records, verdicts and coins that come and go."""
    seeded = make_seeded_lake(tmp_path / "data", seed)
    period = seeded.asked[seed % len(seeded.asked)]
    lake = Lakehouse(seeded.lake.path)
    with open_warehouse(lake) as warehouse:
        assert differing(warehouse, state(seeded, period), lake) == []


@pytest.mark.parametrize(
    ("figure", "ids"),
    sample(
        [
            ("refunds_same_period", [7]),
            ("refunds_prior_period", [6]),
            ("refunds_unresolved", [8]),
            ("fees_without_bearer", [4]),
            ("fees_borne_by_others", [3]),
            ("pay_identity_breaks", [4, 5]),
            ("bearer_breaks", [5]),
            ("fully_refunded_count", [2]),
            ("partly_refunded_count", []),
            ("usd_payouts_priced_count", [10]),
        ],
        3,
    ),
)
def test_the_records_of_a_part_are_that_part(lake: Lakehouse, figure: str, ids: list[int]) -> None:
    """By hand: rows of the ledger, by their number."""
    table = lake.explain("2026-10", "btc", figure).table
    assert [int(text.rpartition("-")[2]) for text in table["reference_id"].to_pylist()] == ids


@pytest.mark.parametrize("figure", stated_figures(), ids=lambda figure: figure.name)
def test_no_expression_has_a_condition_of_its_own(figure: Figure) -> None:
    """`rows` of the header says it, so that the records shown are those counted."""
    rest = figure.expression.replace(figure.rows or "\0", "")
    assert "where" not in rest.replace("filter (where )", "")
