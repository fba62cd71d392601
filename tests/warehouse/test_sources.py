"""What a statement reads of a lake that lacks a file, or has a damaged one."""

import errno
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from svc_analytics.errors import LakeError
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import ORIGIN
from svc_analytics.schema import PAYMENTS
from svc_analytics.statements.statement import statement
from svc_analytics.warehouse import sales
from tests.support.flipped_bits import flip_column
from tests.support.seeded_lakes import make_seeded_lake

SEED = 5  # payments in each month from 2026-05 to 2026-11


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return make_seeded_lake(tmp_path / "data", SEED).lake


@pytest.mark.thorough
def test_a_month_without_a_file_is_stated_without_the_origins_file_too(lake: Lake) -> None:
    """Other months' files still say what was before; the lost file is a finding."""
    for label in (ORIGIN, "2026-06"):
        lake.month_path(PAYMENTS, label).unlink()
    lost = f"payments/{ORIGIN}"
    assert lost in statement(lake, "2026-06").tables["checks"]["record_id"].to_pylist()


def test_a_lake_without_any_file_of_payments_is_refused(lake: Lake) -> None:
    for label in (ORIGIN, *lake.months(PAYMENTS)):
        lake.month_path(PAYMENTS, label).unlink()
    with pytest.raises(LakeError, match=r"payments holds no file\): run svc-analytics extract"):
        statement(lake, "2026-10")


def test_a_damaged_file_that_a_bound_cuts_is_named(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its payments are read through DuckDB, whose own words about it are not shown."""
    monkeypatch.setattr(sales, "_is_cut", lambda footer, months: bool(footer.ends))
    path = lake.month_path(PAYMENTS, "2026-07")
    flip_column(path, "charged_amount")
    with pytest.raises(LakeError) as caught:
        statement(lake, "2026-10")
    assert str(caught.value).startswith(f"{path} is torn or altered: move it away")


def test_a_full_disk_is_one_clear_line(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a reader puts aside needs a little space: without it, the line says so."""

    def refuse(*given: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pq, "write_table", refuse)
    with pytest.raises(LakeError, match=r"No space left on device .* free some space there"):
        statement(lake, "2026-10")
