"""The notebooks that the lab opens: copies beside the lake, never files that git knows."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.language.catalogue import Language
from svc_analytics.notebook import runner
from svc_analytics.notebook.runner import working_folder

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
