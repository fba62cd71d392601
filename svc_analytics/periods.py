"""Instants and months: exact text to UTC microseconds, and half-open month intervals.

Instants are integers, microseconds since 1970 in UTC, so that no comparison or
ownership decision ever depends on a float or on a local clock setting.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from svc_analytics.errors import ConfigError, DataError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# The first instant Python, Arrow and DuckDB can all hold: "since ever" in coverage.
BEGINNING = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND

_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:[0-5]\d)\Z", re.ASCII
)
_MONTH = re.compile(r"(\d{4})-(\d\d)\Z", re.ASCII)
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def to_micros(at: datetime) -> int:
    """Count the microseconds of an aware datetime since 1970 in UTC."""
    return (at - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the UTC datetime of a count of microseconds since 1970."""
    return EPOCH + micros * MICROSECOND


def parse_instant(text: str) -> tuple[int, bool]:
    """Read an RFC 3339 instant; return its microseconds and whether that is all of it.

    Digits behind the sixth are floored and a leap second is held as the last
    microsecond of its minute; both return False, so that callers keep the text.

    >>> parse_instant("1970-01-01T03:30:01.5+03:30")
    (1500000, True)
    """
    match = _RFC3339.match(text) if isinstance(text, str) else None
    if not match:
        raise DataError(f"not an RFC 3339 instant with an offset: {text!r:.60}")
    day, minute, second, fraction, offset = match.groups()
    is_leap = second == "60"
    digits = "999999" if is_leap else (fraction or "")[:6].ljust(6, "0")
    offset = "+00:00" if offset in "zZ" else offset
    try:
        at = datetime.fromisoformat(
            f"{day}T{minute}:{'59' if is_leap else second}.{digits}{offset}"
        )
        micros = to_micros(at)
    except (ValueError, OverflowError) as error:
        raise DataError(f"not an instant: {text!r:.60} ({error})") from error
    return micros, not is_leap and not (fraction or "")[6:].strip("0")


def format_instant(micros: int) -> str:
    """Write an instant as RFC 3339 in UTC, with a fraction only when there is one.

    >>> format_instant(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return from_micros(micros).isoformat().replace("+00:00", "Z")


def parse_bound(text: str) -> int:
    """Read a bound given by a person: a date (its UTC midnight) or an RFC 3339 instant."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
            return to_micros(datetime.fromisoformat(f"{text}T00:00:00+00:00"))
        return parse_instant(text)[0]
    except (DataError, ValueError) as error:
        message = f"{text!r} is not a date or an instant: write 2026-10-01 or 2026-10-01T00:00:00Z"
        raise ConfigError(message) from error


def load_zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name, or say that there is none."""
    try:
        if name == "localtime":  # this machine's, whatever that is: not a name others can check
            raise KeyError(name)
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        message = f"no time zone {name!r}: use an IANA name such as UTC or Asia/Tehran"
        raise ConfigError(message) from error


@dataclass(frozen=True)
class Period:
    """A calendar month in a zone, as the half-open interval [start, end) in UTC microseconds."""

    label: str
    start: int
    end: int
    zone: str = "UTC"
    calendar: str = "gregorian"

    @property
    def folder(self) -> str:
        """The name of this period's statement folder: `2026-10`, `2026-10@Asia-Tehran`."""
        return self.label if self.zone == "UTC" else f"{self.label}@{self.zone.replace('/', '-')}"

    def shift(self, months: int) -> Self:
        """Return the period that many months later (earlier, if negative)."""
        first = _first_of_month(self.label)
        index = first.year * 12 + first.month - 1 + months
        return type(self)(*_bounds(date(index // 12, index % 12 + 1, 1), self.zone), zone=self.zone)


def month(label: str, zone: str = "UTC") -> Period:
    """Return the Gregorian month `2026-10` as seen in an IANA zone.

    >>> month("2026-10").end - month("2026-10").start == 31 * DAY
    True
    """
    return Period(*_bounds(_first_of_month(label), zone), zone=zone)


def month_of(micros: int, zone: str = "UTC") -> Period:
    """Return the month that holds an instant, in a zone."""
    at = from_micros(micros).astimezone(load_zone(zone))
    period = month(f"{at.year:04d}-{at.month:02d}", zone)
    # Where clocks went back over midnight on a first, the wall shows the old month again.
    return period if micros < period.end else period.shift(1)


def named_month(text: str, now: int, zone: str = "UTC") -> Period:
    """Read a month given by a person: `2026-10`, or `october` for the latest October so far."""
    name = text.strip().lower()
    if name not in _MONTH_NAMES:
        return month(text, zone)
    current = month_of(now, zone)
    back = (int(current.label[5:]) - 1 - _MONTH_NAMES.index(name)) % 12
    return current.shift(-back)


def utc_months(start: int, end: int) -> Iterator[Period]:
    """Yield the UTC months that a half-open interval touches, oldest first."""
    period = month_of(start)
    while period.start < end:
        yield period
        period = period.shift(1)


def _first_of_month(label: str) -> date:
    match = _MONTH.match(label)
    if not match or not 1 <= int(match[2]) <= 12 or not 1970 <= int(match[1]) <= 9998:
        raise ConfigError(f"{label!r} is not a month: write it as 2026-10")
    return date(int(match[1]), int(match[2]), 1)


def _bounds(first: date, zone: str) -> tuple[str, int, int]:
    following = (first + timedelta(days=31)).replace(day=1)
    return f"{first:%Y-%m}", _midnight(first, zone), _midnight(following, zone)


def _midnight(day: date, zone: str) -> int:
    """Return the first instant of a local day.

    Where clocks skip midnight, `fold=0` names the moment of the skip, and where
    they repeat it, the first of the two: in both cases the start of the day.
    """
    local = datetime(day.year, day.month, day.day, tzinfo=load_zone(zone))
    return to_micros(local.astimezone(UTC))
