"""Charts as pictures, compared with those that were looked at and found good.

`SVC_NEW_PICTURES=1 pytest tests/charts/test_chart_pictures.py` draws them anew: look at
them before they are committed.
"""

import os
import re
import shutil
import tomllib
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
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

from svc_analytics import charts, draw
from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.charts.words import CALENDARS_NAMED
from svc_analytics.formatting.status_line import StatusLine, attach
from svc_analytics.language import catalogue
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import PLACE, Message, translated
from svc_analytics.notebook.pictures import _caption
from svc_analytics.render.picture import STYLE, Look, _broken, draw_svg, save_picture, thin_out
from tests.support.artists import all_texts, legend, table_of, texts

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
DAILY = table_of(
    day=DAYS,
    currency=["btc"] * 12,
    net_settlement=amounts(*SETTLED),
    payment_fees=amounts(*["0.012"] * 6, *["0.01"] * 6),
    gross_sales=amounts(*["1"] * 4, "0", *["1"] * 7),
)
POSITION = table_of(
    day=DAYS,
    currency=["btc"] * 12,
    opening=amounts("0", "4", "6.5", "9.5", "8", "8", None, "14", "15", "14", "16", "20"),
    movement=amounts(*SETTLED),
    closing=amounts("4", "6.5", "9.5", "8", "8", None, "14", "15", "14", "16", "20", "25"),
)
TIERS = table_of(
    currency=["btc"] * 3,
    rate=[Decimal("0.015"), Decimal("0.012"), Decimal("0.01")],
    first_at=[day(3, 1), day(5, 12), day(8, 1)],
    last_at=[day(5, 11), day(7, 31), day(10, 31)],
    payment_fees=amounts("0.0151", "0.012", "0.0098"),
    gross_sales=amounts("1", "1", "1"),
)
COHORTS = table_of(
    payment_month=["2026-08", "2026-08", "2026-08", "2026-09", "2026-09", "2026-10"],
    refund_month=["2026-08", "2026-09", "2026-10", "2026-09", "2026-10", "2026-10"],
    currency=["btc"] * 6,
    ratio=pa.array(
        [Decimal(n) for n in ("0.02", "0.011", "0.00001", "0.03", "0.004")] + [None],
        pa.decimal128(38, 8),
    ),
)
RATIOS = table_of(
    month=["2026-08", "2026-09", "2026-10"] * 2,
    currency=["btc"] * 3 + ["eth"] * 3,
    refund_ratio_period=[
        *(Decimal("0.02"), Decimal("0.031"), Decimal("0.026")),
        *(Decimal("0.034"), None, Decimal("0.0091")),
    ],
)
RATIOS = attach(RATIOS, StatusLine(first_open_month="2026-10"))
YEAR = table_of(
    month=[*(f"{year}-{month:02}" for year in (2025, 2026) for month in (8, 9, 10))] * 2,
    currency=["usdt"] * 6 + ["btc"] * 6,
    usd_net_sales=amounts("70", "60", "75", "100", "90", "120", *["40"] * 4, None, "52"),
    usd_refunds=amounts(*["5"] * 6, *["2"] * 6),
)
BRIDGE = table_of(
    currency=["btc", "usdt"],
    opening_position=amounts("1", "0"),
    usd_opening=amounts("100", None),
    usd_net_sales=amounts("80", "40.5"),
    usd_refunds=amounts("10", "0.5"),
    usd_payouts_debited=amounts("60.6", "20.2"),
    closing_position=amounts("1.1", "20"),
    usd_exposure=amounts("115.25", "20"),
)
CHANGE = table_of(
    currency=["btc", "eth", "usdt"],
    old=amounts("31", "28.5", "70"),
    new=amounts("36", "20.25", "91"),
)
EXPOSURE = table_of(
    currency=["btc", "eth", "sol", "usdt"],
    usd_exposure=amounts("18750.41", "-2957.3", "8637.16", "31906.48"),
)
RATES = table_of(
    day=DAYS,
    currency=["btc"] * 12,
    low=amounts(*["59.8"] * 4, None, *["60.1"] * 7),
    median=amounts("60", "60.4", "60.9", "60.7", None, *["60.6", "61.2"] * 3, "61.5"),
    high=amounts(*["61.2"] * 4, None, *["62"] * 7),
)
VERDICTS = table_of(
    verdict=["valid"] * 40 + ["valid_previous_secret"] * 22 + ["missing"] * 3 + ["malformed"]
)
COVERAGE = table_of(
    stream=["payments", "payments", "payments"],
    starts_at=[day(8, 3), day(9, 10), day(10, 30)],
    ends_at=[day(9, 5), day(10, 30), day(10, 30, 12)],
    state=["complete", "complete", "provisional"],
)
KINDS = table_of(
    month=["2026-08", "2026-09", "2026-10", "2026-08", "2026-09", "2026-10"],
    kind=["payment"] * 3 + ["refund"] * 3,
    net=amounts("4", "2.5", None, "-1", "-0.5", None),
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


WRONG = {
    "one bar": partial(charts.net_settlement_daily, table=LARGER, **BTC),
    "signs": partial(charts.net_settlement_daily, table=WITHOUT_SIGN, **BTC),
    "position": partial(charts.position, table=LATER, **BTC),
    "a step": partial(charts.fee_tiers, table=TIERS.slice(0, 2)),
    "a field": partial(charts.refund_cohorts, table=COHORTS.slice(1), **BTC),
    "a coin": partial(charts.usd_year, table=YEAR.slice(0, 6), months=3),
    "a coin's steps": partial(charts.usd_bridge, table=BRIDGE.slice(0, 1)),
}


@pytest.mark.parametrize("draw", WRONG.values(), ids=WRONG.keys())
def test_the_tolerance_lets_no_wrong_figure_through(draw, tmp_path):
    """What differs in a single figure differs by more."""
    assert difference(draw.func.__name__, picture(tmp_path, draw)) is not None


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


# ---------- charts in Persian: every text of ours is translated, and numbers keep their digits


RUNNING = StatusLine("2026-10, UTC", first_open_day="2026-10-12", first_open_month="2026-10")
FAR = DAILY.set_column(2, "net_settlement", pa.array([60_000 + n for n in range(12)]))
UNPRICED = RATES.set_column(3, "median", pa.nulls(12, pa.decimal128(38, 18)))
MANY = table_of(
    month=["2026-10"] * 7,
    currency=[f"c{number}" for number in range(7)],
    usd_net_sales=amounts(*"7654321"),
    usd_refunds=amounts(*["0"] * 7),
)
TWO_TIERS = pa.concat_tables([TIERS, TIERS.set_column(0, "currency", pa.array(["eth"] * 3))])
NOTHING_CHARGED = RATIOS.set_column(2, "refund_ratio_period", amounts(*[None] * 6))
EVERY_VERDICT = (
    *("valid", "proven_by_record", "bad_signature", "facts_mismatch", "unknown_payment"),
    "not_checked",
)
# Other states of the charts: empty, unknown, running, without a price.
STATES: dict[str, Callable[[Axes], None]] = {
    "no tier": partial(charts.fee_tiers, table=TIERS.slice(0, 0)),
    "no exposure": partial(charts.usd_exposure, table=EXPOSURE.slice(0, 0)),
    "never read": partial(charts.coverage_calendar, table=COVERAGE, stream="payout_records"),
    "no movement": partial(charts.net_settlement_daily, table=DAILY, currency="eth"),
    "no rate": partial(charts.usd_rates, table=RATES, currency="eth"),
    "unpriced": partial(charts.usd_rates, table=UNPRICED, **BTC),
    "no refund": partial(charts.refund_cohorts, table=COHORTS, currency="eth"),
    "no receipt": partial(
        charts.receipt_verdicts, table=pa.table({"verdict": pa.array([], "string")})
    ),
    "all verdicts": partial(charts.receipt_verdicts, table=pa.table({"verdict": EVERY_VERDICT})),
    "no year": partial(charts.usd_year, table=YEAR.slice(0, 0)),
    "a running year": partial(charts.usd_year, table=attach(YEAR, RUNNING)),
    "many coins": partial(charts.usd_year, table=MANY),
    "no bridge": partial(charts.usd_bridge, table=BRIDGE.slice(0, 0)),
    "an unknown bridge": partial(
        charts.usd_bridge, table=BRIDGE.set_column(2, "usd_opening", amounts(None, None))
    ),
    "nothing charged": partial(charts.refund_ratio, table=NOTHING_CHARGED),
    "running day": partial(charts.net_settlement_daily, table=attach(DAILY, RUNNING), **BTC),
    "running tiers": partial(charts.fee_tiers, table=attach(TWO_TIERS, RUNNING)),
    "unknown worth": partial(
        charts.usd_exposure,
        table=pa.table({"currency": ["btc", "eth"], "usd_exposure": amounts("1", None)}),
    ),
    "worth of one": partial(charts.usd_exposure, table=EXPOSURE.slice(0, 1)),
    "no worth": partial(
        charts.usd_exposure, table=pa.table({"currency": ["btc"], "usd_exposure": amounts(None)})
    ),
    "position unknown": partial(
        charts.position, table=POSITION.set_column(4, "closing", amounts(*[None] * 12)), **BTC
    ),
    "no rows": partial(charts.column_chart, table=DAILY.slice(0, 0), x="day", y="net_settlement"),
    "far from zero": partial(
        charts.column_chart, table=FAR, x="day", y="net_settlement", kind="line", **BTC
    ),
}
SECTIONS = tomllib.loads((Path(catalogue.__file__).parent / "fa.toml").read_text("utf-8"))
LATIN = str.maketrans("۰۱۲۳۴۵۶۷۸۹", "0123456789")
BRACKETS = str.maketrans("\u2066\u2069", "<>")
OTHERS = {"btc", "eth", "sol", "usdt", "Net by month", *MANY["currency"].to_pylist()}


def drawn(draw: Callable[[Axes], None], language: Language, width: float = 5.4) -> Axes:
    """Return axes whose texts are in a language."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 2.5))
        options: Any = {"axes_class": WordedAxes, "language": language}
        axes = figure.add_subplot(**options)
        draw(axes)
        if language.has_jalali:
            thin_out(axes)
    return axes


@pytest.mark.parametrize("name", [*DRAWN, *STATES])
def test_every_text_of_ours_is_translated(name):
    """No Latin letter is left but those of names and codes."""
    words = {line for line in english_lines(name) if any(letter.isalpha() for letter in line)}
    assert words & {*lines_of((DRAWN | STATES)[name], Language("fa"))} <= OTHERS


def test_every_text_of_the_catalogue_for_charts_is_drawn():
    """No entry is left behind when a chart is reworded: each stands in some picture."""
    texts = [text for name in DRAWN | STATES for text in english_lines(name)]
    texts += [CALENDARS_NAMED]
    unused = {
        english
        for english in SECTIONS["charts"]
        if not any(map(with_any_values(english).fullmatch, texts))
    }
    assert unused == set()


@cache
def english_lines(name: str) -> list[str]:
    return lines_of((DRAWN | STATES)[name])


def with_any_values(english: str) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, PLACE.split(english)[::2])))


def lines_of(chart: Callable[[Axes], None], language: Language = ENGLISH) -> list[str]:
    """Return the lines of a chart's texts in a language."""
    texts = all_texts(drawn(chart, language))
    return [line for text in texts for line in text.split("\n")]


def test_days_stand_in_both_calendars():
    """The Jalali day, and below it the Gregorian one; the line below the axis says which."""
    axes = drawn(DRAWN["net_settlement_daily"], Language("fa", "fa"))
    assert ticks(axes.xaxis)[1].translate(LATIN) == "07-11\n(10-03)"
    assert not set("0123456789") & set("".join(ticks(axes.xaxis)))
    assert axes.get_xlabel() == "شمسی (میلادی)"
    years = drawn(DRAWN["fee_tiers"], Language("fa"))
    assert ticks(years.xaxis)[0] == "1404-12-10\n(2026-03-01)"


def test_months_stand_with_those_of_the_other_calendar():
    """October 2026 lies in Mehr and Aban 1405; of an axis of rows both stand in one line."""
    axes = drawn(DRAWN["refund_cohorts"], Language("fa"))
    assert ticks(axes.xaxis)[-1] == "<2026-10>\n(<1405-07/08>)"
    assert ticks(axes.yaxis)[-1] == "<2026-10> (<1405-07/08>)"


def test_no_more_days_are_written_than_fit():
    """In a picture half as wide every other label is left out."""
    narrow, wide = (
        drawn(DRAWN["net_settlement_daily"], Language("fa"), width) for width in (2.4, 5.4)
    )
    assert len(narrow.get_xticks()) * 2 == len(wide.get_xticks()) == 6


def ticks(axis: Any) -> list[str]:
    """Return the labels of the ticks, the marks of isolation as brackets."""
    texts = axis.get_major_formatter().format_ticks(axis.get_major_locator()())
    return [text.translate(BRACKETS) for text in texts]


TITLES = {
    "a figure": ("charged_total", "کل دریافتی از مشتریان به تفکیک روز، <btc>"),
    "a column of one's own": ("shoes_sold", "<Shoes sold> به تفکیک روز، <btc>"),
}


@pytest.mark.parametrize(("name", "title"), TITLES.values(), ids=TITLES.keys())
def test_the_title_of_a_frame_of_ones_own_is_translated(name, title):
    """A column that is nobody's but the user's keeps its name, isolated."""
    own = DAILY.select(["day", "currency", "net_settlement"])
    own = own.rename_columns(["day", "currency", name])
    chart = partial(charts.column_chart, table=own, x="day", y=name, currency="btc")
    assert drawn(chart, Language("fa")).get_title().translate(BRACKETS) == title


def test_persian_stays_text_that_runs_from_right_to_left():
    """Each of its lines is isolated, with the number in it; a number alone has its minus ahead."""
    svg = draw_svg("a", DRAWN["usd_bridge"], "a", Look((2.9, 2.6), language=Language("fa", "fa")))
    assert ">&#8295;از ابتدا تا پایان دوره، دلار&#8297;</text>" in svg
    assert ">-۱۰٫۵۰</text>" in svg and "font-family:" not in svg


def test_persian_digits_stand_on_the_axes_and_the_marks():
    """1.50 % in Persian digits, digit by digit."""
    axes = drawn(DRAWN["fee_tiers"], Language("fa", "fa"))
    assert texts(axes) == ["۱٫۵۰٪", "۱٫۲۰٪", "۱٫۰۰٪"]
    assert axes.get_title() == "نرخ کارمزد به تفکیک پله"
    assert axes.yaxis.get_major_formatter().format_ticks([0.0, 0.005])[1] == "۰٫۵۰٪"


def test_in_two_languages_the_persian_has_a_line_of_its_own():
    """A legend has both in one line; the mark stands before them."""
    axes = drawn(DRAWN["net_settlement_daily"], Language("en+fa"))
    assert axes.get_title().split("\n")[0] == "Sales less fees and refunds by day, btc"
    assert legend(axes) == ["unknown نامعلوم", "above zero بالای صفر", "below zero زیر صفر"]


def test_a_line_of_the_caption_breaks_no_number_apart():
    """A day and its hour stay in one line, or their isolation would be broken."""
    head = Message(
        "standing.settled", label="2026-11", zone="UTC", status=translated("provisional")
    )
    reason = Message("reason.unfinished", period=translated("month"), instant="2026-11-30 20:30Z")
    said = {"head": translated(head), "reason": translated(reason)}
    status_line = Message("standing.open", **said, instant="2026-11-22 21:58Z")
    lines = _broken(_caption(status_line, None, Language("fa")), 7.0, 144.0)
    assert len(lines) > 3
    assert all(line.count("\u2066") == line.count("\u2069") for line in lines)


def test_a_picture_in_a_notebook_takes_a_language():
    """As the statement does; an unknown language is refused."""
    persian = draw(charts.net_settlement_daily, DAILY, "btc", lang="fa", digits="fa")
    assert persian.drawings != draw(charts.net_settlement_daily, DAILY, "btc").drawings
    expected = draw_svg(
        "net_settlement_daily-0",
        DRAWN["net_settlement_daily"],
        "net settlement daily, btc",
        Look((7.2, 3.0), language=Language("fa", "fa")),
    )
    assert persian.drawings == [expected]
