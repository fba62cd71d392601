"""Months in parts: shared among processes, and written as one would."""

import pyarrow.parquet as pq
import pytest

from svc_analytics.receipts.verify_lake import verify_lake
from tests.receipts.test_verify_lake import KEPT, receipted
from tests.support.desks import Desk


@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_month_is_shared_by_its_row_groups(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Here of one row each: verdicts stand in the order of the payments, whoever made them."""
    monkeypatch.setattr("svc_analytics.lake.partition.ROW_GROUP", 1)
    monkeypatch.setattr("svc_analytics.receipts.lake_months.PART_GROUPS", 1)
    desk.service.payments = [receipted(n, f"2026-10-{n:02}T08:00:00Z") for n in range(1, 8)]
    desk.extract()
    assert verify_lake(desk.lake, KEPT, workers=workers).checked == 7
    desk.service.payments[3] = receipted(4, "2026-10-04T08:00:00Z", amount="11")
    desk.service.payments.append(receipted(8, "2026-10-08T08:00:00Z"))
    desk.extract(rereads=True)
    done = verify_lake(desk.lake, KEPT, workers=workers)
    rows = pq.read_table(desk.lake.path / "receipt_verdicts" / "2026-10.parquet")
    assert (done.checked, done.unchanged) == (2, 6)
    assert rows["payment_id"].to_pylist() == [record["id"] for record in desk.service.payments]
    assert rows["verdict"].to_pylist() == [*["valid"] * 3, "facts_mismatch", *["valid"] * 4]
