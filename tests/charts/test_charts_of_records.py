"""Cohorts, positions, verdicts and coverage as pictures that say what they mean in grey too."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from svc_analytics import charts

COHORTS = pa.table(
    {
        "payment_month": ["2026-09", "2026-09", "2026-10"],
        "refund_month": ["2026-09", "2026-10", "2026-10"],
        "currency": ["btc", "btc", "btc"],
        "ratio": pa.array([Decimal("0.02"), Decimal("0.005"), None], pa.decimal128(38, 8)),
    }
)
POSITION = pa.table(
    {
        "day": [date(2026, 10, 1), date(2026, 10, 2), date(2026, 10, 3)],
        "currency": ["btc"] * 3,
        "movement": [Decimal(2), Decimal(-3), None],
        "closing": [Decimal(2), Decimal(-1), None],
    }
)


def day(month: int, number: int, hour: int = 0) -> datetime:
    return datetime(2026, month, number, hour, tzinfo=UTC)


COVERAGE = pa.table(
    {
        "stream": ["payments", "payments", "payout_records"],
        "starts_at": [day(10, 3), day(11, 2), None],
        "ends_at": [day(11, 2), day(11, 2, 12), None],
        "state": ["complete", "provisional", "not_extracted"],
    }
)


@pytest.fixture
def axes() -> Axes:
    return Figure().subplots()


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def brightness(patch: Any) -> float:
    return to_rgb(patch.get_facecolor())[0]


def test_cohorts_say_their_percentages_and_darken_with_them(axes: Axes) -> None:
    """2 % is darker than 0.5 %; an unknown ratio is a question mark, not zero."""
    charts.refund_cohorts(axes, COHORTS, "btc")
    assert texts(axes) == ["2%", "0.5%", "?"]
    first, second, _ = list(axes.patches)
    assert brightness(first) < brightness(second)


def test_positions_break_where_they_are_unknown(axes: Axes) -> None:
    """Two movements, the one down hatched; the third day has no point."""
    charts.position(axes, POSITION, "btc")
    line = next(line for line in axes.lines if line.get_label() == "position")
    *known, last = [float(value) for value in list(line.get_ydata())]
    assert known == [2.0, -1.0] and last != last
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, True]


def test_a_position_that_is_all_unknown_says_so(axes: Axes) -> None:
    """A line at zero would be a figure."""
    charts.position(axes, POSITION.slice(2), "btc")
    labels = [line.get_label() for line in axes.lines]
    assert {"position unknown", "unknown"} <= set(labels)


def test_zero_is_in_sight_of_every_position(axes: Axes) -> None:
    """A position far from zero is not drawn as if it were near it."""
    high = POSITION.set_column(3, "closing", [[Decimal(1000), Decimal(1001), Decimal(1002)]])
    charts.position(axes, high, "btc")
    assert axes.get_ylim()[0] <= 0


def test_proven_receipts_are_filled_and_the_others_hatched(axes: Axes) -> None:
    """Proven come first; counts are written."""
    charts.receipt_verdicts(axes, pa.table({"verdict": ["missing", "valid", "missing", "valid"]}))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["valid", "missing"]
    assert texts(axes) == ["2", "2"]
    assert [bool(bar.get_hatch()) for bar in axes.patches] == [False, True]


def test_a_calendar_tells_read_days_from_those_read_in_part_or_not(axes: Axes) -> None:
    """October 3 to November 1 is complete, November 2 in part; 2 + 28 days are not."""
    charts.coverage_calendar(axes, COVERAGE, "payments", months=2)
    hatches = [bool(bar.get_hatch()) for bar in axes.patches]
    assert (hatches.count(False), hatches.count(True)) == (30, 1)
    assert len(list(axes.lines[0].get_xdata())) == 2 + 28


def test_a_calendars_days_begin_in_the_chosen_zone(axes: Axes) -> None:
    """Read from midnight UTC, the first day of Tehran began three and a half hours before."""
    charts.coverage_calendar(axes, COVERAGE, "payments", months=2, zone="Asia/Tehran")
    hatches = [bool(bar.get_hatch()) for bar in axes.patches]
    assert (hatches.count(False), hatches.count(True)) == (29, 2)
    assert axes.get_xlabel().startswith("day (Asia/Tehran)")


TIERS = pa.table(
    {
        "currency": ["btc"] * 3,
        "rate": [Decimal("0.015"), Decimal("0.015"), Decimal("0.01")],
        "first_at": [day(8, 1), day(9, 1), day(10, 1)],
        "last_at": [day(8, 31), day(9, 30), day(10, 31)],
        "payment_fees": [Decimal("0.015"), Decimal("0.03"), Decimal("0.01")],
        "gross_sales": [Decimal(1), Decimal(2), Decimal(1)],
    }
)


def test_a_tier_is_named_where_it_begins(axes: Axes) -> None:
    """1.5 % for two months, then 1 %; zero is in sight."""
    charts.fee_tiers(axes, TIERS, "btc")
    assert texts(axes) == ["1.5%", "1%"] and axes.get_ylim()[0] == 0


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda axes: charts.refund_cohorts(axes, COHORTS, "eth"), "no refund"),
        (lambda axes: charts.position(axes, POSITION, "eth"), "no movement"),
        (lambda axes: charts.fee_tiers(axes, TIERS, "eth"), "nothing sold"),
        (lambda axes: charts.receipt_verdicts(axes, COHORTS.slice(0, 0)), "no receipt"),
        (lambda axes: charts.coverage_calendar(axes, COVERAGE, "payout_records"), "never read"),
    ],
)
def test_a_chart_without_rows_says_so(axes: Axes, draw: Any, said: str) -> None:
    """An empty frame of axes would look like zero."""
    draw(axes)
    assert said in texts(axes)
