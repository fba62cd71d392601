"""Answers to any query are exact, in pandas too, or refused; the views say what they hold."""

import io
import json
from decimal import Decimal

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

from svc_analytics.cli.commands.sql import sql
from svc_analytics.errors import ConfigError, QueryError
from svc_analytics.formatting import tables
from svc_analytics.instants import parse_bound
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse import images
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.models import read_all_models, read_statement_macros
from svc_analytics.warehouse.warehouse import to_exact_table
from tests.support.desks import Desk
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


TINY = Decimal("0.000000000000000001")
EXACT_SUM = Decimal("90000000000000000.000000000000000001")
KIND = pa.decimal128(38, 18)


def frame(*amounts: Decimal | None) -> pd.DataFrame:
    table = pa.table({"coin": ["btc"] * len(amounts), "net": pa.array(amounts, KIND)})
    result: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return result


EXACT_MONEY = frame(Decimal(10**17), TINY, -Decimal(10**16))


@pytest.mark.parametrize(
    ("ask", "exact"),
    [
        (lambda f: f["net"].sum(), EXACT_SUM),
        (lambda f: f.groupby("coin")["net"].sum()["btc"], EXACT_SUM),
        (lambda f: f["net"].max() + f["net"].min(), Decimal(9 * 10**16)),
        (lambda f: f.sort_values("net")["net"].iloc[1], TINY),
        (lambda f: f[f["net"] < 1]["net"].iloc[0], TINY),
        (lambda f: f.merge(f.head(1), on="coin")["net_x"].iloc[1], TINY),
    ],
)
def test_these_operations_keep_every_digit(ask, exact):
    """Sum, group, compare, sort, filter, join: 90,000,000,000,000,000.000000000000000001."""
    assert ask(EXACT_MONEY) == exact


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: f["net"] + f["net"],
        lambda f: f["net"] - f["net"],
        lambda f: f["net"] * 2,
        lambda f: f["net"] / f["net"],
        lambda f: f["net"].cumsum(),
    ],
)
def test_these_operations_refuse(ask):
    """They raise, so nobody goes on with a wrong number: SQL does them."""
    with pytest.raises((pa.ArrowInvalid, TypeError)):
        ask(EXACT_MONEY)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.median(),
        lambda s: s.std(),
        lambda s: s.astype("float64").iloc[0],
        lambda s: (s * 0.5).iloc[0],
    ],
)
def test_these_operations_answer_in_floats(ask):
    """Positions in a picture, never money."""
    assert isinstance(ask(EXACT_MONEY["net"]), float)


def test_sums_past_the_limit_are_wrong_without_a_word():
    """2 x 99999999999999999999 turns negative in pandas; SQL refuses (see test_warehouse)."""
    assert frame(*[Decimal(10**20 - 1)] * 2)["net"].sum() < 0


LONG = Decimal("7999.123456789012345678")


def test_csv_has_every_digit_but_writes_exponents():
    """Which some programs do not read as an amount: `sql --csv` writes none."""
    assert frame(LONG, TINY, Decimal(0))["net"].to_csv(index=False).split() == [
        *("net", "7999.123456789012345678", "1E-18", "0E-18")
    ]


def test_parquet_and_json_keep_every_digit(tmp_path):
    """Parquet as decimals, JSON as texts."""
    money = frame(LONG, TINY)
    money.to_parquet(tmp_path / "money.parquet")
    read = pd.read_parquet(tmp_path / "money.parquet", dtype_backend="pyarrow")
    assert read["net"].tolist() == [LONG, TINY]
    assert f'"{LONG}"' in money.to_json()


def test_excel_loses_digits_of_numbers_and_none_of_texts(tmp_path):
    """And gives floats back, unless the cells are texts that are read as such."""
    path = tmp_path / "money.xlsx"
    frame(LONG).to_excel(path, index=False)
    assert pd.read_excel(path, engine="openpyxl")["net"].tolist() == [7999.123456789012]
    texts = frame(LONG)["net"].map("{:f}".format, na_action="ignore")
    texts.to_excel(path, index=False)
    assert pd.read_excel(path, dtype=str, engine="openpyxl")["net"].tolist() == [str(LONG)]


def test_csv_is_read_as_floats_unless_as_texts():
    """As `read_csv` does with any long number."""
    text = f"net\n{LONG}\n"
    assert pd.read_csv(io.StringIO(text))["net"].tolist() == [7999.123456789012]
    assert pd.read_csv(io.StringIO(text), dtype=str)["net"].tolist() == [str(LONG)]


MONEY = "DECIMAL(38,18)"


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Lakehouse:
    """A lake; tests only look at it, and at the views that the first one writes beside it."""
    desk = Desk.at(tmp_path_factory.mktemp("filled") / "data")
    desk.extract(end=parse_bound("2026-10-20"))
    return desk.lake


def test_every_public_macro_has_a_comment_for_other_tools(filled):
    """In `analytics.duckdb`, as every column has."""
    query = "select function_name, comment from duckdb_functions() where schema_name = 'main'"
    bare = "select column_name from duckdb_columns() where not internal and comment is null"
    with duckdb.connect(write_views(filled), read_only=True) as connection:
        comments = dict(connection.execute(query).fetchall())
        assert connection.execute(bare).fetchall() == []
    macros = {model.name: model for model in read_statement_macros() if model.is_public}
    assert len(macros) >= 12
    for name, model in macros.items():
        assert comments[name] == f"{model.meaning} Grain: {model.grain}."


def test_every_model_means_the_columns_that_it_has(filled):
    """Each with a meaning, also where a star stands for those of its source; none is a float."""
    columns: dict[str, list[tuple[str, str]]] = {}
    with duckdb.connect(write_views(filled), read_only=True) as connection:
        query = "select table_name, column_name, data_type from duckdb_columns() where not internal"
        for view, *column in connection.execute(query).fetchall():
            columns.setdefault(view, []).append((column[0], column[1]))
        for model in read_all_models():
            if model.signature:
                nulls = ", ".join("null" for each in model.signature.split(",") if ":=" not in each)
                found = connection.execute(f"describe from {model.name}({nulls})").fetchall()
                columns[model.name] = [(name, kind) for name, kind, *_ in found]
            images._stand_in(connection.execute, model)  # or others are bound to all it is made of
    for model in read_all_models():
        assert [*model.columns] == [name for name, _ in columns[model.name]], model.name
        assert not {"FLOAT", "DOUBLE"} & {kind for _, kind in columns[model.name]}, model.name
        assert all(model.columns.values()), model.name


def test_a_lake_lists_its_views_and_the_columns_of_one(filled):
    """In a notebook: first the views, then what is in one."""
    views = filled.views().set_index("view")
    assert views.loc["fees_monthly", "columns"].startswith("month, currency, ")
    assert filled.views("fees_monthly").set_index("name").loc["payment_fees", "type"] == MONEY
    columns = filled.views("statement_daily(starts_at, ends_at)")
    assert list(columns.columns) == ["name", "type", "comment"]
    assert columns.loc[0, "name"] == "day" and columns.loc[0, "type"] == "DATE"


def test_an_unknown_view_is_answered_with_the_nearest_one(lake):
    """And what is listed of an empty lake has no types."""
    with pytest.raises(ConfigError, match=r"no view 'fees_month': did you mean 'fees_monthly'\?"):
        lake.views("fees_month")
    assert lake.views("payments")["type"].isna().all()


@pytest.mark.parametrize(
    ("typed", "part"),
    [(0.1, "0.1000000000000000005"), (1e-07, "1.000000000000000005E-7")],
    ids=["a tenth", "with an exponent"],
)
@pytest.mark.parametrize("is_listed", [False, True], ids=["alone", "in a list"])
def test_a_float_beside_a_query_is_the_decimal_that_was_typed(desk, typed, part, is_listed):
    """A part of 1.000000000000000005 coins has every digit."""
    name, value = ("$part[1]", [typed]) if is_listed else ("$part", typed)
    query = f"select 1.000000000000000005::decimal(38,18) * {name} as part"
    [found] = extracted(desk).lake.sql(query, {"part": value})["part"]
    assert isinstance(found, Decimal) and found == Decimal(part)
