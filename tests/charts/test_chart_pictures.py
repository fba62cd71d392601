"""Charts as pictures, compared with those that were looked at and found good.

`SVC_NEW_PICTURES=1 pytest tests/charts/test_chart_pictures.py` draws them anew: look at
them before they are committed.
"""

import os
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.testing.compare import compare_images
from PIL import Image

from svc_analytics import charts
from svc_analytics.formatting.status_line import StatusLine, attach
from svc_analytics.render.picture import STYLE, Look, save_picture

PICTURES = Path(__file__).parent / "pictures"
# Root mean square over all pixels, of 255. Drawn by matplotlib 3.9 with FreeType 2.6 rather
# than by 3.11 with 2.14, these differ by up to 6; the wrong ones below by 15 and more.
TOLERANCE = 10.0
DAYS = [date(2026, 10, 1) + timedelta(days=n) for n in range(12)]


def amounts(*values: str | None) -> pa.Array:
    return pa.array([value and Decimal(value) for value in values], pa.decimal128(38, 18))


def day(month: int, number: int, hour: int = 0) -> datetime:
    return datetime(2026, month, number, hour, tzinfo=UTC)


SETTLED = ("4", "2.5", "3", "-1.5", "0", None, "6", "1", "-0.5", "2", "3.5", "5")
DAILY = pa.table(
    {
        "day": DAYS,
        "currency": ["btc"] * 12,
        "net_settlement": amounts(*SETTLED),
        "payment_fees": amounts(*["0.012"] * 6, *["0.01"] * 6),
        "gross_sales": amounts(*["1"] * 4, "0", *["1"] * 7),
    }
)
POSITION = pa.table(
    {
        "day": DAYS,
        "currency": ["btc"] * 12,
        "opening": amounts("0", "4", "6.5", "9.5", "8", "8", None, "14", "15", "14", "16", "20"),
        "movement": amounts(*SETTLED),
        "closing": amounts("4", "6.5", "9.5", "8", "8", None, "14", "15", "14", "16", "20", "25"),
    }
)
TIERS = pa.table(
    {
        "currency": ["btc"] * 3,
        "rate": [Decimal("0.015"), Decimal("0.012"), Decimal("0.01")],
        "first_at": [day(3, 1), day(5, 12), day(8, 1)],
        "last_at": [day(5, 11), day(7, 31), day(10, 31)],
        "payment_fees": amounts("0.0151", "0.012", "0.0098"),
        "gross_sales": amounts("1", "1", "1"),
    }
)
COHORTS = pa.table(
    {
        "payment_month": ["2026-08", "2026-08", "2026-08", "2026-09", "2026-09", "2026-10"],
        "refund_month": ["2026-08", "2026-09", "2026-10", "2026-09", "2026-10", "2026-10"],
        "currency": ["btc"] * 6,
        "ratio": pa.array(
            [Decimal(n) for n in ("0.02", "0.011", "0.00001", "0.03", "0.004")] + [None],
            pa.decimal128(38, 8),
        ),
    }
)
RATIOS = pa.table(
    {
        "month": ["2026-08", "2026-09", "2026-10"] * 2,
        "currency": ["btc"] * 3 + ["eth"] * 3,
        "refund_ratio_period": [
            *(Decimal("0.02"), Decimal("0.031"), Decimal("0.026")),
            *(Decimal("0.034"), None, Decimal("0.0091")),
        ],
    }
)
RATIOS = attach(RATIOS, StatusLine(first_open_month="2026-10"))
YEAR = pa.table(
    {
        "month": [*(f"{year}-{month:02}" for year in (2025, 2026) for month in (8, 9, 10))] * 2,
        "currency": ["usdt"] * 6 + ["btc"] * 6,
        "usd_net_sales": amounts("70", "60", "75", "100", "90", "120", *["40"] * 4, None, "52"),
        "usd_refunds": amounts(*["5"] * 6, *["2"] * 6),
    }
)
BRIDGE = pa.table(
    {
        "currency": ["btc", "usdt"],
        "opening_position": amounts("1", "0"),
        "usd_opening": amounts("100", None),
        "usd_net_sales": amounts("80", "40.5"),
        "usd_refunds": amounts("10", "0.5"),
        "usd_payouts_debited": amounts("60.6", "20.2"),
        "closing_position": amounts("1.1", "20"),
        "usd_exposure": amounts("115.25", "20"),
    }
)
CHANGE = pa.table(
    {
        "currency": ["btc", "eth", "usdt"],
        "old": amounts("31", "28.5", "70"),
        "new": amounts("36", "20.25", "91"),
    }
)
EXPOSURE = pa.table(
    {
        "currency": ["btc", "eth", "sol", "usdt"],
        "usd_exposure": amounts("18750.41", "-2957.3", "8637.16", "31906.48"),
    }
)
RATES = pa.table(
    {
        "day": DAYS,
        "currency": ["btc"] * 12,
        "low": amounts(*["59.8"] * 4, None, *["60.1"] * 7),
        "median": amounts("60", "60.4", "60.9", "60.7", None, *["60.6", "61.2"] * 3, "61.5"),
        "high": amounts(*["61.2"] * 4, None, *["62"] * 7),
    }
)
VERDICTS = pa.table(
    {"verdict": ["valid"] * 40 + ["valid_previous_secret"] * 22 + ["missing"] * 3 + ["malformed"]}
)
COVERAGE = pa.table(
    {
        "stream": ["payments", "payments", "payments"],
        "starts_at": [day(8, 3), day(9, 10), day(10, 30)],
        "ends_at": [day(9, 5), day(10, 30), day(10, 30, 12)],
        "state": ["complete", "complete", "provisional"],
    }
)
KINDS = pa.table(
    {
        "month": ["2026-08", "2026-09", "2026-10", "2026-08", "2026-09", "2026-10"],
        "kind": ["payment"] * 3 + ["refund"] * 3,
        "net": amounts("4", "2.5", None, "-1", "-0.5", None),
    }
)
BTC = {"currency": "btc"}
DRAWN: dict[str, Callable[[Axes], None]] = {
    "net_settlement_daily": partial(charts.net_settlement_daily, table=DAILY, currency="btc"),
    "column_chart": partial(charts.column_chart, table=KINDS, x="month", y="net", by="kind"),
    "fee_tiers": partial(charts.fee_tiers, table=TIERS),
    "refund_cohorts": partial(charts.refund_cohorts, table=COHORTS, currency="btc"),
    "refund_ratio": partial(charts.refund_ratio, table=RATIOS),
    "position": partial(charts.position, table=POSITION, currency="btc"),
    "usd_bridge": partial(charts.usd_bridge, table=BRIDGE),
    "usd_change": partial(charts.usd_change, table=CHANGE),
    "usd_exposure": partial(charts.usd_exposure, table=EXPOSURE),
    "usd_year": partial(charts.usd_year, table=YEAR, months=3),
    "usd_rates": partial(charts.usd_rates, table=RATES, currency="btc"),
    "receipt_verdicts": partial(charts.receipt_verdicts, table=VERDICTS),
    "coverage_calendar": partial(charts.coverage_calendar, table=COVERAGE, stream="payments"),
}


def picture(tmp_path: Path, draw: Callable[[Axes], None]) -> Path:
    """Draw on Axes that stand still: letters of another size would move all the rest."""
    path = tmp_path / "drawn.png"
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE | {"text.hinting": "no_hinting"})
        figure = Figure(figsize=(5.0, 2.4), dpi=72)
        axes = figure.add_axes((0.24, 0.26, 0.72, 0.6))
        draw(axes)
        axes.set_title("", loc="left")  # the sentence stands below the title, where it is laid out
        figure.savefig(path)
    return path


def difference(kept: str, drawn: Path) -> Any:
    """How a picture differs from the one that was kept; None when hardly.

    Four by four pixels become one, so that letters count less than what is drawn.
    """
    paths = [drawn.with_name("kept-coarse.png"), drawn.with_name("drawn-coarse.png")]
    for path, source in zip(paths, (PICTURES / f"{kept}.png", drawn), strict=True):
        Image.open(source).convert("RGB").reduce(4).save(path)
    return compare_images(*map(str, paths), TOLERANCE)


@pytest.mark.parametrize("name", DRAWN)
def test_a_chart_looks_as_it_did_when_it_was_found_good(name, tmp_path):
    """Another version of the drawing library may set a letter a little differently."""
    drawn = picture(tmp_path, DRAWN[name])
    if os.environ.get("SVC_NEW_PICTURES") == "1":
        shutil.copy(drawn, PICTURES / f"{name}.png")
    assert difference(name, drawn) is None


def test_every_chart_has_its_picture():
    """A new chart is looked at, too."""
    own = {name for name in charts.__all__ if name != "percent"}
    assert own == set(DRAWN) == {path.stem for path in PICTURES.glob("*.png")}


def changed(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


LARGER = changed(DAILY, "net_settlement", amounts(*SETTLED[:-1], "1"))
WITHOUT_SIGN = changed(DAILY, "net_settlement", pc.abs(DAILY["net_settlement"]))
LATER = changed(POSITION, "closing", amounts(*["4"] * 12))


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("net_settlement_daily", partial(charts.net_settlement_daily, table=LARGER, **BTC)),
        ("net_settlement_daily", partial(charts.net_settlement_daily, table=WITHOUT_SIGN, **BTC)),
        ("position", partial(charts.position, table=LATER, **BTC)),
        ("fee_tiers", partial(charts.fee_tiers, table=TIERS.slice(0, 2))),
        ("refund_cohorts", partial(charts.refund_cohorts, table=COHORTS.slice(1), **BTC)),
        ("usd_year", partial(charts.usd_year, table=YEAR.slice(0, 6), months=3)),
        ("usd_bridge", partial(charts.usd_bridge, table=BRIDGE.slice(0, 1))),
    ],
    ids=["one bar", "signs", "position", "a step", "a field", "a coin", "a coin's steps"],
)
def test_the_tolerance_lets_no_wrong_figure_through(name, draw, tmp_path):
    """What differs in a single figure differs by more."""
    assert difference(name, picture(tmp_path, draw)) is not None


def test_persian_names_are_joined_and_run_from_right_to_left(tmp_path):
    """Letters as written equal the joined forms of each, set from right to left by hand."""
    written, joined = "سلام", "\u202d\ufee1\ufefc\ufeb3\u202c"
    paths = [tmp_path / "written.png", tmp_path / "joined.png", tmp_path / "apart.png"]
    for path, text in zip(paths, (written, joined, "\u200c".join(written)), strict=True):
        save_picture(path, "png", partial(_write, text), Look((2, 1)))
    assert compare_images(str(paths[1]), str(paths[0]), 0.5) is None
    assert compare_images(str(paths[2]), str(paths[0]), 0.5) is not None


def _write(text: str, axes: Axes) -> None:
    axes.set_axis_off()
    axes.text(0.1, 0.3, text, fontsize=30)
