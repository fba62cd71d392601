"""The notebooks: run whole against the sandbox, with no key, and compared with the statement."""

import ast
import asyncio
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.errors import ConfigError
from svc_analytics.notebook import runner
from tests.support.desks import Desk
from tests.support.ledgers import read_ledger
from tests.support.prepared import extracted
from tests.support.rings import rings

FOLDER = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
TOO_MANY_CELLS = 20


# Each run runs every notebook for real, its charts too: 02 in a kernel, as the page of
# `test_notebook_pages`, the others cell by cell.
CELL_BY_CELL = [path for path in PATHS if path.stem[:2] != "02"]


NO_PAYOUTS = """
 kind     currency  amount  fee   at
 payment  btc       1       0.01  2026-10-05T08:00
 payment  usdt      20      0.2   2026-10-06T08:00
"""


@pytest.mark.parametrize(
    ("path", "ledger"),
    rings(
        ((path, NO_PAYOUTS) for path in CELL_BY_CELL),
        [*((path, NO_PAYOUTS) for path in PATHS), (PATHS[6], "")],
    ),
)
def test_a_notebook_agrees_where_figures_are_unknown(path, ledger, desk):
    """Without a payout key and without a verdict; one makes receipts of payments there are not."""
    desk.service.payments = read_ledger(ledger)[0] if ledger else []
    extracted(Desk(desk.service, replace(desk.settings, payout_key=None), desk.lake))
    notebook = read(path)
    runner.inject(notebook, {"DATA_DIR": str(desk.lake.path)})
    *code, checks = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    names: dict[str, Any] = {}
    tree = ast.parse(checks)
    last = tree.body.pop()
    exec("\n".join([*code, ast.unparse(tree)]), names)
    assert "the figures agree" in repr(eval(ast.unparse(last), names))  # what the cell shows


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_there_is_a_notebook_for_every_question():
    """By their numbers."""
    assert [path.stem[:2] for path in PATHS] == [f"{number:02}" for number in range(10)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem[:2])
def test_notebooks_are_short_told_and_stripped(path):
    """Prose before every step that is seen, no `def` but what to show, nothing of a run in them."""
    notebook = read(path)
    cells = notebook.cells
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    nbformat.validate(notebook)  # type: ignore[no-untyped-call]
    assert len(cells) < TOO_MANY_CELLS and cells[0].source.startswith("# ")
    for before, cell in pairwise(cells):
        if cell.cell_type == "code":
            hidden = before.metadata.get("jupyter", {}).get("source_hidden")
            assert before.cell_type == "markdown" or hidden
            assert not cell.outputs and cell.execution_count is None
            assert not re.search(r"^\s*(def|class) |^[!%]", cell.source, re.MULTILINE)
            shown = re.findall(r"lambda [^:]*", cell.source)
            assert {*shown} <= {"lambda st, coin"} or "picked.check(" in cell.source


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem[:2])
def test_parameters_are_set_behind_the_cell_that_declares_them(path):
    """So that they win, and a reader of the page sees them."""
    notebook = read(path)
    assert {"DATA_DIR", "ZONE"} <= runner.parameters_of(notebook)
    runner.inject(notebook, {"DATA_DIR": "x", "MONTH": "2026-10"})
    tags = [cell.metadata.get("tags", []) for cell in notebook.cells]
    place = tags.index(["parameters"])
    assert tags[place + 1] == ["injected-parameters"]
    assert notebook.cells[place + 1].source == "DATA_DIR = 'x'\nMONTH = '2026-10'"


@pytest.mark.thorough
def test_a_notebook_runs_inside_a_running_event_loop(tmp_path):
    """As it does when a notebook starts another one; the error of a cell is one line."""
    path = tmp_path / "empty.ipynb"
    path.write_text((FOLDER / "02-statement.ipynb").read_text())

    async def run() -> None:
        runner.run_notebook(path, {"DATA_DIR": str(tmp_path / "none")})

    with pytest.raises(runner.NotebookFailed, match="failed: NoLake: no lake in"):
        asyncio.run(run())


def test_a_notebook_of_no_month_takes_none(desk):
    """01 is of the whole lake: a month would be ignored, so it is refused."""
    place = str(extracted(desk).lake.path)
    words = ["notebook", "01", "--month", "2026-10", "--data-dir", place]
    with pytest.raises(ConfigError, match="01-first-look has no parameter MONTH"):
        cli.main(words, standalone_mode=False)


def test_a_page_into_no_folder_is_refused_before_the_run(desk, tmp_path, monkeypatch):
    """A run takes a while; what would be in vain is told at once."""
    monkeypatch.setattr(runner, "run_notebook", lambda *_, **__: pytest.fail("it ran"))
    place = str(extracted(desk).lake.path)
    words = ["notebook", "05", "--data-dir", place, "--out", str(tmp_path / "no" / "p")]
    with pytest.raises(ConfigError, match="there is no folder"):
        cli.main(words, standalone_mode=False)


def test_a_wrong_name_lists_the_right_ones():
    """One line that names the next step."""
    with pytest.raises(ConfigError, match="no notebook '9': choose 00-close-desk, 01-first-look, "):
        runner.find_notebook("9")
    assert runner.find_notebook("03-fees-and-refunds") == runner.find_notebook("03")


def test_the_demo_never_touches_what_is_there(desk):
    """`demo_lake` fills an empty folder only."""
    place = extracted(desk).lake.path
    before = sorted(path.stat().st_mtime_ns for path in place.rglob("*.parquet"))
    assert svc.demo_lake(place).path == place
    assert before == sorted(path.stat().st_mtime_ns for path in place.rglob("*.parquet"))
