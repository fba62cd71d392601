"""The probe: what an engine must answer before a figure is asked of it."""

import pytest

from svc_analytics.engines.probe import LINES, ask, require_exact
from svc_analytics.errors import EngineRefused
from tests.support.engines import DuckEngine, spark_with


def test_duckdb_answers_every_line():
    """The known answers are those of the engine that our figures are proven on."""
    wrong = {found.line.says: found.said for found in ask(DuckEngine()) if not found.is_right}
    assert not wrong and len(LINES) >= 40


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
