"""The list of views: every column with its name, its type and its meaning."""

import duckdb
import pytest

from svc_analytics.errors import ConfigError
from svc_analytics.instants import parse_bound
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.warehouse import images
from svc_analytics.warehouse.images import write_views
from svc_analytics.warehouse.models import read_all_models, read_statement_macros
from tests.support.desks import Desk

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
