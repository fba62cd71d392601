"""The notebooks: run whole against the sandbox, with no key, and held against the statement."""

import asyncio
import re
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

import svc_analytics as svc
from svc_analytics import notebooks
from svc_analytics.cli import cli
from svc_analytics.demo import run_demo
from svc_analytics.errors import ConfigError
from svc_analytics.render.cells import shown
from svc_analytics.warehouse import AnalyticLake

FOLDER = Path(__file__).parent.parent / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
SECRET = re.compile(r"svc_(live|payout)_[0-9a-f]{8}|[0-9a-f]{64}@|whsec_|SVC_\w+(KEY|SECRETS)=")
MOST_CELLS = 20


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> AnalyticLake:
    """A lake of about 2,000 payments with verified receipts."""
    lake = AnalyticLake(tmp_path_factory.mktemp("desk") / "data")
    run_demo(lake, 3, 2_000, 7, note=lambda _: None)
    return lake


@pytest.fixture(scope="module")
def executed(demo: AnalyticLake) -> dict[str, Any]:
    """Every notebook by its number, after it ran as a reader runs it: without a month."""
    parameters = {"DATA_DIR": str(demo.path)}
    return {path.stem[:2]: notebooks.run_notebook(path, parameters) for path in PATHS}


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_every_notebook_runs_and_its_figures_agree(executed: dict[str, Any]) -> None:
    """Each ends with its own checks, which say so when they hold."""
    assert sorted(executed) == ["01", "02", "03", "04", "05", "06", "07"]
    for name, done in executed.items():
        assert "the figures agree" in str(done.cells[-1].outputs), name


def test_each_answer_is_a_table_or_a_picture(executed: dict[str, Any]) -> None:
    """No cell after the opening ends in silence."""
    for name, done in executed.items():
        code = [cell for cell in done.cells if cell.cell_type == "code"]
        assert all(cell.outputs for cell in code[3:]), name


def test_a_figure_shown_is_the_statements(executed: dict[str, Any], demo: AnalyticLake) -> None:
    """What a reader sees in 02 is what `svc-analytics statement` writes, digit for digit."""
    made = svc.statement(demo, svc.last_full_month(demo))
    page = "".join(notebooks.outputs_of(executed["02"]))
    for coin, value in zip(made.summary["currency"], made.summary["net_settlement"], strict=True):
        assert f"{shown(value)} <small>{escape(coin)}</small>" in page


def test_no_output_holds_a_key(executed: dict[str, Any]) -> None:
    """Neither keys nor secrets nor their variables' values."""
    for name, done in executed.items():
        assert not SECRET.search("".join(notebooks.outputs_of(done))), name


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem[:2])
def test_notebooks_are_short_told_and_stripped(path: Path) -> None:
    """Prose before every step, no `def`, and nothing of a run in them."""
    notebook = read(path)
    cells = notebook.cells
    nbformat.validate(notebook)  # type: ignore[no-untyped-call]
    assert len(cells) <= MOST_CELLS and cells[0].source.startswith("# ")
    for before, cell in pairwise(cells):
        if cell.cell_type == "code":
            assert before.cell_type == "markdown"
            assert not cell.outputs and cell.execution_count is None
            assert not re.search(r"^\s*(def|class) |lambda |^[!%]", cell.source, re.MULTILINE)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem[:2])
def test_parameters_are_set_behind_the_cell_that_declares_them(path: Path) -> None:
    """So that they win, and a reader of the page sees them."""
    notebook = read(path)
    notebooks.inject(notebook, {"DATA_DIR": "x", "MONTH": "2026-10"})
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    place = tags.index(["parameters"])
    assert tags[place + 1] == ["injected-parameters"]
    assert notebook.cells[place + 1].source == "DATA_DIR = 'x'\nMONTH = '2026-10'"


def test_a_notebook_runs_inside_a_running_event_loop(tmp_path: Path) -> None:
    """As it does when a notebook starts another one; the error of a cell is one line."""
    path = tmp_path / "empty.ipynb"
    path.write_text((FOLDER / "02-statement.ipynb").read_text())

    async def run() -> None:
        notebooks.run_notebook(path, {"DATA_DIR": str(tmp_path / "none")})

    with pytest.raises(notebooks.NotebookFailed, match="failed: LakeError: no lake in"):
        asyncio.run(run())


def test_the_command_writes_a_page(demo: AnalyticLake, tmp_path: Path) -> None:
    """`svc-analytics notebook 05 --month M --out FILE`."""
    month, out = svc.last_full_month(demo), tmp_path / "page.html"
    words = ["notebook", "05", "--month", month, "--data-dir", str(demo.path), "--out", str(out)]
    cli.main(words, standalone_mode=False)
    page = out.read_text()
    assert "the figures agree" in page and month in page and "<svg" in page
    assert not re.search(r"<(script|link|img)[^>]*(src|href)=.?https?:|import .*https?:", page)


def test_a_wrong_name_lists_the_right_ones() -> None:
    """One line that names the next step."""
    with pytest.raises(ConfigError, match="no notebook '9': choose 01-first-look, "):
        notebooks.find_notebook("9")
    assert notebooks.find_notebook("03-fees-and-refunds") == notebooks.find_notebook("03")


def test_the_demo_never_touches_what_is_there(demo: AnalyticLake) -> None:
    """`demo_lake` fills an empty folder only."""
    before = sorted(path.stat().st_mtime_ns for path in demo.path.rglob("*.parquet"))
    assert svc.demo_lake(demo.path).path == demo.path
    assert before == sorted(path.stat().st_mtime_ns for path in demo.path.rglob("*.parquet"))


def test_pickers_redraw_for_another_coin(demo: AnalyticLake) -> None:
    """The chosen coin's figures stand below, and a month keeps the coin."""
    box = svc.pick(demo)
    months, coins = box.children[0].children
    coins.value = "usdt"
    assert all("usdt" in part["data"]["text/html"] for part in box.children[1].outputs)
    months.value = months.options[-1]
    assert coins.value == "usdt" or "usdt" not in coins.options
