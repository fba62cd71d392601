# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""The close desk in JupyterLab and Chromium, by keys alone: from due to sealed to a record."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import svc_analytics as svc
from svc_analytics import sandbox
from svc_analytics.config import read_settings
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.sandbox.server import serve
from svc_analytics.schema import PAYMENTS
from tests.support.browsers import (
    PATIENCE,
    barriers,
    browser,
    press,
    ready,
    served_lab,
    tab_to,
    timed,
)
from tests.support.dirty_month import make_dirty_lake
from tests.support.documents import demo_copy

LONG = 900_000  # milliseconds for what reads a whole month, of 100,000 lines too
MONTHS = {60: 2, 95_000: 1}  # by the number of payments; of 95,000 the month has 100,000 lines
OLDEST = "select min(paid_at) from payments"
LATE = {
    "id": "00000000-0000-4000-8000-000000000001",
    "receipt_no": "SVC-999999999",
    "reference_id": "order-late",
    "charged_amount": "9.090909",
}


@pytest.fixture(params=MONTHS)
def service(request) -> Iterator[tuple[sandbox.Store, dict[str, str]]]:
    """A sandbox of so many payments in so many months, one of them negative; and its settings."""
    clock, payments = sandbox.Clock(), request.param
    with sandbox.Store() as store:
        sandbox.seed(store, sandbox.Scenario(1, MONTHS[payments], payments, until=clock.now()))
        store.fetch(f"update payments set charged_amount = '-1' where paid_at = ({OLDEST})")
        with serve(sandbox.Service(store, clock)) as running:
            yield store, dict(running.environment)


@pytest.fixture
def settings(service, tmp_path) -> dict[str, str]:
    """The settings of the sandbox, all of which was read into a lake."""
    path = tmp_path / "data"
    svc.extract(Lakehouse(path), read_settings(path, environ=service[1], folder=Path("/")))
    return service[1]


@pytest.fixture
def address(settings, tmp_path) -> Iterator[str]:
    """`svc-analytics lab` over that lake, and where the desk is open in it."""
    yield from lab_at(tmp_path, tmp_path / "data", settings)


def lab_at(
    folder: Path, data: Path, settings: Mapping[str, str], options: Sequence[str] = ()
) -> Iterator[str]:
    """Run `svc-analytics lab` over a lake; yield where the desk is open in it."""
    names = ("RUNTIME", "CONFIG")
    private = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in names}
    private |= {"IPYTHONDIR": str(folder / "ipython"), "PYTHONPATH": str(Path(__file__).parents[2])}
    words = [sys.executable, "-m", "svc_analytics", "lab", *options, "--data-dir", str(data)]
    environment = os.environ | settings | private
    with served_lab(words, folder, environment, "00-close-desk.ipynb") as address:
        yield address


@pytest.fixture
def page(browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1400, "height": 1200})
    page.set_default_timeout(PATIENCE * 1000)
    expect.set_options(timeout=PATIENCE * 1000)
    yield page
    page.close()


def opened(page: Page, address: str) -> Locator:
    """Open the notebook, which runs by itself, and return the panel."""
    notebook = ready(page, address)
    notebook.get_by_text("all agree").last.wait_for()
    return notebook.locator(".svc-desk")


@pytest.mark.thorough
def test_a_month_is_closed_and_looked_into_by_keys_alone(page, address, service, tmp_path):
    """A finding is accepted, the month sealed, a record seen, and the month restated.

    The button that closes is in sight at once, and nothing is loaded from elsewhere.
    """
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    panel = opened(page, address)
    tile = panel.locator("button.svc-chosen")
    expect(tile).to_contain_text("blocked")
    expect(panel.get_by_role("button", name=re.compile("^Close [A-Z]"))).to_be_in_viewport()
    accept(page, panel, tile)
    written = (tmp_path / "data" / "acknowledgements.csv").read_text()
    assert ",a test of the till,Mina," in written
    close(page, panel, tile)
    look_into(page, panel)
    restate(page, panel, tile, service[0])
    assert all(url.startswith(("http://localhost:", "data:", "blob:")) for url in asked)


def accept(page: Page, panel: Locator, tile: Locator) -> None:
    """Choose each finding, write why and who, and accept it."""
    finding = panel.locator(".svc-findings tr[aria-selected=true]")
    count = panel.get_by_text(re.compile("blocks? the close( ·|$)"))
    while "blocked" in tile.inner_text():
        tab_to(page, finding)
        press(page, "Enter")
        expect(panel.get_by_label("accept, because")).to_be_focused()
        page.keyboard.type("a test of the till")
        press(page, "Tab")
        if not panel.get_by_label("your name").input_value():
            page.keyboard.type("Mina")
        press(page, "Tab")
        before = count.inner_text()
        with timed("a finding accepted, and the month judged again"):
            press(page, "Enter")
            expect(count).not_to_have_text(before, timeout=LONG)


def close(page: Page, panel: Locator, tile: Locator) -> None:
    """Seal the month."""
    tab_to(page, panel.get_by_role("button", name=re.compile("^Close [A-Z]")))
    with timed("the month sealed"):
        press(page, "Enter")
        expect(tile).to_contain_text("sealed", timeout=LONG)
    expect(panel).to_contain_text("is sealed, version 1. Next: open its page")


def look_into(page: Page, panel: Locator) -> None:
    """Go from a figure to its records, put them in order, and see one with its verdict."""
    tab_to(page, panel.locator(".svc-figures button[tabindex='0']"))
    press(page, "ArrowRight", "ArrowDown", "ArrowDown")  # gross sales
    row = panel.locator("tr.svc-press:focus")
    with timed("from a figure to its records"):
        press(page, "Enter")
        expect(row).to_have_count(1)
    with timed("from a record to its receipt"):
        press(page, "Enter")
        expect(panel.locator(".svc-card")).to_contain_text("Verdict")
    press(page, "Shift+Tab")
    with timed("all records in another order"):
        press(page, "Enter")
        expect(panel.locator("th[aria-sort=ascending]")).to_contain_text("USD")
    press(page, "Tab", "Escape")
    expect(panel.locator(".svc-figures button:focus")).to_have_count(1)


def restate(page: Page, panel: Locator, tile: Locator, store: sandbox.Store) -> None:
    """A payment comes late: close again, and see what differs between the two versions."""
    late = store.fetch(f"select * from payments where paid_at = ({OLDEST})")[0]
    names = [name for _, name, *_ in store.fetch("pragma table_info(payments)")]
    record = dict(zip(names, late, strict=True)) | LATE
    store.add(PAYMENTS, record | {"paid_at": record["paid_at"] + 1})
    tab_to(page, panel.get_by_role("button", name=re.compile("^Check .* again")))
    with timed("the month restated"):
        press(page, "Enter")
        expect(tile).to_contain_text("version 2", timeout=LONG)
    tab_to(page, panel.locator("summary", has_text="What changed"))
    press(page, "Enter")
    expect(panel.locator("details[open] tr", has_text="Payments").first).to_be_visible()


@pytest.fixture
def demo_address(tmp_path, tmp_path_factory) -> Iterator[str]:
    """`svc-analytics lab` over the demo's lake, in which a payout, refunds and receipts are."""
    yield from lab_at(tmp_path, demo_copy(tmp_path_factory).path, {})


@pytest.mark.thorough
def test_records_are_found_and_saved(page, demo_address):
    """One that is typed letter by letter; the last row of all is the figure in the heading."""
    panel = opened(page, demo_address)
    drill(panel, "Gross sales, usdt")
    head = panel.locator(".svc-records h4").text_content() or ""
    figure = head.partition(": ")[2].removesuffix(" usdt")
    expect(panel.locator("tfoot")).to_contain_text(figure)
    number = panel.locator(ROW).nth(3).locator("td").nth(1).text_content() or ""
    panel.get_by_role("textbox", name="find").press_sequentially(number)
    expect(panel.get_by_text("records 1 to 1 of 1")).to_be_visible()
    panel.locator(ROW).first.click()
    expect(panel.locator(".svc-record h4")).to_contain_text(number)
    with page.expect_download() as download:
        panel.get_by_role("button", name="CSV").click()
    assert number in download.value.path().read_text()


ROW = "table[aria-label=records] tbody tr"


def drill(panel: Locator, figure: str) -> None:
    """Press a figure, and wait for its records."""
    panel.get_by_role("button", name=re.compile(f"^{figure}: ")).click()
    expect(panel.locator(".svc-records h4")).to_contain_text(f"{figure}: ")


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_desk_fits_a_window_of_1024_px(page, demo_address, theme):
    """No code is seen, no table is cut or scrolls by itself, and a chosen record can be read."""
    page.set_viewport_size({"width": 1024, "height": 900})
    panel = opened(page, demo_address)
    choose_theme(page, theme)
    expect(page.get_by_text("import svc_analytics")).to_be_hidden()
    drill(panel, "Gross sales, usdt")  # no records have more columns
    panel.locator(ROW).nth(1).click()
    expect(panel.locator(".svc-record h4")).to_contain_text("Payment ")
    assert panel.locator(".svc-table").evaluate_all(CUT) == []
    assert page.locator(".jp-WindowedPanel-outer").first.evaluate(SIDEWAYS) <= 1
    assert panel.locator("tr[aria-selected=true] td").first.evaluate(CONTRAST) >= 4.5


CUT = """all => all.filter(each =>
    each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1
).map(each => [each.textContent.slice(0, 40), each.scrollWidth, each.clientWidth])"""
SIDEWAYS = "each => each.scrollWidth - each.clientWidth"
# The ratio of contrast of WCAG between a text and what is behind it.
CONTRAST = """each => {
    const look = getComputedStyle(each);
    const light = (colour) => {
        const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => {
            const value = part / 255;
            return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const [dark, bright] = [light(look.color), light(look.backgroundColor)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05);
}"""


def choose_theme(page: Page, theme: str) -> None:
    """Choose a theme in the menu, as a person does."""
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.get_by_text("Theme", exact=True).first.hover()
    page.locator(".lm-Menu-item").get_by_text(theme, exact=True).first.click()
    is_light = str(theme.endswith("Light")).lower()
    page.locator(f"body[data-jp-theme-light={is_light}]").wait_for(state="attached")


@pytest.mark.thorough
def test_a_sealed_month_is_handed_over_from_the_desk(page, demo_address):
    """Its page opens; its workbook and its zip are saved; checking it again is a quiet link."""
    panel = opened(page, demo_address)
    tiles = panel.locator("button.svc-tile")
    assert [text.split()[3] for text in tiles.all_inner_texts()][-2:] == ["sealed", "running"]
    expect(panel.get_by_role("button", name=re.compile("^Close [A-Z][a-z]+$"))).to_be_hidden()
    expect(panel.locator("button.svc-link", has_text="again").first).to_be_visible()
    with page.context.expect_page() as shown:
        panel.get_by_role("button", name="Open page").click()
    expect(shown.value.get_by_role("heading").first).to_be_visible()
    for button, file in (("Excel", "statement-2026-10.xlsx"), ("Zip for the auditor", ".zip")):
        with page.expect_download() as download:
            panel.get_by_role("button", name=button).click()
        assert download.value.suggested_filename.endswith(file)
        expect(panel.get_by_role("link", name="save a copy")).to_be_visible()


@pytest.fixture
def dirty_address(tmp_path) -> Iterator[str]:
    """The desk over a lake in which August is blocked."""
    yield from lab_at(tmp_path, make_dirty_lake(tmp_path / "data").path, {})


def on_august(page: Page, address: str) -> Locator:
    """Open the desk and choose August, whose findings block it."""
    panel = opened(page, address)
    panel.locator("button.svc-tile", has_text="Aug").click()
    expect(panel.locator(".svc-findings tr[aria-selected=true]")).to_be_visible()
    return panel


@pytest.mark.thorough
def test_a_desk_with_findings_and_a_record_has_no_barrier(page, dirty_address):
    """An accessibility checker finds nothing on it."""
    panel = on_august(page, dirty_address)
    assert barriers(page, ".svc-desk") == []
    drill(panel, "Gross sales, btc")
    panel.locator(ROW).first.click()
    expect(panel.locator(".svc-card")).to_be_visible()
    assert barriers(page, ".svc-desk") == []


@pytest.mark.thorough
def test_a_pressed_figure_stays_in_sight_beside_its_records(page, dirty_address):
    """Of seven coins at 1,280 px, the last one's column is beneath none."""
    page.set_viewport_size({"width": 1280, "height": 1000})
    panel = on_august(page, dirty_address)
    drill(panel, "Refunds debited, usdt")
    expect(panel.locator(".svc-cell")).to_have_count(1)
    page.wait_for_timeout(500)  # until the records have taken their room
    assert panel.locator(".svc-cell").evaluate(BENEATH) is False


# Whether something lies over the middle of a cell.
BENEATH = """cell => {
    const { left, top, width, height } = cell.getBoundingClientRect();
    return !cell.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""


# How far a table fades at its start and at its end.
FADED = """each => ["--svc-before", "--svc-after"].map(
    name => getComputedStyle(each).getPropertyValue(name))"""


@pytest.mark.thorough
def test_the_heads_of_a_long_table_stay_in_sight(page, dirty_address):
    """It scrolls by itself, so that its last day stands below the names of its figures."""
    page.set_viewport_size({"width": 1280, "height": 700})
    panel = on_august(page, dirty_address)
    panel.locator("select").filter(has_text="By day").select_option(label="By day")
    figures = panel.locator(".svc-figures")
    head = figures.locator("thead").get_by_text("Sales after fees")
    last = figures.locator("tbody tr").last
    expect(last).to_contain_text("Aug 2026")
    figures.evaluate("each => { each.scrollTop = each.scrollHeight }")
    figures.evaluate("each => each.scrollIntoView({ block: 'end' })")
    for part in (head, last.locator("td").first):
        expect(part).to_be_in_viewport(ratio=0.9)


@pytest.mark.thorough
def test_nothing_lies_over_the_desk_and_no_coin_is_cut(page, dirty_address):
    """In a window of 1280 px, by mouse at the left edge.

    Beside records a table can be moved sideways: numbers that its edge cuts are faded.
    """
    page.set_viewport_size({"width": 1280, "height": 1000})
    panel = opened(page, dirty_address)
    figures = panel.locator(".svc-figures")
    assert figures.evaluate(SIDEWAYS) <= 1
    panel.get_by_role("button", name="Close June again").click(position={"x": 2, "y": 9})
    expect(panel.get_by_text("SVC_BASE_URL is not set")).to_be_visible()
    panel.locator("button.svc-tile").first.click(position={"x": 2, "y": 9})
    drill(panel, "Gross sales, btc")
    assert figures.evaluate(SIDEWAYS) > 1
    assert figures.evaluate(FADED) == ["0px", "10px"]
    figures.evaluate("each => each.scrollLeft = 9999")
    page.wait_for_timeout(200)  # until it is drawn again
    assert figures.evaluate(FADED) == ["10px", "0px"]
    bar = "each => getComputedStyle(each, '::-webkit-scrollbar').height"
    assert figures.evaluate(bar) == "10px"  # Chromium without a screen draws none


@pytest.mark.thorough
def test_a_press_has_what_was_just_typed(page, dirty_address):
    """Also where the field's own message would come too late, or not at all; Enter presses too."""
    panel = on_august(page, dirty_address)
    page.evaluate("addEventListener('change', (event) => event.stopPropagation(), true)")
    button = panel.get_by_role("button", name="accept this finding")
    for blocking in ("2 block", "1 blocks"):
        panel.get_by_label("your name").fill("Mina")
        panel.get_by_label("accept, because").press_sequentially("the same reason")
        if blocking == "2 block":
            button.click(position={"x": 2, "y": 9})
        else:
            press(page, "Enter")
        expect(panel.get_by_text(f"{blocking} the close")).to_be_visible()
        expect(panel.get_by_label("accept, because")).to_have_value("")


@pytest.mark.thorough
def test_a_restart_and_a_reload_lose_neither_the_month_nor_what_was_typed(page, dirty_address):
    """The desk says what happened, and one press runs it again."""
    panel = on_august(page, dirty_address)
    panel.get_by_label("accept, because").fill("half a thought")
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_text("Restart Kernel…", exact=True).click()
    page.locator(".jp-Dialog button.jp-mod-accept").click()
    expect(panel.get_by_role("alert")).to_contain_text("Python was restarted")
    panel.get_by_role("button", name="Run the desk again").click()
    for is_again in (True, False):
        expect(panel.locator("button.svc-chosen")).to_contain_text("Aug")
        expect(panel.get_by_label("accept, because")).to_have_value("half a thought")
        if is_again:
            page.reload()


@pytest.mark.thorough
def test_two_tabs_agree(page, browser, dirty_address):
    """What is accepted in one is shown in the other, which keeps what was typed there."""
    panel = on_august(page, dirty_address)
    panel.get_by_label("accept, because").fill("half a thought")
    with browser.new_context() as context:
        other = on_august(context.new_page(), dirty_address.replace("&reset", ""))
        other.get_by_label("accept, because").fill("not ours")
        other.get_by_label("your name").fill("Mina")
        other.get_by_role("button", name="accept this finding").click()
        expect(other.get_by_text("is not counted.")).to_be_visible()
        expect(panel.get_by_text("The lake was changed elsewhere")).to_be_visible()
    expect(panel.get_by_text("71 findings, 2 block the close")).to_be_visible()
    expect(panel.get_by_label("accept, because")).to_have_value("half a thought")


@pytest.mark.thorough
def test_a_list_is_dropped_and_a_row_is_known_by_keys_alone(page, demo_address, tmp_path):
    """It has no barrier, its record is shown, and a reload keeps a sentence that is half typed."""
    page.set_viewport_size({"width": 1280, "height": 1000})
    panel = opened(page, demo_address)
    panel.locator('input[type="file"]').set_input_files(list_of_orders(tmp_path))
    expect(panel.get_by_text("3 rows are open")).to_be_visible()
    assert barriers(page, ".svc-desk") == []
    row = panel.locator(".svc-open tr[aria-selected=true]")
    tab_to(page, row)
    press(page, "ArrowDown", "Enter")
    expect(panel.get_by_label("it is known, because")).to_be_focused()
    page.keyboard.type("paid in cash")
    page.reload()
    panel.locator('input[type="file"]').set_input_files(list_of_orders(tmp_path))
    expect(panel.get_by_label("it is known, because")).to_have_value("paid in cash")
    panel.get_by_label("who says so").fill("Mina")
    panel.get_by_role("button", name="keep this sentence").click()
    expect(panel.get_by_text("2 rows are open")).to_be_visible()


def list_of_orders(folder: Path) -> Path:
    """The orders of the demo's last full month: one unpaid, one refunded; a payment has none."""
    lake = Lakehouse(next(folder.parent.glob("desk*/data")))
    month = max(each.stem for each in (lake.path / "statements").glob("2*"))
    query = "select reference_id, currency, amount, paid_at::date as day from payments where month"
    first, *others = lake.sql(f"{query} = '{month}'").itertuples()
    rows = [f"{each.reference_id},{each.day},paid,{each.currency},{each.amount}" for each in others]
    rows += [f"A-7,{first.day},paid,usdt,48.25"]
    path = folder / "orders.csv"
    path.write_text("\n".join(["Order ID,Date,Status,Currency,Total", *rows]))
    return path
