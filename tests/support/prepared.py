"""What many tests begin with, made once in a process: lakes to copy, and what was made of them.

A statement or a closed month is decided by what the service holds, how it was asked and the
settings. Tests that begin alike share the first one's work, and each has a lake of its own.
What a period reads as is decided by the lake and by what is asked of it: tests that begin with
copies of one lake, and alter what was made of it, have it counted once.
"""

import shutil
from collections.abc import Callable, Hashable
from dataclasses import fields, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar, cast

import pytest

from svc_analytics import Period, Statement, statement
from svc_analytics.lake.lake import Lake
from svc_analytics.statements import statement as statements
from svc_analytics.statements.reading import Basis, PeriodReading, read_period
from svc_analytics.warehouse.acknowledgements import Acceptances
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
        shutil.copytree(place, folder, dirs_exist_ok=True)
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
        made = statement(desk.lake, month, **options)
        return replace(made, state=None)  # alone, without what became of its month

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


# Made of the lake, or of those who write it: no reading looks at them.
_APART = {"statements", "analytics.duckdb", ".views.json", "secret", ".ids", ".lock"}
_APART |= {"books", "books.toml", "rates.csv", "sentences.csv", ".told.json"}

MOST_READINGS = 200  # readings that are kept: most lakes are those of one test, and not asked again
_read: dict[Hashable, PeriodReading] = {}


def keep_readings(patch: pytest.MonkeyPatch) -> None:
    """Let statements be made of readings that are kept."""
    patch.setattr(statements, "read_period", _known)


def _known(lake: Lake, period: Period, basis: Basis) -> PeriodReading:
    if lake.engine or not lake.path.is_dir():
        return read_period(lake, period, basis)
    is_over = basis.as_of is not None or period.end <= basis.clock
    asked = (
        replace(basis, clock=0, now=0, assertions=()) if is_over else replace(basis, assertions=())
    )
    ahead = Acceptances.of(lake, basis.now, basis.sealed).ahead if lake.exists else ()
    place = (period, *period.changes)
    key = (_bytes_of(lake), place, asked, repr([*basis.assertions, *ahead]))
    if key not in _read:
        _read[key] = made = read_period(lake, period, basis)
        if is_over and made.as_of == made.read_to >= period.end:
            for as_of in (None, made.as_of):  # test_as_of proves that these are the same
                _read[key[0], place, replace(asked, as_of=as_of), key[3]] = made
        while len(_read) > MOST_READINGS:
            del _read[next(iter(_read))]
    found = _read[key]
    clock = max(basis.clock, found.read_to) if basis.as_of is None else basis.as_of
    return replace(found, clock=clock, tables={**found.tables}, omissions=[*found.omissions])


def _bytes_of(lake: Lake) -> str:
    known = blake2b()
    for path in sorted(lake.path.rglob("*")):
        place = path.relative_to(lake.path)
        if place.parts[0] not in _APART and place.suffix != ".lock" and path.is_file():
            content = path.read_bytes()
            known.update(f"{place} {len(content)}\n".encode() + content)
    return known.hexdigest()
