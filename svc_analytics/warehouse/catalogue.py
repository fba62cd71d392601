"""The public views and statement macros, described for people: name, type, meaning."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from svc_analytics.errors import ConfigError
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.images import read_by_others, without_rows
from svc_analytics.warehouse.models import Model, read_all_models
from svc_analytics.warehouse.view_builder import public_models
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

Types = dict[tuple[str, str], str]  # by view and column
_DAY = "('2026-10-01', '2026-10-02')"  # any interval: the types of a macro are always the same


def describe_views(lake: Lake) -> list[dict[str, Any]]:
    """Describe the public views and macros: view, grain, columns, meaning, by name.

    Each column has name, type and comment. Types are DuckDB's, None where there is no lake.
    """
    types = _types(lake) if lake.exists else {}
    return [
        {
            "view": f"{model.name}{model.signature}",
            "grain": model.grain,
            "columns": _columns(model, columns, types),
            "meaning": model.meaning,
        }
        for model, columns in public_models()
    ]


def describe_columns(lake: Lake, view: str) -> list[dict[str, Any]]:
    """Describe the columns of one view or macro; raise `ConfigError` for an unknown one."""
    models = {model.name: (model, columns) for model, columns in public_models()}
    name = view.partition("(")[0].strip()
    if name not in models:
        near = get_close_matches(name, models, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "lake.views() lists them"
        raise ConfigError(f"no view {view!r:.60}: {hint}")
    model, columns = models[name]
    return _columns(model, columns, _types(lake, model) if lake.exists else {})


def _columns(model: Model, columns: Mapping[str, str], types: Types) -> list[dict[str, Any]]:
    return [
        {"name": name, "type": types.get((model.name, name)), "comment": comment}
        for name, comment in columns.items()
    ]


def _types(lake: Lake, only: Model | None = None) -> Types:
    """Return the types of the columns of all public models, or of one."""
    with open_warehouse(lake, as_written=True) as warehouse:
        types = {} if only and only.signature else _types_of_views(warehouse)
        if not only:  # or DuckDB would bind with each macro all that it is made of
            for model in read_all_models():
                if model.name in read_by_others():
                    warehouse.keep(model.name, without_rows(model), {}, model.signature)
        for model in [only] if only else [model for model, _ in public_models()]:
            if model.signature:
                types |= _types_of_macro(warehouse, model.name)
    return types


def _types_of_views(warehouse: Warehouse) -> Types:
    query = "select table_name, column_name, data_type from duckdb_columns() where not internal"
    return {
        (row["table_name"], row["column_name"]): row["data_type"]
        for row in warehouse.query(query).to_pylist()
    }


def _types_of_macro(warehouse: Warehouse, name: str) -> Types:
    query = f"select column_name, column_type from (describe select * from {name}{_DAY})"
    rows = warehouse.query(query, is_short=True).to_pylist()
    return {(name, row["column_name"]): row["column_type"] for row in rows}
