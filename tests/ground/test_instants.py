"""Instants: RFC 3339 text to whole microseconds, or refused; and sets of time between them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from svc_analytics import instants
from svc_analytics.coverage import Coverage, Span, describe_span, difference, intersection, union
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
zoned_times = st.datetimes(datetime(1970, 1, 2), datetime(9998, 12, 30), timezones=offsets)


@examples
@given(zoned_times)
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


# ---------- sets of time, against sets of single moments taken one by one


edges = st.integers(-12, 12)
spans = st.lists(st.tuples(edges, edges), max_size=6)  # empty and backward ones among them
coverages = st.builds(Coverage.of, spans, edges)


def moments(spans: Iterable[Span]) -> set[int]:
    """The model: every moment in a set of spans, one by one."""
    return {moment for start, end in spans for moment in range(start, end)}


def is_tidy(spans: tuple[Span, ...]) -> bool:
    """Whether spans are what `Spans` promises: not empty, disjoint, not touching, in order."""
    apart = all(before[1] < after[0] for before, after in pairwise(spans))
    return apart and all(start < end for start, end in spans)


@examples
@given(st.lists(spans, max_size=3))
def test_union_holds_what_any_set_holds(sets):
    """A union is every moment of every set, in tidy spans."""
    united = union(*sets)
    assert moments(united) == set().union(*map(moments, sets))
    assert is_tidy(united)
    assert union(united) == united


@examples
@given(spans, spans)
def test_difference_holds_what_only_the_first_set_holds(first, second):
    """A difference is every moment of the first set that is not in the second."""
    left = difference(first, second)
    assert moments(left) == moments(first) - moments(second)
    assert is_tidy(left)


@examples
@given(spans, edges, edges)
def test_clip_holds_what_lies_within(given_spans, start, end):
    """Clipping keeps every moment within the bounds and no other."""
    clipped = intersection(given_spans, start, end)
    assert moments(clipped) == moments(given_spans) & moments([(start, end)])
    assert is_tidy(clipped)


@examples
@given(spans, edges)
def test_time_is_complete_before_it_settled_and_provisional_after(given_spans, settled_at):
    """I6: coverage claims exactly what was read, and is sure of what had settled."""
    coverage = Coverage.of(given_spans, settled_at)
    assert moments(coverage.complete) == {at for at in moments(given_spans) if at < settled_at}
    assert moments(coverage.provisional) == {at for at in moments(given_spans) if at >= settled_at}


@examples
@given(coverages, coverages)
def test_adding_keeps_the_surer_claim(one, other):
    """What is complete in either is complete; what is read in either is read; never both."""
    both = one.add(other)
    complete = moments(one.complete) | moments(other.complete)
    assert moments(both.complete) == complete
    assert moments(both.provisional) == (moments(one.read) | moments(other.read)) - complete
    assert both == other.add(one)
    assert is_tidy(both.complete) and is_tidy(both.provisional)


@examples
@given(coverages, spans)
def test_removing_takes_time_out_of_both(coverage, taken):
    """Removed time is neither complete nor provisional; all else stays as it was."""
    left = coverage.remove(iter(taken))
    assert moments(left.complete) == moments(coverage.complete) - moments(taken)
    assert moments(left.provisional) == moments(coverage.provisional) - moments(taken)


@examples
@given(coverages, edges, edges)
def test_within_is_the_part_of_an_interval(coverage, start, end):
    """The coverage of an interval says of it what the whole says."""
    part = coverage.clip(start, end)
    assert moments(part.complete) == moments(coverage.complete) & moments([(start, end)])
    assert moments(part.provisional) == moments(coverage.provisional) & moments([(start, end)])


@examples
@given(coverages)
def test_read_time_is_both_together(coverage):
    """All that was read is what is complete and what is provisional, in tidy spans."""
    assert moments(coverage.read) == moments(coverage.complete) | moments(coverage.provisional)
    assert is_tidy(coverage.read)


@examples
@given(coverages)
def test_nothing_changes_nothing(coverage):
    """Adding or removing nothing, or adding itself, leaves coverage as it was."""
    assert coverage.add(Coverage()) == coverage == coverage.add(coverage)
    assert coverage.remove(()) == coverage
    assert coverage.remove(coverage.read) == Coverage()


def test_a_span_from_the_beginning_is_told_in_words():
    """Its end is an instant, also where it is the beginning of nothing else."""
    assert describe_span((BEGINNING, 0)) == "the beginning .. 1970-01-01T00:00:00Z"
    assert describe_span((0, BEGINNING)).startswith("1970-01-01T00:00:00Z .. 0001-")
