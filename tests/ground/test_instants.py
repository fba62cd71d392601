"""Instants: RFC 3339 text to whole microseconds, exactly, floored with a flag, or refused."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from svc_analytics import instants
from svc_analytics.errors import ConfigError, DataError, SvcError
from svc_analytics.instants import (
    BEGINNING,
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    ago,
    format_instant,
    from_micros,
    parse_bound,
    parse_instant,
    to_micros,
)
from tests.support.unit_material import PERSIAN, examples

NINE = to_micros(datetime(2026, 10, 1, 9, 0, tzinfo=UTC))

WHOLE = {
    "UTC": ("2026-10-01T09:00:00Z", NINE),
    "lower case": ("2026-10-01t09:00:00z", NINE),
    "a blank for T": ("2026-10-01 09:00:00Z", NINE),
    "Tehran": ("2026-10-01T12:30:00+03:30", NINE),
    "west of UTC": ("2026-10-01T04:15:00-04:45", NINE),
    "minus zero offset": ("2026-10-01T09:00:00-00:00", NINE),
    "offset over the day's edge": ("2026-09-30T23:00:00-10:00", NINE),
    "one digit": ("2026-10-01T09:00:00.5Z", NINE + 500_000),
    "six digits": ("2026-10-01T09:00:00.000001Z", NINE + 1),
    "nine digits, the last three zero": ("2026-10-01T09:00:00.000001000Z", NINE + 1),
    "29 February of a leap year": (
        "2028-02-29T00:00:00Z",
        to_micros(datetime(2028, 2, 29, tzinfo=UTC)),
    ),
    "before 1970": ("1969-12-31T23:59:59.999999Z", -1),
}

FLOORED = {
    "seven digits": ("2026-10-01T09:00:00.0000019Z", NINE + 1),
    "eight digits": ("2026-10-01T09:00:00.00000199Z", NINE + 1),
    "nine digits": ("2026-10-01T09:00:00.999999999Z", NINE + 999_999),
    "nine digits before 1970": ("1969-12-31T23:59:59.999998999Z", -2),
    "forty digits": ("2026-10-01T09:00:00." + "9" * 40 + "Z", NINE + 999_999),
    "leap second": ("2016-12-31T23:59:60Z", to_micros(datetime(2017, 1, 1, tzinfo=UTC)) - 1),
    "leap second in Tehran": (
        "2017-01-01T03:29:60.5+03:30",
        to_micros(datetime(2017, 1, 1, tzinfo=UTC)) - 1,
    ),
}

REFUSED = {
    "no offset": "2026-10-01T09:00:00",
    "a date": "2026-10-01",
    "30 February": "2026-02-30T00:00:00Z",
    "29 February of a common year": "2026-02-29T00:00:00Z",
    "month 13": "2026-13-01T00:00:00Z",
    "month 0": "2026-00-01T00:00:00Z",
    "year 0": "0000-01-01T00:00:00Z",
    "hour 24": "2026-10-01T24:00:00Z",
    "minute 60": "2026-10-01T09:60:00Z",
    "second 61": "2026-10-01T09:00:61Z",
    "offset of a day": "2026-10-01T09:00:00+24:00",
    "offset of 99 minutes": "2026-10-01T09:00:00+05:99",
    "offset of 60 minutes": "2026-10-01T09:00:00+05:60",
    "offset without colon": "2026-10-01T09:00:00+0330",
    "offset of hours": "2026-10-01T09:00:00+03",
    "point without digits": "2026-10-01T09:00:00.Z",
    "comma": "2026-10-01T09:00:00,5Z",
    "without seconds": "2026-10-01T09:00Z",
    "week date": "2026-W40-4T09:00:00Z",
    "no dashes": "20261001T090000Z",
    "line end": "2026-10-01T09:00:00Z\n",
    "blank before": " 2026-10-01T09:00:00Z",
    "persian digits": "2026-10-01T09:00:00Z".translate(PERSIAN),
    "unix seconds": "1790845200",
    "empty": "",
    "five-digit year": "12026-10-01T09:00:00Z",
}


@pytest.mark.parametrize(("text", "micros"), WHOLE.values(), ids=WHOLE.keys())
def test_instant_is_read_exactly(text, micros):
    """D5: any offset is converted to UTC to the microsecond, and nothing more was said."""
    assert parse_instant(text) == (micros, True)


@pytest.mark.parametrize(("text", "micros"), FLOORED.values(), ids=FLOORED.keys())
def test_finer_instant_is_floored_and_flagged(text, micros):
    """D5: what a microsecond cannot hold is floored, and the caller is told to keep the text."""
    assert parse_instant(text) == (micros, False)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_other_text_is_refused(text):
    """D5: a text that is not an instant with an offset is refused, never guessed."""
    with pytest.raises(DataError):
        parse_instant(text)


@pytest.mark.parametrize("value", [None, 0, 1.5, b"2026-10-01T09:00:00Z"], ids=repr)
def test_instant_must_be_a_text(value):
    """A number is no instant, whatever unit it may be in."""
    with pytest.raises(DataError):
        parse_instant(value)  # type: ignore[arg-type]


offsets = st.integers(-23 * 60 - 59, 23 * 60 + 59).map(lambda m: timezone(timedelta(minutes=m)))
moments = st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30), timezones=offsets)


@examples
@given(moments)
def test_instant_in_any_offset_is_the_same_instant(at):
    """An instant written in any whole-minute offset reads as the instant it is."""
    assert parse_instant(at.isoformat()) == (
        (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(0, 0, 1),
        True,
    )


@examples
@given(st.integers(BEGINNING, to_micros(datetime.max.replace(tzinfo=UTC))))
def test_what_is_written_reads_back_equal(micros):
    """Every microsecond there is survives being written and read."""
    assert parse_instant(format_instant(micros)) == (micros, True)
    assert to_micros(from_micros(micros)) == micros
    assert format_instant(micros).endswith("Z")


@examples
@given(st.text(max_size=40) | st.text("0123456789-:.TZ+", max_size=40))
def test_any_text_gives_an_instant_or_a_data_error(text):
    """No text at all makes the parser fail in another way than DataError."""
    try:
        micros, _ = parse_instant(text)
    except DataError:
        return
    assert text[:4].isdigit() and isinstance(micros, int)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-10-01", NINE - 9 * 3600 * SECOND),
        ("2026-10-01T12:30:00+03:30", NINE),
        ("2026-10-01T09:00:00.25Z", NINE + 250_000),
    ],
)
def test_bound_is_a_date_or_an_instant(text, micros):
    """A person may write a bound as a date, its UTC midnight, or as an instant."""
    assert parse_bound(text) == micros


@pytest.mark.parametrize(
    "text",
    [
        "",
        "october",
        "2026-10",
        "2026-02-30",
        "2026-10-01T09:00:00",
        "01.10.2026",
        "2026-10-01".translate(PERSIAN),
    ],
)
def test_other_bound_is_a_usage_error_that_shows_how(text):
    """A bound that cannot be read is bad usage, exit code 2, with the form to write."""
    with pytest.raises(ConfigError, match="write 2026-10-01 or") as refusal:
        parse_bound(text)
    assert refusal.value.exit_code == 2


PASSED = {-SECOND: "just now", 0: "just now", SECOND - 1: "just now", SECOND: "1 second ago"}
PASSED |= {90 * MINUTE: "1 hour ago", 2 * HOUR: "2 hours ago", 3 * DAY + HOUR: "3 days ago"}


@pytest.mark.parametrize(("passed", "text"), PASSED.items())
def test_how_long_ago_is_said_in_the_largest_unit(monkeypatch, passed, text):
    """An instant that has not come, by a clock that is behind, is just now."""
    monkeypatch.setattr(instants, "now", lambda: NINE)
    assert ago(NINE - passed) == text


def test_a_clock_that_is_centuries_wrong_is_refused(monkeypatch):
    """A microsecond before 1970, and what does not fit into 64 bits; 1970 itself is a time."""

    def overflow() -> int:
        raise OverflowError

    monkeypatch.setattr("time.time_ns", lambda: 999)
    assert instants.now() == 0
    for wrong in (lambda: -1, overflow):
        monkeypatch.setattr("time.time_ns", wrong)
        with pytest.raises(SvcError, match="before 1970 or after 2262: set it right"):
            instants.now()
