"""Numbers for people: rounded half up on the decimal, marked, and their points in one line."""

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from svc_analytics.formatting.cells import (
    COIN,
    PLAIN,
    RATE,
    RATIO,
    USD,
    Cell,
    coin_scales,
    exact_text,
    in_line,
    kind_of,
    paddings,
    plain_spaces,
    readable_text,
)

MONEY = pa.decimal128(38, 18)
AMOUNTS = st.decimals(-(10**19), 10**19, places=18, allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "kind", "scale", "shown"),
    [
        ("93942.931498", USD, None, "≈93,942.93"),
        ("0.005", USD, None, "≈0.01"),  # half up, as a clerk rounds
        ("-0.005", USD, None, "≈-0.01"),
        ("-0.004", USD, None, "≈0.00"),  # no minus sign before a zero
        ("12.5", USD, None, "12.50"),
        ("3212.408907999999940229", RATE, None, "≈3,212.40890800"),
        ("0.000000000001504753", RATE, None, "≈0.000000000001505"),  # not as nothing
        ("0", RATE, None, "0.00000000"),
        ("0.01273686", RATIO, None, "≈1.27%"),
        ("0.02500000", RATIO, None, "2.50%"),
        ("0.5", COIN, 8, "0.50000000"),
        ("0.123456785", COIN, 8, "≈0.12345679"),
        (
            "99999999999999999999.999999999999999999",
            COIN,
            8,
            "≈100,000,000,000,000,000,000.00000000",
        ),
        ("0.1230", COIN, None, "0.123"),  # of an unknown scale: every digit in use
    ],
)
def test_a_number_has_the_places_of_its_kind(value, kind, scale, shown):
    """USD 2, rates 8 or four digits, percentages 2, a coin its own; a mark where some hide."""
    assert readable_text(Decimal(value), kind, scale) == shown


@given(AMOUNTS, st.integers(0, 18))
def test_a_number_without_the_mark_hides_nothing(amount, scale):
    """Read back from what is shown, it is the amount; with the mark it is within half a place."""
    shown = readable_text(amount, COIN, scale)
    read = Decimal(shown.lstrip("≈").replace(",", ""))
    assert (read == amount) == (not shown.startswith("≈"))
    assert abs(read - amount) * 2 <= Decimal(1).scaleb(-scale)


@given(AMOUNTS)
def test_every_digit_is_in_the_exact_text(amount):
    """What a hover or `exact` shows is the amount itself."""
    assert Decimal(exact_text(amount).replace(",", "")) == amount


@pytest.mark.parametrize("text", ["0.00000000", "0.00000012", "12.50000000"])
def test_a_plain_number_has_no_exponent(text):
    """Nobody reads 0E-8 as zero, or 1.2E-7 as a number."""
    assert exact_text(Decimal(text), PLAIN) == text


def test_a_plain_whole_number_has_every_digit():
    """Longer than a float can hold."""
    assert exact_text(2**63 - 1, PLAIN) == "9223372036854775807"


def test_a_coin_has_the_places_of_its_longest_plain_amount():
    """1.50 and 2.125 have three; a fee that was divided does not count, nor another coin."""
    nets = [Decimal("1.50"), Decimal("2.125"), Decimal("9"), None]
    kept = [Decimal("0.123456789"), None, None, None]
    table = pa.table(
        {
            "currency": ["usdt", "usdt", "btc", "eth"],
            "net": pa.array(nets, MONEY),
            "fee_kept": pa.array(kept, MONEY),
        }
    )
    assert coin_scales([table]) == {"usdt": 3, "btc": 0, "eth": 0}


def test_the_longest_amounts_have_a_scale_too():
    """38 digits: nothing overflows on the way."""
    amount = Decimal("99999999999999999999.999999999999999999")
    table = pa.table({"currency": ["x"], "net": pa.array([amount], MONEY)})
    assert coin_scales([table]) == {"x": 18}


@pytest.mark.parametrize(
    ("name", "type_", "kind"),
    [
        ("usd_value", MONEY, USD),
        ("implied_rate", MONEY, RATE),
        ("median", MONEY, RATE),
        ("effective_fee_rate", pa.decimal128(38, 8), RATIO),
        ("net", MONEY, COIN),
        ("payments_count", pa.int64(), "count"),
        ("line_no", pa.int64(), "plain"),
        ("total", pa.decimal128(38, 8), COIN),  # an amount, cast to a coin's own 8 places
    ],
)
def test_a_column_says_what_its_numbers_are_of(name, type_, kind):
    """By its type and its name, as our SQL gives them."""
    assert kind_of(pa.field(name, type_)) == kind


def test_the_points_of_a_column_stand_in_one_line():
    """To the right of each point are as many places, and a number without one keeps the room."""
    texts = ["470", "0.59990274", "≈13.94", "1.00%"]
    padded = [text + padding for text, padding in zip(texts, paddings(texts), strict=True)]
    places = [plain_spaces(text).rjust(20).replace("%", " ") for text in padded]
    assert [len(text) for text in places] == [20] * 4
    assert [text.index(".") for text in places[1:]] == [11] * 3
    assert places[0].rstrip().endswith("470") and len(places[0].rstrip()) == 11


def test_a_column_of_whole_numbers_is_not_padded():
    """Nor one of texts."""
    counts = [Cell("1", is_number=True), Cell("20", is_number=True)]
    assert in_line([counts, [Cell("a"), Cell("b.c")]]) == [counts, [Cell("a"), Cell("b.c")]]
