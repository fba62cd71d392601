"""Chromium, for tests that look at pages as a person does."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
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
    assert sheet
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
    notebook.get_by_text("the figures agree").last.wait_for()
    return notebook


# ---------- a person who works with the keys alone, in Chromium, and how long each answer took


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
