"""The views and table macros of `sql/`, made in a DuckDB connection over the month files.

Which files they read stands in variables, so that one database of views serves every snapshot.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from svc_analytics.lake.layout import VERDICTS_FOLDER
from svc_analytics.schema import PAYMENTS, SIDE_STREAMS, STREAMS
from svc_analytics.warehouse.acknowledgements import Acknowledgement, read_acknowledgements
from svc_analytics.warehouse.models import (
    Check,
    Model,
    read_all_models,
    read_lake_checks,
    read_macros,
    read_statement_checks,
)
from svc_analytics.warehouse.sql_text import english_of, message_of, quote

_FINDING = {
    "check_name": "the rule that is broken",
    "severity": "blocking keeps a statement from being final; advisory informs",
    "record_id": "the record, file or interval that breaks it",
    "month": "UTC month of the record, as text 2026-10; NULL for findings without an instant",
    "currency": "coin slug; NULL where none applies",
    "detail": "what was found, in words",
    "content": "digest of what it is about: what an acceptance of it names",
    "seen_at": "when that was first read, UTC; NULL when nothing tells",
    "occurred_at": "when the record occurred, UTC; NULL for findings without an instant",
    "message": "the code and the values that the detail is made of, JSON",
}
FINDINGS = Model(
    "statement_checks",
    "(starts_at, ends_at)",
    "rows that break a rule in a period, and in the lake itself.",
    "one row per finding",
    (),
    "",
)
_EXCEPTIONS = Model(
    "exceptions",
    "",
    "rows that break a rule, over all time.",
    "one row per finding",
    ("statement_checks",),
    "",
)
# When what has no first instant may have occurred, as time that was never read: no month of it.
_BEGINNING = "'0001-01-01 00:00:00+00'::timestamptz"
# Files that a reader makes for itself.
MADE = ("footers", "parents", "other_payouts", "acknowledgements")
RECEIPTLESS = "receiptless_payments"  # the files in which some may lack a receipt
_VARIABLE = "lake_{}"  # that says where the files of a placeholder lie
# What a tool of others gets, in place of files that only our own readers make.
_STATED = """(
    select
        regexp_extract(file_name, '([^/\\\\]+)\\.[a-z]+$', 1) as month,
        decode(value) as footer
    from (
        from parquet_kv_metadata({payments}) union all from parquet_kv_metadata({payout_records})
    ) as stated
    where decode(key) = 'svc_analytics'
)"""
_NAMED = """(
    select
        payout_id,
        payments.*,
        muldiv18(payments.fee_amount, payout_records.amount, charged_amount) as fee_kept,
        muldiv18(payments.usd_value, payout_records.amount, payments.amount) as usd_when_paid
    from payout_records
    inner join payments using (payment_id)
    union all
    select null, *, null, null
    from payments
    where payment_id in (select payment_id from stg_quarantine)
)"""

_ACCEPTED = '"check", record_id, content, accepted_at, counts_from'

_NO_OTHERS = """(
    select
        kind, payment_id, reference_id, currency, amount, settled_at, extracted_at,
        currency as payment_currency, settled_at as payment_paid_at
    from read_parquet({payout_records})
    where false
)"""

# A database's temporary files lie beside it: so its views tell in which folder it is opened.
_HERE = (
    "regexp_extract(current_setting('temp_directory'), '^(.*[/\\\\])analytics[.]duckdb[.]tmp$', 1)"
)
# Attached to another database it cannot tell. It reads the lake that it was made in, unless it is
# attached from elsewhere: a copy never answers from the lake that it was copied from.
_OF_THIS_LAKE = """
    {here} <> ''
    or not exists (
        select 1 from duckdb_databases() where regexp_matches(path, '[/\\\\]analytics[.]duckdb$')
    )
    or exists (select 1 from duckdb_databases() where path = {made} || 'analytics.duckdb')
    or error('this lake was moved or copied: run svc-analytics views on it, or open this database '
        || 'by itself')
"""

Files = Mapping[str, Sequence[Path]]  # the files that stand for each placeholder
Execute = Callable[[str], object]  # a statement of SQL


def say_files(connection: duckdb.DuckDBPyConnection, files: Files) -> None:
    """Tell a connection where the files of its snapshot lie."""
    said = [
        f"set variable {_VARIABLE.format(name)} = [{', '.join(quote(str(each)) for each in paths)}]"
        for name, paths in files.items()
    ]
    connection.execute(";".join(said))


def lake_sources(folder: Path) -> dict[str, str]:
    """Return the SQL of each placeholder over a lake's own files, as they are when it is run.

    They are those beside the database that is opened, wherever the lake was moved; `folder` is
    where it is made.
    """
    place = f"coalesce(nullif({_HERE}, ''), {_made_in(folder)})"
    sources = {
        name: f"({place} || {quote(f'{inside}/*.parquet')})"
        for name, inside in lake_folders().items()
    }
    accepted = ", ".join(map(_accepted, read_acknowledgements(folder)))
    rows = f"values {accepted}" if accepted else "select '', '', '', now(), now() where false"
    return sources | {
        "all_receipt_verdicts": sources[VERDICTS_FOLDER],
        **{f"totalled_{name}": sources[name] for name in STREAMS},
        RECEIPTLESS: sources[PAYMENTS.name],
        "other_payouts": fill(_NO_OTHERS, sources),
        "footers": fill(_STATED, sources),
        "parents": _NAMED,
        "acknowledgements": f"(from ({rows}) as accepted ({_ACCEPTED}) where counts_from <= now())",
    }


def over_own_lake(sql: str, folder: Path) -> str:
    """Return a query that ends rather than answer from the lake that its own was copied from."""
    condition = _OF_THIS_LAKE.format(here=_HERE, made=_made_in(folder))
    return f"select * from ({sql}) where {condition}"


def _made_in(folder: Path) -> str:
    return quote(f"{os.fspath(folder)}{os.sep}")


def _accepted(mark: Acknowledgement) -> str:
    """Return the SQL of an accepted finding as a row of values."""
    content = quote(mark.content) if mark.content else "null"
    at = (f"make_timestamptz({each}::bigint)" for each in (mark.at, mark.counts_from))
    return f"({quote(mark.check)}, {quote(mark.record_id)}, {content}, {', '.join(at)})"


def variables() -> dict[str, str]:
    """Return the SQL of each placeholder over the files that variables name."""
    totalled = [f"totalled_{name}" for name in STREAMS]
    named = [*lake_folders(), "all_receipt_verdicts", RECEIPTLESS, *totalled]
    sources = {name: f"getvariable('{_VARIABLE.format(name)}')" for name in named}
    tables = {name: f"read_parquet(getvariable('{_VARIABLE.format(name)}'))" for name in MADE}
    return sources | tables


def build_views(
    connection: duckdb.DuckDBPyConnection, files: Files, models: Collection[str]
) -> None:
    """Create macros and the views named over the files of a snapshot."""
    say_files(connection, files)
    create_all(connection.execute, variables(), models)


def create_all(
    execute: Execute,
    sources: dict[str, str],
    models: Collection[str] | None = None,
    behind_each: Callable[[Execute, Model], None] = lambda *_: None,
) -> None:
    """Create macros and the views named; where all are made, people read their comments."""
    execute(read_macros())
    written = [(model, model.columns) for model in read_all_models()]
    written += [(model, _FINDING) for model in _models_of_findings()]
    for model, columns in written:
        if models is None:
            create(execute, model, fill(model.sql, sources), columns)
        elif model.name in models:
            _make(execute, model, fill(model.sql, sources))
        else:
            continue
        behind_each(execute, model)


def public_models() -> list[tuple[Model, Mapping[str, str]]]:
    """Return the views and macros that users are meant to query, with their columns' meaning."""
    models = [(model, model.columns) for model in read_all_models() if model.is_public]
    models += [(model, _FINDING) for model in (_EXCEPTIONS, FINDINGS)]
    return sorted(models, key=lambda item: item[0].name)


def create(execute: Execute, model: Model, body: str, columns: Mapping[str, str]) -> None:
    """Make a view or a macro, with comments on it and on these columns."""
    _make(execute, model, body)
    meaning = quote(f"{model.meaning} Grain: {model.grain}.")
    if model.signature:
        execute(f"comment on macro table {model.name} is {meaning}")
        return
    comments = [f"comment on view {model.name} is {meaning}"]
    for name, text in columns.items():
        comments.append(f"comment on column {model.name}.{name} is {quote(text)}")
    execute(";".join(comments))


def _make(execute: Execute, model: Model, body: str) -> None:
    if model.signature:
        execute(f"create macro {model.name}{model.signature} as table {body}")
    else:
        execute(f"create or replace view {model.name} as {body}")


def every_model() -> tuple[Model, ...]:
    """Return all views and table macros with their SQL, those of findings included."""
    return (*read_all_models(), *_models_of_findings())


def _models_of_findings() -> tuple[Model, ...]:
    return replace(FINDINGS, sql=read_findings()), replace(_EXCEPTIONS, sql=read_exceptions())


def read_findings() -> str:
    """Return the SQL of the findings of a statement's rules in an interval."""
    return "\nunion all\n".join(map(findings_within, read_statement_checks()))


def findings_within(check: Check) -> str:
    """Return the SQL of the findings of one rule in an interval."""
    return f"{_findings(check)} where occurred_at is null or {_is_of_period(check)}"


def findings_of(check: Check) -> str:
    """Return the SQL of the findings of one rule over all time, each with its last instant."""
    last_at = "last_at" if " as last_at," in check.sql else "occurred_at"
    return _findings(check).replace(" seen_at, ", f" seen_at, {last_at} as last_at, ", 1)


def read_exceptions() -> str:
    """Return the SQL of the findings of all rules over all time."""
    of_statements = "from statement_checks('0001-01-02', '9999-12-30')"
    return "\nunion all\n".join([of_statements, *map(_findings, read_lake_checks())])


def _findings(check: Check) -> str:
    return (
        f"select '{check.name}' as check_name, '{check.severity}' as severity, record_id, "
        f"strftime(nullif(occurred_at, {_BEGINNING}) at time zone 'UTC', '%Y-%m') as month, "
        "currency, "
        f"{english_of(check.sql)} as detail, content, seen_at, occurred_at, "
        f"{message_of(check.sql)} as message from ({check.sql.rstrip()})"
    )


def _is_of_period(check: Check) -> str:
    """Return the condition that a finding may belong to a period; some lie between two instants."""
    if " as last_at," not in check.sql:
        return "is_within(occurred_at, starts_at, ends_at)"
    return "occurred_at < ends_at::timestamptz and last_at >= starts_at::timestamptz"


def placeholders_read(models: Collection[str] | None) -> set[str]:
    """Return the placeholders of files that these models read, or all."""
    everything = variables()
    if models is None:
        return set(everything)
    chosen = [model.sql for model in read_all_models() if model.name in models]
    return {name for name in everything if any(f"{{{name}}}" in sql for sql in chosen)}


def lake_folders() -> dict[str, str]:
    """Return the folder of the lake that each placeholder stands for."""
    kinds = {"": "{}", "changes_": "changes/{}", "quarantine_": "quarantine/{}"}
    folders = {
        f"{prefix}{name}": kind.format(name) for prefix, kind in kinds.items() for name in STREAMS
    }
    return folders | {name: name for name in (VERDICTS_FOLDER, *SIDE_STREAMS)}


def fill(sql: str, sources: dict[str, str]) -> str:
    for name, literal in sources.items():
        sql = sql.replace(f"{{{name}}}", literal)
    return sql.rstrip()
