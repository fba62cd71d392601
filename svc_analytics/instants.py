"""Instants: RFC 3339 text to integer microseconds UTC, and back."""

import re
import time
from datetime import UTC, datetime, timedelta

from svc_analytics.errors import ConfigError, DataError, SvcError
from svc_analytics.messages import Message

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

# The first instant Python, Arrow and DuckDB can all hold: "since ever" in coverage.
BEGINNING = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // MICROSECOND

_AGO = (("day", DAY), ("hour", HOUR), ("minute", MINUTE), ("second", SECOND))
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:[0-5]\d)\Z", re.ASCII
)


def now() -> int:
    """Return this machine's clock in UTC microseconds; refuse one that is centuries wrong."""
    try:
        micros = time.time_ns() // 1000
    except OverflowError:  # Python counts nanoseconds since 1970, in 64 bits
        micros = -1
    if micros < 0:
        message = "this machine's clock says a year before 1970 or after 2262"
        raise SvcError(f"{message}: set it right, then run again")
    return micros


def to_micros(at: datetime) -> int:
    """Count the microseconds of an aware datetime since 1970 in UTC."""
    return (at - EPOCH) // MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the UTC datetime of a count of microseconds since 1970."""
    return EPOCH + micros * MICROSECOND


def parse_instant(text: str) -> tuple[int, bool]:
    """Parse an RFC 3339 instant; return its microseconds and whether they are exact.

    Digits after the sixth are cut off and a leap second becomes the last microsecond of
    its minute; both return False, so that callers keep the text.

    >>> parse_instant("1970-01-01T03:30:01.5+03:30")
    (1500000, True)
    """
    match = _RFC3339.match(text) if isinstance(text, str) else None
    if not match:
        raise DataError(Message("instant.not_rfc3339", text=f"{text!r:.60}"))
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
        raise DataError(Message("instant.no_instant", text=f"{text!r:.60} ({error})")) from error
    return micros, not is_leap and not (fraction or "")[6:].strip("0")


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY_OR_INSTANT = re.compile(
    r"(?<![\w/-])((?:19|20)[0-9]{2})-(0[1-9]|1[0-2])-([0-3][0-9])"
    r"(?:[T ]([0-9]{2}:[0-9]{2})(:[0-9]{2}(?:\.[0-9]+)?)?(Z)?)?(?![\w-])"
)
_WORDS = re.compile(
    rf"([0-3]?[0-9]) ({'|'.join(_MONTHS)})(?: ((?:19|20)[0-9]{{2}}))?", re.IGNORECASE
)


def format_instant(micros: int) -> str:
    """Write an instant as RFC 3339 in UTC, with a fraction only when there is one.

    >>> format_instant(1_500_000)
    '1970-01-01T00:00:01.500000Z'
    """
    return from_micros(micros).isoformat().replace("+00:00", "Z")


def readable_instant(at: datetime, timespec: str = "minutes") -> str:
    """Write an instant for people, in UTC if it has a zone; what is finer than asked is cut off.

    >>> readable_instant(EPOCH), readable_instant(from_micros(1_500_000), "seconds")
    ('1970-01-01 00:00Z', '1970-01-01 00:00:01Z')
    """
    local = at.astimezone(UTC).replace(tzinfo=None) if at.tzinfo else at
    text = local.isoformat(sep=" ", timespec=timespec)
    return f"{text}Z" if at.tzinfo else text


def in_words(text: str, *, has_seconds: bool = False) -> str:
    """Return a text with its days as people say them, and its instants to the minute.

    Days of the Jalali calendar stay as they are.

    >>> in_words("read up to 2026-11-20T12:00:00.004Z, since 2026-06-01")
    'read up to 20 Nov 2026 12:00Z, since 1 Jun 2026'
    """

    def words(match: re.Match[str]) -> str:
        year, month, day, time, seconds, zone = match.groups()
        at = f" {time}{(seconds or '') * has_seconds}{zone or ''}" if time else ""
        return f"{int(day)} {_MONTHS[int(month) - 1]} {year}{at}"

    return _DAY_OR_INSTANT.sub(words, text)


def in_digits(text: str) -> str:
    """Return a text with the days that `in_words` wrote as they are in records.

    >>> in_digits("31 Oct 2026 09:30Z"), in_digits("1 oct")
    ('2026-10-31 09:30Z', '-10-01')
    """

    def digits(match: re.Match[str]) -> str:
        day, month, year = match.groups()
        return f"{year or ''}-{_MONTHS.index(month.title()) + 1:02}-{int(day):02}"

    return _WORDS.sub(digits, text)


def parse_bound(text: str) -> int:
    """Parse a person's date (its UTC midnight), as tables show it too, or RFC 3339 instant."""
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", day := in_digits(text), re.ASCII):
            return to_micros(datetime.fromisoformat(f"{day}T00:00:00+00:00"))
        return parse_instant(text)[0]
    except (DataError, ValueError) as error:
        message = f"{text!r} is not a date or an instant: write 2026-10-01 or 2026-10-01T00:00:00Z"
        raise ConfigError(message) from error


def duration(micros: int) -> str:
    """Write a length of time, whichever its sign, in the largest unit that fits.

    >>> duration(-90 * MINUTE)
    '1 hour'
    """
    for name, unit in _AGO:
        if abs(micros) >= unit:
            count = abs(micros) // unit
            return Message(f"{{count}} {name}{'s' * (count > 1)}", count=count)
    return "less than a second"


def ago(micros: int) -> str:
    """Write how long ago an instant was, in the largest unit that fits."""
    passed = max(now() - micros, 0)
    return f"{duration(passed)} ago" if passed >= SECOND else "just now"
