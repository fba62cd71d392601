"""Which tests of a part reach a line of it, so that those are run first at a mutant."""

import inspect
import json
import re
import sys
import threading
import time
from collections.abc import Collection, Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest


class Noted:
    """A plug-in that notes how long a part's tests take, and what of the part each reaches.

    Of Python these are lines; what of SQL is reached is not known, so a test reaches the files
    that it names. What tests start as a process of its own is not seen.
    """

    def __init__(self, files: Collection[Path]) -> None:
        self.python = {str(path) for path in files if path.suffix == ".py"}
        self.sql = {path.stem: str(path) for path in files if path.suffix == ".sql"}
        self.tests: dict[str, tuple[float, list[str]]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        lines: set[tuple[str, int]] = set()

        def reached(frame: FrameType, event: str, _: Any) -> Any:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return reached

        def called(frame: FrameType, event: str, _: Any) -> Any:
            return reached if frame.f_code.co_filename in self.python else None

        before = time.monotonic()
        if self.python:
            threading.settrace(called)
            sys.settrace(called)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            places = [f"{file}:{line}" for file, line in sorted(lines)]
            self.tests[item.nodeid] = time.monotonic() - before, [*places, *self._named(item)]

    def _named(self, item: pytest.Item) -> list[str]:
        """Name the files of SQL that a test, or a table that it is of, names."""
        text, function = item.nodeid, getattr(item, "function", None)
        if self.sql and function:
            tables = [name for name in function.__code__.co_names if name.isupper()]
            named = [repr(function.__globals__.get(name)) for name in tables]
            text = "\n".join([text, inspect.getsource(function), *named])
        return [path for name, path in self.sql.items() if re.search(rf"\b{name}\b", text)]

    def write(self, path: Path) -> None:
        """Write what was noted, for the process that judges the mutants."""
        path.write_text(json.dumps(self.tests), "utf-8")


class Near:
    """A plug-in that keeps the tests that reach a place, or the others; quick files first."""

    def __init__(self, near: dict[str, float], *, others: bool) -> None:
        self.near, self.others = near, others

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if (item.nodeid in self.near) != self.others]
        if not self.others:
            items.sort(key=lambda item: file_seconds(self.near)[file_of(item.nodeid)])


def file_of(test: str) -> str:
    """Name the file of a test."""
    return test.partition("::")[0]


def file_seconds(tests: dict[str, float]) -> dict[str, float]:
    """Sum for each file how long its tests take."""
    sums: dict[str, float] = {}
    for test, seconds in tests.items():
        sums[file_of(test)] = sums.get(file_of(test), 0) + seconds
    return sums


def tests_near(noted: dict[str, tuple[float, list[str]]], place: str) -> dict[str, float]:
    """Return the tests that reach a place, and how long each takes."""
    return {test: seconds for test, (seconds, places) in noted.items() if place in places}
