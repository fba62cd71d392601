"""Every figure can be taken back to its records, by SQL that anyone can run again."""

from typing import Any

import pytest
from desks import Desk
from ledgers import read_ledger
from test_statement import LEDGER

from svc_analytics.errors import ConfigError
from svc_analytics.explanations import _FIGURES, explain_period
from svc_analytics.statements import statement
from svc_analytics.warehouse import AnalyticLake, open_warehouse


@pytest.fixture
def lake(service: Any, settings: Any, tmp_path: Any) -> AnalyticLake:
    desk = Desk(service, settings, AnalyticLake(tmp_path / "data"))
    desk.service.payments, desk.service.payouts = read_ledger(LEDGER)
    desk.extract()
    return desk.lake


def test_the_sql_of_every_figure_yields_the_figure(lake: AnalyticLake) -> None:
    """What the statement says, what the explanation says, and what its SQL gives are one."""
    made = statement(lake, "2026-10")
    with open_warehouse(lake) as warehouse:
        for row in made.tables["summary"].to_pylist():
            for figure in _FIGURES:
                found = explain_period(warehouse, made.period, row["currency"], figure)
                assert found.value == row[figure], figure
                assert warehouse.ask(found.sql).to_pylist() == [{figure: row[figure]}], figure


def test_the_rows_are_the_records_behind_the_figure(lake: AnalyticLake) -> None:
    """October's net settlement of btc: one payment and two refunds."""
    rows = lake.explain("2026-10", "btc", "net_settlement").rows
    assert sorted(rows["kind"]) == ["payment", "refund", "refund"]
    assert sum(rows["net"]) == lake.explain("2026-10", "btc", "net_settlement").value


def test_all_figures_of_the_summary_can_be_explained(lake: AnalyticLake) -> None:
    """But for those of receipts, whose records are the receipts table itself."""
    columns = statement(lake, "2026-10").tables["summary"].column_names
    left = set(columns) - set(_FIGURES) - {"period", "currency"}
    assert left == {"receipts_checked", "receipts_valid", "attested_ratio"}


@pytest.mark.parametrize(
    ("currency", "figure", "message"),
    [("btc", "profit", "no figure 'profit'"), ("doge", "net_sales", "no movement")],
)
def test_what_is_not_there_cannot_be_explained(
    lake: AnalyticLake, currency: str, figure: str, message: str
) -> None:
    """One line that names the figure or the coin."""
    with pytest.raises(ConfigError, match=message):
        lake.explain("2026-10", currency, figure)


def test_a_hostile_coin_name_stays_a_text(lake: AnalyticLake) -> None:
    """A quote in a name ends no literal."""
    with pytest.raises(ConfigError, match="no movement"):
        lake.explain("2026-10", "btc' or '1' = '1", "net_sales")
