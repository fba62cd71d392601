"""An engine's answer in the types that DuckDB gives it: exactly, or not at all."""

from __future__ import annotations

import pyarrow as pa

from svc_analytics.errors import EngineError


def cast_exactly(answer: pa.Table, schema: pa.Schema, engine: str) -> pa.Table:
    """Return an answer with the columns and types of a schema; refuse what does not fit.

    A column that the query does not name is called by each engine as it likes: it is known by
    its place.
    """
    if not _are_in_place(answer.column_names, schema.names):
        message = f"{engine} answered with the columns {', '.join(answer.column_names)}, not with "
        raise EngineError(f"{message}{', '.join(schema.names)}")
    columns = []
    for field, column in zip(schema, answer.columns, strict=True):
        try:
            columns.append(column.cast(field.type, safe=True))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = f"{engine} answered {field.name} as {column.type}, not as {field.type}"
            raise EngineError(f"{message}: {error}") from error
    return pa.table(columns, schema=schema)


def _are_in_place(names: list[str], wanted: list[str]) -> bool:
    """Tell whether each column that both know by a name stands where it should."""
    return len(names) == len(wanted) and all(
        one == other or (one not in wanted and other not in names)
        for one, other in zip(names, wanted, strict=True)
    )
