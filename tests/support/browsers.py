"""Pages in Chromium, as a person works with them by the keys, and what their markup says.

Also `svc-analytics lab`, begun and ended by tests.
"""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NoReturn

import click
import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """The path of a Chromium; without one, skip, or fail where it is required."""
    for found in map(shutil.which, NAMES):
        if found:
            return found
    return _missing("no Chromium on this machine: install the package chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium, for the tests of one module."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


def _missing(reason: str) -> NoReturn:
    if os.environ.get("SVC_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def pdf_words(path: Path) -> tuple[list[tuple[str, float]], float]:
    """The words of a PDF, each with its right edge, and the width of its sheets."""
    reader = shutil.which("pdftotext")
    if reader is None:
        _missing("no pdftotext on this machine: install the package poppler-utils")
    found = subprocess.run([reader, "-bbox", path, "-"], capture_output=True, check=True)
    text = found.stdout.decode(errors="replace")
    words = re.findall(r'<word .*?xMax="([0-9.]+)".*?>(.*?)</word>', text)
    sheet = re.search(r'<page width="([0-9.]+)"', text)
    return [(unescape(word), float(right)) for right, word in words], float(sheet[1])


def ready(page: Page, address: str) -> Locator:
    """Open a notebook, and wait for its kernel: what is run earlier may be dropped."""
    page.goto(address)
    notebook = page.locator(".jp-NotebookPanel")
    notebook.locator(".jp-Toolbar-kernelName").get_by_text("Python 3").wait_for()
    notebook.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
    return notebook


def run_all(page: Page, address: str) -> Locator:
    """Open the notebook and run every cell, by the menu."""
    notebook = ready(page, address)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    notebook.get_by_text("all agree").last.wait_for()
    return notebook


def barriers(page: Page, within: str = "body") -> list[str]:
    """What an accessibility checker finds within a part of a page: rules, and where."""
    from axe_playwright_python.sync_playwright import Axe  # takes long to load

    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
    found = Axe().run(page, context=within, options=rules).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


MOST_TABS = 60


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the keys are where they are wanted."""
    for _ in range(MOST_TABS):
        if wanted.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    pytest.fail(f"Tab does not lead to {wanted}")


def press(page: Page, *keys: str) -> None:
    """Press keys, one after the other."""
    for key in keys:
        page.keyboard.press(key)


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Print how long something took; `pytest -s` shows it."""
    began = time.monotonic()
    yield
    click.echo(f"{name}: {time.monotonic() - began:.2f} s")


VOID = {"meta", "br", "img", "path", "use", "rect", "line", "input", "link"}
Element = tuple[str, dict[str, str | None]]


class Markup(HTMLParser):
    """The elements of a page, nested as they should be, and its texts with those around each."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[Element] = []
        self.seen: list[Element] = []
        self.texts: list[tuple[str, list[Element]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open += [] if tag in VOID else self.seen[-1:]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((" ".join(data.split()), self.open[1:]))


def texts_of(page: str) -> list[tuple[str, list[Element]]]:
    """List the texts of a page but for its styles and pictures."""
    return Markup(re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.S)).texts


PATIENCE = 120  # seconds, on a slow machine


@contextmanager
def served_lab(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], notebook: str
) -> Iterator[str]:
    """Run the command in a folder until the block ends; yield where a notebook is open in it."""
    words = [*command, "--no-browser", "--allow-root", "--ServerApp.port=0"]
    with (folder / "lab.log").open("w") as log:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            server = _server(Path(environment["JUPYTER_RUNTIME_DIR"]), process)
            yield f"{server['url']}lab/tree/{notebook}?token={server['token']}&reset"
        except TimeoutError:
            pytest.fail(f"JupyterLab did not start: {Path(log.name).read_text()[-2000:]}")
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _server(runtime: Path, process: "subprocess.Popen[bytes]") -> dict[str, str]:
    """Wait for the server; return what it says of itself."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with suppress(ValueError):
                server: dict[str, str] = json.loads(file.read_text())
                return server
        time.sleep(0.1)
    raise TimeoutError
