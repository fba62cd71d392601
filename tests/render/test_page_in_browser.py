# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""A statement's page in a real browser: on a phone, on wide screens and on paper."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from svc_analytics.formatting.cells import DASH, exact_text, kind_of
from svc_analytics.formatting.display import table_html, text_table
from svc_analytics.formatting.values import is_exact_number
from svc_analytics.instants import in_words
from svc_analytics.render.document import status_text
from svc_analytics.statements.statement import Statement
from tests.support.browsers import barriers, browser, pdf_words
from tests.support.ledgers import Make
from tests.support.prepared import once
from tests.support.rings import rings, sample

PHONE, TABLET, DESK = (390, 844), (1024, 768), (1440, 900)
PORTRAIT, LANDSCAPE = 703, 1047  # the width between the margins of A4, in pixels
# A number in two lines has boxes of two heights.
BROKEN = """cells => cells.filter(cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1;
}).map(cell => cell.innerText)"""
FACES = """Object.fromEntries([...document.querySelectorAll("tr[id^=row-]")].map(
    row => [row.id.slice(4), [...row.querySelectorAll("td")].map(cell => cell.innerText)]))"""


@pytest.fixture
def made(make) -> Statement:
    """October, of four coins; one has amounts of 18 places."""
    return make(zone="Asia/Tehran")


def opened(
    browser: Browser, made: Statement, folder: Path, size: tuple[int, int] = DESK, lang: str = "en"
) -> Page:
    """Open the page of a statement in a window of that size; it is written once."""

    def write() -> bytes:
        return (made.save(folder / "out", ("html",), lang=lang) / "statement.html").read_bytes()

    file = folder / "statement.html"
    file.write_bytes(once(f"the page of {made.period.label} in {lang}", write))
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(file.as_uri())
    return page


def top(page: Page, place: str) -> float:
    return float(page.evaluate(f"document.querySelector('{place}').getBoundingClientRect().top"))


def width(page: Page, place: str = "html") -> int:
    return int(page.evaluate(f"document.querySelector('{place}').scrollWidth"))


def digits(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("lang", ["en", "fa"])
def test_the_page_has_no_barrier(browser, made, tmp_path, lang):
    """An accessibility checker finds nothing on it."""
    assert barriers(opened(browser, made, tmp_path, lang=lang)) == []


@pytest.mark.parametrize(("size",), sample([(PHONE,), (TABLET,), (DESK,)], 3))
def test_the_page_begins_with_figures_and_never_moves_sideways(browser, made, tmp_path, size):
    """Figures begin on the first screen, integrity comes after them; only tables are wider.

    On a phone a table moves sideways below its labels, which stay in sight.
    """
    page = opened(browser, made, tmp_path, size)
    assert width(page) == size[0]
    assert top(page, "#figures table") < size[1] < top(page, "#integrity")
    label = page.locator("#row-net_settlement th")
    before = label.bounding_box()
    page.locator("#figures .scroll").first.evaluate("box => box.scrollLeft = 200")
    after = label.bounding_box()
    assert before and after and before["x"] == after["x"]


# How far a table fades at its start and at its end.
FADED = "box => ['--before', '--after'].map(name => getComputedStyle(box).getPropertyValue(name))"


def test_a_number_that_an_edge_cuts_is_faded_there(browser, made, tmp_path):
    """At the end of a table, at its start once it was moved, and nowhere where it is seen whole."""
    page = opened(browser, made, tmp_path, PHONE)
    box = page.locator("#figures .scroll").first
    assert box.evaluate(FADED) == ["0px", "40px"]
    box.evaluate("box => box.scrollLeft = 9999")
    page.wait_for_timeout(100)  # until it is drawn again
    assert box.evaluate(FADED) == ["8px", "0px"]
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_timeout(100)
    assert box.evaluate(FADED) == ["0px", "0px"]


@pytest.mark.thorough
@pytest.mark.parametrize("size", [PHONE, TABLET, DESK])
@pytest.mark.parametrize("lang", ["fa", "en+fa"])
def test_an_instant_in_two_calendars_leaves_the_labels_their_room(
    browser, made, tmp_path, size, lang
):
    """The Jalali day stands above the Gregorian instant, and no label is cut."""
    page = opened(browser, made, tmp_path, size, lang)
    assert width(page) == size[0]
    label, *cells = page.locator("#row-implied_rate_at > *").all()
    days = [cell.locator("bdi").all() for cell in cells]
    boxes = [[day.bounding_box() for day in pair] for pair in days if pair]
    assert all(above["y"] < below["y"] for above, below in boxes)  # type: ignore[index]
    assert label.evaluate("cell => cell.offsetWidth >= 108 && cell.scrollWidth <= cell.offsetWidth")


@pytest.mark.parametrize("month", sample(["2026-10", "2026-11"], 2), ids=["final", "running"])
def test_every_table_and_picture_says_what_it_is_worth(browser, make, tmp_path, month):
    """Period, zone and status, and the first reason of a month that is not over."""
    made = make(month=month, zone="Asia/Tehran")
    page = opened(browser, made, tmp_path)
    said = in_words(status_text(made))
    assert ("the month is not over" in said) == (month == "2026-11")
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    for element, child in (("table", "caption"), ("figure", "figcaption")):
        found = page.locator(f"{element} > {child}").all_inner_texts()
        assert len(found) == page.locator(element).count() > 1 and set(found) == {said}


def test_one_tick_shows_every_digit(browser, made, tmp_path):
    """By the keys, for Tab reaches the switch first, and by the mouse.

    Four coins fit a wide screen before and after. Each figure of each coin reads as the
    statement holds it, but for the minus of the face.
    """
    page = opened(browser, made, tmp_path)
    box = page.locator("#figures .scroll").first
    for text in ("108.00\t", "108.0000000099999999"):
        assert f"\t{text}" in page.locator("#row-usd_net_sales").inner_text()
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
        if not page.locator("#every-digit").is_checked():
            page.keyboard.press("Tab")
            page.keyboard.press("Space")
    assert page.locator("#every-digit").is_checked()
    table = made.tables["summary"]
    faces = page.evaluate(FACES)
    for field in [field for field in table.schema if is_exact_number(field)]:
        shown = faces.get(field.name, [])[: table.num_rows]
        kind = kind_of(field)
        whole = [DASH if v is None else exact_text(v, kind) for v in table[field.name].to_pylist()]
        if shown:  # what is the same as another row is left out of the face
            read = [plain(text).removeprefix("-") for text in shown]
            assert read == [plain(text).removeprefix("-") for text in whole], field.name
    page.locator("label[for=every-digit]").first.click()
    assert not page.locator("#every-digit").is_checked()


def plain(text: str) -> str:
    """A number without the zeros that only fill its places."""
    number, percent = digits(text).removesuffix("%"), "%" * text.endswith("%")
    return (number.rstrip("0").rstrip(".") if "." in number else number) + percent


@pytest.mark.parametrize("is_exact", sample([False, True], 2), ids=["rounded", "exact"])
def test_on_paper_no_number_is_broken_or_cut(browser, made, tmp_path, is_exact):
    """Each stands in one line within the width of A4."""
    page = opened(browser, made, tmp_path)
    page.locator("#every-digit").evaluate(f"box => box.checked = {str(is_exact).lower()}")
    page.emulate_media(media="print")
    for paper, place in ((PORTRAIT, "#figures"), (LANDSCAPE, ".wide"), (PORTRAIT, "#integrity")):
        page.set_viewport_size({"width": paper, "height": 900})
        assert page.locator(f"{place} td.n:not(:has(br))").evaluate_all(BROKEN) == []
        rights = page.locator(f"{place} table").evaluate_all(
            "tables => tables.map(table => table.getBoundingClientRect().right)"
        )
        assert max(rights) <= paper


@pytest.mark.thorough
def test_a_print_holds_each_number_once(browser, made, tmp_path):
    """As one word each, on a few sheets; what a rounded number hides is not printed beside it."""
    page = opened(browser, made, tmp_path)
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    words, _ = pdf_words(tmp_path / "page.pdf")
    printed = [word for word, _ in words]
    figures = page.locator("#figures td.n").all_inner_texts()
    assert {digits(text) for text in figures} <= set(printed)
    hidden = [text for text in page.locator("td .exact").all_text_contents() if "%" in text]
    assert hidden and not {*hidden} & {*printed}


def test_striped_rows_are_dark_in_a_dark_theme(browser):
    """Each other row of a comparison was white, and so were its words."""
    page = browser.new_page(color_scheme="dark")
    rows = table_html(text_table("months", ["month"], [["2026-09"], ["2026-10"]]))
    page.set_content(f"<style>:root {{ color-scheme: light dark }}</style>{rows}")
    stripe = page.locator("tr").last.evaluate("row => getComputedStyle(row).backgroundColor")
    assert stripe == "rgb(36, 36, 36)"
