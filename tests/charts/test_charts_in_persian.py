"""Charts in Persian: every text of ours is translated, and numbers keep their digits."""

from collections.abc import Callable
from functools import partial

import matplotlib as mpl
import pyarrow as pa
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from svc_analytics import charts, draw
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.notebook.pictures import _caption
from svc_analytics.render.picture import LOOK, draw_svg
from svc_analytics.render.wording import mark_missing, word
from tests.charts.test_chart_pictures import COVERAGE, DAILY, DRAWN, EXPOSURE, TIERS
from tests.support.artists import all_texts

EMPTY: dict[str, Callable[[Axes], None]] = {
    "no tier": partial(charts.fee_tiers, table=TIERS.slice(0, 0), currency="btc"),
    "no exposure": partial(charts.usd_exposure, table=EXPOSURE.slice(0, 0)),
    "never read": partial(charts.coverage_calendar, table=COVERAGE, stream="payout_records"),
    "no movement": partial(charts.net_settlement_daily, table=DAILY, currency="eth"),
}
OTHERS = {"btc", "eth", "sol", "usdt", "Net by month"}  # names, and a column of one's own


def drawn(draw: Callable[[Axes], None], language: Language) -> Axes:
    """Return axes whose texts are in a language."""
    with mpl.rc_context(LOOK):
        axes = Figure(figsize=(5.4, 2.5)).subplots()
        draw(axes)
        word(axes, language)
    return axes


@pytest.mark.parametrize("name", [*DRAWN, *EMPTY])
def test_every_text_of_ours_is_translated(name: str) -> None:
    """No Latin letter is left but those of names and codes."""
    draw_chart = (DRAWN | EMPTY)[name]
    english = all_texts(drawn(draw_chart, ENGLISH))
    lines = {line for text in english for line in text.split("\n")} - OTHERS
    words = {line for line in lines if any(letter.isalpha() for letter in line)}
    untranslated = {line for line in words if not Language("fa").persian(line)}
    assert not untranslated


def test_persian_digits_stand_on_the_axes_and_the_marks() -> None:
    """1.50 % in Persian digits, digit by digit; the coin is isolated in the title."""
    axes = drawn(DRAWN["fee_tiers"], Language("fa", "fa"))
    assert [text.get_text() for text in axes.texts] == ["۱٫۵۰٪", "۱٫۲۰٪", "۱٫۰۰٪"]
    assert axes.get_title() == "نرخ و پله‌های کارمزد، \u2066btc\u2069"
    assert axes.yaxis.get_major_formatter().format_ticks([0.0, 0.005])[1] == "۰٫۵۰٪"


def test_in_two_languages_the_persian_has_a_line_of_its_own() -> None:
    """A legend has both in one line; the mark stands before them."""
    axes = drawn(DRAWN["net_settlement_daily"], Language("en+fa"))
    assert axes.get_title().split("\n")[0] == "Net settlement by day, btc"
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == ["unknown نامعلوم", "above zero بالای صفر", "below zero زیر صفر"]


def test_a_letter_that_the_font_lacks_is_told() -> None:
    """No box stands for it: a mark, and a line below the picture that names the letter."""
    table = pa.table({"name": ["زعفران", "\u4e2d"], "net": [1, 2]})
    axes = Figure().subplots()
    charts.column_chart(axes, table, "name", "net")
    caption = mark_missing(axes, "2026-10, UTC", ENGLISH)
    assert caption == "2026-10, UTC\n• is a letter that the font lacks: U+4E2D"
    assert axes.xaxis.get_major_formatter().format_ticks([0, 1]) == ["زعفران", "•"]


def test_a_line_of_the_caption_breaks_no_number_apart() -> None:
    """A day and its hour stay in one line, or their isolation would be broken."""
    standing = "2026-11, UTC · provisional, read up to 2026-11-22 21:58Z: the month is not over: "
    standing += "it ends at 2026-11-30 20:30Z"
    lines = _caption(standing, None, 2.0, Language("fa")).split("\n")
    assert len(lines) > 3
    assert all(line.count("\u2066") == line.count("\u2069") for line in lines)


def test_a_picture_in_a_notebook_takes_a_language() -> None:
    """As the statement does; an unknown language is refused."""
    persian = draw(charts.net_settlement_daily, DAILY, "btc", lang="fa", digits="fa")
    assert persian.drawings != draw(charts.net_settlement_daily, DAILY, "btc").drawings
    expected = draw_svg(
        "net_settlement_daily-0",
        DRAWN["net_settlement_daily"],
        "net settlement daily, btc",
        (7.2, 3.0),
        language=Language("fa", "fa"),
    )
    assert persian.drawings == [expected]
