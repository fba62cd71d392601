"""Whole columns as texts: the same, to the last character, as each value written by itself."""

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from svc_analytics.errors import QueryError
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
