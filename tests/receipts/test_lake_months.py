"""Months in parts: shared among processes, and written as one would."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.lake.month_file import read_groups
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.schema import PAYMENTS
from tests.receipts.test_verify_lake import KEPT, receipted
from tests.support.desks import Desk


@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_month_is_shared_by_its_row_groups(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Here of one row each: verdicts stand in the order of the payments, whoever made them."""
    monkeypatch.setattr("svc_analytics.lake.month_file.ROW_GROUP", 1)
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


@pytest.mark.parametrize(
    ("altered", "readable"), [(0.25, ["second"]), (0.75, ["first"]), ("the footer", [])]
)
def test_some_row_groups_vouch_for_their_own_pages_and_the_footer(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, altered: float | str, readable: list[str]
) -> None:
    """Of two groups of one row, one byte is altered: one of another group is not read at all."""
    monkeypatch.setattr("svc_analytics.lake.month_file.ROW_GROUP", 1)
    desk.service.payments = [receipted(n, f"2026-10-{n:02}T08:00:00Z") for n in (1, 2)]
    desk.extract()
    path = desk.lake.month_path(PAYMENTS, "2026-10")
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little")
    rows = len(data) - 8 - footer
    data[int(rows * altered) if isinstance(altered, float) else rows + footer // 2] ^= 1
    path.write_bytes(data)
    groups = {"first": range(1), "second": range(1, 2)}
    assert [name for name, each in groups.items() if is_read(path, each)] == readable
    assert not is_read(path, None)


def is_read(path: Path, groups: range | None) -> bool:
    """Tell whether these row groups of a file can be read, each being one row."""
    try:
        return len([*read_groups(path, groups=groups)]) > 0
    except LakeError:
        return False
