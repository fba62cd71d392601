"""The benchmark of growth itself, without its times: that lakes are true and work is done."""

from pathlib import Path

import pytest

from svc_analytics.lake.derived import with_derived
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.receipts.lake_months import read_verdicts
from svc_analytics.schema import PAYMENTS, STREAMS
from tests.benchmarks import growth_work as work
from tests.benchmarks.child_cost import Cost, cost_of
from tests.benchmarks.growth_benchmark import line
from tests.benchmarks.growth_lakes import NEWEST, Shape, batches, make_lake, parts

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
