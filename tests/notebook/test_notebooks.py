"""The notebooks: run whole with no key, copied beside the lake; and what Tab offers in them."""

import ast
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel

import svc_analytics as svc
from svc_analytics.cli.app import cli
from svc_analytics.errors import ConfigError
from svc_analytics.lakehouse import _INNER
from svc_analytics.language.catalogue import Language
from svc_analytics.notebook import runner
from svc_analytics.notebook.runner import working_folder
from svc_analytics.statements.statement import Statement
from tests.support.desks import Desk
from tests.support.ledgers import read_ledger
from tests.support.loops import LoopApart
from tests.support.prepared import extracted
from tests.support.rings import rings

FOLDER = Path(__file__).parents[2] / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
TOO_MANY_CELLS = 20


# Each run runs every notebook for real, its charts too: 02 in a kernel, as the page of
# `test_notebook_pages`, the others cell by cell.
CELL_BY_CELL = [path for path in PATHS if path.stem[:2] != "02"]


NO_PAYOUTS = """
 kind     currency  amount  fee   at                fee_bearer  charged_amount  net_amount
 payment  btc       1       0.01  2026-10-05T08:00  merchant    1               0.99
 payment  usdt      20      0.2   2026-10-06T08:00  customer    20.2            20
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
    notebook = opened(path)
    runner.inject(notebook, {"DATA_DIR": str(desk.lake.path)})
    *code, checks = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    names: dict[str, Any] = {}
    tree = ast.parse(checks)
    last = tree.body.pop()
    exec("\n".join([*code, ast.unparse(tree)]), names)
    assert "all agree" in repr(eval(ast.unparse(last), names))  # what the cell shows


def opened(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]


def test_there_is_a_notebook_for_every_question():
    """By their numbers."""
    assert [path.stem[:2] for path in PATHS] == [f"{number:02}" for number in range(11)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem[:2])
def test_notebooks_are_short_told_and_stripped(path):
    """Prose before every step that is seen, no `def` but what to show, nothing of a run in them."""
    notebook = opened(path)
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
    notebook = opened(path)
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

    failure = pytest.raises(runner.NotebookFailed, match="failed: NoLake: no lake in")
    with LoopApart() as loop, failure:
        loop.run(run())


@pytest.mark.parametrize(
    ("name", "words", "month"),
    [("01", [], None), ("01", ["--month", "oct 2026"], "2026-10"), ("05", [], "2026-10")],
    ids=["all time", "of a month", "the last full month"],
)
def test_what_is_of_the_whole_lake_takes_a_month_too(desk, monkeypatch, name, words, month):
    """Without one, 00 and 01 are of all time; the others of the last full month."""
    asked: list[dict[str, str]] = []

    def run(_: object, parameters: dict[str, str], **__: object) -> None:
        asked.append(parameters)
        raise runner.NotebookFailed("enough")

    monkeypatch.setattr(runner, "run_notebook", run)
    place = str(extracted(desk).lake.path)
    with pytest.raises(runner.NotebookFailed):
        cli.main(["notebook", name, *words, "--data-dir", place], standalone_mode=False)
    assert asked[0].get("MONTH") == month


def test_a_notebook_of_no_month_takes_none(desk, tmp_path):
    """A month would be ignored, so it is refused."""
    own = tmp_path / "own.ipynb"
    own.write_text((FOLDER / "02-statement.ipynb").read_text().replace("MONTH = None", "M = None"))
    place = str(extracted(desk).lake.path)
    words = ["notebook", str(own), "--month", "2026-10", "--data-dir", place]
    with pytest.raises(ConfigError, match="own has no parameter MONTH"):
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


ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIRST = "01-first-look.ipynb"
NEW = "01-first-look.new.ipynb"


@pytest.fixture
def release(monkeypatch, tmp_path) -> Path:
    """The folder of the notebooks that a release brings, to change in a test."""
    folder = tmp_path / "release"
    shutil.copytree(ROOT / "notebooks", folder)
    monkeypatch.setattr(runner, "notebook_folder", lambda but: folder)
    return folder


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def rewrite(path: Path, word: str) -> None:
    """Change a notebook's first sentence, as a person or a new release does."""
    notebook = read(path)
    notebook["cells"][0]["source"] = [word]
    path.write_text(json.dumps(notebook))


def run(path: Path) -> None:
    """Give a notebook an output, as running and saving it does."""
    notebook = read(path)
    output = {"output_type": "stream", "name": "stdout", "text": ["order-001530"]}
    notebook["cells"][1] |= {"outputs": [output], "execution_count": 1}
    path.write_text(json.dumps(notebook))


def first_sentence(path: Path) -> str:
    return "".join(read(path)["cells"][0]["source"])


@pytest.mark.parametrize("lake", ["data", "another lake"])
def test_git_sees_nothing_of_what_was_run_and_saved(lake, tmp_path):
    """Wherever in a clone the lake lies: its output names customers' orders."""
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "a clone"]):
        subprocess.run([*git, *words], check=True)
    folder, notes = working_folder(Path(lake))
    run(folder / FIRST)
    seen = subprocess.run([*git, "status", "--porcelain"], capture_output=True, check=True)
    assert seen.stdout == b"" and notes == [] and folder == tmp_path / lake / "notebooks"
    assert sorted(path.name for path in folder.glob("*.ipynb")) == [p.name for p in NOTEBOOKS]


def test_a_copy_that_nobody_changed_follows_a_new_release(release):
    """Also one that was run: outputs come again."""
    folder, _ = working_folder(Path("data"))
    run(folder / FIRST)
    rewrite(release / FIRST, "What is new?")
    _, notes = working_folder(Path("data"))
    assert first_sentence(folder / FIRST) == "What is new?" and notes == []


def test_a_changed_copy_stays_and_the_new_one_is_put_beside_it(release):
    """Once: the next start has nothing to say."""
    folder, _ = working_folder(Path("data"))
    rewrite(folder / FIRST, "mine")
    assert working_folder(Path("data"))[1] == []
    rewrite(release / FIRST, "What is new?")
    _, notes = working_folder(Path("data"))
    assert notes == [f"{FIRST} is yours and stays; the new one is {NEW} beside it"]
    assert (first_sentence(folder / FIRST), first_sentence(folder / NEW)) == (
        "mine",
        "What is new?",
    )
    assert working_folder(Path("data"))[1] == []


def test_both_changed_stay(release):
    """Then the new one is named where the release keeps it."""
    folder, _ = working_folder(Path("data"))
    rewrite(folder / FIRST, "mine")
    rewrite(release / FIRST, "second release")
    working_folder(Path("data"))
    rewrite(folder / NEW, "mine too")
    rewrite(release / FIRST, "third release")
    (note,) = working_folder(Path("data"))[1]
    assert note == f"{FIRST} and {NEW} are yours and stay; the new one is {release / FIRST}"
    assert first_sentence(folder / FIRST) == "mine" and first_sentence(folder / NEW) == "mine too"


def test_a_deleted_copy_comes_back(release):
    """That is how a person begins anew."""
    folder, _ = working_folder(Path("data"))
    (folder / FIRST).unlink()
    working_folder(Path("data"))
    assert first_sentence(folder / FIRST) == first_sentence(release / FIRST)


def test_what_git_shall_see_of_the_copies_is_the_persons_choice(tmp_path):
    """A changed .gitignore stays as it is."""
    folder, _ = working_folder(tmp_path)
    (folder / ".gitignore").write_text("*.new.ipynb\n")
    working_folder(tmp_path)
    assert (folder / ".gitignore").read_text() == "*.new.ipynb\n"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"cells": [[]]}',
        '{"cells": [{"cell_type": "raw", "source": "", "metadata": []}]}',
    ],
)
def test_a_copy_that_is_no_notebook_is_a_persons_own(release, tmp_path, text):
    """It stays, and the lab opens."""
    folder, _ = working_folder(tmp_path / "data")
    (folder / FIRST).write_text(text)
    rewrite(release / FIRST, "newer")
    _, notes = working_folder(tmp_path / "data")
    assert (folder / FIRST).read_text() == text and first_sentence(folder / NEW) == "newer"
    assert notes == [f"{FIRST} is yours and stays; the new one is {NEW} beside it"]


def test_copies_are_never_taken_for_the_release(monkeypatch, tmp_path):
    """Started in the lake's folder, where `notebooks` are the copies themselves."""
    folder, _ = working_folder(tmp_path)
    rewrite(folder / FIRST, "mine")
    (folder / NOTEBOOKS[2].name).unlink()
    monkeypatch.chdir(tmp_path)
    working_folder(Path())
    assert first_sentence(folder / FIRST) == "mine" and (folder / NOTEBOOKS[2].name).exists()


def test_the_notebook_of_the_desk_speaks_the_language_of_the_desk(tmp_path):
    """It follows when another is chosen, and stays as a person changed it."""
    said = []
    for code in ("fa", "en+fa", "en"):
        folder, notes = working_folder(tmp_path, Language(code))
        said.append(first_sentence(folder / "00-close-desk.ipynb"))
        assert notes == []
    persian, both, english = said
    assert persian.startswith('<div dir="rtl">') and "بستن ماه" in persian
    assert english.startswith("# Close a month") and both == f"{english}\n\n{persian}"


# ---------- what Tab offers in a notebook, asked of a real kernel, with and without jedi


PATIENCE = 120  # seconds, on a slow machine


@pytest.fixture(scope="module", params=rings([True], [True, False]), ids=str)
def kernel(request) -> Iterator[Any]:
    words = [f"--IPCompleter.use_jedi={request.param}", "--IPKernelApp.log_level=40"]
    manager, client = start_new_kernel(
        kernel_name="python3", startup_timeout=PATIENCE, extra_arguments=words
    )
    client.has_jedi = request.param
    client.execute_interactive("import svc_analytics as svc\nlake = svc.open_lake('data')")
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def tab(client: Any, code: str) -> set[str]:
    """What the kernel offers behind a text, without what stands before the point."""
    asked = client.complete(code, len(code))
    while True:
        answer = client.get_shell_msg(timeout=PATIENCE)
        if answer["parent_header"].get("msg_id") == asked:
            return {found.rpartition(".")[2] for found in answer["content"]["matches"]}


def test_tab_offers_exactly_the_public_names(kernel):
    """And the charts that `draw` takes: no module, no name of how they are made."""
    assert tab(kernel, "svc.") == {*svc.__all__, "charts"}
    assert {"statement", "Statement"} & tab(kernel, "svc.st") == {"statement"}


def test_tab_on_a_lake_offers_what_a_person_does_with_it(kernel):
    """Queries, figures, views, whose it is; not how its files are kept.

    Without jedi, IPython adds the names of the class, whatever an object says.
    """
    wanted = {"engine", "exists", "explain", "merchant", "merchant_id", "path", "place"}
    wanted |= {"sql", "views"}
    offered = tab(kernel, "lake.")
    of_the_class = _INNER & {*dir(svc.Lakehouse)}
    assert offered == (wanted if kernel.has_jedi else wanted | of_the_class)


def test_a_near_miss_is_named():
    """In a word: what was meant."""
    with pytest.raises(AttributeError, match="did you mean 'statement'"):
        _ = svc.statment
    with pytest.raises(AttributeError, match=r"no attribute 'zzz'$"):
        _ = svc.zzz


def test_charts_are_there_without_an_import_of_their_own():
    """As the notebooks use them."""
    assert svc.charts.position.__name__ == "position" and "charts" in dir(svc)


def test_tab_on_a_statement_hides_what_seals_are_made_of():
    """Its tables, its status and `save` stay."""
    offered = set(dir(object.__new__(Statement)))
    assert {"summary", "lines", "daily", "figures", "checks", "status", "save"} <= offered
    assert not {"manifest", "content_digest", "controls"} & offered


def test_a_kernel_of_a_clone_finds_the_package():
    """The names asked for are those of this project, not of another one that is installed."""
    assert Path(svc.__file__).parents[1] == Path(__file__).parents[2]
