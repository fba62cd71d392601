"""What is read of a lake that lacks a file, has a damaged one, or was moved or copied."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from svc_analytics.closing.stated import statement
from svc_analytics.errors import LakeError
from svc_analytics.instants import parse_instant
from svc_analytics.lake.index import month_index
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import read_label
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS
from svc_analytics.statements.reading import Basis, read_period
from svc_analytics.warehouse import images, sources
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.other_months import months_booked_in
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support import prepared
from tests.support.altered import flip_column
from tests.support.desks import Desk
from tests.support.fake_service import payment, payout, refund
from tests.support.rings import rings
from tests.support.seeded_lakes import make_seeded_lake
from tests.warehouse.test_warehouse import LEDGER, extracted

SEED = 5  # payments in each month from 2026-05 to 2026-11


@pytest.fixture
def seeded(tmp_path) -> Lake:
    return make_seeded_lake(tmp_path / "data", SEED).lake


@pytest.mark.thorough
def test_a_month_without_a_file_is_stated_without_the_origins_file_too(seeded):
    """Other months' files still say what was before; the lost file is a finding."""
    for label in (ORIGIN, "2026-06"):
        seeded.month_path(PAYMENTS, label).unlink()
    lost = f"payments/{ORIGIN}"
    assert lost in statement(seeded, "2026-06").tables["checks"]["record_id"].to_pylist()


def test_a_lake_without_any_file_of_payments_is_refused(seeded):
    for label in (ORIGIN, *seeded.months(PAYMENTS)):
        seeded.month_path(PAYMENTS, label).unlink()
    with pytest.raises(LakeError, match=r"payments holds no file\): run svc-analytics extract"):
        statement(seeded, "2026-10")


def test_a_damaged_file_that_a_bound_cuts_is_named(seeded, monkeypatch):
    """Its payments are read through DuckDB, whose own words about it are not shown."""
    monkeypatch.setattr(sources, "_is_cut", lambda footer, months: bool(footer.ends))
    path = seeded.month_path(PAYMENTS, "2026-07")
    flip_column(path, "charged_amount")
    with pytest.raises(LakeError) as caught:
        statement(seeded, "2026-10")
    assert str(caught.value).startswith(f"{path} is torn or altered: move it away")


def test_a_full_disk_is_one_clear_line(seeded, monkeypatch):
    """What a reader puts aside needs a little space: without it, the line says so."""

    def refuse(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq, "write_table", refuse)
    with pytest.raises(LakeError, match=r"No space left on device .* free some space there"):
        statement(seeded, "2026-10")


# ---------- what a statement reads of payout records in other months than its own


@pytest.fixture
def desk(service, desk) -> Desk:
    """Refunds in August and October of an August payment; a payout made in July, sent in October.

    October's payout has the reference of August's, and July has one of an unknown status.
    """
    service.payments = [payment(1, "2026-08-03T00:00:00Z"), payment(2, "2026-10-03T00:00:00Z")]
    service.payouts = [
        payout(3, "2026-07-31T23:59:00Z", settled_at="2026-10-01T00:00:00Z"),
        payout(4, "2026-07-05T00:00:00Z", status="pending"),
        payout(5, "2026-08-05T00:00:00Z", reference_id="twice"),
        refund(6, service.payments[0], "2026-08-07T00:00:00Z", amount="2"),
        payout(7, "2026-10-05T00:00:00Z", reference_id="twice"),
        refund(8, service.payments[0], "2026-10-07T00:00:00Z", amount="3"),
    ]
    return prepared.extracted(desk)


def october(desk: Desk, table: str) -> list[dict[str, Any]]:
    """A table of October's statement."""
    return list(statement(desk.lake, "2026-10").tables[table].to_pylist())


def cohorts_of_quarter(desk: Desk) -> list[dict[str, Any]]:
    """The cohorts of the quarter that begins with October, without the trend of the year."""
    quarter, clock = read_label("2026-Q4"), parse_instant("2026-11-20T00:00:00Z")[0]
    reading = read_period(desk.lake, quarter, Basis(clock, (), has_trend=False))
    return list(reading.tables["cohorts"].to_pylist())


def test_cohorts_and_refunds_to_date_rest_on_other_months(desk):
    """August's payment of 10.1: 2 came back in August, and 5 by the refund of October."""
    cohorts = [
        (row["payment_month"], row["refund_month"], row["refunds_paid"])
        for row in october(desk, "cohorts")
    ]
    assert cohorts == [("2026-08", "2026-08", 2), ("2026-08", "2026-10", 3)]
    assert [row["refunded_after"] for row in october(desk, "refunds")] == [5]


def test_a_reference_that_another_month_has_too_is_found(desk):
    found = {row["check_name"]: row["detail"] for row in october(desk, "checks")}
    assert found["reference_is_unique"] == "reference twice stands on 2 records"


def test_a_file_is_read_whole_when_one_of_its_records_was_booked_in_the_period(desk):
    """The payout of July's last minute was sent on the first of October."""
    footers = desk.lake.footers(PAYOUT_RECORDS)
    assert months_booked_in(footers, {"2026-10"}) == {"2026-07", "2026-10"}
    assert months_booked_in(footers, {"2026-11"}) == {"2026-11"}
    assert len(october(desk, "payouts")) == 2


def test_a_whole_record_of_unknown_nature_is_there(desk):
    """July's, of which nobody knows whether it is money, beside the payment that tells the tier."""
    period = tuple(parse_instant(f"2026-{month}-01T00:00:00Z")[0] for month in (11, 12))
    with open_warehouse(desk.lake, period=period) as warehouse:
        assert warehouse.sources.other_records == 1 + 1
        found = warehouse.query("select status, debited_amount from payout_records").to_pylist()
    assert [row["status"] for row in found] == ["pending"]


def test_a_flipped_bit_of_what_is_read_is_told(desk):
    path = desk.lake.month_path(PAYOUT_RECORDS, "2026-08")
    flip_column(path, "amount")
    with pytest.raises(LakeError) as caught:
        statement(desk.lake, "2026-10")
    assert str(caught.value).startswith(f"{path} is torn or altered")


@pytest.mark.thorough
def test_columns_that_no_figure_needs_are_not_read(desk):
    """Figures cannot tell that one was altered, and rest on none; `check` reads them all."""
    right = cohorts_of_quarter(desk)
    flip_column(desk.lake.month_path(PAYOUT_RECORDS, "2026-08"), "payer_id")
    assert cohorts_of_quarter(desk) == right != []
    with pytest.raises(LakeError, match="is torn or altered"), open_warehouse(desk.lake):
        pass


SPOILT: list[Callable[[Path], None]] = [
    lambda folder: flip_column(folder / "2026-08.parquet", "paid_at"),
    lambda folder: (folder / "2026-08.parquet").unlink(),
    lambda folder: (folder / "sources.json").unlink(),
]


@pytest.mark.thorough
@pytest.mark.parametrize("spoil", SPOILT)
def test_parents_that_are_not_kept_as_they_were_are_looked_for(desk, spoil):
    right = october(desk, "cohorts")
    spoil(desk.lake.path / ".parents")
    assert october(desk, "cohorts") == right


@pytest.mark.thorough
def test_a_system_without_advice_reads_the_same(desk, monkeypatch):
    """Not every system can be told to read nothing ahead."""
    right = october(desk, "cohorts")
    monkeypatch.delattr(month_index.os, "posix_fadvise")
    assert october(desk, "cohorts") == right


# ---------- lakes that were moved or copied


LESS = """
 kind     currency  amount  fee   at                of  usd_value
 payment  btc       7       0.07  2026-10-01T00:00      455000
"""
SUM = "select sum(amount) from {}payments where currency = 'btc'"


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Lakehouse:
    """A lake with payments of 3.50000001 btc; tests only copy it."""
    lake = extracted(LEDGER, tmp_path_factory.mktemp("moved")).lake
    write_views(lake)
    return lake


@pytest.fixture
def copy(original, tmp_path) -> Path:
    """A copy of it whose month of payments holds 7 btc, so that each answer tells its lake."""
    copy = tmp_path / "it's a copy"
    shutil.copytree(original.path, copy)
    other = extracted(LESS, tmp_path).lake
    shutil.rmtree(copy / "payments")
    shutil.copytree(other.path / "payments", copy / "payments")
    return copy


def opened(folder: Path) -> str:
    with duckdb.connect(folder / "analytics.duckdb", read_only=True) as connection:
        [[found]] = connection.execute(SUM.format("")).fetchall()
    return f"{found.normalize():f}"


def attached(*folders: Path) -> str:
    """Ask the first of the lakes that are attached to a database in memory."""
    with duckdb.connect() as connection:
        for place, folder in enumerate(folders):
            path = str(folder / "analytics.duckdb").replace("'", "''")
            connection.execute(f"attach '{path}' as lake_{place} (read_only)")
        [[found]] = connection.execute(SUM.format("lake_0.")).fetchall()
    return f"{found.normalize():f}"


def test_a_copied_lake_answers_from_itself(original, copy):
    """Though the original lies where it was, and its paths stand in the copied file."""
    assert opened(copy) == "7"
    assert opened(original.path) == "3.50000001"


@pytest.mark.parametrize("name", rings(["stg_%"], ["%"]))
def test_every_view_of_a_moved_lake_answers(copy, tmp_path, name):
    """Those that read files, each kind of them; all others, which read these, in the deep ring."""
    moved = copy.rename(tmp_path / "elsewhere")
    with duckdb.connect(moved / "analytics.duckdb", read_only=True) as connection:
        connection.execute("PRAGMA disable_optimizer")  # it takes longer than the answer
        views = "select view_name from duckdb_views() where not internal and view_name like ?"
        for [view] in connection.execute(views, [name]).fetchall():
            assert connection.execute(f"select count(*) from {view}").fetchone(), view


def test_an_attached_lake_answers_where_it_was_made(original):
    """As tools do that open more than one database."""
    assert attached(original.path) == "3.50000001"


def test_an_attached_copy_says_what_to_do_and_never_answers_for_another(copy):
    """Attached, it cannot tell where it lies."""
    with pytest.raises(duckdb.Error, match="run svc-analytics views"):
        attached(copy)
    write_views(Lakehouse(copy))
    assert attached(copy) == "7"


def test_a_database_opened_by_its_bare_name_answers(copy, monkeypatch):
    """From within the folder of the lake, as a person does who went there."""
    monkeypatch.chdir(copy)
    assert opened(Path()) == "7"


# ---------- the databases of views


_HELD = (
    "select view_name, sql, comment from duckdb_views() where not internal order by all",
    "select function_name, parameters, macro_definition, comment from duckdb_functions() "
    "where not internal order by all",
    "select table_name, column_name, data_type, comment from duckdb_columns() "
    "where not internal order by all",
)


def held_in(path: Path) -> list[list[Any]]:
    path.write_bytes(images._make_image())
    with duckdb.connect(path, read_only=True) as connection:
        return [connection.execute(query).fetchall() for query in _HELD]


@pytest.mark.thorough
def test_models_bound_to_stand_ins_are_the_same_models(tmp_path, monkeypatch):
    """Views, their columns' types, macros and comments; of the stand-ins nothing is left."""
    quick = held_in(tmp_path / "quick.duckdb")
    monkeypatch.setattr(images, "_stand_in", lambda *made: None)
    assert quick == held_in(tmp_path / "slow.duckdb")
