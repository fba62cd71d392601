"""Charts in Persian: every text of ours is translated, and numbers keep their digits."""

import re
import tomllib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svc_analytics import charts, draw
from svc_analytics.charts.ticks import WordedAxes
from svc_analytics.charts.words import CALENDARS_NAMED
from svc_analytics.formatting.status_line import StatusLine, attach
from svc_analytics.language import catalogue
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import PLACE, Message, translated
from svc_analytics.notebook.pictures import _caption
from svc_analytics.render.picture import STYLE, Look, _broken, draw_svg, thin_out
from tests.charts.test_chart_pictures import (
    BRIDGE,
    BTC,
    COHORTS,
    COVERAGE,
    DAILY,
    DRAWN,
    EXPOSURE,
    POSITION,
    RATES,
    RATIOS,
    TIERS,
    YEAR,
    amounts,
)
from tests.support.artists import all_texts, legend, texts

RUNNING = StatusLine("2026-10, UTC", first_open_day="2026-10-12", first_open_month="2026-10")
FAR = DAILY.set_column(2, "net_settlement", pa.array([60_000 + n for n in range(12)]))
UNPRICED = RATES.set_column(3, "median", pa.nulls(12, pa.decimal128(38, 18)))
MANY = pa.table(
    {
        "month": ["2026-10"] * 7,
        "currency": [f"c{number}" for number in range(7)],
        "usd_net_sales": amounts(*"7654321"),
        "usd_refunds": amounts(*["0"] * 7),
    }
)
TWO_TIERS = pa.concat_tables([TIERS, TIERS.set_column(0, "currency", pa.array(["eth"] * 3))])
NOTHING_CHARGED = RATIOS.set_column(2, "refund_ratio_period", amounts(*[None] * 6))
VERDICTS = (
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
    "all verdicts": partial(charts.receipt_verdicts, table=pa.table({"verdict": VERDICTS})),
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


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("charged_total", "کل دریافتی از مشتریان به تفکیک روز، <btc>"),
        ("shoes_sold", "<Shoes sold> به تفکیک روز، <btc>"),
    ],
    ids=["a figure", "a column of one's own"],
)
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
    status_line = Message(
        "standing.open",
        head=translated(head),
        instant="2026-11-22 21:58Z",
        reason=translated(reason),
    )
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
