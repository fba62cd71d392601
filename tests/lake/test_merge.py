"""Merging a month: what a record becomes that is read again, and months of several row groups."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from svc_analytics.instants import HOUR
from svc_analytics.lake import month_file
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.month_file import plan_upsert
from svc_analytics.schema import PAYMENTS
from tests.support.waiting import NOW, Told, rows, writing

START = NOW - 100 * HOUR


def with_metadata(text: str | None) -> pa.Table:
    """Return a payment whose metadata is this JSON, or none."""
    [payment] = rows(("id-1", START, "5")).to_pylist()
    return pa.Table.from_pylist([payment | {"metadata": text}], schema=PAYMENTS.no_rows.schema)


@pytest.mark.parametrize(
    ("held", "again", "is_changed"),
    [
        *((None, '{"a": 1}', True), ('{"a": 1}', None, True), (None, None, False)),
        *(("null", None, True), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', False)),
        ('{"a": 1}', '{"a": 2}', True),
    ],
)
def test_metadata_that_comes_or_goes_is_a_change_and_no_restatement(held, again, is_changed):
    """The version before is kept, marked as one whose money and identity are the same."""
    upsert = plan_upsert(PAYMENTS, with_metadata(again), with_metadata(held))
    assert upsert.superseded["metadata"].to_pylist() == [held] * is_changed
    assert upsert.superseded["is_restatement"].to_pylist() == [False] * is_changed
    assert upsert.is_news == is_changed


def test_new_rows_go_into_the_row_groups_that_they_belong_to(tmp_path, monkeypatch):
    """Twelve payments in groups of four; then of each group one again, and one more after it."""
    monkeypatch.setattr(month_file, "ROW_GROUP", 4)
    held = [(f"id-{n:02}", START + n * HOUR, "5") for n in range(12)]
    again = [(id_, at, "6") for id_, at, _ in held[2::4]]
    more = [(f"{id_}-more", at + 1, "7") for id_, at, _ in held[3::4]]
    for records in (held, again + more):
        with writing(tmp_path / "data") as writer:
            writer.buffer(PAYMENTS).add(rows(*sorted(records, key=lambda row: row[1])), size=1)
            writer.publish()
    path = Lake(tmp_path / "data").month_path(PAYMENTS, "2026-11")
    assert pq.read_metadata(path).num_row_groups > 3
    expected = {id_: (at, amount) for id_, at, amount in held + again + more}
    told = {row["id"]: (row["paid_at"], row["amount"]) for row in Told.of(tmp_path / "data").rows}
    assert told == {id_: (at, int(amount)) for id_, (at, amount) in expected.items()}
    file = pq.ParquetFile(path).read(["id"])["id"].to_pylist()
    assert file == sorted(expected, key=lambda id_: expected[id_])
