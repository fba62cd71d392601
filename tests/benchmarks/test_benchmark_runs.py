"""Benchmarks without their times: what they time is whole work, on lakes that are true."""

from pathlib import Path

import duckdb
import pytest

from svc_analytics import LakeError, Lakehouse
from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.receipts.lake_months import read_verdicts
from svc_analytics.schema import PAYMENTS, STREAMS
from tests.benchmarks import budget, growth_work as work
from tests.benchmarks.bare_server import serve
from tests.benchmarks.child_cost import Cost, cost_of
from tests.benchmarks.children import environment
from tests.benchmarks.extract_benchmark import extract_all, fetch_all
from tests.benchmarks.growth_benchmark import line
from tests.benchmarks.growth_lakes import NEWEST, Shape, batches, make_lake, parts
from tests.benchmarks.match_benchmark import make_orders, match_all
from tests.benchmarks.plain_script import download
from tests.benchmarks.proofs_benchmark import hash_plainly, prove_middle, sealed_beside
from tests.benchmarks.receipts_work import is_proven, rows_of, verify_all, verify_plainly
from tests.support.fake_service import CHECKOUT_KEY, payment
from tests.support.packages import row, seal_rows

COUNT = 500
IDS = sorted(payment(number, "")["id"] for number in range(COUNT))


@pytest.fixture(scope="module")
def base_url():
    with serve(COUNT) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def lake(base_url, tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmark") / "lake"
    assert extract_all(base_url, folder) >= COUNT
    return Lake(folder)


def test_the_benchmark_extracts_exactly_the_payments_served(lake):
    """
    What the benchmark times is a whole extraction: the lake holds every id served, once.

    A worker that takes a part of a window over reads its edge once more.
    """

    files = str(lake.path / "payments" / "*.parquet")
    held = duckdb.sql("select id from read_parquet(?)", params=[files]).fetchall()
    assert sorted(row[0] for row in held) == IDS


def test_the_floor_fetches_every_page(base_url):
    """The floor is the same work on the wire: every page of the list, and not one more."""
    assert fetch_all(base_url) == COUNT / 100


def test_the_script_writes_every_payment(base_url, tmp_path):
    """What an extraction is compared with has all payments too, each once."""
    assert download(base_url, CHECKOUT_KEY, str(tmp_path / "payments")) == COUNT
    held = duckdb.sql("select id from read_parquet(?)", params=[str(tmp_path / "payments")])
    assert sorted(row[0] for row in held.fetchall()) == IDS


@pytest.mark.thorough
def test_a_command_that_is_measured_finds_bytecode(monkeypatch):
    """As users' commands do, also where the caller's own write none."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    given = environment()
    assert "PYTHONDONTWRITEBYTECODE" not in given
    assert [*Path(given["PYTHONPYCACHEPREFIX"]).rglob("svc_analytics/config.*.pyc")]


def test_the_benchmark_verifies_every_token(lake):
    """What it times is a whole verification: each token of the lake, by its signature and facts."""
    assert verify_all(lake) == verify_all(lake) == COUNT
    kept = {path.stem for path in (lake.path / "receipt_verdicts").iterdir()}
    assert kept == {"0000-00", *lake.months(PAYMENTS)}


def test_the_plain_loop_does_the_same_work(lake):
    """The floor proves as many, and would notice a forgery or an altered fact."""
    assert verify_plainly(lake) == COUNT
    held = next(rows_of(lake))
    assert is_proven(held) and not is_proven(held | {"currency": "btc"})
    assert not is_proven(held | {"receipt": held["receipt"][:-2] + "AA"})


def test_the_benchmark_proves_a_line_of_all(tmp_path):
    """What it times is a whole proof, with all lines hashed or few: an altered line ends either."""
    made = seal_rows(tmp_path / "lines", map(row, range(1, 2001)))
    storage = sealed_beside(made)
    prove_middle(made, 2000, storage)
    prove_middle(made, 2000)
    hash_plainly(made.folder)
    path = made.folder / "lines.csv"
    path.write_bytes(path.read_bytes().replace(b"SVC-1999", b"SVC-1998"))
    for kept in (storage, None):
        with pytest.raises(LakeError, match="not those that were sealed"):
            prove_middle(made, 2000, kept)


SHAPE = Shape(3_000, months=3, newest=0.5)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A small lake of the benchmark's."""
    folder = tmp_path_factory.mktemp("growth") / "lake"
    make_lake(Lake(folder), SHAPE)
    return folder


@pytest.mark.thorough
def test_the_newest_month_of_a_lake_can_be_sealed(made):
    """What the benchmark states is a whole month: its rows, and nothing that is against a rule."""
    work.state(made)  # which must be final
    work.check(made)  # which must find nothing
    rows = {label: footer.totals.rows for label, footer in Lake(made).footers(PAYMENTS).items()}
    assert rows == {"0000-00": 0, "2026-08": 750, "2026-09": 750, "2026-10": 1_500}


def test_what_follows_from_a_record_is_written_exactly():
    """The lakes' amounts are chosen so that nothing must be divided: the quotients are the same."""
    for stream in STREAMS.values():
        rows = next(batches(stream, parts(SHAPE)[0]))
        assert with_derived(stream, rows.select(stream.record_schema.names)).equals(rows)


def test_records_handed_to_a_writer_make_the_same_lake(made, tmp_path):
    """
    The extraction that is measured is a whole one: page by page, newest first, to equal totals.
    """
    work.extract(tmp_path / "lake", SHAPE)
    for stream in STREAMS.values():
        extracted, written = (Lake(path).footers(stream) for path in (tmp_path / "lake", made))
        assert [*extracted] == [*written]
        for label, footer in written.items():
            assert extracted[label].totals.is_same(footer.totals)


def test_a_refresh_adds_its_payments_to_the_newest_month(tmp_path):
    """The refresh that is measured publishes 100 payments more."""
    make_lake(Lake(tmp_path / "lake"), Shape(200, months=2))
    work.refresh(tmp_path / "lake", Shape(200, months=2))
    footers = Lake(tmp_path / "lake").footers(PAYMENTS)
    assert footers[NEWEST.label].totals.rows == 20 + work.NEW


def test_the_newest_months_receipts_are_verified(tmp_path):
    """The verification that is measured judges each receipt of that month."""
    make_lake(Lake(tmp_path / "lake"), Shape(200, months=2))
    work.verify_newest(tmp_path / "lake")
    found = read_verdicts(tmp_path / "lake" / VERDICTS_FOLDER / f"{NEWEST.label}.parquet")
    assert found is not None and len(found) == 20


def test_a_drill_leads_to_a_record(made):
    """What is measured ends at a record of the newest month."""
    work.drill(made)


@pytest.mark.thorough
def test_a_cost_is_that_of_the_work(made):
    """A piece of work is measured in a process of its own, down to the bytes that it reads."""
    cost = cost_of(work.query, made)
    assert min(cost.seconds, cost.memory, cost.read) > 0


def test_growth_is_told_as_a_power_of_the_size():
    """Ten times the lake at ten times the seconds, the same memory and a hundredfold of bytes."""
    found = {1_000: Cost(1, 50, 2, 0), 10_000: Cost(10, 50, 200, 0)}
    assert line("sql", found).split()[-3:] == ["1.00", "0.00", "2.00"]


def test_a_command_that_costs_a_third_more_than_in_the_last_release_is_over_its_budget():
    """A new command has no budget yet; each of those that are measured has one."""
    now = {"sql": 4.01, "status": 3.99, "new": 50.0}
    bounds = budget.compared(now, {"sql": 3.0, "status": 3.0})
    assert [bound.measure for bound in bounds if not bound.holds] == ["sql"]
    assert budget.read_costs()["loops"].keys() == budget.COMMANDS.keys()


def test_the_benchmark_matches_every_order(tmp_path):
    """What it times is a whole match: each order with its payment, none left over."""
    lake = Lakehouse(tmp_path / "lake")
    make_lake(lake, Shape(COUNT, 1, 1))
    both = match_all(lake, make_orders(lake, tmp_path / "orders.csv"))
    assert sum(each["count"] for each in both.by.values()) == COUNT
