# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""Notebooks as pages for readers, in Chromium: on a screen, on a phone and on paper."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.formatting.cells import readable_text
from svc_analytics.formatting.status_line import status_line_of
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook import runner
from svc_analytics.notebook.page import make_page
from tests.support.browsers import browser, pdf_words
from tests.support.documents import demo_copy
from tests.support.rings import rings, sample

NUMBER = re.compile(r"-?[0-9][0-9,]*\.[0-9]+")
SECRET = re.compile(r"svc_(live|payout)_[0-9a-f]{8}|[0-9a-f]{64}@|whsec_|SVC_\w+(KEY|SECRETS)=")
MANY = ("02", "05")


class Pages(dict[str, Path]):
    """The pages of some notebooks, of the last full month, each made when it is asked for.

    And the notebooks as their kernels left them.
    """

    def __init__(self, lake: Lakehouse, folder: Path) -> None:
        self.lake, self.folder = lake, folder
        self.ran: dict[str, Any] = {}

    def __missing__(self, name: str) -> Path:
        run = runner.run_notebook

        def keep(*words: Any, **options: Any) -> Any:
            self.ran[name] = run(*words, **options)
            return self.ran[name]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runner, "run_notebook", keep)
            self[name] = made = make(self.lake, self.folder, name)
        return made


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Lakehouse:
    return demo_copy(tmp_path_factory)


def cell(source: str) -> Any:
    return nbformat.v4.new_markdown_cell(source)


def make(lake: Lakehouse, folder: Path, name: str, *words: str) -> Path:
    """Run `svc-analytics notebook` and return the page."""
    out = folder / f"{name}{len(words)}.html"
    own = ["notebook", name, "--data-dir", str(lake.path), "--out", str(out), *words]
    cli.main(own, standalone_mode=False)
    return out


@pytest.fixture(scope="module")
def paths(demo, tmp_path_factory) -> Pages:
    return Pages(demo, tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def window(browser) -> Iterator[Page]:
    """A window in which one page after the other is looked at; most tests look at the same."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(60_000)
        yield page


@pytest.fixture
def page(window) -> Page:
    window.set_viewport_size({"width": 1440, "height": 900})
    return window


def opened(page: Page, path: Path) -> Page:
    if page.url != path.as_uri():
        page.goto(path.as_uri())
    page.locator("div.svc-search table tbody tr").first.wait_for()
    return page


def test_a_page_says_at_its_head_what_it_is_worth_and_asks_no_other_machine(demo, paths, page):
    """Question, month and merchant in the title; month, zone and status in the head.

    Its scripts run without an error.
    """
    month, told = svc.last_full_month(demo), list[str]()
    page.goto("about:blank")
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: told.append(request.url))
    opened(page, paths["02"])
    assert told and not [text for text in told if not text.startswith(("file:", "data:", "blob:"))]
    title = f"What is the statement of the month? {month} \N{EN DASH} Saffron & Tile"
    assert page.title().startswith(title)
    head = page.locator(".page-head")
    assert f"{month}, UTC · sealed, version 1" in head.inner_text()
    assert "Saffron & Tile" in head.inner_text()
    assert "data read up to 20" in page.locator(".page-foot").inner_text()


@pytest.mark.parametrize("name", rings(["02"], [f"{number:02}" for number in range(10)]))
def test_a_notebook_runs_and_its_figures_agree(paths, name):
    """No cell after the opening ends in silence, the checks at its end hold, no output is a key."""
    page, cells = paths[name].read_text(), paths.ran[name].cells
    assert "all agree" in str(cells[-1].outputs)
    assert all(cell.outputs for cell in [one for one in cells if one.cell_type == "code"][3:])
    assert not SECRET.search(str([cell.get("outputs") for cell in cells]) + page)


@pytest.mark.parametrize("name", sample(MANY, 2))
def test_a_page_stands_alone_for_readers(demo, paths, name):
    """With its charts and a style for paper; without code, pickers and paths, and their prose."""
    page = paths[name].read_text()
    text = page.partition("<body")[2]
    assert "jp-CodeMirrorEditor" not in text and "import svc_analytics" not in text
    assert str(demo.path) not in text and "DATA_DIR" not in text
    assert "running kernel" not in text and "Opens the lake" not in text
    assert "all agree" in text
    assert "<svg" in page
    assert "@media print" in page.split("<body")[0]  # where nothing can be moved into sight
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=.?https?:|import .*https?:", page)


def test_a_figure_shown_is_the_statements(demo, paths):
    """What a reader sees in 02 is the statement's own figure, at the scale of its coin."""
    made = svc.statement(demo, svc.last_full_month(demo))
    page, scales = paths["02"].read_text(), status_line_of(made.tables["summary"]).scales
    for coin, value in zip(made.summary["currency"], made.summary["net_settlement"], strict=True):
        assert f">{readable_text(value, scale=scales[coin])}" in page


def test_a_picker_leaves_its_heading_and_takes_its_prose(tmp_path):
    """What stood beside it stays; nobody is told to pick where nothing can be picked."""
    cells = [cell("# Why?"), cell("pick another month here"), nbformat.v4.new_code_cell("picked")]
    shown = {"text/html": "<p>the heading</p>"}, {"application/vnd.jupyter.widget-view+json": {}}
    cells[2].outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    notebook = nbformat.v4.new_notebook(cells=cells)
    text = make_page(notebook, {}, tmp_path, has_code=False)
    assert "the heading" in text and "pick another month" not in text
    assert "pick another month" in make_page(notebook, {}, tmp_path, has_code=True)


@pytest.mark.thorough
def test_a_page_with_code_of_a_running_month(demo, tmp_path, page):
    """It has this run's parameters and no local path; its head says that it is provisional."""
    running = max(demo.sql("select max(month) as month from payments")["month"])
    path = make(demo, tmp_path, "05", "--code", "--month", running, "--zone", "Asia/Tehran")
    opened(page, path)
    code = " ".join(page.locator(".jp-InputArea").all_inner_texts())
    assert "import svc_analytics as svc" in code and "DATA_DIR = 'data'" in code
    assert "MONTH = None" not in code and str(demo.path) not in path.read_text()
    head = page.locator(".page-head.provisional").inner_text()
    assert f"{running}, Asia/Tehran · running" in head and "the month is not over" in head


@pytest.mark.parametrize("name", sample(MANY, 2))
def test_every_number_is_whole_on_paper(paths, page, name):
    """No digit goes on in the next line, and none is beyond the edge of the sheet."""
    opened(page, paths[name])
    shown = NUMBER.findall(" ".join(page.locator("td").all_inner_texts()))
    words, width = printed(page, paths[name])
    whole = {number for text, _ in words for number in NUMBER.findall(text)}
    assert shown and not set(shown) - whole
    assert max(right for _, right in words) < width


def printed(page: Page, path: Path) -> tuple[list[tuple[str, float]], float]:
    """Print the page; return its words, each with its right edge, and the sheet's width."""
    pdf = path.with_suffix(".pdf")
    page.pdf(path=pdf, prefer_css_page_size=True)
    return pdf_words(pdf)


@pytest.mark.thorough
def test_every_row_is_printed(demo, paths, page):
    """A screen shows ten movements of the month and a pager; paper all, and no pager."""
    lines = svc.statement(demo, svc.last_full_month(demo)).lines
    opened(page, paths["02"])
    assert page.locator("div.svc-search table").last.locator("tbody tr").count() == 10 < len(lines)
    texts = [text for text, _ in printed(page, paths["02"])[0]]
    payments = lines[lines["kind"] == "payment"]["reference_id"]
    plain = [text for text in payments if re.fullmatch(r"order-[0-9]+", text)]
    assert plain and not set(plain) - set(texts)
    assert "Previous" not in texts and "Next" not in texts


FIRST = """Math.min(...[...document.querySelectorAll("td, svg text")]
    .filter(each => /[0-9]/.test(each.textContent) && each.getBoundingClientRect().height)
    .map(each => each.getBoundingClientRect().top + scrollY))"""


@pytest.mark.parametrize("name", sample(MANY, 2))
def test_a_page_is_small_and_its_first_number_stands_near_the_top(paths, page, name):
    """What the figures rest on is one folded line; no page has a library in it."""
    page.set_viewport_size({"width": 1280, "height": 900})
    opened(page, paths[name])
    assert page.evaluate(FIRST) < 200 and paths[name].stat().st_size < 1_000_000


def test_a_click_on_a_name_sorts_by_value(paths, page):
    """The column says its direction; amounts are in their own order, not that of texts."""
    opened(page, paths["02"])
    table = page.locator("div.svc-search table").last
    name = table.get_by_role("columnheader").filter(has_text=re.compile("^net$", re.I))
    for direction in ("ascending", "descending"):
        name.get_by_role("button").click()
        expect(name).to_have_attribute("aria-sort", direction)
        amounts = column(table, name)
        assert amounts == sorted(amounts, reverse=direction == "descending")


def column(table: Locator, head: Locator) -> list[Decimal]:
    """The numbers of a column, as far as the screen shows them."""
    place: Any = head.evaluate("head => head.cellIndex")
    cells = table.locator(f"tbody td:nth-child({place + 1})").all_inner_texts()
    return [Decimal(NUMBER.search(text)[0].replace(",", "")) for text in cells]  # type: ignore[index]


@pytest.mark.parametrize(("width", "name"), sample(product([390, 1024, 1440], MANY), 6))
def test_no_page_is_wider_than_its_screen(paths, page, width, name):
    """Wide tables move sideways on their own, their first column in sight."""
    page.set_viewport_size({"width": width, "height": 800})
    opened(page, paths[name])
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("html").get_attribute("lang") == "en"
