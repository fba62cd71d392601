"""Charts: one function, one figure, readable without colour and honest about zero."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from io import StringIO
from itertools import combinations
from typing import Any

import matplotlib as mpl
import pandas as pd
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from svc_analytics import charts
from svc_analytics.charts.axes import amounts
from svc_analytics.charts.ticks import tick_texts
from svc_analytics.formatting.standing import Standing, attach
from svc_analytics.render.picture import STYLE, Look, arrange, draw_svg, save_picture
from tests.charts.test_chart_pictures import DAILY, DRAWN, changed
from tests.support.artists import hatched_places, legend, texts

MONTHS = pa.table(
    {
        "month": ["2026-09", "2026-10", "2026-09", "2026-10"],
        "currency": ["btc", "btc", "eth", "eth"],
        "refund_ratio_period": pa.array(
            [Decimal("0.0127"), None, Decimal("0.5"), Decimal("1.2")], pa.decimal128(38, 8)
        ),
    }
)
WORTH = {"currency": ["btc", "eth", "sol"], "usd_exposure": [Decimal(3), Decimal(1), None]}


def test_a_coin_has_its_own_axis_with_its_own_days(axes):
    """What eth settled never stands on the scale of btc."""
    eth = changed(DAILY.slice(0, 1), "currency", pa.array(["eth"]))
    charts.net_settlement_daily(axes, pa.concat_tables([DAILY, eth]), "btc")
    bars: list[Any] = list(axes.patches)
    assert [bar.get_height() for bar in bars] == [4, 2.5, 3, 0, 6, 1, 2, 3.5, 5, -1.5, -0.5]
    assert axes.get_ylabel() == "btc"


def test_days_below_zero_and_unknown_ones_are_hatched_otherwise(axes):
    """In a grey print they differ without hue, and the unknown day is no bar at zero."""
    charts.net_settlement_daily(axes, DAILY, "btc")
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [*[False] * 9, *[True] * 2]
    assert hatched_places(axes) == [date(2026, 10, 6).toordinal()]


def test_ratios_of_all_coins_have_one_axis(axes):
    """A line for each coin, broken where a ratio is unknown; a ratio may exceed 1."""
    charts.refund_ratio(axes, MONTHS)
    btc, eth = ([float(at) for at in list(line.get_ydata())] for line in axes.lines)
    assert btc[0] == 0.0127 and btc[1] != btc[1] and eth == [0.5, 1.2]
    assert axes.get_ylim()[0] == 0 and axes.get_ylim()[1] > 1.2


def test_a_month_that_is_not_over_is_shaded(axes):
    """Its ratios do not stand beside those of full months without a word."""
    charts.refund_ratio(axes, attach(MONTHS, Standing(first_open_month="2026-10")))
    (shade,) = [patch for patch in axes.patches if patch.get_label() == "running month"]
    assert (shade.get_x(), shade.get_width()) == (0.5, 1.0)
    assert "running month" in legend(axes)
    assert axes.get_title("left") == "In September 2026 the share is highest in eth: 50.00%."


def test_a_day_that_is_not_over_is_shaded(axes):
    """The twelfth day was not read to its end."""
    charts.net_settlement_daily(axes, attach(DAILY, Standing(first_open_day="2026-10-12")), "btc")
    (shade,) = [patch for patch in axes.patches if patch.get_label() == "running day"]
    assert shade.get_x() == date(2026, 10, 12).toordinal() - 0.5


def test_exposure_says_shares(axes):
    """3, -4 and 1 USD are 8 without sign: 37.5 %, 50 % and 12.5 %, the largest first."""
    charts.usd_exposure(axes, pa.table(WORTH | {"usd_exposure": list(map(Decimal, (3, -4, 1)))}))
    assert texts(axes) == ["1.00 USD, 12.50%", "3.00 USD, 37.50%", "-4.00 USD, 50.00%"]
    assert axes.get_title() == "Position by coin: 0.00 USD"
    assert axes.get_xlabel() == "shares are of the worth without sign"


def test_the_total_worth_is_in_the_title(axes):
    """70,000.355 + 251 USD is 70,251.36 USD, rounded half up."""
    values = list(map(Decimal, ("70000.355", "250", "1")))
    charts.usd_exposure(axes, pa.table(WORTH | {"usd_exposure": values}))
    assert axes.get_title() == "Position by coin: 70,251.36 USD"
    assert axes.get_title("left") == "btc is 100% of the worth of all coins."


def test_shares_need_a_whole(axes):
    """Where one worth is unknown, so is the total; that coin is not drawn as zero."""
    charts.usd_exposure(axes, pa.table(WORTH))
    assert texts(axes) == ["1.00 USD", "3.00 USD"]
    assert axes.get_title() == "Position by coin: no total, as the worth of sol is unknown"


def test_frames_can_be_drawn_as_tables_can(axes):
    """What `lake.sql` returns goes straight into a chart."""
    frame: pd.DataFrame = DAILY.to_pandas(types_mapper=pd.ArrowDtype)
    charts.net_settlement_daily(axes, frame, "btc")
    assert len(axes.patches) == 11


def test_days_all_unknown_are_not_called_days_without_a_movement(axes):
    """Only the hatching stands there, and what it means."""
    charts.net_settlement_daily(axes, DAILY.slice(5, 1), "btc")
    assert not texts(axes) and len(hatched_places(axes)) == 1
    assert legend(axes) == ["unknown"]


def test_a_month_without_a_refund_keeps_its_place(axes):
    """September and November stand two apart, not side by side."""
    later = MONTHS.set_column(0, "month", pa.array(["2026-09", "2026-11"] * 2))
    charts.refund_ratio(axes, later)
    broken = [float(height) for height in list(axes.lines[1].get_ydata())]
    assert len(broken) == 3 and broken[1] != broken[1]


def test_ticks_are_plain_numbers():
    """No exponent and no offset, however large or small."""
    assert tick_texts([12_500_000.0]) == ["12,500,000"]
    assert tick_texts([0.000002]) == ["0.000002"]


def test_ticks_of_one_axis_have_the_same_places(axes):
    """0.005 asks for three places, so 0 and 0.01 have them too."""
    amounts(axes.yaxis)
    assert axes.yaxis.get_major_formatter().format_ticks([0.0, 0.005, 0.01]) == [
        *("0.000", "0.005", "0.010")
    ]


def test_a_picture_has_the_same_bytes_whatever_the_user_has_set():
    """No date in it, and no setting of a notebook changes it."""
    draw = partial(charts.net_settlement_daily, table=DAILY, currency="btc")
    first, second = StringIO(), StringIO()
    save_picture(first, "svg", draw, Look(), salt="a")
    with mpl.rc_context({"font.size": 20, "axes.grid": True}):
        save_picture(second, "svg", draw, Look(), salt="a")
    assert first.getvalue() == second.getvalue()
    assert "dc:date" not in first.getvalue()


def test_a_picture_is_drawn_anew_where_anything_of_it_is_another():
    """What was drawn last is kept: by its ids, title, size, coin and rows."""
    draw = partial(charts.net_settlement_daily, table=DAILY, currency="btc")
    made = [
        draw_svg("a", draw, 'Net "settlement"', Look()),
        draw_svg("b", draw, 'Net "settlement"', Look()),
        draw_svg("a", draw, "Net", Look()),
        draw_svg("a", draw, 'Net "settlement"', Look((3.55, 2.1))),
        draw_svg("a", partial(draw, currency="eth"), 'Net "settlement"', Look()),
        draw_svg("a", partial(draw, table=DAILY[:1]), 'Net "settlement"', Look()),
    ]
    assert len(set(made)) == len(made)
    assert made[0].startswith("<svg") and "&quot;settlement&quot;" in made[0]
    assert draw_svg("a", draw, 'Net "settlement"', Look()) == made[0]


# ---------- the margins of a picture hold the texts in them


SIZES = {"usd_exposure": (7.2, 3.0), "usd_year": (4.3, 2.6), "usd_bridge": (2.9, 2.6)}


def arranged(draw: Callable[[Axes], None], size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return a figure that was laid out and drawn."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE | {"text.hinting": "no_hinting"})
        figure = Figure(figsize=size, dpi=72)
        axes = figure.add_subplot()
        draw(axes)
        arrange(figure, axes, "2026-10, UTC\nSaffron & Tile")
        FigureCanvasAgg(figure).draw()
    return figure, axes


def in_sight(axis: Any) -> list[Any]:
    """Return the labels of the ticks that are drawn."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


@pytest.mark.parametrize("name", DRAWN)
def test_every_text_is_inside_the_picture_and_apart(name):
    """No label is cut off at an edge, and what stands below the axes does not overlap."""
    figure, axes = arranged(DRAWN[name], SIZES.get(name, (5.4, 2.5)))
    ticks = [*in_sight(axes.xaxis), *in_sight(axes.yaxis)]
    below: list[Any] = [*in_sight(axes.xaxis)[:1], axes.xaxis.label, *figure.texts]
    below += figure.legends
    for text in [*ticks, *axes.texts, axes.yaxis.label, *below]:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, text
    boxes = [one.get_window_extent() for one in below if one in figure.legends or one.get_text()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
