"""Several lakes in buckets of their own: together, on this machine and by an engine."""

import json

import pytest
from click.testing import CliRunner, Result

from svc_analytics.cli.app import cli
from svc_analytics.engines import connect
from svc_analytics.errors import LakeChanged, LakeError
from svc_analytics.lake.lake import Lake
from tests.benchmarks import growth_lakes
from tests.benchmarks.growth_lakes import Shape, make_lake
from tests.support.buckets import EngineAtBucket, copy_object
from tests.support.engines import let_duckdb_count

ADDRESS = "sc://stands.in"
MERCHANTS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
COUNT = "select merchant_id, count(*) as n from payments group by all order by all"
MONTHS = ("payments/2026-09.parquet", "payments/2026-10.parquet")
RATES = "select merchant_id, month, currency, effective_fee_rate from fees_monthly order by all"


@pytest.fixture(scope="module")
def made() -> list[str]:
    """The URLs of the lakes, once they are there: each test reads them from an empty cache."""
    return []


@pytest.fixture
def urls(server, made, monkeypatch) -> list[str]:
    """Two buckets: a lake of 40 payments of two months, and one of 60, of another merchant.

    Beside the second lies a lake of 50 payments of the same merchant.
    """
    places = [*("s3://first/lake", "s3://second/lake"), "s3://second/other"]
    merchants = (*MERCHANTS, MERCHANTS[1])
    if not made:
        for place, merchant, payments in zip(places, merchants, (40, 60, 50), strict=True):
            server.make_bucket(place.split("/")[2])
            monkeypatch.setitem(growth_lakes.MERCHANT, "id", merchant)
            make_lake(Lake(place), Shape(payments, months=2, newest=0.5))
        made += places[:2]
    return made


@pytest.fixture
def engine(monkeypatch) -> EngineAtBucket:
    """An engine that reads the objects of any bucket where they lie."""
    let_duckdb_count(monkeypatch)
    found = EngineAtBucket()
    monkeypatch.setattr(connect, "_connected", lambda address: found)
    return found


def places(urls: list[str]) -> list[str]:
    """Where the engine finds the objects."""
    return [each.replace("s3://", "s3a://") for each in urls]


def run(urls: list[str], *words: str, engine_data: list[str] | None = None) -> Result:
    """Run a command over the lakes; with places, the engine counts."""
    given = [word for each in urls for word in ("--data-dir", each)]
    if engine_data is not None:
        given += ["--engine", ADDRESS]
        given += [word for each in engine_data for word in ("--engine-data", each)]
    return CliRunner().invoke(cli, [*words, *given])


@pytest.mark.thorough
def test_without_places_an_engine_reads_the_copies_of_this_machine(urls, monkeypatch, tmp_path):
    """A server on this machine finds both copies by their paths."""
    engine = let_duckdb_count(monkeypatch)
    assert run(urls, "sql", RATES, "--csv", engine_data=[]).stdout == (
        run(urls, "sql", RATES, "--csv").stdout
    )
    assert engine.asked and all(path.startswith(f"{tmp_path}/") for path in engine.read_from)


@pytest.mark.thorough
def test_the_place_of_another_lake_is_refused_by_name(urls, engine):
    """In the wrong order each merchant would get the other's figures."""
    found = run(urls, "sql", COUNT, engine_data=places(urls)[::-1])
    assert isinstance(found.exception, LakeError) and "as it is listed" in str(found.exception)


@pytest.mark.thorough
def test_an_object_of_any_lake_that_is_replaced_is_counted_anew(urls, engine):
    """
    All lakes are, for the answer is of one state of each: 60 payments were listed, 50 are there.
    """
    for month in MONTHS:
        copy_object("second", f"lake/{month}", f"kept/{month}")
    waiting = [*MONTHS]

    def replace() -> None:
        while waiting:
            month = waiting.pop()
            copy_object("second", f"other/{month}", f"lake/{month}")

    engine.behind = replace
    found = run(urls, "sql", COUNT, "--csv", engine_data=places(urls))
    assert found.stdout.splitlines()[1:] == [f"{MERCHANTS[0]},40", f"{MERCHANTS[1]},50"]
    assert len(engine.asked) == 2
    for month in MONTHS:
        copy_object("second", f"kept/{month}", f"lake/{month}")


@pytest.mark.thorough
def test_a_lake_that_never_stands_still_is_told_by_name(urls, engine):
    """Exit code 75: another time it may."""
    month = MONTHS[1]
    copy_object("second", f"lake/{month}", f"kept/{month}")
    sources = ["kept", "other"] * 9
    engine.behind = lambda: copy_object("second", f"{sources.pop()}/{month}", f"lake/{month}")
    found = run(urls, "sql", COUNT, engine_data=places(urls))
    assert isinstance(found.exception, LakeChanged), found.exception
    assert str(found.exception).startswith("s3://second/lake changes faster than")
    copy_object("second", f"kept/{month}", f"lake/{month}")


@pytest.mark.thorough
@pytest.mark.parametrize("period", ["2026-Q4", "2026", "1405", "2026-10-ytd"])
def test_a_longer_period_of_several_buckets_has_the_same_figures_by_an_engine(urls, engine, period):
    """Of both calendars, each merchant's with the same digest; both buckets are read in place.

    What commands print of what an engine counted is told of lakes in folders.
    """
    here = run(urls, "statement", period, "--json")
    there = run(urls, "statement", period, "--json", engine_data=places(urls))
    assert json.loads(here.stdout) == json.loads(there.stdout)
    named = [each["merchant_id"] for each in json.loads(here.stdout)["merchants"]]
    assert named == [*MERCHANTS] and engine.asked
    read = {path for found in engine.places.values() for path in found}
    for place in places(urls):
        assert any(each.startswith(f"{place}/payments/") for each in read)
