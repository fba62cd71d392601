"""Every figure can be taken back to its records, by SQL that anyone can run again."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.explain import explain_period, origin_of
from svc_analytics.statements.statement import statement
from svc_analytics.warehouse.figures import find_figure, other_figures, summary_figures
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse
from tests.statements.test_statement import LEDGER
from tests.support.prepared import extracted

# Unknown where nothing was verified, whatever the records at hand add up to.
UNCHECKED = ("receipts_", "attested_")
# The one with everything; of the others, that flow out only or were never priced, the worth.
COINS = ("btc",)
OCTOBER = month("2026-10")


@pytest.fixture
def lake(desk) -> Lakehouse:
    desk.serve(LEDGER)
    return extracted(desk).lake


@pytest.fixture
def warehouse(lake) -> Iterator[Warehouse]:
    (lake.path / "assertions.csv").write_text("at,currency,balance\n2026-10-20,btc,2\n")
    with open_warehouse(lake) as warehouse:
        yield warehouse


def stated_figures(tables: dict[str, pa.Table]) -> list[tuple[str, str, Any]]:
    """Return coin, name and value of the figures that a statement states."""
    names = [figure.name for figure in summary_figures()]
    stated = [(row["currency"], n, row[n]) for row in tables["summary"].to_pylist() for n in names]
    stated += [(x["currency"], x["name"], x["value"]) for x in tables["figures"].to_pylist()]
    return [x for x in stated if x[0] in COINS or x[1].startswith("usd_")]


def test_the_sql_of_a_figure_yields_the_figure(lake, warehouse):
    """What the statement says, and what the SQL of its explanation gives, are one.

    Of each seventh figure; the deep ring asks for all. No column is without a figure.
    """
    tables = statement(lake, "2026-10").tables
    columns = [figure.name for figure in summary_figures()]
    assert tables["summary"].column_names == ["period", "currency", *columns]
    assert {*tables["figures"]["name"].to_pylist()} == {each.name for each in other_figures()}
    seen = read_assertions(lake.path)
    for currency, figure, value in stated_figures(tables)[::7]:
        if not figure.startswith(UNCHECKED):
            sql = origin_of(OCTOBER, currency, find_figure(figure), seen).value
            assert warehouse.query_readonly(sql).to_pylist() == [{figure: value}], figure


@pytest.mark.thorough
def test_a_figure_is_explained_by_the_value_stated_and_by_its_sql(lake, warehouse):
    """What the statement says, what the explanation says, and what its SQL gives are one."""
    seen = read_assertions(lake.path)
    for currency, figure, value in stated_figures(statement(lake, "2026-10").tables):
        found = explain_period(warehouse, OCTOBER, currency, figure, seen)
        assert found.value == value, figure
        if not figure.startswith(UNCHECKED):
            assert warehouse.query_readonly(found.sql).to_pylist() == [{figure: value}], figure


def test_the_rows_are_the_records_behind_the_figure(lake):
    """October's net settlement of btc: one payment and two refunds, the oldest first.

    What a page or a workbook calls it finds it too; the explanation says what it means.
    """
    found = lake.explain("2026-10", "btc", "Sales less fees and refunds")
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
def test_what_is_not_there_cannot_be_explained(lake, currency, figure, message):
    """One line that names the figure or the coin; a quote in a name ends no literal."""
    with pytest.raises(ConfigError, match=message):
        lake.explain("2026-10", currency, figure)


def test_a_figure_that_is_unknown_has_no_sums_that_look_known(lake):
    """No receipt was checked: 0 of all would read as none of them being good."""
    explained = lake.explain("2026-10", "btc", "attested_ratio")
    assert (explained.value, explained.totals) == (None, {})
