"""Whole columns as texts, to the last character; and numbers for people, rounded and marked."""

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from svc_analytics.errors import QueryError
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
from svc_analytics.formatting.tables import to_csv, to_objects, to_safe_csv
from svc_analytics.formatting.values import (
    FEW,
    column_texts,
    drop_pages,
    is_ratio,
    map_table,
    value_text,
)
from svc_analytics.money import EXACT
from svc_analytics.render.folder import write_csv
from svc_analytics.statements.tables import table_digest
from tests.support.unit_material import examples

MOST = 10**38 - 1


def decimals(places: int) -> st.SearchStrategy[Decimal]:
    return st.integers(-MOST, MOST).map(lambda n: EXACT.scaleb(Decimal(n), -places))


KINDS = {
    "amount": (pa.decimal128(38, 18), decimals(18)),
    "ratio": (pa.decimal128(38, 8), decimals(8)),
    "whole": (pa.decimal128(38, 0), st.integers(-MOST, MOST).map(Decimal)),
    "wide": (pa.decimal256(50, 8), decimals(8)),
    "count": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "flag": (pa.bool_(), st.booleans()),
    "text": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "day": (pa.date32(), st.dates()),
    "local": (pa.timestamp("us"), st.datetimes()),
    "instant": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "odd zone": (
        pa.timestamp("us", "Asia/Tehran"),
        st.datetimes(datetime(1950, 1, 1), timezones=st.just(UTC)),
    ),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9), max_size=2)),
}
SOME = [
    *("0", "-0.5", "0.000000000000000001", "-0.000000000000000001"),
    *("1200", "99999999999999999999"),
]


@pytest.mark.parametrize("name", KINDS)
@examples
@given(data=st.data())
def test_a_column_has_the_texts_of_its_values(name, data):
    """Also a part of a column, which begins somewhere within its memory, and a longer one."""
    kind, values = KINDS[name]
    column = pa.array(data.draw(st.lists(st.none() | values, max_size=6)), kind)
    field = pa.field("net", kind)
    longer = pa.concat_arrays([column] * (FEW + 2)).slice(1)
    for part in (column, column.slice(1), column.slice(2, 1), longer):
        texts = column_texts(part, field).to_pylist()
        assert texts == [
            None if value is None else value_text(value, is_ratio=is_ratio(field))
            for value in part.to_pylist()
        ]


@pytest.mark.parametrize("text", SOME)
def test_an_amount_is_plain_digits(text):
    """No exponent, no zero at the end, no minus before nothing."""
    for count in (1, FEW + 1):
        column = pa.array([Decimal(text)] * count, pa.decimal128(38, 18))
        assert column_texts(column, pa.field("net", column.type)).to_pylist() == [text] * count


def test_csv_quotes_what_a_reader_would_split_and_escapes_formulas_if_asked():
    """A comma, a quote and both ends of lines; numbers are no formulas."""
    texts = ["a,b", 'say "x"', "two\nlines", "a\rb", "=1+1", "-2", "", None, "plain"]
    table = pa.table({"note": texts, "net": pa.array([Decimal(-1)] * 9, pa.decimal128(38, 18))})
    rows = ['"a,b"', '"say ""x"""', '"two\nlines"', '"a\rb"', "=1+1", "-2", "", "", "plain"]
    assert to_csv(table) == "note,net\n" + "".join(f"{row},-1\n" for row in rows)
    assert to_safe_csv(table) == to_csv(table).replace("=1+1", "'=1+1")


@pytest.mark.parametrize("text", ["=1+1", "plain"])
def test_a_csv_says_the_hash_of_its_rows_without_what_was_escaped(tmp_path, text):
    """A control total is of the text itself, not of what a spreadsheet must be told."""
    table = pa.table({"note": [text, None], "count": [1, 2]})
    assert write_csv(table, tmp_path / "t.csv") == table_digest(table)["sha256"]
    assert (tmp_path / "t.csv").read_text() == to_safe_csv(table)


def test_json_objects_hold_exact_texts_and_null():
    """An unknown amount is null, and never the empty text or zero."""
    kinds = {"day": pa.date32(), "net": pa.decimal128(38, 18), "count": pa.int64()}
    rows = [{"day": date(2026, 10, 1), "net": Decimal("0.10"), "count": 3}, dict.fromkeys(kinds)]
    table = pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))
    assert to_objects(table) == [{"day": "2026-10-01", "net": "0.1", "count": 3}, rows[1]]


def test_an_instant_that_python_lacks_names_its_column():
    """Such a value is refused, whichever way columns are written."""
    column = pa.array([2**62], pa.int64()).cast(pa.timestamp("us"))
    with pytest.raises(QueryError, match="seen_at holds a value that cannot be written"):
        to_csv(pa.table({"seen_at": column}))


def test_totals_of_a_digest_are_exact_beyond_38_digits():
    """Two of the largest amounts: Arrow's own sum of this type would turn negative."""
    most = Decimal("99999999999999999999.999999999999999999")
    amounts = pa.array([most, most, None], pa.decimal128(38, 18))
    unknown = pa.array([None, None, None], pa.decimal128(38, 18))
    table = pa.table({"currency": ["btc", "btc", "eth"], "net": amounts, "fee": unknown})
    totals = table_digest(table)["totals"]
    assert totals == {"btc": {"net": "199999999999999999999.999999999999999998"}, "eth": {}}


# ---------- tables in files that the process maps


ROWS = pa.table({"id": ["a", None, "c"], "net": pa.array([1, 2, None], pa.decimal128(38, 18))})


def mapped(table: pa.Table, folder: Path) -> pa.Table:
    return map_table(table.to_reader(max_chunksize=2), folder)


@pytest.mark.parametrize("table", [ROWS, ROWS.slice(0, 0)], ids=["rows", "no rows"])
def test_a_mapped_table_is_the_one_that_was_read(table, tmp_path):
    """And it stays so when its pages were dropped from memory."""
    found = mapped(table, tmp_path)
    assert found.equals(table)
    drop_pages()
    assert found.equals(table)


def test_a_mapped_table_takes_no_memory_of_arrow(tmp_path):
    """A million numbers are eight megabytes."""
    numbers = pa.table({"n": np.arange(1_000_000)})
    before = pa.total_allocated_bytes()
    found = map_table(numbers.to_reader(), tmp_path)
    assert found.nbytes >= 8_000_000
    assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.skipif(os.name == "nt", reason="the file has a name until it is closed")
def test_the_file_has_no_name(tmp_path):
    """So a killed process leaves nothing behind."""
    found = mapped(ROWS, tmp_path)
    assert not any(tmp_path.iterdir())
    assert found.num_rows == 3


# ---------- numbers for people: rounded half up on the decimal, their points in one line


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
