"""A chart of two columns of a table of one's own."""

from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svc_analytics import charts, draw
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.standing import Standing, attach
from tests.support.artists import hatched_places

LONG = Decimal("0.123456789012345678")
TABLE = pa.table(
    {
        "month": ["2026-08", "2026-10", "2026-11"],
        "currency": ["btc", "btc", "eth"],
        "net": pa.array([LONG, None, Decimal(-2)], pa.decimal128(38, 18)),
        "count": [1200, 3, 4],
    }
)


@pytest.fixture
def axes() -> Axes:
    return Figure(figsize=(7.2, 3)).subplots()


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def test_bars_have_their_exact_amounts_and_unknown_ones_are_hatched(axes):
    """Eighteen digits as they are; October is unknown and September has no row: no bar there."""
    charts.column_chart(axes, TABLE, "month", "net")
    assert texts(axes) == ["0.123456789012345678", "-2"]
    assert [bar.get_x() + 0.4 for bar in axes.patches] == [0.0, 3.0]
    assert hatched_places(axes) == [2.0]
    assert axes.get_title() == "Net by month"


def test_a_float_is_drawn_without_a_text(axes):
    """It has no exact value to write."""
    floats = TABLE.set_column(2, "net", pa.array([0.1, 0.2, 0.3]))
    charts.column_chart(axes, floats, "month", "net")
    assert len(axes.patches) == 3 and not texts(axes)


def test_series_stand_side_by_side_with_a_legend(axes):
    """Each differs in more than colour."""
    charts.column_chart(axes, TABLE, "month", "count", by="currency")
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {"btc", "eth"}
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, False, True]
    assert [round(bar.get_width(), 2) for bar in axes.patches] == [0.4, 0.4, 0.4]


def test_lines_of_days_keep_their_distance_and_the_running_day_is_shaded(axes):
    """The 1st and the 4th stand three apart; the 4th is not over."""
    days = pa.table(
        {"day": [date(2026, 10, 4), date(2026, 10, 1)], "net": [Decimal(2), Decimal(1)]}
    )
    standing = Standing(first_open_day="2026-10-04")
    charts.column_chart(axes, attach(days, standing), "day", "net", kind="line")
    sooner, later = list(axes.lines[0].get_xdata())
    assert later - sooner == 3
    assert [patch.get_label() for patch in axes.patches] == ["running day"]


def test_a_line_breaks_where_a_value_is_unknown(axes):
    """October is unknown: the line does not lead through it."""
    charts.column_chart(axes, TABLE, "month", "net", kind="line")
    first, unknown, last = list(axes.lines[0].get_ydata())
    assert unknown != unknown and (round(first, 2), last) == (0.12, -2.0)


def test_a_frame_of_coins_is_drawn_coin_by_coin():
    """Two coins have no common scale; a frame and an Arrow table give the same pictures."""
    frame: pd.DataFrame = TABLE.to_pandas(types_mapper=pd.ArrowDtype)
    drawn = draw(frame, x="month", y="net", by="currency")
    assert repr(drawn) == "net by month, btc, eth"
    assert drawn.drawings == draw(TABLE, x="month", y="net", by="currency").drawings
    assert len(drawn.drawings) == 2


@pytest.mark.parametrize("name", ["usd_paid", "fee_rate"])
def test_what_has_a_common_unit_is_one_picture_of_all_coins(name):
    """Dollars, or shares: a line for each coin, on one axis that holds zero."""
    scale = {"usd_paid": 18, "fee_rate": 8}[name]
    values = pa.array(["0.5", "0.6", "0.4"]).cast(pa.decimal128(38, scale))
    months, coins = ["2026-09", "2026-10", "2026-10"], ["btc", "btc", "eth"]
    frame = pa.table({"month": months, "currency": coins, name: values})
    assert len(draw(frame, x="month", y=name, by="currency").drawings) == 1
    axes = Figure().add_subplot()
    charts.column_chart(axes, frame, "month", name, kind="line", by="currency")
    assert [line.get_label() for line in axes.lines] == ["btc", "eth"]
    assert axes.get_ylim()[0] == 0


def test_an_empty_frame_says_so():
    """It is no mistake: the question has no answer."""
    nothing = draw(TABLE.slice(0, 0), x="month", y="net")
    assert repr(nothing) == "net by month: nothing to draw: the table has no rows"


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"x": "moth", "y": "net"}, "there is no column 'moth'; there are month, currency, net"),
        ({"x": "month", "y": "net", "kind": "pie"}, "write kind='bar' or kind='line'"),
        ({"x": "month", "y": "currency"}, "the column 'currency' holds 'btc', which is no number"),
        ({"x": "currency", "y": "count"}, "2 rows are of btc: add them up in the SQL"),
        ({"x": "month"}, "name the columns x and y"),
        ({"x": "month", "y": "net", "zone": "UTC"}, "name the columns x and y"),
        ({}, "or a frame with x= and y="),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(given, error):
    """It names the column or the option, and what there is."""
    with pytest.raises(ConfigError) as caught:
        draw(TABLE, **given)
    assert error in str(caught.value) and "\n" not in str(caught.value)


def test_a_chart_holds_as_many_series_as_can_be_told_apart(axes):
    """Seven values of a column are too many."""
    many = pa.table({"x": ["a"] * 7, "by": list("abcdefg"), "y": [1] * 7})
    with pytest.raises(ConfigError, match="the column 'by' has 7 values, and a chart holds 6"):
        charts.column_chart(axes, many, "x", "y", by="by")
