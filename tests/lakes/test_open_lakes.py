"""Several merchants together: every key has its merchant, and sums are exact or unknown."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, DataError, NoLake, QueryError
from svc_analytics.instants import to_micros
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes.lakes import Lakes
from svc_analytics.lakes.statement import GroupStatement
from tests.support.desks import Desk
from tests.support.fake_service import FakeService
from tests.support.ledgers import read_ledger

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
# The records of both have the same ids: only the merchant tells them apart.
FIRST = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2026-10-10T09:00
 payment  btc       2       0.02  2026-10-11T09:00
 refund   btc       0.5           2026-10-12T08:00  2
"""
SECOND = """
 kind     currency  amount  fee   at                of
 payment  btc       1       0.04  2026-10-10T09:00
 payment  usdt      100     1     2026-10-11T09:00
 payout   usdt      50      0.5   2026-10-12T08:00
"""
MERCHANTS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")

Make = Callable[..., Path]


@pytest.fixture
def make(settings: Settings, tmp_path: Path) -> Make:
    """Extract a ledger of a merchant into a lake of its own."""

    def build(merchant: str, ledger: str, **request: Any) -> Path:
        service = FakeService(now=NOW)
        service.merchant = service.merchant | {"id": merchant, "display_name": merchant[:4]}
        service.payments, service.payouts = read_ledger(ledger)
        lake = Lakehouse(tmp_path / merchant[:4])
        Desk(service, replace(settings), lake).extract(**request)
        return lake.path

    return build


@pytest.fixture
def folders(make: Make) -> list[Path]:
    return [make(MERCHANTS[0], FIRST), make(MERCHANTS[1], SECOND)]


@pytest.fixture
def both(folders: list[Path]) -> Lakes:
    return svc.open_lakes(folders)


def october(lakes: Lakes) -> GroupStatement:
    return lakes.statement("2026-10", now=to_micros(NOW))


def value(made: GroupStatement, coin: str, figure: str, merchant: str = "all merchants") -> Any:
    [found] = [
        row["value"]
        for row in made.table.to_pylist()
        if (row["merchant_id"], row["currency"], row["figure"]) == (merchant, coin, figure)
    ]
    return found


def test_each_view_has_its_merchant_first(both: Lakes) -> None:
    """And the rows of each lake, none twice, though their ids are the same."""
    for view in ("payments", "ledger_entries", "net_settlement_monthly", "coverage", "exceptions"):
        found = both.sql(f"select * from {view}")
        assert found.columns[0] == "merchant_id"
        own = [len(lake.sql(f"select * from {view}")) for lake in both.lakes]
        assert [int((found["merchant_id"] == one).sum()) for one in MERCHANTS] == own


def test_a_refund_finds_the_payment_of_its_own_merchant(both: Lakes) -> None:
    """Payment 2 of the first is of 2 btc; that of the second has the same id, and is in usdt."""
    assert len(both.sql("select distinct payment_id from payments")) == 2
    [row] = both.sql("select * from refunds").to_dict("records")
    assert (row["merchant_id"], row["payment_currency"]) == (MERCHANTS[0], "btc")


def test_one_query_sums_over_all_lakes(both: Lakes) -> None:
    """Net sales in btc are 2.97 + 1.98 at the one, 0.96 at the other."""
    found = both.sql(
        "select sum(net_sales) as n from net_settlement_monthly where currency = $c", {"c": "btc"}
    )
    assert found["n"].tolist() == [Decimal("5.91")]


def test_a_query_that_writes_or_reads_other_files_is_refused(both: Lakes, tmp_path: Path) -> None:
    """The lakes are read-only together too."""
    (tmp_path / "other.csv").write_text("a\n1\n")
    for query in ("drop view payments", "select 1; select 2", f"from '{tmp_path}/other.csv'"):
        with pytest.raises(QueryError):
            both.sql(query)


def test_figures_stand_per_merchant_and_are_summed_per_coin(both: Lakes) -> None:
    """By hand: gross 5 + 1 btc, fees 0.05 + 0.04, net settlement 4.45 + 0.96."""
    made = october(both)
    gross = [value(made, "btc", "gross_sales", one) for one in (*MERCHANTS, "all merchants")]
    assert gross == [5, 1, 6]
    assert value(made, "btc", "payment_fees") == Decimal("0.09")
    assert value(made, "btc", "net_settlement") == Decimal("5.41")
    assert value(made, "usdt", "payouts_debited") == Decimal("50.5")
    assert made.status == "final"


def test_a_ratio_is_made_of_sums_and_never_averaged(both: Lakes) -> None:
    """0.09 of 6 is 1.5%; the average of 1% and 4% would be 2.5%."""
    made = october(both)
    rates = [value(made, "btc", "effective_fee_rate", one) for one in MERCHANTS]
    assert rates == [Decimal("0.01"), Decimal("0.04")]
    assert value(made, "btc", "effective_fee_rate") == Decimal("0.015")
    assert value(made, "btc", "refund_ratio_cohort") == Decimal("0.08333333")  # 0.5 of 6


def test_people_medians_and_rates_are_not_summed(both: Lakes) -> None:
    """One customer may buy of both merchants; a sum of medians is none."""
    made = october(both)
    summed = {
        row["figure"] for row in made.table.to_pylist() if row["merchant_id"] == "all merchants"
    }
    assert not summed & {"payers_count", "ticket_median", "ticket_max", "implied_rate"}


def test_a_sum_with_an_unknown_part_is_unknown_and_names_the_merchant(make: Make) -> None:
    """The second merchant's payouts were never read: sales have a sum, settlement has none."""
    folders = [make(MERCHANTS[0], FIRST), make(MERCHANTS[1], SECOND, streams=("payments",))]
    made = october(svc.open_lakes(folders))
    assert value(made, "btc", "net_sales") == Decimal("5.91")
    assert value(made, "btc", "net_settlement") is None
    assert f"unknown of {MERCHANTS[1]}" in str(made) and made.status == "provisional"


def test_a_sum_of_more_than_38_digits_is_an_error_in_one_line(make: Make) -> None:
    """Never wrapped, and never rounded."""
    most = "99999999999999999999"
    ledger = f"""
 kind     currency  amount                fee   at                of
 payment  btc       {most}  0     2026-10-10T09:00
"""
    both = svc.open_lakes([make(merchant, ledger) for merchant in MERCHANTS])
    with pytest.raises(DataError, match="of btc over 2 merchants has more than 38 digits"):
        october(both)


def test_a_merchant_or_a_folder_given_twice_is_refused(make: Make, folders: list[Path]) -> None:
    """Its money would be counted twice."""
    for given in ([folders[0], folders[0]], [folders[0], folders[0] / ".." / folders[0].name]):
        with pytest.raises(ConfigError, match="its money would be counted twice"):
            svc.open_lakes(given)
    for wrong in ([], "data"):
        with pytest.raises(ConfigError):
            svc.open_lakes(wrong)
    with pytest.raises(NoLake):
        svc.open_lakes([folders[0], folders[0] / "none"])


def test_the_commands_take_several_lakes_or_refuse_in_one_line(folders: list[Path]) -> None:
    """`sql` and `statement` take them; every other command is of one lake."""
    given = [word for folder in folders for word in ("--data-dir", str(folder))]
    query = "select merchant_id, count(*) as n from payments group by all order by all"
    found = CliRunner().invoke(cli, ["sql", query, "--csv", *given])
    assert found.stdout.splitlines()[1:] == [f"{MERCHANTS[0]},2", f"{MERCHANTS[1]},2"]
    stated = CliRunner().invoke(cli, ["statement", "2026-10", "--csv", *given])
    assert "all merchants,btc,gross_sales,Gross sales,coin,6," in stated.stdout
    refused = CliRunner().invoke(cli, ["status", *given])
    assert str(refused.exception).startswith("status works on one lake: give --data-dir once")
