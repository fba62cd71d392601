"""One connection over several lakes: each public view is the union of theirs, merchant first.

Each lake has its views in a schema of its own, so whatever they join is of one merchant: ids of
two merchants may be the same.
"""

from collections.abc import Sequence
from contextlib import ExitStack

import duckdb
import pyarrow as pa

from svc_analytics.errors import LakeError
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.connection import CONFIG, bound_memory, error_line, prepare
from svc_analytics.warehouse.models import read_macros
from svc_analytics.warehouse.sources import Sources
from svc_analytics.warehouse.sql_text import quote
from svc_analytics.warehouse.view_builder import MADE, create_all, public_models
from svc_analytics.warehouse.warehouse import Warehouse

MERCHANT = "merchant_id"


def open_views(
    stack: ExitStack, lake_sources: Sequence[Sources], models: frozenset[str] | None
) -> Warehouse:
    """Open the views of these models over a snapshot of each lake, locked against change."""
    connection = stack.enter_context(duckdb.connect(config=CONFIG))
    prepare(connection, lake_sources[0].folder)
    for place, sources in enumerate(lake_sources):
        _create(connection, place, sources, models)
    connection.execute(f"use main; {read_macros()}")
    lakes = [sources.lake for sources in lake_sources]
    for name in public_views(models):
        connection.execute(f"create view {name} as {_union(name, lakes)}")
    bound_memory(connection, sum(sources.rows for sources in lake_sources))
    folders = ", ".join(quote(str(sources.folder)) for sources in lake_sources)
    connection.execute(f"SET allowed_directories=[{folders}]")
    connection.execute("SET enable_external_access=false; SET lock_configuration=true")
    return Warehouse(connection, lakes[0], lake_sources[0], is_small=False)


def public_views(models: frozenset[str] | None) -> list[str]:
    """Return the names of the public views among these models; macros take one lake alone."""
    named = [model.name for model, _ in public_models() if not model.signature]
    return [name for name in named if models is None or name in models]


def beside(lakes: Sequence[Lake], tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of each lake's table, the merchant first where there are several."""
    if len(lakes) == 1:
        return tables[0]
    named = zip((lake.merchant_id for lake in lakes), tables, strict=True)
    parts = [rows.add_column(0, MERCHANT, pa.repeat(name, len(rows))) for name, rows in named]
    return pa.concat_tables(rows.replace_schema_metadata() for rows in parts)


def _create(
    connection: duckdb.DuckDBPyConnection,
    place: int,
    sources: Sources,
    models: frozenset[str] | None,
) -> None:
    """Make the views of one lake in its own schema."""
    files = {
        name: f"[{', '.join(quote(str(path)) for path in paths)}]"
        for name, paths in sources.files.items()
    }
    files |= {name: f"read_parquet({files[name]})" for name in MADE if name in files}
    try:
        connection.execute(f"create schema lake_{place}; use lake_{place}")
        create_all(connection.execute, files, models)
    except duckdb.Error as error:
        message = f"{sources.lake.path} cannot be read ({error_line(error)})"
        raise LakeError(f"{message}: run svc-analytics extract") from error


def _union(name: str, lakes: Sequence[Lake]) -> str:
    return " union all by name ".join(
        f"select {quote(lake.merchant_id)} as {MERCHANT}, * from lake_{place}.{name}"
        for place, lake in enumerate(lakes)
    )
