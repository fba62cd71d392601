"""The views and table macros of `sql/`, made in a DuckDB connection over the month files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import duckdb

from svc_analytics.models import Model, read_checks, read_macros, read_models, read_statement_macros
from svc_analytics.schema import SIDE_STREAMS, STREAMS
from svc_analytics.sidefile import VERDICTS_FOLDER

_EXCEPTION_COLUMNS = {
    "check_name": "the rule that is broken",
    "severity": "blocking keeps a statement from being final; advisory informs",
    "record_id": "the record, file or interval that breaks it",
    "month": "UTC month of the record, as text 2026-10; NULL for findings without an instant",
    "currency": "coin slug; NULL where none applies",
    "detail": "what was found",
    "occurred_at": "when the record occurred, UTC; NULL for findings without an instant",
}


def build_views(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    suffix: str,
    models: Collection[str] | None = None,
) -> None:
    """Create macros, views and their comments over the month files below a folder."""
    sources = _sources(folder, suffix)
    connection.execute(read_macros())
    for model in _chosen(read_models(), models):
        connection.execute(f"create view {model.name} as {_fill(model.sql, sources)}")
        _comment(connection, model.name, f"{model.meaning} Grain: {model.grain}.", model.columns)
    for model in _chosen(read_statement_macros(), models):
        body = _fill(model.sql, sources)
        connection.execute(f"create macro {model.name}{model.signature} as table {body}")
    if models is None:
        _build_exceptions(connection, sources)


def _chosen(models: Iterable[Model], names: Collection[str] | None) -> Iterator[Model]:
    return (model for model in models if names is None or model.name in names)


def list_views() -> list[dict[str, str]]:
    """Describe the public views and statement macros for people."""
    exceptions = Model("exceptions", "", "what breaks a rule.", "one row per finding", (), "")
    models = [*read_models(), *read_statement_macros()]
    described = [(model, model.columns) for model in models if model.is_public]
    described.append((exceptions, _EXCEPTION_COLUMNS))
    return [
        {
            "view": f"{model.name}{model.signature}",
            "grain": model.grain,
            "columns": ", ".join(columns),
            "meaning": model.meaning,
        }
        for model, columns in sorted(described, key=lambda item: item[0].name)
    ]


def _build_exceptions(connection: duckdb.DuckDBPyConnection, sources: dict[str, str]) -> None:
    """Create `exceptions`: the findings of all checks in one view."""
    findings = "\nunion all\n".join(
        f"select '{check.name}' as check_name, '{check.severity}' as severity, record_id, "
        "strftime(occurred_at at time zone 'UTC', '%Y-%m') as month, currency, detail, occurred_at "
        f"from ({_fill(check.sql, sources)})"
        for check in read_checks()
    )
    connection.execute(f"create view exceptions as {findings}")
    meaning = "what breaks a rule. Grain: one row per finding."
    _comment(connection, "exceptions", meaning, _EXCEPTION_COLUMNS)


def _sources(folder: Path, suffix: str) -> dict[str, str]:
    """Return the SQL literal of each placeholder's files."""
    kinds = {"": "{}", "changes_": "changes/{}", "quarantine_": "quarantine/{}"}
    folders = {
        f"{prefix}{name}": kind.format(name) for prefix, kind in kinds.items() for name in STREAMS
    }
    folders |= {name: name for name in (VERDICTS_FOLDER, *SIDE_STREAMS)}
    return {
        name: quote(os.fspath(folder / inside / f"*.{suffix}")) for name, inside in folders.items()
    }


def _fill(sql: str, sources: dict[str, str]) -> str:
    for name, literal in sources.items():
        sql = sql.replace(f"{{{name}}}", literal)
    return sql.rstrip()


def _comment(
    connection: duckdb.DuckDBPyConnection, view: str, meaning: str, columns: Mapping[str, str]
) -> None:
    connection.execute(f"comment on view {view} is {quote(meaning)}")
    for name, text in columns.items():
        connection.execute(f"comment on column {view}.{name} is {quote(text)}")


def quote(text: str) -> str:
    """Write a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
