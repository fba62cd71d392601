"""A figure by month: what is unknown, missing or not over is never drawn as a whole month."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svc_analytics import charts
from tests.support.artists import hatched_places

AMOUNT = pa.decimal128(38, 18)


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def monthly(*rows: tuple[str, str, str | None], **columns: Any) -> pa.Table:
    """A view's rows: month, coin and net settlement."""
    months, coins, values = zip(*rows, strict=True)
    amounts = [value and Decimal(value) for value in values]
    net = {"net_settlement": pa.array(amounts, AMOUNT)}
    return pa.table({"month": months, "currency": coins} | net | columns)


def marks(axes: Axes) -> dict[str, list[float]]:
    missing = {
        str(line.get_label()): list(map(float, line.get_xdata()))  # type: ignore[arg-type]
        for line in axes.lines
        if line.get_label() == "no record"
    }
    return missing | {"unknown": hatched_places(axes)}


def ticks(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def test_a_view_is_drawn_as_it_is(axes: Axes) -> None:
    """A month without a row of the coin is named as one; an unknown month is hatched."""
    rows = [("2026-07", "btc", "2"), ("2026-08", "eth", "1"), ("2026-09", "btc", None)]
    charts.monthly_trend(axes, monthly(*rows), "btc")
    assert [bar.get_height() for bar in axes.patches] == [2.0]
    assert marks(axes) == {"unknown": [2.0], "no record": [1.0]}
    assert (
        axes.get_ylabel() == "btc"
        and axes.get_title() == "Sales less fees and refunds by month, btc"
    )


def test_the_year_is_its_newest_twelve_months(axes: Axes) -> None:
    """The newest is always labelled."""
    rows = [(f"20{26 + n // 12}-{n % 12 + 1:02}", "btc", "1") for n in range(14)]
    charts.monthly_trend(axes, monthly(*rows), "btc")
    assert len(axes.patches) == 12
    assert ticks(axes)[0] == "2027-02" and ticks(axes)[-1] == "2026-04"


def test_a_running_month_is_named_and_drawn_otherwise(axes: Axes) -> None:
    """Dotted, so that it differs in a grey print; filled bars are whole months."""
    rows = [("2026-10", "btc", "2"), ("2026-11", "btc", "1")]
    charts.monthly_trend(axes, monthly(*rows, is_running=[False, True]), "btc")
    assert [bar.get_hatch() for bar in axes.patches] == [None, "...."]
    assert ticks(axes) == ["2026-11\n(running)", "2026-10"]


def test_a_coin_of_which_all_is_unknown_says_so(axes: Axes) -> None:
    """Empty axes would look like zero."""
    charts.monthly_trend(axes, monthly(("2026-10", "btc", None)), "btc")
    assert [text.get_text() for text in axes.texts] == ["unknown"]


@pytest.mark.parametrize(
    ("figure", "unit"),
    [("usd_net_sales", "USD"), ("implied_rate", "USD per btc"), ("payments_count", "payments")],
)
def test_the_unit_of_the_figure_stands_beside_it(axes: Axes, figure: str, unit: str) -> None:
    """As the figure's definition has it."""
    table = monthly(("2026-10", "btc", "2")).rename_columns(["month", "currency", figure])
    charts.monthly_trend(axes, table, "btc", figure=figure)
    assert axes.get_ylabel() == unit
