"""What people pass to public names: a wrong type is refused in one line.

The line names the argument, what was given, and what is wanted.
"""

import os
from datetime import datetime
from typing import Any, TypedDict

from svc_analytics.errors import ConfigError
from svc_analytics.instants import format_instant, now as machine_clock, parse_bound, to_micros

Instant = int | str | datetime  # how a person may write one; see `as_instant`
PATH = (str, os.PathLike)
AnyPath = str | os.PathLike[str]  # how a person may write a path
_MOST_LETTERS = 40


class PeriodOptions(TypedDict, total=False):
    """In which zone and calendar a period is."""

    zone: str
    calendar: str | None


def check(name: str, value: object, kinds: type | tuple[type, ...], wanted: str) -> None:
    """Raise `ConfigError` for an argument that is of none of these types.

    >>> check("query", 3, str, "a query as text")
    Traceback (most recent call last):
    svc_analytics.errors.ConfigError: query is the number 3: give a query as text
    """
    if not isinstance(value, kinds):
        raise ConfigError(f"{name} is {described(value)}: give {wanted}")


def described(value: object) -> str:
    """Describe a value in a few words.

    >>> described("csv"), described(3), described(None), described([3])
    ("the text 'csv'", 'the number 3', 'None', 'a list')
    """
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, (str, int, float)):
        kind = "text" if isinstance(value, str) else "number"
        return f"the {kind} {value!r:.{_MOST_LETTERS}}"
    name = type(value).__name__
    if name in {"NAType", "NaTType"}:  # pandas'
        return "missing"
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def as_flag(name: str, value: object) -> bool:
    """Return True or False, numpy's too; what is neither, such as pandas' NA, is refused.

    >>> as_flag("exact", "no")
    Traceback (most recent call last):
    svc_analytics.errors.ConfigError: exact is the text 'no': give True or False
    """
    if type(value).__name__ not in {"bool", "bool_"}:
        raise ConfigError(f"{name} is {described(value)}: give True or False")
    return bool(value)


def check_path(name: str, path: object, example: str) -> None:
    """Raise `ConfigError` for what cannot be a path: another type, or letters no path has."""
    check(name, path, PATH, f'a path, such as "{example}"')
    try:
        is_one = b"\0" not in os.fsencode(path)  # type: ignore[arg-type]
    except UnicodeEncodeError:
        is_one = False
    if not is_one:
        raise ConfigError(f"{name} holds letters that no path can have: {path!r:.40}")


def as_names(name: str, value: Any, example: str = "name") -> tuple[str, ...]:
    """Return a list of names; a single text is no list.

    >>> as_names("formats", ["csv"], "csv")
    ('csv',)
    >>> as_names("formats", "csv", "csv")
    Traceback (most recent call last):
    svc_analytics.errors.ConfigError: formats is the text 'csv': give a list, such as ["csv"]
    """
    wanted = f'a list, such as ["{example}"]'
    try:
        names = None if isinstance(value, str) else tuple(value)
    except TypeError:
        names = None
    if names is None:
        raise ConfigError(f"{name} is {described(value)}: give {wanted}")
    for each in names:
        check(f"a name in {name}", each, str, f"it as text, such as {wanted.partition('as ')[2]}")
    return names


def as_instant(name: str, value: Instant) -> int:
    """Return an instant in UTC microseconds: from them, from text, or from a datetime.

    Text is RFC 3339, or a date, which is its midnight in UTC. A datetime must say its zone.

    >>> format_instant(as_instant("as_of", "2026-11-01T03:30:00+03:30"))
    '2026-11-01T00:00:00Z'
    >>> as_instant("as_of", datetime(2026, 11, 1))
    Traceback (most recent call last):
    svc_analytics.errors.ConfigError: as_of is a datetime without a zone: give it one, \
such as tzinfo=datetime.UTC
    """
    wanted = 'a datetime with a zone, text such as "2026-11-01T00:00:00Z", or UTC microseconds'
    if isinstance(value, datetime):
        if value.tzinfo is None:
            message = f"{name} is a datetime without a zone: give it one, such as "
            raise ConfigError(f"{message}tzinfo=datetime.UTC")
        return to_micros(value)
    check(name, value, (int, str), wanted)
    if isinstance(value, bool):
        raise ConfigError(f"{name} is {value}: give {wanted}")
    if isinstance(value, str):
        return parse_bound(value)
    return _in_range(name, value, wanted)


def as_clock(now: Instant | None) -> int:
    """Return the instant that stands for now: this machine's clock, unless another is given."""
    return machine_clock() if now is None else as_instant("now", now)


def _in_range(name: str, micros: int, wanted: str) -> int:
    """Refuse a count that no instant has, such as nanoseconds."""
    try:
        format_instant(micros)
    except OverflowError as error:
        raise ConfigError(f"{name} is {described(micros)}, of no year: give {wanted}") from error
    return micros
