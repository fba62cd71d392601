"""What an engine answers is taken column by column, and refused where a column is another one."""

import pyarrow as pa
import pytest

from svc_analytics.engines.warehouse import cast_exactly
from svc_analytics.errors import EngineError

WANTED = pa.schema([("currency", pa.string()), ("sum(net)", pa.int64()), ("count(*)", pa.int64())])


def answer(*names: str) -> pa.Table:
    """Return an answer of one row: a coin, and the numbers from 1 on."""
    return pa.table([["btc"], *([number] for number in range(1, len(names)))], list(names))


@pytest.mark.parametrize(
    "names", [("currency", "sum(net)", "count(*)"), ("currency", "CASE WHEN 1", "count(1)")]
)
def test_a_column_without_a_name_is_known_by_its_place(names):
    """Each engine calls it as it likes; the answer has the names that it has here."""
    found = cast_exactly(answer(*names), WANTED, "Spark")
    assert found.to_pylist() == [{"currency": "btc", "sum(net)": 1, "count(*)": 2}]
    assert found.schema == WANTED


@pytest.mark.parametrize(
    "names",
    [("currency", "count(*)", "sum(net)"), ("currency", "x"), ("month", "currency", "count(*)")],
)
def test_a_column_in_another_place_or_one_too_few_is_refused(names):
    """A sum is never taken for a count."""
    with pytest.raises(EngineError, match="Spark answered with the columns"):
        cast_exactly(answer(*names), WANTED, "Spark")
