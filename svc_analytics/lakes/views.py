"""One connection over several lakes: each public view is the union of theirs, merchant first.

Each lake has its views in a schema of its own, so whatever they join is of one merchant: ids of
two merchants may be the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from svc_analytics.errors import LakeError, QueryError
from svc_analytics.interrupts import QueryThread, interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.answers import to_exact_table
from svc_analytics.warehouse.connection import CONFIG, error_line, is_select, prepare
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.sources import Sources, open_sources
from svc_analytics.warehouse.views import MADE, create_all, public_models, quote

MERCHANT = "merchant_id"


def query_lakes(
    lakes: Sequence[Lake], query: str, parameters: Mapping[str, Any] | None = None
) -> pa.Table:
    """Answer one read-only query over the views of all lakes, exactly.

    Raises `QueryError` for anything but one SELECT on views, and for errors in it.
    """
    with _open(lakes, query) as connection:
        try:
            found = connection.extract_statements(query)
            if len(found) != 1 or not is_select(found[0]):
                raise QueryError("only a single SELECT is answered: the lakes are read-only")
            values = dict(parameters or {})
            thread = QueryThread(connection)
            with interruptible():
                return thread.run(lambda: to_exact_table(connection.sql(query, params=values)))
        except duckdb.Error as error:
            raise QueryError(error_line(error)) from error
        except UnicodeEncodeError as error:
            raise QueryError("the query is not text in UTF-8") from error


@contextmanager
def _open(lakes: Sequence[Lake], query: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the views that a query names over a snapshot of each lake, locked against change."""
    models = models_used_by(query)
    with ExitStack() as stack:
        found = [stack.enter_context(open_sources(lake, models)) for lake in lakes]
        connection = stack.enter_context(duckdb.connect(config=CONFIG))
        prepare(connection, found[0].folder)
        for place, sources in enumerate(found):
            _create(connection, place, sources, models)
        connection.execute("use main")
        for name in public_views(models):
            connection.execute(f"create view {name} as {_union(name, lakes)}")
        folders = ", ".join(quote(str(sources.folder)) for sources in found)
        connection.execute(f"SET allowed_directories=[{folders}]")
        connection.execute("SET enable_external_access=false; SET lock_configuration=true")
        yield connection


def public_views(models: frozenset[str] | None) -> list[str]:
    """Return the names of the public views among these models; macros take one lake alone."""
    named = [model.name for model, _ in public_models() if not model.signature]
    return [name for name in named if models is None or name in models]


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
        create_all(connection, files, models)
    except duckdb.Error as error:
        message = f"{sources.lake.path} cannot be read ({error_line(error)})"
        raise LakeError(f"{message}: run svc-analytics extract") from error


def _union(name: str, lakes: Sequence[Lake]) -> str:
    return " union all by name ".join(
        f"select {quote(lake.merchant_id)} as {MERCHANT}, * from lake_{place}.{name}"
        for place, lake in enumerate(lakes)
    )
