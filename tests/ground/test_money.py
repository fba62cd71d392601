"""Amounts: exact or refused, and never written with an exponent."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, strategies as st

from svc_analytics.errors import DataError
from svc_analytics.money import (
    drop_surplus_zeros,
    format_amount,
    group_digits,
    is_plain,
    parse_amount,
    percent_change,
    round_half_up,
)
from tests.support.unit_material import PERSIAN, examples

WIDEST = "9" * 20 + "." + "9" * 18


REFUSED = {
    "empty": "",
    "blank before": " 1",
    "blank behind": "1 ",
    "line end": "1\n",
    "plus": "+1",
    "exponent": "1e-7",
    "capital exponent": "1E3",
    "grouped by _": "1_000",
    "grouped by ,": "1,000",
    "decimal comma": "1,5",
    "nothing behind the point": "1.",
    "nothing before the point": ".5",
    "two points": "1.2.3",
    "two signs": "--1",
    "sign alone": "-",
    "not a number": "NaN",
    "infinite": "Infinity",
    "hexadecimal": "0x10",
    "persian digits": "12".translate(PERSIAN),
    "full-width digits": "\uff11\uff12",
    "minus sign of print": "\u22121",
    "NUL": "1\0",
}
TOO_WIDE = {
    "19 decimals": ("0." + "0" * 18 + "1", "has 19 decimals"),
    "19 decimals, the last a zero": ("1." + "0" * 19, "has 19 decimals"),
    "21 digits": ("1" + "0" * 20, "too large: 21 digits before the point"),
    "21 digits and 18 decimals": ("1" * 21 + "." + "1" * 18, "too large: 21 digits before the"),
    "21 digits and 19 decimals": ("1" * 21 + "." + "1" * 19, "it has 19 decimals"),
    "a million digits": ("9" * 1_000_000, "too large: 1,000,000 digits before the point"),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_anything_else_is_refused(text):
    """D1, D2: what is not plain digits, or does not fit, is refused and never rounded."""
    with pytest.raises(DataError, match="not a plain decimal amount"):
        parse_amount(text)


@pytest.mark.parametrize(("text", "reason"), TOO_WIDE.values(), ids=TOO_WIDE.keys())
def test_what_does_not_fit_is_refused_for_that_reason(text, reason):
    """A digit that has no place is never rounded away, and the amount is not called no decimal.

    An amount of a million digits does not make a message of a million characters.
    """
    with pytest.raises(DataError, match=reason) as refusal:
        parse_amount(text)
    assert len(str(refusal.value)) < 120


ZEROS = st.integers(0, 30).map("0".__mul__)


@examples
@given(
    st.sampled_from(["", "-"]),
    ZEROS,
    st.integers(0, 10**22),
    st.none() | st.integers(0, 10**20),
    ZEROS,
)
def test_an_amount_is_held_if_its_value_fits(sign, before, whole, places, behind):
    """Zeros that have no place are no loss: without them the value is the same, or refused."""
    text = f"{sign}{before}{whole}" + ("" if places is None else f".{before}{places}{behind}")
    value = Fraction(text)
    try:
        assert Fraction(parse_amount(drop_surplus_zeros(text))) == value
    except DataError:
        assert abs(value) >= 10**20 or (value * 10**18).denominator > 1


@pytest.mark.parametrize("value", [1, 1.0, Decimal(1), None, True, b"1", ["1"]], ids=repr)
def test_amount_must_be_a_text(value):
    """The contract writes amounts as texts; a JSON number is refused."""
    with pytest.raises(DataError):
        parse_amount(value)  # type: ignore[arg-type]


WRITTEN = {
    "1E-18": "0.000000000000000001",
    "1E+20": "100000000000000000000",
    "2.500": "2.5",
    "100": "100",
    "100.00": "100",
    "0E-18": "0",
    "-0.00": "0",
    "-0": "0",
    "-1.50": "-1.5",
    "0.10": "0.1",
    WIDEST: WIDEST,
}


@pytest.mark.parametrize(("value", "text"), WRITTEN.items())
def test_amount_is_written_as_plain_digits(value, text):
    """An amount is written without exponent, trailing zeros or a minus zero."""
    assert format_amount(Decimal(value)) == text


amounts = st.integers(-(10**38) + 1, 10**38 - 1).map(lambda units: Decimal(f"{units}E-18"))


@examples
@given(amounts)
def test_what_is_written_reads_back_equal(value):
    """Writing and reading an amount changes nothing of its value."""
    text = format_amount(value)
    assert parse_amount(text) == value
    assert "e" not in text.lower()
    assert text == "0" or not text.startswith("-0.") or value < 0


@examples
@given(st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,18})?", fullmatch=True, alphabet="-.0123456789"))
@example("0.000000000000000001").via("the smallest unit")
@example(f"-{WIDEST}").via("the widest")
@example("007.50").via("zeros at both ends")
@example("-0.00").via("a minus zero")
def test_every_text_of_the_form_is_kept_to_the_last_digit(text):
    """D2: no text of the contract's form loses a digit, not even a trailing zero."""
    assert format(parse_amount(text), "f") == format(Decimal(text), "f")


@examples
@given(st.text(max_size=30))
def test_any_other_text_is_refused_as_a_data_error(text):
    """No text at all makes the parser fail in another way than DataError."""
    try:
        assert parse_amount(text) == Decimal(text)
    except DataError:
        assert not text.isascii() or not text.isdigit() or len(text) > 20


GROUPED = {
    "0": "0",
    "999": "999",
    "1000": "1,000",
    "-1234567.8901": "-1,234,567.8901",
    "12345.000000000000000001": "12,345.000000000000000001",
    "-0.5": "-0.5",
    "0.1234567": "0.1234567",
    WIDEST: "99,999,999,999,999,999,999." + "9" * 18,
}


@pytest.mark.parametrize(("text", "shown"), GROUPED.items())
def test_thousands_are_separated_before_the_point_only(text, shown):
    """Grouping is for people and touches no digit."""
    assert group_digits(text) == shown


@examples
@given(amounts)
def test_grouping_loses_no_digit(value):
    """Taking the separators out again gives the same text."""
    text = format_amount(value)
    assert group_digits(text).replace(",", "") == text


CHANGES = {
    "rose by a quarter": ("4", "5", "25"),
    "fell": ("5", "4", "-20"),
    "rose from below zero": ("-50", "-25", "50"),
    "fell further below zero": ("-50", "-75", "-50"),
    "rose to zero": ("-4.04", "0", "100"),
    "fell to zero": ("3", "0", "-100"),
    "stayed": ("7", "7", "0"),
    "a third, half up": ("3", "4", "33.33333333"),
    "two thirds, half up": ("3", "5", "66.66666667"),
    "half a step, away from zero": ("-20000000000", "-20000000001", "-0.00000001"),
}


@pytest.mark.parametrize(("old", "new", "percent"), CHANGES.values(), ids=CHANGES)
def test_a_percentage_is_of_the_old_figure_without_its_sign(old, new, percent):
    """Plus says that a figure rose, also from below zero; rounded once, half up, to 8 places."""
    found = percent_change(Decimal(old), Decimal(new))
    assert found == Decimal(percent) and found.as_tuple().exponent == -8


def test_nothing_is_a_percentage_of_zero_or_through_zero():
    """It is undefined, whatever the new figure is, and not infinite."""
    assert percent_change(Decimal("-4.04"), Decimal("2.02")) is None
    assert percent_change(Decimal("4"), Decimal("-2")) is None
    assert percent_change(Decimal("0"), Decimal("5")) is None
    assert percent_change(Decimal("-0.00"), Decimal("0")) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_a_fraction_is_rounded_once_and_half_away_from_zero(sign):
    """Of either sign, and below one too."""
    rounded = [round_half_up(sign * Fraction(n, 8), 2) for n in (0, 1, 3, 9)]
    assert [abs(each) for each in rounded] == [*map(Decimal, ("0.00", "0.13", "0.38", "1.13"))]
    assert [each * sign > 0 for each in rounded[1:]] == [True] * 3


def test_the_largest_change_keeps_every_digit():
    """From the smallest unit to the widest amount: 40 digits before the point."""
    found = percent_change(Decimal("0.000000000000000001"), Decimal(WIDEST))
    assert found == Decimal("9" * 37 + "800")


def test_a_plain_decimal_is_told_from_what_only_looks_like_a_number():
    """Amounts in texts of people, of which a form in digits of its own may be made."""
    assert [is_plain(text) for text in ("0", "-0.10", "1e3", "", "2026-10-01")] == [
        *(True, True),
        *(False, False, False),
    ]
