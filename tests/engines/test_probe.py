"""What an engine must answer before it is asked for a figure, and how its answers are taken."""

import pyarrow as pa
import pytest

from svc_analytics.engines.probe import LINES, ask, require_exact
from svc_analytics.engines.warehouse import cast_exactly
from svc_analytics.errors import EngineError, EngineRefused
from tests.support.engines import DuckEngine, spark_with


def test_duckdb_answers_every_line():
    """The known answers are those of the engine that our figures are proven on."""
    wrong = {found.line.says: found.text for found in ask(DuckEngine()) if not found.is_right}
    assert not wrong and len(LINES) == 52


def test_an_engine_that_wraps_a_sum_is_refused_by_name():
    """Several engines answer two amounts of 38 digits with a negative sum, and no error."""

    class Wrapping(DuckEngine):
        name = "Wrapper"

        def query(self, sql):  # type: ignore[no-untyped-def]
            exact = "CAST(SUM(amount::HUGEINT) AS VARCHAR)" if "SUM(" in sql else ""
            return super().query(sql.replace("SUM(amount)", exact) if exact else sql)

    with pytest.raises(EngineRefused, match=r"Wrapper is refused: a sum of more than 38 digits"):
        require_exact(Wrapping())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ({"ansi__enabled": "false"}, "a sum of more than 38 digits must be an error"),
        ({"decimalOperations__allowPrecisionLoss": "true"}, "must be an error|18th place"),
        ({"session__timeZone": "Asia/Tehran"}, "a day|clock|midnight|instant"),
    ],
    ids=["sums of NULL", "loses places", "another zone"],
)
def test_spark_by_other_settings_is_refused(setting, line):
    """The probe proves that our settings took effect: a server may ignore them."""
    with pytest.raises(EngineRefused, match=f"Spark at .* is refused: .*({line})"):
        require_exact(spark_with(**setting))


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
