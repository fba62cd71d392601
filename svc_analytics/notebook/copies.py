"""Copies of the notebooks to work in, beside the lake: git never sees what they hold.

What a person changed is never overwritten. A copy that nobody changed follows a new release;
of one that was changed, the new release's notebook is put beside it. Outputs are no change:
they come again when the notebook is run.
"""

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from svc_analytics.errors import ConfigError
from svc_analytics.files import atomic_write
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.notebook.runner import notebook_folder

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
