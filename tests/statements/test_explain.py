"""Every figure can be taken back to its records, by SQL that anyone can run again.

The records that an explanation shows make its figure: no more of them, and no fewer.
"""

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics import ConfigError, Lakehouse, Statement, statement
from svc_analytics.periods import month, parse_period
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.explain import explain_period, origin_of, read_records
from svc_analytics.warehouse import figures
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from tests.statements.test_statement import LEDGER
from tests.support.full_scan import values as quotients
from tests.support.full_scan.values import middle
from tests.support.prepared import extracted
from tests.support.rings import sample
from tests.support.seeded_lakes import make_seeded_lake, state

# Unknown where nothing was verified, whatever the records at hand add up to.
UNCHECKED = ("receipts_", "attested_")
# The one with everything; of the others, that flow out only or were never priced, the worth.
COINS = ("btc",)
OCTOBER = month("2026-10")


@pytest.fixture
def shop(desk) -> Lakehouse:
    desk.serve(LEDGER)
    return extracted(desk).lake


@pytest.fixture
def warehouse(shop) -> Iterator[Warehouse]:
    (shop.path / "assertions.csv").write_text("at,currency,balance\n2026-10-20,btc,2\n")
    with open_warehouse(shop) as warehouse:
        yield warehouse


def known_figures(tables: dict[str, pa.Table]) -> list[tuple[str, str, Any]]:
    """Return coin, name and value of the figures that a statement states."""
    names = [figure.name for figure in figures.summary_figures()]
    stated = [(row["currency"], n, row[n]) for row in tables["summary"].to_pylist() for n in names]
    stated += [(x["currency"], x["name"], x["value"]) for x in tables["figures"].to_pylist()]
    return [x for x in stated if x[0] in COINS or x[1].startswith("usd_")]


def test_the_sql_of_a_figure_yields_the_figure(shop, warehouse):
    """What the statement says, and what the SQL of its explanation gives, are one.

    Of each seventh figure; the deep ring asks for all. No column is without a figure.
    """
    tables = statement(shop, "2026-10").tables
    columns = [figure.name for figure in figures.summary_figures()]
    assert tables["summary"].column_names == ["period", "currency", *columns]
    others = {figure.name for figure in figures.other_figures()}
    assert {*tables["figures"]["name"].to_pylist()} == others
    seen = read_assertions(shop.path)
    for currency, figure, value in known_figures(tables)[::7]:
        if not figure.startswith(UNCHECKED):
            sql = origin_of(OCTOBER, currency, figures.find_figure(figure), seen).value
            assert warehouse.query_readonly(sql).to_pylist() == [{figure: value}], figure


@pytest.mark.thorough
def test_a_figure_is_explained_by_the_value_stated_and_by_its_sql(shop, warehouse):
    """What the statement says, what the explanation says, and what its SQL gives are one."""
    seen = read_assertions(shop.path)
    for currency, figure, value in known_figures(statement(shop, "2026-10").tables):
        found = explain_period(warehouse, OCTOBER, currency, figure, seen)
        assert found.value == value, figure
        if not figure.startswith(UNCHECKED):
            assert warehouse.query_readonly(found.sql).to_pylist() == [{figure: value}], figure


@pytest.mark.parametrize("figure", ["usd_exposure", "effective_fee_rate", "closing_position"])
def test_a_figure_made_of_others_is_explained_with_their_values(shop, figure):
    """Also of those that no statement shows, as the amount and the USD value behind a rate.

    The worth of a position ended in an error in every coin.
    """
    found, definition = shop.explain("2026-10", "btc", figure), figures.find_figure(figure)
    assert [*found.made_of] == [*definition.operands] and None not in found.made_of.values()
    assert ("btc", figure, found.value) in known_figures(statement(shop, "2026-10").tables)


def test_the_rows_are_the_records_behind_the_figure(shop):
    """October's net settlement of btc: one payment and two refunds, the oldest first.

    What a page or a workbook calls it finds it too; the explanation says what it means.
    """
    found = shop.explain("2026-10", "btc", "Sales less fees and refunds")
    assert found.figure == "net_settlement" and sum(found.rows["net"]) == found.value
    assert sorted(found.rows["kind"]) == ["payment", "refund", "refund"]
    instants = found.rows["occurred_at"].to_list()
    assert instants == sorted(instants)
    assert "Formula: sales after fees - refunds debited." in found.meaning


@pytest.mark.parametrize(
    ("currency", "figure", "message"),
    [("btc", "profit", "no figure 'profit'"), ("btc' or '1' = '1", "net_sales", "no movement")],
    ids=["a figure", "a coin"],
)
def test_what_is_not_there_cannot_be_explained(shop, currency, figure, message):
    """One line that names the figure or the coin; a quote in a name ends no literal."""
    with pytest.raises(ConfigError, match=message):
        shop.explain("2026-10", currency, figure)


WITHOUT_VALUE = [
    ("2026-10", "eth", "usd_gross", "unknown: no record of it carries a USD value"),
    ("2026-10", "eth", "usd_exposure", "unknown: no record of it carries a USD value"),
    ("2026-10", "sol", "ticket_max", "undefined: there is no record that it is made of"),
    ("2026-10", "usdt", "usd_rate_drift", "undefined: there is no record that it is made of"),
    ("2026-10", "sol", "effective_fee_rate", "undefined: what it is divided by is zero"),
    ("2026-10", "btc", "receipts_checked", "unknown: no receipt of the period was verified"),
    ("2026-09", "btc", "outside_movement", "nobody asserted a balance in the period"),
]


@pytest.mark.parametrize(("month", "currency", "figure", "why"), WITHOUT_VALUE)
def test_a_figure_without_a_value_says_why(shop, warehouse, month, currency, figure, why):
    """All was read and nothing is too large; October's balance is none of September."""
    assert shop.explain(month, currency, figure).why_none.partition(": write")[0] == why


def test_a_figure_that_is_unknown_has_no_sums_that_look_known(shop):
    """No receipt was checked: 0 of all would read as none of them being good."""
    explained = shop.explain("2026-10", "btc", "attested_ratio")
    assert (explained.value, explained.totals) == (None, {})


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
# The largest amount that 38 digits hold, alone and twice, and the smallest beside large ones.
LARGE = """
 kind     currency  amount                                   usd_value  at                of
 payment  big       99999999999999999999.999999999999999999  1          2026-08-10T09:00
 payment  big       0.000000000000000001                     3          2026-09-10T09:00
 payment  big       12345678901234567890.123456789012345678  7          2026-09-11T09:00
 refund   big       0.000000000000000003                     1          2026-09-12T09:00  3
 payment  big       99999999999999999999.999999999999999999  1          2026-10-10T09:00
 payment  big       99999999999999999999.999999999999999999  1          2026-10-11T09:00
"""
Rows = list[dict[str, Any]]


# A figure that is no sum is chosen, or made, from what its records have.
CHOSEN: dict[str, Callable[[list[Any]], Any]] = {
    "ticket_max": max,
    "ticket_median": partial(middle, places=18),
    "fee_rate_max": max,
    "fee_rate_min": min,
    "fee_rate_median": partial(middle, places=8),
    "implied_rate": max,
    "implied_rate_at": max,
}


def total(rows: Rows, column: str) -> Decimal:
    """Add a column up, exactly; a row without a value adds nothing."""
    return quotients.total(row[column] for row in rows if row[column] is not None)


def quotient(figure: figures.Figure, rows: Rows) -> Any:
    """Divide what the records add to both parts of a ratio, or of an average."""
    parts = [total(rows, column) for column in ("numerator", "denominator")]
    if figure.unit == "ratio":
        return quotients.ratio(*parts)
    return quotients.share(parts[0], 1, parts[1])


def reckoned(figure: figures.Figure, rows: Rows, others: dict[str, Any]) -> Any:
    """Make a figure from what the records shown add, and from the coin's other figures."""
    if figure.is_sum:
        return total(rows, "contribution")
    if not figure.each:
        return quotient(figure, rows)
    if figure.name == "outside_movement":
        return others["asserted_balance"] - total(rows, "contribution")
    if figure.name == "usd_exposure":
        [rate] = rows
        return quotients.worth(others["closing_position"], rate["usd_value"], rate["amount"])
    return CHOSEN[figure.name]([row["contribution"] for row in rows])


def stated_of(made: Statement) -> dict[str, dict[str, Any]]:
    """Return the figures of a statement, by coin and name."""
    found = {row["currency"]: {**row} for row in made.tables["summary"].to_pylist()}
    for row in made.tables["figures"].to_pylist():
        found[row["currency"]][row["name"]] = row["value"]
    return found


def differing(made: Statement, lake: Lakehouse) -> list[Any]:
    """Return the known figures that their records do not make."""
    found, assertions = [], read_assertions(lake.path)
    with open_warehouse(lake) as warehouse:
        for coin, values in stated_of(made).items():
            for figure in figures.stated_figures():
                if (value := values[figure.name]) is None:
                    continue
                origin = origin_of(made.period, coin, figure, assertions)
                rows = read_records(warehouse, f"from ({origin.records})").to_pylist()
                if (sum_of := reckoned(figure, rows, values)) != value:
                    found.append((coin, figure.name, value, sum_of))
    return found


@pytest.fixture
def odd(desk) -> Lakehouse:
    """The odd ledger, with a refund whose payment is nowhere, and a balance that was read off."""
    desk.serve(ODD)
    lost = "99999999-9999-4999-8999-999999999999"
    desk.service.payouts[2] |= {"payment_id": lost}
    desk.service.payments[3] |= {"fee_bearer": None}
    desk.service.payments[1]["metadata"] = {"customer": {"id": "C-1"}}
    desk.service.payments[0]["metadata"] = {"customer": {"id": "C-0"}}
    extracted(desk)
    (desk.lake.path / "assertions.csv").write_text("at,currency,balance\n2026-10-20,btc,2\n")
    return desk.lake


TIMES = [
    ("2026-10", {}),
    ("2026-Q4", {}),
    ("2026-10", {"zone": "Pacific/Kiritimati"}),
    ("1405-07", {"zone": "Asia/Tehran", "calendar": "jalali"}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("period", "at"), TIMES)
def test_of_an_odd_time_every_figure_is_made_of_the_records_shown(odd, period, at):
    """Sums, counts, extremes and ratios, of each bearer and of every sort of refund."""
    made = statement(odd, period, **at)
    assert made.tables["summary"].num_rows == 1 and differing(made, odd) == []


@pytest.mark.thorough
@pytest.mark.parametrize("month", ["2026-08", "2026-09", "2026-10"])
def test_amounts_of_38_digits_add_up_to_the_figure(desk, month):
    """Where the figure fits too; where it does not, it is unknown and makes no claim."""
    desk.serve(LARGE)
    desk.extract()
    made = statement(desk.lake, month)
    assert made.tables["summary"].num_rows == 1 and differing(made, desk.lake) == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("place", range(4), ids=["UTC", "Tehran", "Jalali", "quarter"])
def test_of_a_seeded_time_every_figure_is_made_of_the_records_shown(tmp_path, seed, place):
    """The same of lakes with gaps, late records, verdicts and coins that come and go."""
    seeded = make_seeded_lake(tmp_path / "data", seed)
    period = parse_period("2026-Q3", seeded.now) if place == 3 else seeded.asked[place]
    assert differing(state(seeded, period), Lakehouse(seeded.lake.path)) == []


SHOWN = [
    ("refunds_prior_period", [("order-1", "SVC-000001", "C-0")]),
    ("gross_sales", [("order-2", "SVC-000002", "C-1")]),
]


@pytest.mark.parametrize(("figure", "known"), sample(SHOWN, 2))
def test_records_are_shown_by_order_receipt_and_customer(odd, figure, known):
    """Those of a refund are its payment's, also where that is of another month."""
    rows = odd.explain("2026-10", "btc", figure).table.to_pylist()
    names = ("order_reference", "receipt_no", "customer")
    assert [tuple(row[name] for name in names) for row in rows][:1] == known


PARTS = [
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
]


@pytest.mark.parametrize(("figure", "ids"), sample(PARTS, 10))
def test_the_records_of_a_part_are_that_part(odd, figure, ids):
    """By hand: rows of the ledger, by their number."""
    table = odd.explain("2026-10", "btc", figure).table
    assert [int(text.rpartition("-")[2]) for text in table["reference_id"].to_pylist()] == ids


@pytest.mark.parametrize("figure", figures.stated_figures(), ids=lambda figure: figure.name)
def test_no_expression_has_a_condition_of_its_own(figure):
    """`rows` of the header says it, so that the records shown are those counted."""
    rest = figure.expression.replace(figure.rows or "\0", "")
    assert "where" not in rest.replace("filter (where )", "")


@pytest.mark.parametrize("figure", figures.stated_figures(), ids=lambda figure: figure.name)
def test_a_figure_says_what_each_record_adds(figure):
    """Its own file does, or, of a ratio, the files of the two figures that it divides."""
    parts = [figures.read_figures()[name] for name in figure.operands]
    assert figure.each or (len(parts) == 2 and all(part.is_sum for part in parts))
