# ruff: noqa: F401, F811 - fixtures are imported by name, and named again where they are used
"""JupyterLab as a person meets it: installed from a wheel, started by one command, in Chromium."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Locator, Page

import svc_analytics as svc
from svc_analytics.lakehouse import Lakehouse
from tests.support.browsers import PATIENCE, browser, run_all, served_lab
from tests.support.documents import demo_copy

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(build, cwd=ROOT, check=True)
    return next(out.glob("svc_analytics-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """An environment with the wheel installed, and beside it only what it depends on."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    pip = [sys.executable, "-m", "pip", f"--python={folder / 'bin' / 'python'}", "install", "-q"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "svc-analytics"


@pytest.fixture(scope="module")
def lake(tmp_path_factory) -> Lakehouse:
    return demo_copy(tmp_path_factory)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The person's working folder: not a clone of the project."""
    return tmp_path_factory.mktemp("somewhere")


@pytest.fixture(scope="module")
def environment(folder) -> dict[str, str]:
    """An environment without anybody's settings, but with JupyterLab's own files."""
    prefix = Path(sysconfig.get_path("data"))
    data = prefix / "share" / "jupyter"
    names = ("RUNTIME", "CONFIG", "DATA")
    private = {f"JUPYTER_{name}_DIR": str(folder / f".{name.lower()}") for name in names}
    shared = {"JUPYTERLAB_DIR": str(data / "lab"), "JUPYTER_PATH": str(data)}
    shared |= {"JUPYTER_CONFIG_PATH": str(prefix / "etc" / "jupyter")}
    kept = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH",)}
    return kept | private | shared | {"IPYTHONDIR": str(folder / ".ipython")}


@pytest.fixture(scope="module")
def address(installed, lake, folder, environment) -> Iterator[str]:
    """`svc-analytics lab`, and where notebook 02 is open in it."""
    words = [installed, "lab", "--data-dir", str(lake.path), "--ServerApp.ip=127.0.0.1"]
    with served_lab(words, folder, environment, "02-statement.ipynb") as address:
        yield address


@pytest.fixture
def errors() -> list[str]:
    """Errors of the page, and every address outside this machine that it asks."""
    return []


@pytest.fixture
def page(browser, errors) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(PATIENCE * 1000)
    page.on("pageerror", lambda error: errors.append(f"error: {error}"))
    page.on("console", lambda m: errors.append(f"console: {m.text}") if m.type == "error" else 0)
    page.on("request", lambda r: None if _is_here(r.url) else errors.append(f"asks {r.url}"))
    yield page
    page.close()


def _is_here(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:"))


@pytest.mark.thorough
def test_the_notebook_in_jupyterlab_follows_its_pickers(page, address, errors, lake, tmp_path):
    """Notebook 02: every table, picture and check is of the month and the coin that are picked."""
    month = svc.last_full_month(lake)
    notebook = run_all(page, address)
    notebook.get_by_role("cell", name="Sales less fees and refunds", exact=True).wait_for()
    notebook.get_by_role("heading", name="What is the statement").scroll_into_view_if_needed()
    notebook.locator(".jupyter-widgets select").first.wait_for()
    months, _, coins = notebook.locator(".jupyter-widgets select").all()
    offered = months.locator("option")
    offered.filter(has_text=month).wait_for(state="attached")  # filled behind the picker itself
    other = offered.all_text_contents()[-1]
    assert other != month and status_lines(notebook, month) and not status_lines(notebook, other)
    months.select_option(other)
    notebook.get_by_text(f"{month}, UTC · ").first.wait_for(state="detached")
    notebook.get_by_text("all agree").wait_for()  # the last cell to follow
    assert not status_lines(notebook, month) and len(status_lines(notebook, other)) >= 3
    coins.select_option("usdt")
    notebook.get_by_role("img", name="net settlement daily, btc").wait_for(state="detached")
    assert notebook.get_by_role("img", name="net settlement daily, usdt").count() == 1
    page.screenshot(path=tmp_path / "picked.png", full_page=True)
    notebook.locator(".jupyter-widgets input").fill("Mars/Base")
    notebook.locator(".jupyter-widgets input").press("Enter")
    notebook.get_by_text("no time zone 'Mars/Base'").wait_for()
    notebook.get_by_text("all agree").wait_for()
    assert len(status_lines(notebook, other)) >= 3  # the last good tables stay
    assert errors == []


def status_lines(notebook: Locator, month: str) -> list[str]:
    """Return what tables say of their month and status, as far as they are of this month."""
    return notebook.get_by_text(f"{month}, UTC · ").all_inner_texts()


def test_the_wheel_brings_the_notebooks(wheel):
    """All of them, in the folder where the command looks for them."""
    names = ZipFile(wheel).namelist()
    notebooks = sorted(name.rsplit("/", 1)[1] for name in names if name.endswith(".ipynb"))
    assert notebooks == NOTEBOOKS


@pytest.mark.thorough
def test_lab_opens_on_the_first_notebook_and_asks_nothing(page, address, folder, errors):
    """No choice to make, no news to refuse, and no cell to run: the desk is there."""
    # A person who comes back finds what was open before; here nobody was here before.
    shutil.rmtree(folder / ".config" / "lab" / "workspaces", ignore_errors=True)
    landing = address.replace("lab/tree/02-statement.ipynb", "").removesuffix("&reset")
    page.goto(landing)
    notebook = page.locator(".jp-NotebookPanel")
    notebook.get_by_role("heading", name="Close a month").wait_for()
    notebook.locator(".svc-desk").wait_for()
    notebook.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").wait_for()
    page.wait_for_timeout(2000)  # by then a question would be there
    assert page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab").all_inner_texts() == [
        "00-close-desk.ipynb"
    ]
    assert page.get_by_text("Jupyter news").count() == 0
    assert errors == []


@pytest.mark.thorough
def test_a_notebook_runs_from_the_installed_wheel(installed, lake, tmp_path, environment):
    """`svc-analytics notebook 05` in any folder, without a clone of the project."""
    words = [installed, "notebook", "05", "--data-dir", str(lake.path), "--out", "page.html"]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True)
    page = (tmp_path / "page.html").read_text()
    assert "all agree" in page and "Position in USD" in page
