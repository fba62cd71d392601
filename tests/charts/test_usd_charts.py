"""A year and a bridge in USD: exact steps, nothing unknown as zero, a sentence of each."""

from typing import Any

import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svc_analytics import charts
from svc_analytics.charts.bridge import bridge_steps
from svc_analytics.formatting.standing import Standing, attach
from tests.charts.test_chart_pictures import BRIDGE, YEAR, amounts, changed
from tests.support.artists import hatched_places


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def of_coins(month: str, **sales: str | None) -> pa.Table:
    """What coins sold in a month, in USD, without a refund."""
    return pa.table(
        {
            "month": [month] * len(sales),
            "currency": list(sales),
            "usd_net_sales": amounts(*sales.values()),
            "usd_refunds": amounts(*["0"] * len(sales)),
        }
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
    assert axes.texts[0].get_text() == "80"
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
    charts.usd_year(axes, attach(table, Standing(first_open_month="2026-11")))
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
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["100.00", "+120.50", "-10.50", "-80.80", "+6.05", "135.25"]
    assert told(axes).startswith("Payouts took 73% of what sales left after refunds. The position")
    assert told(axes).endswith("is worth 35.25 USD more than at the opening.")


@pytest.mark.parametrize("name", ["usd_opening", "usd_refunds", "usd_exposure"])
def test_a_bridge_with_an_unknown_end_is_not_drawn(axes, name):
    """A step that is unknown is none of zero."""
    charts.usd_bridge(axes, changed(BRIDGE, name, amounts(None, "1")))
    assert not axes.patches
    assert [text.get_text() for text in axes.texts] == ["unknown: a value in USD is missing"]
