"""An engine reads the objects of a bucket where they lie: of one listing, and never a mix."""

import time
from collections.abc import Callable
from pathlib import Path

import boto3
import pytest

from svc_analytics import ConfigError, EngineError, LakeChanged, LakeError, Lakehouse, statement
from svc_analytics.engines import compiler, connect
from svc_analytics.lake.lake import Lake
from tests.benchmarks.growth_lakes import END, NEWEST, Shape, make_lake
from tests.support.buckets import EngineAtBucket, copy_object
from tests.support.engines import spark_address, speak_as_spark
from tests.support.prepared import extracted

SUM = "select count(*) as n, sum(net) as net from ledger_entries where kind = 'payment'"


@pytest.fixture
def engine(monkeypatch) -> EngineAtBucket:
    """An engine that stands in for the one at the address of the settings."""
    speak_as_spark(monkeypatch)
    found = EngineAtBucket()
    monkeypatch.setattr(connect, "_connected", lambda address: found)
    monkeypatch.setattr(compiler, "guard_sums", lambda tree, dialect: tree)  # DuckDB raises
    return found


@pytest.fixture
def bucket(url) -> str:
    """A bucket with a lake of 40 payments of two months, and beside it another one of 60."""
    make_lake(Lake(url), Shape(40, months=2, newest=0.5))
    make_lake(Lake(f"{url}-other"), Shape(60, months=2, newest=0.5))
    return url.split("/")[2]


def counted(bucket: str, place: str = "lake") -> Lakehouse:
    """The lake, whose records the engine counts where they lie."""
    seen_as = f"s3a://{bucket}/{place}"
    return Lakehouse(f"s3://{bucket}/lake", engine="sc://stands.in", engine_data=seen_as)


def asked(lake: Lakehouse) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lake.sql(SUM).itertuples(index=False)]


def replacing(bucket: str) -> Callable[[], None]:
    """Replace both months of payments by those of the other lake, the first time it is called."""
    waiting = ["2026-09", "2026-10"]

    def replace() -> None:
        while waiting:
            key = f"payments/{waiting.pop()}.parquet"
            copy_object(bucket, f"lake-other/{key}", f"lake/{key}")

    return replace


def test_an_engine_is_shown_the_objects_by_their_keys_and_no_others_are_counted(bucket, engine):
    """Not the links of a snapshot, which no cluster sees; nor an older copy of the bucket."""
    with pytest.raises(LakeError, match=r"lake-other/payments/.* as it is listed"):
        asked(counted(bucket, "lake-other"))
    assert len(engine.asked) == 0
    lake = counted(bucket)
    assert asked(lake) == asked(Lakehouse(lake.place))
    shown = {place for places in engine.places.values() for place in places}
    assert f"s3a://{bucket}/lake/payments/2026-10.parquet" in shown
    assert not any(".snapshot" in place for place in shown)


@pytest.mark.thorough
@pytest.mark.parametrize("moment", ["before", "between", "behind"])
def test_an_answer_is_of_one_state_whenever_objects_are_replaced(moment, bucket, engine):
    """40 payments were listed; then there are 60, and whatever was counted is counted anew."""
    setattr(engine, moment, replacing(bucket))
    found = asked(counted(bucket))
    assert found[0][0] == 60 and found == asked(Lakehouse(f"s3://{bucket}/lake"))
    assert len(engine.asked) == 2


@pytest.mark.thorough
def test_an_object_that_was_put_back_is_counted_anew(bucket, engine):
    """Its ETag is the old one again; the time when it was put is not."""
    lake, key = counted(bucket), "payments/2026-10.parquet"
    wanted = asked(Lakehouse(lake.place))
    copy_object(bucket, f"lake/{key}", "old")
    time.sleep(1.1)  # a store tells times to the second

    def put_back() -> None:
        copy_object(bucket, "old", f"lake/{key}")
        engine.before = engine.behind = lambda: None

    engine.before, engine.behind = replacing(bucket), put_back
    copy_object(bucket, "lake/payments/2026-09.parquet", "lake-other/payments/2026-09.parquet")
    assert asked(lake) == wanted and len(engine.asked) == 2


@pytest.mark.thorough
def test_a_lake_that_never_stands_still_is_told_in_one_line(bucket, engine):
    """Exit code 75: another time it may."""
    key = "payments/2026-10.parquet"
    copy_object(bucket, f"lake/{key}", f"kept/{key}")
    sources = ["kept", "lake-other"] * 9

    def turn() -> None:
        copy_object(bucket, f"{sources.pop()}/{key}", f"lake/{key}")

    engine.behind = turn
    with pytest.raises(LakeChanged, match="changes faster than the engine counts it") as raised:
        asked(counted(bucket))
    assert raised.value.exit_code == 75 and len(engine.asked) == 5


@pytest.mark.thorough
def test_an_engine_that_fails_over_a_replaced_object_is_asked_again(bucket, engine):
    """And one that fails over objects as they were listed has failed."""

    def fail() -> None:
        engine.before = lambda: None
        replacing(bucket)()
        raise EngineError("the file was changed")

    engine.before = fail
    assert asked(counted(bucket))[0][0] == 60
    engine.before = lambda: (_ for _ in ()).throw(EngineError("no memory"))
    with pytest.raises(EngineError, match="no memory"):
        asked(counted(bucket))


@pytest.mark.thorough
def test_a_statement_has_the_same_digest(bucket, engine):
    """What is made here for the period, beside the objects, is handed over."""
    lake = counted(bucket)
    here, there = (statement(each, NEWEST.label, now=END) for each in (Lakehouse(lake.place), lake))
    assert here.content_digest() == there.content_digest()
    assert any(rows is not None and len(rows) for rows in engine.handed.values())


def test_a_secret_in_the_engines_address_of_the_lake_is_refused(desk, engine):
    """It is not told either."""
    place = extracted(desk).lake.path
    with pytest.raises(ConfigError, match=r"^engine_data holds more than an address") as raised:
        asked(Lakehouse(place, engine="sc://in", engine_data="s3a://key:hush@b/lake"))
    assert "hush" not in str(raised.value)


@pytest.fixture
def on_spark(bucket, tmp_path) -> Lakehouse:
    """The lake, whose records Spark counts in a folder that has the same objects."""
    client, folder = boto3.client("s3"), tmp_path / "seen"
    for each in client.list_objects_v2(Bucket=bucket, Prefix="lake/")["Contents"]:
        path = folder / each["Key"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(client.get_object(Bucket=bucket, Key=each["Key"])["Body"].read())
    place = f"s3://{bucket}/lake"
    return Lakehouse(place, engine=spark_address(), engine_data=str(folder / "lake"))


@pytest.mark.thorough
def test_spark_counts_the_objects_where_it_sees_them(on_spark):
    """And refuses one that is not as large as the one that was listed."""
    assert asked(on_spark) == asked(Lakehouse(on_spark.place))
    seen = Path(on_spark.engine_data) / "payments" / "2026-10.parquet"
    seen.write_bytes(seen.with_name("2026-09.parquet").read_bytes() + b"PAR1")
    with pytest.raises(LakeError, match=r"2026-10\.parquet as it is listed"):
        asked(on_spark)


@pytest.mark.thorough
def test_spark_states_a_month_of_objects_to_the_same_digest(on_spark):
    """What is made here for the period, beside the objects, is handed over to it."""
    here = statement(Lakehouse(on_spark.place), NEWEST.label, now=END)
    assert statement(on_spark, NEWEST.label, now=END).content_digest() == here.content_digest()
