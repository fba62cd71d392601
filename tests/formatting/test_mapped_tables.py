"""Tables in files that the process maps."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from svc_analytics.formatting.mapped_tables import drop_pages, map_table

ROWS = pa.table({"id": ["a", None, "c"], "net": pa.array([1, 2, None], pa.decimal128(38, 18))})


def mapped(table: pa.Table, folder: Path) -> pa.Table:
    return map_table(table.to_reader(max_chunksize=2), folder)


@pytest.mark.parametrize("table", [ROWS, ROWS.slice(0, 0)], ids=["rows", "no rows"])
def test_a_mapped_table_is_the_one_that_was_read(table: pa.Table, tmp_path: Path) -> None:
    """And it stays so when its pages were dropped from memory."""
    found = mapped(table, tmp_path)
    assert found.equals(table)
    drop_pages()
    assert found.equals(table)


def test_a_mapped_table_takes_no_memory_of_arrow(tmp_path: Path) -> None:
    """A million numbers are eight megabytes."""
    numbers = pa.table({"n": np.arange(1_000_000)})
    before = pa.total_allocated_bytes()
    found = map_table(numbers.to_reader(), tmp_path)
    assert found.nbytes >= 8_000_000
    assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.skipif(os.name == "nt", reason="the file has a name until it is closed")
def test_the_file_has_no_name(tmp_path: Path) -> None:
    """So a killed process leaves nothing behind."""
    found = mapped(ROWS, tmp_path)
    assert not any(tmp_path.iterdir())
    assert found.num_rows == 3
