"""A statement compared with the full scan, table by table, row by row, cell by cell."""

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext

import pyarrow as pa

from svc_analytics import Message, Statement
from svc_analytics.periods import Period, known_until
from tests.support.full_scan import rules, tables
from tests.support.full_scan.rows import Books, Row, View, plain
from tests.support.full_scan.values import EXACT, stated

OF_ITS_NAME = (
    *(tables.summary, tables.figures, tables.lines, tables.daily, tables.position, tables.fees),
    *(tables.refunds, tables.cohorts, tables.payouts, tables.exposure, tables.receipts),
    *(tables.reading, rules.checks),
)
MADE: dict[str, Callable[[View], list[Row]]] = {each.__name__: each for each in OF_ITS_NAME}


def full_scan(books: Books, period: Period, as_of: int, now: int) -> dict[str, list[Row]]:
    """Return every table of a period, made from all rows of a lake."""
    known_to = known_until(period, books.read_to, max(now, books.read_to))
    view = View(books, period, as_of, known_to)
    clock = max(now, books.read_to)
    begun = [month for month in period.months if month.start < min(clock, period.end)]
    before = map(period.months[0].shift, range(max(len(begun), 1) - 24, 0))
    months = [
        View(books, replace(month, end=min(month.end, period.end)), as_of, known_at)
        for month in (*before, *(begun if period.is_longer else []))
        if month.end > books.first_month and month.start < books.read_to
        for known_at in [known_until(month, books.read_to, clock)]
    ]
    with localcontext(EXACT):
        made = {name: list(map(_stated, make(view))) for name, make in MADE.items()}
        views = months if period.is_longer else [*months, view]
        made["trend"] = [_stated(row) for each in views for row in tables.trend(each)]
    flags: dict[str, set[str]] = {}
    for row in made["checks"]:
        flags.setdefault(row["record_id"], set()).add(row["check_name"])
    for row in made["lines"]:
        row["flags"] = " ".join(sorted(flags.get(row["record_id"], ()))) or None
    return made


def _stated(row: Row) -> Row:
    """Leave out amounts that 38 digits do not hold."""
    return {name: stated(cell) if isinstance(cell, Decimal) else cell for name, cell in row.items()}


def differences(statement: Statement, expected: dict[str, list[Row]]) -> list[str]:
    """Say in a line each where a statement differs from the full scan; nothing is none."""
    found = [] if {*statement.tables} == {*expected} else [f"tables {[*statement.tables]}"]
    for name, rows in expected.items():
        found += _differing(name, statement.tables[name], rows)
    return found


def _differing(name: str, table: pa.Table, expected: list[Row]) -> list[str]:
    stated = plain(table)
    for row in stated:  # the text of a row is the English of its message
        message, text = row.pop("message", None), row.get("detail") or row.get("note")
        if message and str(Message.from_json(json.loads(message))) != text:
            return [f"{name}: {text!r} has the message {message}"]
    if name == "checks":  # in order but for findings of one record and instant
        stated = [{column: row[column] for column in rules.COLUMNS} for row in stated]
    if len(stated) != len(expected):
        return [f"{name}: {len(stated)} rows, the full scan has {len(expected)}"]
    return [
        f"{name}, row {number}, {column}: {row.get(column)!r}, the full scan has {right[column]!r}"
        for number, (row, right) in enumerate(zip(stated, expected, strict=True))
        for column in {**row, **right}
        if row.get(column, "absent") != right.get(column, "missing")
    ]
