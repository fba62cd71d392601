"""What the descriptions of another release say of figures and columns, beside their sentences.

A label, a unit and a sign say what a number is: none may be another figure's. A label that a
figure had in an earlier release is its own still.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svc_analytics.closing.restatement.diff import read_csv
from svc_analytics.closing.seals import once_each
from svc_analytics.render.described.datapackage import DATA_PACKAGE
from svc_analytics.render.folder import DEFINITIONS
from svc_analytics.warehouse.definitions import GLOSSARY, SIGNS, label_of, labels_of
from svc_analytics.warehouse.figures import read_figures

DESCRIPTIONS = (DEFINITIONS, DATA_PACKAGE)
_WORDS = {"description"}  # what is a sentence in a data package
_PARTS = {"resources", "fields"}  # what is described one by one


def strange_names(again: Path, file: Path) -> Iterator[str]:
    """Yield where a description has a name, a unit or a sign that this release does not know.

    Raises `ValueError`, `LookupError`, `TypeError` or `AttributeError` for what is none.
    """
    if file.name == DEFINITIONS:
        return _strange_figures(file)
    return _strange_columns(*map(read_json, (again, file)))


def read_json(path: Path) -> Any:
    """Read a JSON document; raise `ValueError` where an object of it names a thing twice."""
    return json.loads(path.read_bytes().decode(), object_pairs_hook=once_each)


def _strange_figures(path: Path) -> Iterator[str]:
    table, figures = read_csv(path), read_figures()
    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("a column stands twice in its head")
    yield from sorted({*table.column_names} - GLOSSARY.keys())
    for row in table.to_pylist():
        name, label, *rest = (row[column] for column in ("name", "label", "unit", "sign"))
        figure = figures.get(name)
        own = [figure.unit, SIGNS[figure.sign]] if figure else []
        if label not in labels_of(name) or rest != own:
            yield ", ".join((name, label, *rest))


def _strange_columns(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[str]:
    """Yield the tables, and the columns in the order of their table, that are not as today's."""
    known = {each["name"]: each for each in ours["resources"]}
    if _bare(theirs) != _bare(ours):
        yield theirs["name"]
    for table in theirs["resources"]:
        own = known.get(table["name"], {"schema": {"fields": []}})
        if _bare(table) != _bare(own):
            yield table["name"]
        rest = iter([_bare(each) for each in own["schema"]["fields"]])
        for each in table["schema"]["fields"]:
            if _bare(each) not in rest:  # what is before it was passed: order counts
                yield f"{table['name']}.{each['name']}"


def _bare(part: Any) -> Any:
    """Return a part of a data package without its sentences, and without its own parts."""
    if not isinstance(part, dict):
        return json.dumps(part, sort_keys=True)
    bare = {key: _bare(part[key]) for key in part.keys() - _WORDS - _PARTS}
    if part.get("title") in labels_of(str(part.get("name"))):
        bare["title"] = label_of(part["name"])
    return bare
