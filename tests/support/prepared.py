"""What many tests begin with, made once in a process: lakes to copy, and what was made of them.

A statement or a closed month is decided by what the service holds, how it was asked and the
settings. Tests that begin alike share the first one's work, and each has a lake of its own.
"""

import shutil
from collections.abc import Callable, Hashable
from dataclasses import fields, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar, cast

from svc_analytics.statements.statement import Statement, statement
from tests.support.desks import Desk

T = TypeVar("T")

MOST = 200  # folders that are kept at a time, in memory: the deep ring makes thousands
_made: dict[Hashable, tuple[Path, Any]] = {}
_values: dict[str, Any] = {}
_shelf: list[Path] = []


def keep_in(folder: Path) -> None:
    """Keep the lakes to copy in a folder that lasts as long as the tests of this process."""
    _shelf.append(folder)


def prepared(desk: Desk, name: Hashable, make: Callable[[], T]) -> T:
    """Fill the desk's empty lake as `make` does: by it the first time, and then by a copy.

    Return what `make` returned, a value that no test changes. In a lake that is there
    already, `make` does its work.
    """
    if desk.lake.path.exists():
        return make()
    found, desk.extractions = copied(
        (name, _inputs(desk)), desk.lake.path, lambda: (make(), desk.extractions)
    )
    return found


def copied(name: Hashable, folder: Path, make: Callable[[], T]) -> T:
    """Fill a folder as `make` does: by it the first time that a test asks, and then by a copy.

    Outside of a run of tests nothing is kept.
    """
    if not _shelf:
        return make()
    if name in _made:
        place, found = _made[name]
        shutil.copytree(place, folder)
        return cast("T", found)
    found, place = make(), Path(mkdtemp(dir=_shelf[-1]))
    shutil.copytree(folder, place, dirs_exist_ok=True)
    _made[name] = place, found
    if len(_made) > MOST:
        shutil.rmtree(_made.pop(next(iter(_made)))[0])
    return found


def extracted(desk: Desk, **request: Any) -> Desk:
    """Extract into the desk's empty lake; return the desk."""
    prepared(desk, ("extracted", repr(sorted(request.items()))), lambda: desk.extract(**request))
    return desk


def stated(desk: Desk, month: str, **options: Any) -> Statement:
    """Extract into the desk's empty lake, and make a statement of it."""

    def make() -> Statement:
        desk.extract()
        return statement(desk.lake, month, **options)

    found = prepared(desk, ("stated", month, repr(sorted(options.items()))), make)
    return replace(found)  # with tables of its own: another test begins with the same


def once(name: str, make: Callable[[], T]) -> T:
    """Return what was made under this name: a value that no test changes, such as a text."""
    if name not in _values:
        _values[name] = make()
    return cast("T", _values[name])


def _inputs(desk: Desk) -> Hashable:
    """Return all that decides what the desk reads; the key holds functions, so none is mistaken."""
    service = desk.service
    values = [getattr(service, of.name) for of in fields(service) if of.name != "requests"]
    known = [value if callable(value) else repr(value) for value in values]
    return (desk.settings.base_url, desk.settings.key_classes, *known)
