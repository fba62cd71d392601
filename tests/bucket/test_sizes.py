"""An object that no PUT takes is refused before any of it is sent, and nothing else is lost."""

from pathlib import Path

import pytest

from svc_analytics.bucket.store import LARGEST, check_size
from svc_analytics.errors import StoreError
from svc_analytics.lake.lake import Lake
from svc_analytics.statements.statement import statement
from tests.benchmarks.growth_lakes import END, NEWEST, Shape, make_lake
from tests.support.buckets import Server, keys_in


@pytest.mark.parametrize(
    ("url", "most"), [("s3://b/lake", 5 * 1024**3), ("az://c/lake", 5000 * 1024**2)]
)
def test_the_largest_objects_are_those_of_the_stores(url: str, most: int) -> None:
    """5 GiB of S3, 5000 MiB of Azure; Google's 5 TiB are more than a month has."""
    check_size(url, "payments/2026-10.parquet", most)
    with pytest.raises(StoreError, match=rf"{most + 1:,} bytes, and one PUT takes {most:,}: "):
        check_size(url, "payments/2026-10.parquet", most + 1)
    check_size("gs://b/lake", "payments/2026-10.parquet", most + 1)


def test_a_month_that_is_too_large_is_not_sent(
    url: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """September fits and is kept; October, ten times as large, is named with what to do."""
    monkeypatch.setitem(LARGEST, "s3", 150_000)
    with pytest.raises(StoreError) as refused:
        make_lake(Lake(url), Shape(1_100, months=2, newest=0.9))
    said = str(refused.value)
    assert said.startswith(f"{url}/payments/2026-10.parquet would have ")
    assert said.endswith("the bucket is as it was; keep this lake in a folder")
    keys = keys_in(url.split("/")[2])
    assert "lake/payments/2026-09.parquet" in keys and "lake/payments/2026-10.parquet" not in keys
    assert max(size for method, _, size in server.requests if method == "PUT") < 150_000


@pytest.mark.thorough
def test_a_statement_that_is_too_large_is_not_sent(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is one object with all its files; in a folder of this machine it can be written."""
    make_lake(Lake(url), Shape(40, months=2, newest=0.5))
    made = statement(Lake(url), NEWEST.label, now=END)
    monkeypatch.setitem(LARGEST, "s3", 1_000)
    with pytest.raises(StoreError, match=r"statements/2026-10\.zip would have [\d,]+ bytes"):
        made.save(Lake(url).path / "statements" / "2026-10")
    assert (made.save(tmp_path / "2026-10") / "manifest.json").is_file()
