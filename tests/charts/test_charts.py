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
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure

from svc_analytics import ConfigError, charts, draw
from svc_analytics.charts.bridge import bridge_steps
from svc_analytics.charts.drawing import BLUE, amount_axis
from svc_analytics.charts.ticks import WordedAxes, tick_texts
from svc_analytics.formatting.status_line import StatusLine, attach
from svc_analytics.language.catalogue import Language
from svc_analytics.render.picture import STYLE, Look, arrange, draw_svg, save_picture, thin_out
from tests.charts.test_chart_pictures import (
    BRIDGE,
    COHORTS,
    DAILY,
    DRAWN,
    POSITION,
    YEAR,
    amounts,
    changed,
    day,
)
from tests.support.artists import hatched_places, legend, table_of, texts

MONTHS = table_of(
    month=["2026-09", "2026-10", "2026-09", "2026-10"],
    currency=["btc", "btc", "eth", "eth"],
    refund_ratio_period=pa.array(
        [Decimal("0.0127"), None, Decimal("0.5"), Decimal("1.2")], pa.decimal128(38, 8)
    ),
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
    charts.refund_ratio(axes, attach(MONTHS, StatusLine(first_open_month="2026-10")))
    (shade,) = [patch for patch in axes.patches if patch.get_label() == "running month"]
    assert (shade.get_x(), shade.get_width()) == (0.5, 1.0)
    assert "running month" in legend(axes)
    assert axes.get_title("left") == "In September 2026 the share is highest in eth: 50.00%."


def test_a_day_that_is_not_over_is_shaded(axes):
    """The twelfth day was not read to its end."""
    charts.net_settlement_daily(axes, attach(DAILY, StatusLine(first_open_day="2026-10-12")), "btc")
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
    amount_axis(axes.yaxis)
    texts = axes.yaxis.get_major_formatter().format_ticks([0.0, 0.005, 0.01])
    assert texts == ["0.000", "0.005", "0.010"]


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


LARGE = pa.table(
    {name: amounts("170309.87") if name != "currency" else ["usdt"] for name in BRIDGE.column_names}
)
LAID_OUT = DRAWN | {"a large bridge": partial(charts.usd_bridge, table=LARGE)}
NARROW = (2.9, 2.6)
SIZES = {"usd_exposure": (7.2, 3.0), "usd_year": (4.3, 2.6)}
SIZES |= {"usd_bridge": NARROW, "a large bridge": NARROW}


def arranged(draw: Callable[[Axes], None], size: tuple[float, float], code: str) -> Axes:
    """Return axes that were laid out in a language and drawn."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure, language = Figure(figsize=size, dpi=72), Language(code)
        options: Any = {"axes_class": WordedAxes, "language": language}
        axes = figure.add_subplot(**options)
        draw(axes)
        if language.has_jalali:
            thin_out(axes)
        arrange(figure, axes, "2026-10, UTC\nSaffron & Tile")
        FigureCanvasAgg(figure).draw()
    return axes


def in_sight(axis: Any) -> list[Any]:
    """Return the labels of the ticks that are drawn."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


@pytest.mark.parametrize("code", ["en", "fa", "en+fa"])
@pytest.mark.parametrize("name", LAID_OUT)
def test_every_text_is_inside_the_picture_and_apart(name, code):
    """No label is cut off at an edge, and what stands below the axes does not overlap."""
    axes = arranged(LAID_OUT[name], SIZES.get(name, (5.4, 2.5)), code)
    figure: Any = axes.get_figure(root=True)
    ticks = [*in_sight(axes.xaxis), *in_sight(axes.yaxis)]
    below: list[Any] = [*in_sight(axes.xaxis)[:1], axes.xaxis.label, *figure.texts]
    below += figure.legends
    for text in [*ticks, *axes.texts, axes.yaxis.label, *below]:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.y0 >= -1, text
        assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1, text
    boxes = [one.get_window_extent() for one in below if one in figure.legends or one.get_text()]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def at(number: int) -> int:
    """Return the place of a day of October."""
    return date(2026, 10, number).toordinal()


COVERAGE = table_of(
    stream=["payments", "payments", "payout_records"],
    starts_at=[day(10, 3), day(11, 2), None],
    ends_at=[day(11, 2), day(11, 2, 12), None],
    state=["complete", "provisional", "not_extracted"],
)


def brightness(patch: Any) -> float:
    return to_rgb(patch.get_facecolor())[0]


def test_cohorts_say_their_percentages_and_darken_with_them(axes):
    """2 % is darker than 1.1 %; an unknown ratio is a question mark, not zero."""
    charts.refund_cohorts(axes, COHORTS, "btc")
    assert texts(axes) == ["2.00%", "1.10%", "<0.01%", "3.00%", "0.40%", "?"]
    assert brightness(axes.patches[0]) < brightness(axes.patches[1])
    assert [bool(field.get_hatch()) for field in axes.patches] == [*[False] * 5, True]


def test_a_running_month_of_cohorts_says_so(axes):
    """October is not over: neither its payments nor its refunds are whole."""
    charts.refund_cohorts(axes, attach(COHORTS, StatusLine(first_open_month="2026-10")), "btc")
    across, down = axes.get_xticklabels(), axes.get_yticklabels()
    assert [label.get_text() for label in down][1:] == ["2026-09", "2026-10 (running)"]
    assert [label.get_text() for label in across][1:] == ["2026-09", "2026-10\n(running)"]


def test_the_key_says_what_is_darkest(axes):
    """3 % of btc, whatever another coin has: each coin's shades are its own."""
    eth = COHORTS.slice(0, 1).set_column(2, "currency", pa.array(["eth"]))
    eth = eth.set_column(3, "ratio", pa.array([Decimal("0.04")], pa.decimal128(38, 8)))
    charts.refund_cohorts(axes, pa.concat_tables([COHORTS, eth]), "btc")
    assert axes.patches[3].get_facecolor() == to_rgba(BLUE)
    assert axes.get_xlabel().endswith("white 0%, darkest 3.00%")


def test_positions_break_where_they_are_unknown(axes):
    """Of seven days two movements are down and hatched; the sixth day has no point."""
    charts.position(axes, POSITION.slice(2, 7), "btc")
    line = next(line for line in axes.lines if line.get_label() == "position at the day's end")
    places = [float(value) for value in list(line.get_ydata())]
    assert places[:3] == [9.5, 8, 8] and places[3] != places[3] and places[4:] == [14, 15, 14]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [*[False] * 4, *[True] * 2]


def test_a_position_shows_where_it_began(axes):
    """A diamond before the second day at 4 btc; the legend names every kind of mark."""
    charts.position(axes, POSITION.slice(1), "btc")
    opening = next(line for line in axes.lines if line.get_label() == "opening position")
    assert list(opening.get_ydata()) == [4.0]
    assert float(next(iter(opening.get_xdata()))) < at(2)
    assert {*legend(axes)} == {
        *("position at the day's end", "opening position"),
        *("above zero", "below zero", "unknown"),
    }


def test_a_position_without_an_opening_is_drawn_without_its_point(axes):
    """A table of one's own need not have that column."""
    charts.position(axes, POSITION.drop_columns(["opening"]), "btc")
    assert "opening position" not in legend(axes)


def test_a_position_that_is_all_unknown_says_so(axes):
    """A line at zero would be a figure."""
    charts.position(axes, POSITION.slice(5, 1), "btc")
    labels = [line.get_label() for line in axes.lines]
    assert "position unknown" in labels and hatched_places(axes) == [at(6)]


def test_zero_is_in_sight_of_every_position(axes):
    """A position far from zero is not drawn as if it were near it."""
    charts.position(axes, changed(POSITION, "closing", amounts(*["1000"] * 12)), "btc")
    assert axes.get_ylim()[0] <= 0


def test_proven_receipts_are_filled_and_the_others_hatched(axes):
    """Proven come first; counts are written."""
    charts.receipt_verdicts(axes, pa.table({"verdict": ["missing", "valid", "missing", "valid"]}))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["valid", "missing"]
    assert texts(axes) == ["2", "2"] and {*legend(axes)} == {"proven", "not proven"}
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, True]


def test_a_calendar_tells_read_days_from_those_read_in_part_or_not(axes):
    """October 3 to November 1 is complete, November 2 in part, two days of October are not."""
    charts.coverage_calendar(axes, COVERAGE, "payments", months=2)
    hatches = [bool(bar.get_hatch()) for bar in axes.patches]
    assert (hatches.count(False), hatches.count(True)) == (30, 1)
    assert list(axes.lines[0].get_xdata()) == [1, 2]
    assert {*legend(axes)} == {"complete", "in part", "not read"}


def test_days_after_the_newest_read_are_blank(axes):
    """Payments were read to November 2, payouts to November 4: two days are crossed, 26 blank."""
    later = {"stream": ["payout_records"], "starts_at": [day(10, 1)], "ends_at": [day(11, 5)]}
    both = pa.concat_tables([COVERAGE.slice(0, 2), pa.table(later | {"state": ["complete"]})])
    charts.coverage_calendar(axes, both, "payments", months=1)
    assert list(axes.lines[0].get_xdata()) == [3, 4]
    assert axes.get_xlabel() == "day (UTC); days after the newest read are blank"


def test_a_calendars_days_begin_in_the_chosen_zone(axes):
    """Read from midnight UTC, the first day of Tehran began three and a half hours before."""
    charts.coverage_calendar(axes, COVERAGE, "payments", months=2, zone="Asia/Tehran")
    hatches = [bool(bar.get_hatch()) for bar in axes.patches]
    assert (hatches.count(False), hatches.count(True)) == (29, 2)
    assert axes.get_xlabel().startswith("day (Asia/Tehran)")


RATES = table_of(
    day=[date(2026, 10, 1), date(2026, 10, 2), date(2026, 10, 4)],
    currency=["btc"] * 3,
    low=[Decimal(59), None, Decimal(61)],
    median=[Decimal(60), None, Decimal(62)],
    high=[Decimal(64), None, Decimal(62)],
)


def test_rates_are_a_median_in_a_band_that_breaks_where_none_is_known(axes):
    """Day 2 has no rate and is hatched, day 3 no movement: neither is drawn as zero."""
    charts.usd_rates(axes, RATES, "btc")
    band, line = (patch.get_data() for patch in axes.patches)
    places = [None if rate != rate else rate for rate in line.values]
    assert places == [60.0, None, None, 62.0] and {*legend(axes)} == {
        *("lowest to highest", "median of the day", "unknown")
    }
    assert hatched_places(axes) == [at(2)]
    assert (band.values[0], band.baseline[0], band.values[3], band.baseline[3]) == (64, 59, 62, 61)


def test_a_rate_near_one_is_told_with_four_places(axes):
    """With two, a stable coin would never move."""
    charts.usd_rates(axes, RATES, "btc")
    assert axes.get_title("left") == "From 60.0000 to 62.0000 USD per btc, 3% higher."


def test_a_coin_without_a_rate_is_unknown(axes):
    """It moved, but no record of it has a USD value."""
    charts.usd_rates(axes, RATES.slice(1, 1), "btc")
    assert texts(axes) == ["unknown: no record of this coin has a USD value"]


TIERS = table_of(
    currency=["btc"] * 3,
    rate=[Decimal("0.015"), Decimal("0.015"), Decimal("0.01")],
    first_at=[day(8, 1), day(9, 1), day(10, 1)],
    last_at=[day(8, 31), day(9, 30), day(10, 31)],
    payment_fees=[Decimal("0.015"), Decimal("0.03"), Decimal("0.01")],
    gross_sales=[Decimal(1), Decimal(2), Decimal(1)],
)


def test_the_running_month_is_shaded_behind_the_tiers(axes):
    """From 1 October to the newest sale; where no month is open nothing is shaded."""
    charts.fee_tiers(axes, attach(TIERS, StatusLine(first_open_month="2026-10")))
    assert "running month" in axes.get_legend_handles_labels()[1]
    whole = Figure().subplots()
    charts.fee_tiers(whole, TIERS)
    assert "running month" not in whole.get_legend_handles_labels()[1]


def test_a_tier_is_named_where_it_begins(axes):
    """1.5 % for two months, then 1 %; zero is in sight."""
    charts.fee_tiers(axes, TIERS)
    assert texts(axes) == ["1.50%", "1.00%"] and axes.get_ylim()[0] == 0


def test_coins_of_the_same_tiers_have_one_line(axes):
    """eth has those of btc; sol began with 1 %, so it has its own."""
    eth = TIERS.set_column(0, "currency", pa.array(["eth"] * 3))
    sol = TIERS.slice(2).set_column(0, "currency", pa.array(["sol"]))
    charts.fee_tiers(axes, pa.concat_tables([TIERS, eth]))
    assert [line.get_label() for line in axes.lines] == ["All coins"]
    assert axes.get_title("left").startswith("The fee rate is 1.00% since 1 Oct 2026; before")
    apart = Figure().subplots()
    charts.fee_tiers(apart, pa.concat_tables([TIERS, eth, sol]))
    assert [line.get_label() for line in apart.lines] == ["btc, eth", "sol"]


WITHOUT_ROWS = [
    (lambda axes: charts.refund_cohorts(axes, COHORTS, "eth"), "no refund"),
    (lambda axes: charts.position(axes, POSITION, "eth"), "no movement"),
    (lambda axes: charts.net_settlement_daily(axes, DAILY, "eth"), "no movement"),
    (lambda axes: charts.fee_tiers(axes, TIERS.slice(0, 0)), "nothing sold"),
    (lambda axes: charts.usd_rates(axes, RATES, "eth"), "no movement"),
    (lambda axes: charts.receipt_verdicts(axes, COHORTS.slice(0, 0)), "no receipt"),
    (lambda axes: charts.coverage_calendar(axes, COVERAGE, "payout_records"), "never read"),
]


@pytest.mark.parametrize(("draw", "said"), WITHOUT_ROWS)
def test_a_chart_without_rows_says_so(axes, draw, said):
    """An empty frame of axes would look like zero."""
    draw(axes)
    assert said in texts(axes)


def of_coins(month: str, **sales: str | None) -> pa.Table:
    """What coins sold in a month, in USD, without a refund."""
    return table_of(
        month=[month] * len(sales),
        currency=list(sales),
        usd_net_sales=amounts(*sales.values()),
        usd_refunds=amounts(*["0"] * len(sales)),
    )


def stacks(axes: Axes) -> list[tuple[float, float]]:
    """Where each part of a stack begins, and how high it is."""
    bars: list[Any] = list(axes.patches)
    return [(bar.get_y(), bar.get_height()) for bar in bars]


def told(axes: Axes) -> str:
    return axes.get_title("left")


def test_coins_stand_on_one_another_the_largest_at_the_foot(axes):
    """60 of usdt, on it 30 of btc; 10 of eth were refunded more than sold, so they hang down."""
    charts.usd_year(axes, of_coins("2026-10", btc="30", usdt="60", eth="-10"))
    assert stacks(axes) == [(0, 60), (60, 30), (0, -10)]
    assert texts(axes)[0] == "80"
    assert told(axes) == "In October 2026, usdt is 75% of it."


def test_the_year_before_is_a_line_across_the_stacks(axes):
    """August and October 2025 were 38 + 65 and 38 + 70 USD; this October is 115 + 50."""
    charts.usd_year(axes, YEAR, months=3)
    [lines] = [each for each in axes.collections if each.get_label() == "the year before"]
    paths: list[Any] = list(lines.get_paths())
    assert [path.vertices[0][1] for path in paths] == [103, 93, 108]
    assert told(axes).endswith("It is 53% above October 2025.")


def test_a_month_with_an_unknown_coin_has_no_total(axes):
    """September of btc is unknown: hatched, and October is compared with August alone."""
    charts.usd_year(axes, YEAR, months=3)
    assert hatched_places(axes) == [1.0]
    assert told(axes).startswith("October 2026 is the highest of 2 months; usdt is 70% of it.")


def test_records_without_a_value_are_counted_and_told(axes):
    """Of 5 payments one has no value; a coin without any value adds nothing, and is no unknown."""
    table = of_coins("2026-10", btc="30", sol=None)
    counts = {"payments_count": [3, 2], "usd_gross_priced_count": [2, 0]}
    counts |= {"refunds_count": [0, 0], "usd_refunds_priced_count": [0, 0]}
    for name, values in counts.items():
        table = table.append_column(name, pa.array(values))
    charts.usd_year(axes, table)
    assert not hatched_places(axes)
    assert told(axes).endswith("3 of 5 records have no USD value and add nothing.")


def test_a_running_month_is_shaded_and_not_judged(axes):
    """Ten days of November are no lowest month."""
    months = [of_coins(f"2026-{n}", btc=sold) for n, sold in ((9, "5"), (10, "6"), (11, "1"))]
    table = pa.concat_tables(months).set_column(
        0, "month", pa.array(["2026-09", "2026-10", "2026-11"])
    )
    charts.usd_year(axes, attach(table, StatusLine(first_open_month="2026-11")))
    assert "running month" in axes.get_legend_handles_labels()[1]
    assert told(axes) == "October 2026 is the highest of 2 months."


def test_the_steps_of_the_bridge_add_up_to_the_cent():
    """100 + 120.50 - 10.50 - 80.80 is 129.20; the closing is 135.25, so the rates gave 6.05.

    usdt opened with nothing, which is worth nothing whatever its rate was.
    """
    steps = bridge_steps(BRIDGE.to_pylist())
    amounts_of = [str(step.amount) for step in steps]
    assert amounts_of == ["100.00", "120.50", "-10.50", "-80.80", "6.05", "135.25"]
    assert [step.end for step in steps[:-1]] == [step.start for step in steps[1:-1]] + [
        steps[-1].end
    ]


def test_amounts_on_the_bridge_are_those_of_its_steps(axes):
    """With their signs; what is not known exactly is drawn nowhere."""
    charts.usd_bridge(axes, BRIDGE)
    assert texts(axes) == ["100.00", "+120.50", "-10.50", "-80.80", "+6.05", "135.25"]
    assert told(axes).startswith("Payouts took 73% of what sales left after refunds. The position")
    assert told(axes).endswith("is worth 35.25 USD more than at the opening.")


@pytest.mark.parametrize("name", ["usd_opening", "usd_refunds", "usd_exposure"])
def test_a_bridge_with_an_unknown_end_is_not_drawn(axes, name):
    """A step that is unknown is none of zero."""
    charts.usd_bridge(axes, changed(BRIDGE, name, amounts(None, "1")))
    assert not axes.patches
    assert texts(axes) == ["unknown: a value in USD is missing"]


LONG = Decimal("0.123456789012345678")
TABLE = table_of(
    month=["2026-08", "2026-10", "2026-11"],
    currency=["btc", "btc", "eth"],
    net=pa.array([LONG, None, Decimal(-2)], pa.decimal128(38, 18)),
    count=[1200, 3, 4],
)


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
    assert {*legend(axes)} == {"btc", "eth"}
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, False, True]
    assert [round(bar.get_width(), 2) for bar in axes.patches] == [0.4, 0.4, 0.4]


def test_lines_of_days_keep_their_distance_and_the_running_day_is_shaded(axes):
    """The 1st and the 4th stand three apart; the 4th is not over."""
    days = table_of(day=[date(2026, 10, 4), date(2026, 10, 1)], net=[Decimal(2), Decimal(1)])
    status_line = StatusLine(first_open_day="2026-10-04")
    charts.column_chart(axes, attach(days, status_line), "day", "net", kind="line")
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


NOT_DRAWN = [
    ({"x": "moth", "y": "net"}, "there is no column 'moth'; there are month, currency, net"),
    ({"x": "month", "y": "net", "kind": "pie"}, "write kind='bar' or kind='line'"),
    ({"x": "month", "y": "currency"}, "the column 'currency' holds 'btc', which is no number"),
    ({"x": "currency", "y": "count"}, "2 rows are of btc: add them up in the SQL"),
    ({"x": "month"}, "name the columns x and y"),
    ({"x": "month", "y": "net", "zone": "UTC"}, "name the columns x and y"),
    ({}, "or a frame with x= and y="),
]


@pytest.mark.parametrize(("given", "error"), NOT_DRAWN)
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
