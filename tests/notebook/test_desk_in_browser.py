"""The close desk in JupyterLab and Chromium, by keys alone: from due to sealed to a record."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect, sync_playwright

import svc_analytics as svc
from svc_analytics import sandbox
from svc_analytics.config import read_settings
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.sandbox.server import serve
from tests.support.browsers import chromium, run_all

PATIENCE = 120  # seconds, on a slow machine


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The settings of a sandbox with two months, which were read into a lake."""
    clock = sandbox.Clock()
    with sandbox.Store() as store:
        sandbox.seed(store, sandbox.Scenario(1, 2, 60, until=clock.now()))
        with serve(sandbox.Service(store, clock)) as running:
            path = tmp_path / "data"
            read = read_settings(path, environ=running.environment, folder=Path("/"))
            svc.extract(Lakehouse(path), read)
            yield dict(running.environment)


@pytest.fixture
def address(settings: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """`svc-analytics lab` over that lake, and where the desk is open in it."""
    names = ("RUNTIME", "CONFIG")
    private = {f"JUPYTER_{name}_DIR": str(tmp_path / name.lower()) for name in names}
    private |= {
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    own = ["--data-dir", str(tmp_path / "data"), "--no-browser", "--allow-root"]
    words = [sys.executable, "-m", "svc_analytics", "lab", *own, "--ServerApp.port=0"]
    with (tmp_path / "lab.log").open("w") as log:
        environment = os.environ | settings | private
        process = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=log, stderr=log)
        try:
            server = _server(tmp_path / "runtime")
            yield f"{server['url']}lab/tree/00-close-desk.ipynb?token={server['token']}&reset"
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _server(runtime: Path) -> dict[str, str]:
    """Wait for the server; return its address and token."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for file in runtime.glob("jpserver-*.json"):
            with suppress(ValueError):
                found: dict[str, str] = json.loads(file.read_text())
                return found
        time.sleep(0.1)
    pytest.fail("JupyterLab did not start")


@pytest.fixture
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1200})
        page.set_default_timeout(PATIENCE * 1000)
        expect.set_options(timeout=PATIENCE * 1000)
        yield page
        browser.close()


def opened(page: Page, address: str) -> Locator:
    """Open the notebook, run its cells, and return the panel."""
    return run_all(page, address).locator(".svc-desk")


def press(button: Locator) -> None:
    """Press a button by a key, as somebody who came to it by Tab."""
    button.focus()
    button.press("Enter")


def test_a_month_is_sealed_and_looked_into_by_keys(page: Page, address: str) -> None:
    """A key seals the month that is shown; one leads to a figure's records, one to a record."""
    panel = opened(page, address)
    tile = panel.locator("button.svc-chosen")
    expect(tile).to_contain_text("due")
    expect(panel.get_by_role("button", name="close 20")).to_be_in_viewport()  # nobody scrolls to it
    assert page.locator(".svc-desk-plain").is_hidden()  # the page to read stands behind it
    press(panel.get_by_role("button", name="close 20"))
    expect(tile).to_contain_text("sealed")
    expect(panel).to_contain_text("These are the figures that were sealed, as version 1.")
    press(panel.locator("button.svc-press:not(:text-matches('^[0.]+$'))").first)
    row = panel.locator("tr.svc-press").first
    expect(row).to_be_focused()
    page.keyboard.press("Enter")
    panel.get_by_text("its receipt").wait_for()
    expect(panel).to_contain_text("Verdict")
