"""Periods that tests of one process read of the same bytes, read once.

What a period reads as is decided by the lake and by what is asked of it. Tests that begin with
copies of one lake, and alter what was made of it, would each have it counted again.
"""

from collections.abc import Hashable
from dataclasses import replace
from hashlib import blake2b

import pytest

from svc_analytics.lake.lake import Lake
from svc_analytics.periods import Period
from svc_analytics.statements import statement
from svc_analytics.statements.reading import Basis, PeriodReading, read_period
from svc_analytics.warehouse.acknowledgements import Acceptances

# Made of the lake, or of those who write it: no reading looks at them.
_APART = {"statements", "analytics.duckdb", ".views.json", "secret", ".ids", ".lock"}
_APART |= {"books", "books.toml", "rates.csv", "sentences.csv", ".told.json"}

MOST = 200  # readings that are kept: most lakes are those of one test, and not asked again
_read: dict[Hashable, PeriodReading] = {}


def keep_readings(patch: pytest.MonkeyPatch) -> None:
    """Let statements be made of readings that are kept."""
    patch.setattr(statement, "read_period", _known)


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
        while len(_read) > MOST:
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
