"""Answers to any query: every type of DuckDB is written exactly, or refused in one line."""

import json

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

from svc_analytics.cli.commands.lake import sql
from svc_analytics.errors import QueryError
from svc_analytics.formatting import tables
from svc_analytics.warehouse.warehouse import to_exact_table
from tests.support.prepared import extracted


def answer(query: str) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        return to_exact_table(connection.sql(query))


def names_of_types() -> list[str]:
    with duckdb.connect() as connection:
        return connection.sql("from test_all_types() limit 0").columns


@pytest.mark.parametrize("name", names_of_types())
def test_every_type_is_written_in_every_form_or_refused_in_a_line(name):
    """Each column of DuckDB's own collection of extremes."""
    try:
        table = answer(f'select "{name}" from test_all_types()')
    except QueryError as error:
        assert f"column '{name}' has times" in str(error) and "cast it to varchar" in str(error)
        table = answer(f'select "{name}"::varchar as "{name}" from test_all_types()')
    assert tables.to_csv(table) and tables.to_text(table)
    json.loads(tables.to_json(tables.to_objects(table)), parse_constant=pytest.fail)
    frame = tables.to_frame(table)
    assert repr(frame) and frame._repr_html_()  # type: ignore[operator]


EXACT = {
    "2^128 - 1": ("340282366920938463463374607431768211455::uhugeint", None),
    "2^127 - 1": ("170141183460469231731687303715884105727::hugeint", None),
    "a number of any length": (f"'{'9' * 60}'::bignum", "9" * 60),
    "a time with an offset": ("'12:00:00+03'::timetz", "12:00:00+03"),
    "bits": ("'0101'::bit", "0101"),
    "an interval": ("interval '1 month 2 days'", "1 month 2 days"),
    "a union": ("union_value(a := 1)", "1"),
    "one in a list": ("[340282366920938463463374607431768211455::uhugeint]", None),
    "a name as of a type": ("{'bit': 1}", "{'bit': 1}"),
    "an instant": ("'2026-10-01 12:00:00+03:30'::timestamptz", "2026-10-01T08:30:00Z"),
    "the last instant": (
        "'9999-12-31 23:59:59.999999Z'::timestamptz", "9999-12-31T23:59:59.999999Z"
    ),
    "the first day": ("'0001-01-01'::date", "0001-01-01"),
}  # fmt: skip


@pytest.mark.parametrize(("value", "written"), EXACT.values(), ids=EXACT.keys())
def test_a_value_is_written_as_duckdb_has_it(value, written):
    """Unsigned 128 bits came out as -1, and a time with an offset without it."""
    wanted = written or value.partition("::")[0] + "]" * value.startswith("[")
    table = answer(f'select {value} as "a ""name""", 1 as "a ""name"""')
    assert table.column_names == ['a "name"'] * 2
    assert tables.to_csv(table).splitlines()[1] == f"{wanted},1"


ODD_TIMES = [
    *("'infinity'::date", "'-infinity'::timestamptz", "'24:00:00'::time"),
    *("'294247-01-01'::timestamp", "['infinity'::date]", "{'a': ['infinity'::timestamp_s]}"),
    *("map{1: 'infinity'::date}", "'0044-03-15 (BC)'::date", "['infinity'::date, null]::date[2]"),
]


@pytest.mark.parametrize("value", ODD_TIMES)
def test_a_time_that_python_has_not_is_refused(value):
    """One line says what to do; in text it can be read."""
    with pytest.raises(QueryError, match=r"column 'odd' has times .*cast it to varchar"):
        answer(f"select {value} as odd")
    assert len(answer(f"select ({value})::varchar as odd")) == 1


REFUSED = {
    "update extensions": "only a single SELECT is answered",
    "select * from test_all_types()": "cast it to varchar",
    "select '\udcff'": "not text in UTF-8",
}


@pytest.mark.parametrize(("query", "said"), REFUSED.items())
@pytest.mark.parametrize("form", ["--csv", "--json", "--table"])
def test_what_cannot_be_answered_is_one_line(desk, query, said, form):
    """Whatever form was asked for; in Python it is the same error."""
    extracted(desk)
    with pytest.raises(QueryError, match=said):
        desk.lake.sql(query)
    run = CliRunner().invoke(sql, [query, form, "--data-dir", str(desk.lake.path)])
    assert isinstance(run.exception, QueryError) and run.output == ""


def test_two_columns_of_a_name_are_no_object(desk):
    """JSON would keep the last of them without a word; a table has both."""
    extracted(desk)
    query, folder = "select 1 as a, 2 as a", str(desk.lake.path)
    run = CliRunner().invoke(sql, [query, "--json", "--data-dir", folder])
    assert isinstance(run.exception, QueryError) and "two columns are named 'a'" in str(
        run.exception
    )
    assert CliRunner().invoke(sql, [query, "--csv", "--data-dir", folder]).output == "a,a\n1,2\n"


def test_numbers_that_are_none_are_texts_in_json():
    """NaN is no JSON, and no other program would read the document."""
    table = answer("select 'nan'::double as a, ['-infinity'::float] as b")
    assert tables.to_objects(table) == [{"a": "nan", "b": ["-inf"]}]
