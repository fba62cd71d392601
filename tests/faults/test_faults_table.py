"""The table of faults: every row is there, and every test that a row names is there too."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = (Path(__file__).parent / "faults.txt").read_text(encoding="utf-8").splitlines()
SIZES = {"A": 10, "B": 8, "C": 5, "D": 8, "E": 6, "G": 5, "H": 6, "I": 8, "J": 10}
ROWS = [f"{letter}{number}" for letter, size in SIZES.items() for number in range(1, size + 1)]


def table() -> dict[str, list[str]]:
    """The tests of each row."""
    found: dict[str, list[str]] = {}
    row = ""
    for line in LINES:
        if match := re.match(r"([A-Z]\d+)\s+\S", line):
            row = match[1]
            assert row not in found, f"{row} stands twice"
            found[row] = []
        elif line.startswith("    tests/"):
            found[row].append(line.strip())
    return found


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_row_is_there():
    """In order, none twice, none of our own."""
    assert list(table()) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_a_row_has_its_tests(row):
    """Each named test exists in the named file; {any} stands for a whole file on one row."""
    assert table()[row]
    for name in table()[row]:
        file, _, test = name.partition("::")
        known = {test for test in names_in(file) if test.startswith("test_")}
        assert test in known or (test == "{any}" and known), name


def test_every_line_is_a_row_a_test_or_a_note():
    """A misspelt line is not silently passed over."""
    kinds = re.compile(r"#|$|[A-Z]\d+\s+\S|    tests/\S+::\S+$|    - |      \S")
    assert [line for line in LINES if not kinds.match(line)] == []
