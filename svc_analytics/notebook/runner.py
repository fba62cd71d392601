"""Notebooks: find one, and run it with parameters."""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib.metadata import files
from pathlib import Path
from typing import Any

from svc_analytics.environment import PREFIX, here
from svc_analytics.errors import ConfigError, SvcError, needs_extra
from svc_analytics.files import atomic_write
from svc_analytics.formatting.texts import single_line
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.notebook.facts import QUESTION

# For JupyterLab: it asks nobody for news of itself, and runs the close desk when that opens.
_JUPYTER = Path(__file__).with_name("jupyter")
TIMEOUT = 600  # seconds for one cell


class NotebookFailed(SvcError):
    """A cell of a notebook raised an error."""


def notebook_folder(but: Path | None = None) -> Path:
    """Return the notebooks' folder, but one: in the working folder, the project or installed."""
    own = (Path.cwd() / "notebooks", Path(__file__).parents[2] / "notebooks")
    for folder in (*own, _installed()):
        if folder != but and any(folder.glob("0*.ipynb")):
            return folder
    raise ConfigError("there is no folder notebooks here: run this in a clone of the project")


def _installed() -> Path:
    """Return the folder of the installed notebooks, wherever pip has put it."""
    listed = (file for file in files("svc-analytics") or () if file.suffix == ".ipynb")
    first = next(listed, None)
    return Path("share") if first is None else Path(str(first.locate())).resolve().parent


def find_notebook(name: str) -> Path:
    """Return a notebook by its path, its name, or its number, such as `02`."""
    if name.endswith(".ipynb") and Path(name).is_file():
        return Path(name)
    folder = notebook_folder()
    paths = {path.stem: path for path in sorted(folder.glob("*.ipynb"))}
    stems = [stem for stem in paths if name and f"{stem}-".startswith(f"{name}-")]
    if name not in paths and len(stems) != 1:
        raise ConfigError(f"no notebook {name!r}: choose {', '.join(paths)}")
    return paths[name if name in paths else stems[0]]


def read_notebook(path: Path) -> Any:
    """Read a notebook's file, or raise `ConfigError`."""
    nbformat, _ = _lab_modules()
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} is not a notebook") from error


def parameters_of(notebook: Any) -> set[str]:
    """Return the names of a notebook's parameters."""
    cell = notebook.cells[_tagged(notebook)]
    return set(re.findall(r"^([A-Z_]+) *=", cell.source, re.MULTILINE))


def _tagged(notebook: Any) -> int:
    """Return the index of the cell tagged `parameters`."""
    tags = [cell.metadata.get("tags", ()) for cell in notebook.cells]
    tagged = [place for place, names in enumerate(tags) if "parameters" in names]
    if len(tagged) != 1:
        raise ConfigError("the notebook takes no parameters: tag one of its cells with parameters")
    return tagged[0]


def inject(notebook: Any, parameters: Mapping[str, Any]) -> None:
    """Insert a cell that sets parameters after the cell tagged `parameters`."""
    nbformat, _ = _lab_modules()
    place = _tagged(notebook)
    source = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
    metadata = {"tags": ["injected-parameters"]}
    notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(source, metadata=metadata))


def run_notebook(
    path: Path, parameters: Mapping[str, Any], *, on_cell: Callable[[int], None] = lambda _: None
) -> Any:
    """Run a copy of a notebook with parameters and return it with its outputs.

    The kernel is this Python, in the working folder. `page_facts` in the notebook's
    metadata says what it showed. Raises `NotebookFailed` with the error of the first cell
    that fails.
    """
    nbformat, client = _lab_modules()
    notebook = read_notebook(path)
    inject(notebook, parameters)
    asked = {"tags": ["raises-exception"]}  # a page without a head is better than none
    notebook.cells.append(nbformat.v4.new_code_cell(QUESTION, metadata=asked))
    runner = client.NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": os.fspath(Path.cwd())}},
        on_cell_executed=lambda **cell: on_cell(cell["cell_index"]),
    )
    try:
        runner.execute()
    except client.exceptions.CellExecutionError as error:
        reason = single_line(f"{error.ename}: {error.evalue}")
        raise NotebookFailed(f"{path.name} failed: {reason}") from error
    except (client.exceptions.CellTimeoutError, client.exceptions.DeadKernelError) as error:
        raise NotebookFailed(f"{path.name} failed: {single_line(str(error))}") from error
    answered = notebook.cells.pop().outputs
    printed = "".join(output.text for output in answered if output.output_type == "stream")
    facts = json.loads(printed) if printed.startswith("{") else {}
    notebook.metadata["page_facts"] = facts | {"notebook": path.stem}
    return notebook


def _lab_modules() -> tuple[Any, Any]:
    with needs_extra("lab"):
        import nbclient  # an optional extra, as are these
        import nbconvert  # noqa: F401
        import nbformat
    return nbformat, nbclient


def lab_environment(data_dir: Path) -> dict[str, str]:
    """Return the environment variables of JupyterLab: this process's, then those of `.env`."""
    own = {name: _absolute(name, value) for name, value in os.environ.items() if value}
    added = {
        name: _absolute(name, value)
        for name, value in here().dotenv.items()
        if name.startswith(PREFIX) and not {name, _other_name(name)} & set(own)
    }
    names = ("JUPYTER_CONFIG_PATH", "JUPYTER_PATH")
    places = {
        name: os.pathsep.join([str(_JUPYTER), *filter(None, [own.get(name)])]) for name in names
    }
    variables = {"SVC_DATA_DIR": str(data_dir.absolute()), **places}
    return added | own | variables


def _other_name(name: str) -> str:
    """Return a setting's other name: SVC_X_FILE for SVC_X, and SVC_X for SVC_X_FILE."""
    return name.removesuffix("_FILE") if name.endswith("_FILE") else f"{name}_FILE"


def _absolute(name: str, value: str) -> str:
    """Make the path of a secret's file, or of the cache, absolute: notebooks run elsewhere."""
    is_path = name.startswith(PREFIX) and name.endswith(("_FILE", "_CACHE_DIR"))
    return str(Path(value).absolute()) if is_path else value


# ---------- Copies of the notebooks to work in, beside the lake
# Git never sees what they hold.
#
# What a person changed is never overwritten. A copy that nobody changed follows a new release;
# of one that was changed, the new release's notebook is put beside it. Outputs are no change:
# they come again when the notebook is run.


FOLDER = "notebooks"  # in the lake's folder
_STATE = ".copied.json"  # which release's notebook each copy was made of
# As JupyterLab writes it: a notebook that it opens is then not changed by that alone.
_METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
        "version": sys.version.split()[0],
    },
}


def working_folder(data_dir: Path, language: Language = ENGLISH) -> tuple[Path, list[str]]:
    """Return the folder of the notebooks to edit, and notes on what was kept as it was.

    What the close desk's notebook says is in the language.
    """
    folder = Path(os.path.normpath(data_dir.absolute() / FOLDER))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Where the lake lies in a clone, no output with customers' records is committed.
        if not (folder / ".gitignore").exists():
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        copied = _read_state(folder)
        notes = [
            note
            for original in sorted(notebook_folder(but=folder).glob("*.ipynb"))
            for note in _bring(original, folder, copied, language)
        ]
        _write(folder / _STATE, copied)
    except OSError as error:
        message = f"the notebooks cannot be copied to {folder}: {error.strerror}"
        raise ConfigError(message) from error
    return folder, notes


def _bring(
    original: Path, folder: Path, copied: dict[str, str], language: Language
) -> Iterator[str]:
    """Copy a notebook unless a person changed the copy; then put it beside, and say so."""
    notebook = json.loads(original.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if words := language.translation(text):
            cell["source"] = f"{text}\n\n{words}" if language.is_both else words
    content = _content(notebook)
    target, beside = folder / original.name, folder / f"{original.stem}.new.ipynb"
    if target.exists() and copied.get(target.name) == content:
        return
    place = target if _is_ours(target, copied) else beside
    if not _is_ours(place, copied):
        yield f"{target.name} and {place.name} are yours and stay; the new one is {original}"
        return
    if place is beside and copied.get(beside.name) != content:
        yield f"{target.name} is yours and stays; the new one is {beside.name} beside it"
    if copied.get(place.name) != content or not place.exists():
        _write(place, notebook | {"metadata": _METADATA})
        copied[place.name] = content


def _is_ours(path: Path, copied: dict[str, str]) -> bool:
    """Tell whether nobody changed a copy, so that it may be written."""
    if not path.exists():
        return True
    try:
        return copied.get(path.name) == _content(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError):
        return False  # whatever it is, we did not write it


def _content(notebook: dict[str, Any]) -> str:
    """Return a hash of what a person writes: the cells and their tags, without outputs."""
    cells = [
        [cell["cell_type"], "".join(cell["source"]), cell["metadata"].get("tags", [])]
        for cell in notebook["cells"]
    ]
    return sha256(json.dumps(cells).encode()).hexdigest()


def _read_state(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / _STATE).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return {}  # then every copy counts as a person's own


def _write(path: Path, document: Any) -> None:
    """Write JSON as JupyterLab does; a notebook is whole or not there."""
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    with atomic_write(path, is_durable=False) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8", newline="\n")
