"""Make the pictures of the pages again: `python docs/pictures.py`.

It needs Chromium, pdftoppm and LibreOffice on the machine. They show the merchant that
`svc-analytics demo` makes up, on 20 November 2026, so that the same code makes the same pictures;
only the close desk tells the months as of today. What a person looks at is printed by the commands
themselves.
"""

import io
import subprocess
import sys
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from svc_analytics.cli.app import cli  # noqa: E402
from svc_analytics.sandbox.server import Running  # noqa: E402
from tests.notebook.test_desk_in_browser import lab_at  # noqa: E402
from tests.support.browsers import chromium, ready  # noqa: E402
from tests.support.documents import demo_desk  # noqa: E402

PICTURES = ROOT / "docs" / "pages" / "pictures"
_FOOT = 30  # of JupyterLab, in pixels
COLOURS = 128  # enough for pages of text; the files stay small


@dataclass(frozen=True)
class Picture:
    """A picture: the command that makes a page, and which part of the page it shows."""

    name: str
    command: str
    page: str
    top: str = "body"  # the first element that is seen
    height: int = 700
    width: int = 1024


_OCTOBER = "statement --last-month --out october --format html", "october/statement.html"
ALL = [
    Picture("statement", *_OCTOBER, height=640),
    Picture("figures", *_OCTOBER, top="#figures", height=1100),
    Picture("charts", *_OCTOBER, top="#charts", height=560),
    Picture("definitions", *_OCTOBER, top="#definitions", height=420),
    Picture(
        "persian",
        "statement --last-month --lang fa --digits fa --out persian --format html",
        "persian/statement.html",
        height=1000,
    ),
    Picture("paper", "statement --last-month --out paper --format pdf", "paper/statement.pdf"),
    Picture(
        "comparison",
        "compare 2026-09 2026-10 --out both --format html",
        "both/comparison.html",
        height=760,
    ),
    Picture(
        "workbook",
        "compare 2026-09 2026-10 --out sheets --format xlsx",
        "sheets/comparison.xlsx",
        height=480,
        width=780,
    ),
    Picture(
        "provisional",
        "statement --this-month --out november --format html",
        "november/statement.html",
        height=400,
    ),
    Picture(
        "jalali",
        "statement --month 1405-07 --zone Asia/Tehran --out mehr --format html",
        "mehr/statement.html",
        height=400,
    ),
    Picture("notebook", "notebook 02 --month 2026-10 --out 02.html", "02.html", width=1240),
    Picture("close-desk", "", "lab", height=1040, width=1280),
    Picture("close-desk-persian", "", "lab --lang fa --digits fa", height=1040, width=1280),
    Picture("trend", "notebook 08 --month 2026-10 --out 08.html", "08.html", top="svg", height=440),
]


def main() -> None:
    """Make every picture, or those named on the command line."""
    wanted = [picture for picture in ALL if picture.name in sys.argv[1:] or not sys.argv[1:]]
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, demo_desk(Path(folder)) as running, chdir(folder):
        for command in dict.fromkeys(picture.command for picture in wanted if picture.command):
            with suppress(SystemExit):  # of what a person should look at
                cli.main(command.split(), standalone_mode=False)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            for picture in wanted:
                save(shot_of(browser, picture, running), picture.name)
            browser.close()


def shot_of(browser: Browser, picture: Picture, running: Running) -> bytes:
    """Return a picture of a page, of the desk or of paper, as PNG."""
    if picture.page.endswith(".xlsx"):
        return shoot_sheet(picture)
    if picture.page.endswith(".pdf"):
        command = ["pdftoppm", "-png", "-r", "80", "-f", "1", "-l", "1", picture.page]
        return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603
    return shoot(browser, picture) if picture.command else shoot_desk(browser, picture, running)


def shoot_sheet(picture: Picture) -> bytes:
    """Return the beginning of a workbook's first sheet, within its margins, as PNG."""
    book = Path(picture.page)
    place = [
        "--outdir",
        str(book.parent),
        f"-env:UserInstallation={Path('office').absolute().as_uri()}",
    ]
    office = ["soffice", "--headless", "--convert-to", "pdf", *place, str(book)]
    subprocess.run(office, check=True, capture_output=True)  # noqa: S603
    seen = ["-x", "25", "-y", "55", "-W", str(picture.width), "-H", str(picture.height)]
    paper = ["pdftoppm", "-png", "-r", "100", "-f", "1", "-l", "1", *seen]
    command = [*paper, str(book.with_suffix(".pdf"))]
    return subprocess.run(command, check=True, capture_output=True).stdout  # noqa: S603


def shoot(browser: Browser, picture: Picture) -> bytes:
    """Return the part of a page that a picture shows, as PNG."""
    page = browser.new_page(viewport={"width": picture.width, "height": picture.height})
    page.goto(Path(picture.page).absolute().as_uri())
    page.wait_for_load_state("networkidle")
    page.locator(picture.top).first.evaluate("element => element.scrollIntoView()")
    shot = page.screenshot()
    page.close()
    return shot


def shoot_desk(browser: Browser, picture: Picture, running: Running) -> bytes:
    """Return the close desk over the demo's lake, in JupyterLab, as PNG."""
    page = browser.new_page(viewport={"width": picture.width, "height": picture.height})
    page.set_default_timeout(120_000)
    folder = Path.cwd()
    words = picture.page.split()[1:]
    with contextmanager(lab_at)(folder, folder / "data", running.environment, words) as address:
        panel = ready(page, address).locator(".svc-desk")
        panel.locator(".svc-figures button").first.wait_for()
        page.wait_for_timeout(8_000)  # the months are compared with the lake, one after the other
        panel.locator(".svc-figures tr:has(.svc-press)").nth(7).locator("button").nth(3).click()
        panel.locator("table:has(th[aria-sort]) tbody tr").nth(1).click()  # a refund of usdt
        panel.locator(".svc-card").wait_for()
        panel.evaluate("element => element.scrollIntoView()")
        seen = panel.bounding_box() or {}
        seen["height"] = min(seen["height"], picture.height - seen["y"] - _FOOT)
        shot = page.screenshot(clip=seen)  # type: ignore[arg-type] # its four sides
    page.close()
    return shot


def save(shot: bytes, name: str) -> None:
    """Write a picture with few colours, so that it stays small."""
    with Image.open(io.BytesIO(shot)) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
