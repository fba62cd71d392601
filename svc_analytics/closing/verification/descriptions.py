"""What the descriptions of another release say of figures and columns, beside their sentences.

A label, a unit and a sign say what a number is: none may be another figure's. A label that a
figure had in an earlier release is its own still.
"""

import json
from pathlib import Path
from typing import Any

from svc_analytics.closing.restatement.diff import read_csv
from svc_analytics.closing.seals import parse_json
from svc_analytics.render.described.datapackage import DATA_PACKAGE
from svc_analytics.render.folder import DEFINITIONS
from svc_analytics.warehouse.definitions import GLOSSARY, definitions_table, label_of, labels_of

DESCRIPTIONS = (DEFINITIONS, DATA_PACKAGE)
_LEFT_OUT = {"description", "resources", "fields"}  # sentences, and what is compared one by one


def names_the_same(again: Path, file: Path) -> bool:
    """Whether a description has the names, units and signs that this release gives.

    Raises `ValueError`, `LookupError`, `TypeError` or `AttributeError` for what is none.
    """
    if file.name == DEFINITIONS:
        return _names_figures(file)
    return _names_columns(*(parse_json(path.read_bytes()) for path in (again, file)))


def _names_figures(path: Path) -> bool:
    """Whether each row has a label, a unit and a sign of its figure; others may have no row."""
    table = read_csv(path)
    if len(set(table.column_names)) < len(table.column_names):
        raise ValueError("a column stands twice in its head")
    own = {row["name"]: (row["unit"], row["sign"]) for row in definitions_table().to_pylist()}
    return {*table.column_names} <= GLOSSARY.keys() and all(
        row["label"] in labels_of(row["name"])
        and own.get(row["name"]) == (row["unit"], row["sign"])
        for row in table.to_pylist()
    )


def _names_columns(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether all tables and columns, in the order of their table, are described as today."""
    known = {each["name"]: each for each in ours["resources"]}
    return _bare(ours) == _bare(theirs) and all(
        _bare(table) == _bare(known.get(table["name"]))
        and _has_columns(known[table["name"]], table)
        for table in theirs["resources"]
    )


def _has_columns(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    columns = iter([_bare(each) for each in ours["schema"]["fields"]])
    return all(_bare(each) in columns for each in theirs["schema"]["fields"])  # passes those before


def _bare(part: Any) -> Any:
    """Return a part of a data package as it must be, without its own parts."""
    if not isinstance(part, dict):
        return json.dumps(part)
    bare = {key: _bare(part[key]) for key in part.keys() - _LEFT_OUT}
    if part.get("title") in labels_of(str(part.get("name"))):
        bare["title"] = label_of(part["name"])
    return bare
