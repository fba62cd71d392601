"""Notebooks: find one, and run it with parameters."""

import json
import os
import re
from collections.abc import Callable, Mapping
from importlib.metadata import files
from pathlib import Path
from typing import Any

from svc_analytics.environment import PREFIX, here
from svc_analytics.errors import ConfigError, SvcError, needs_extra
from svc_analytics.formatting.sanitize import single_line
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
