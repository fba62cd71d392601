"""Compare two statements, figure by figure and row by row.

Tables are compared as the exact texts of their files, so CSV, Parquet and a statement in
memory compare alike. Columns that depend on other rows (line numbers, running positions),
the instants of reading and checking, and the words that say what a figure means do not make
a row differ.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from itertools import chain, islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from svc_analytics.errors import LakeError
from svc_analytics.formatting.texts import single_line, unescape_formula
from svc_analytics.formatting.values import text_columns
from svc_analytics.interrupts import interruptible
from svc_analytics.messages import Message
from svc_analytics.money import EXACT, format_amount, is_plain
from svc_analytics.render.bridge import TREND
from svc_analytics.render.differences import RESTATEMENT
from svc_analytics.render.folder import DEFINITIONS
from svc_analytics.warehouse.connection import NO_BARS
from svc_analytics.warehouse.figures import read_figures

# The columns that say what a row is counted as; all others come from the record itself.
_CLASS = {
    *("entry_id", "kind", "parent_payment_id", "parent_receipt_no", "parent_reference_id"),
    *("parent_paid_at", "parent_period", "days_to_refund"),
}
_ASSERTED = ("asserted_balance", "outside_movement")  # what a balance of the console moves
_OPENING, _MOVEMENT = "opening_position", "rail_movement"
# What rests on the position that the period opens with.
_ON_OPENING = {
    *(_OPENING, "closing_position", "usd_exposure", "asserted_position", "outside_movement"),
    *("opening", "closing", "position"),
}
_EARLIER_MONTH = "earlier_month"  # it moved the position that the period opens with
_VERDICT, _VERIFIED = {"receipt_verdict"}, "verified"  # a verdict moves no amount
READ_AT = "first_seen_at"
COLUMNS = (
    *("subject", "table_name", "name", "currency", "change", "cause"),
    *("old_value", "new_value", "delta", "detail"),
)
KEYS = {
    *("currency", "day", "month", "name", "check_name", "stream", "record_id", "entry_id"),
    *("payment_id", "payout_id", "payment_month", "refund_month", "fee_id"),
}
_CONSEQUENCES = {
    *("period", "line_no", "running_position", "refunded_before", "refunded_after"),
    *("refundable_left", "record_version", "flags", READ_AT, "extracted_at", "checked_at"),
    *("first_read_at", "last_read_at", "reading", "note", "unit"),
}
_NEEDED = {  # the columns that a comparison looks rows up by
    "summary": ("currency",),
    "figures": ("name", "currency", "value"),
    "lines": ("record_id", "currency", "net"),
}
_BATCH = 10_000
_SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
NO_DIFFERENCES = _SCHEMA.empty_table()
Tables = dict[str, pa.Table]
Row = dict[str, str]
Entry = dict[str, str]
Engine = duckdb.DuckDBPyConnection
# A newer release may state more, and that is no difference.
#
# A sealed statement is compared with what it names itself: its tables, its columns in their
# order, its figures, its trend of twelve months or more, and its payers in the form that it has.


_FIGURES = "figures"  # the table with a row for each figure and coin
_MONTHS = 12  # of a trend that earlier releases sealed
_PAYER = "payer_ref"
_PREFIX = "p-"  # of a payer, since there is a trend: without it, a spreadsheet read some as numbers


def as_texts(tables: Tables) -> Tables:
    """Return tables with every value as the text that its CSV file has."""
    return {name: _as_texts(table) for name, table in tables.items() if name != RESTATEMENT}


def _as_texts(table: pa.Table) -> pa.Table:
    schema = pa.schema([(name, pa.string()) for name in table.column_names])
    batches = [pa.RecordBatch.from_arrays(texts, schema=schema) for texts in text_columns(table)]
    return pa.Table.from_batches(batches, schema)


def read_tables(folder: Path, files: Collection[str]) -> Tables:
    """Read a statement's tables from the named files, Parquet rather than CSV.

    The definitions of the figures are words, and no table of the statement.
    """
    names = {path.stem: path.name for path in map(Path, sorted(files)) if path.suffix == ".csv"}
    names |= {path.stem: path.name for path in map(Path, files) if path.suffix == ".parquet"}
    return {
        table: _read_table(folder / name)
        for table, name in sorted(names.items())
        if name != DEFINITIONS and table != RESTATEMENT
    }


def _read_table(path: Path) -> pa.Table:
    """Read one table; raise `LakeError` naming the file where it is not what was written."""
    try:
        if path.suffix == ".csv":
            table = read_csv(path)
        else:
            table = _as_texts(pq.read_table(path, page_checksum_verification=True))
        names = table.column_names
        if len(set(names)) < len(names):
            raise ValueError("a column stands twice in its head")
        lacking = [name for name in _NEEDED.get(path.stem, ()) if name not in names]
        if lacking:
            raise ValueError(f"it has no column {lacking[0]}")
    except (OSError, ValueError, pa.ArrowException, csv.Error) as error:
        reason = single_line(str(error))
        raise LakeError(Message("seal.table_unread", path=path, reason=reason)) from error
    return table


def contradicting_tables(folder: Path, files: Collection[str]) -> list[Message]:
    """Name the tables of which the Parquet file and the CSV file say different things."""
    parquets, csvs = (
        read_tables(folder, [file for file in files if file.endswith(suffix)])
        for suffix in (".parquet", ".csv")
    )
    return [
        Message("seal.two_tables", csv=f"{name}.csv", parquet=f"{name}.parquet")
        for name in sorted(parquets.keys() & csvs.keys())
        if parquets[name] != csvs[name]
    ]


def compare(old: Tables, new: Tables, changed_ids: Collection[str] | None = None) -> pa.Table:
    """Return the differences of two statements: one row per figure or record.

    `changed_ids` are the records of which the lake keeps an older version; without a lake
    (None) every record that was read anew counts as changed. Tables and columns that only
    the new statement has do not count: a newer release may write more.
    """
    with _one_engine() as engine:
        rows = list(_compare_lines(engine, old, new, changed_ids))
        figures = list(_compare_figures(engine, old, new, Causes(rows, old, new)))
    return pa.Table.from_pylist(
        [{name: entry.get(name) or None for name in COLUMNS} for entry in [*figures, *rows]],
        schema=_SCHEMA,
    )


def is_different(old: Tables, new: Tables, changed_ids: Collection[str] | None = None) -> bool:
    """Whether `compare` would return any difference of two statements: it ends at the first."""
    with _one_engine() as engine:
        figures = _compare_figures(engine, old, new, Causes((), old, new))
        return any(True for _ in chain(figures, _compare_lines(engine, old, new, changed_ids)))


@contextmanager
def _one_engine() -> Iterator[Engine]:
    """Open the engine that pairs the rows of all tables: one for each would take longest of all."""
    with duckdb.connect() as connection:
        connection.execute(f"SET {NO_BARS}")
        yield connection


def _compare_figures(engine: Engine, old: Tables, new: Tables, causes: Causes) -> Iterator[Entry]:
    for name in sorted(old.keys() - {"lines"}, key=lambda name: (name != "summary", name)):
        yield from _compare_table(engine, name, old[name], new.get(name), causes)


def _compare_lines(
    engine: Engine, old: Tables, new: Tables, changed_ids: Collection[str] | None
) -> Iterator[Entry]:
    if "lines" not in old or "lines" not in new:
        return
    ignored = _CONSEQUENCES - {READ_AT}
    pairs = _differing_rows(engine, old["lines"], new["lines"], ["record_id"], ignored)
    for before, after in pairs:
        if entry := _line_entry(before, after, changed_ids):
            yield entry


def _line_entry(
    before: Row | None, after: Row | None, changed_ids: Collection[str] | None
) -> Entry | None:
    row = after or before or {}
    columns = list[str]()
    if before and after:
        columns = [name for name in before if name != READ_AT and before[name] != after[name]]
        # Read anew, but the same here. It counts only if the lake has an older version of it.
        if not (columns or changed_ids is None or row["record_id"] in changed_ids):
            return None
        columns = columns or [READ_AT]
    return {
        "subject": "row",
        "table_name": "lines",
        "name": row["record_id"],
        "currency": row["currency"],
        "change": _change(before, after),
        "cause": cause_of_record(before, after, columns, changed_ids),
        "detail": ", ".join(columns),
        **_values(_cell(before, "net"), _cell(after, "net")),
    }


def _change(before: Row | None, after: Row | None) -> str:
    return "changed" if before and after else "added" if after else "removed"


def _compare_table(
    engine: Engine, name: str, old: pa.Table, new: pa.Table | None, causes: Causes
) -> Iterator[Entry]:
    missing = [name] if new is None else sorted(set(old.column_names) - set(new.column_names))
    for column in missing:
        text = "the table is not there" if new is None else "the column is not there"
        yield _figure_entry(name, column, {"change": "removed", "detail": text})
    if new is None:
        return
    keys = [column for column in old.column_names if column in KEYS]
    for before, after in _differing_rows(engine, old, new, keys or old.column_names, _CONSEQUENCES):
        row = after or before or {}
        key = {column: row[column] for column in keys if column not in ("currency", "name")}
        common = {
            "currency": row.get("currency", ""),
            "change": _change(before, after),
            "detail": ", ".join(f"{column} {value}" for column, value in key.items()),
        }
        for entry in _figure_entries(name, row.keys() - {*keys}, before, after, common):
            yield entry | {"cause": causes.of_figure(entry)}


def _figure_entries(
    table: str, columns: Collection[str], before: Row | None, after: Row | None, common: Entry
) -> Iterator[Entry]:
    """Yield an entry for each figure of a row that differs; for the row if it has none."""
    row = after or before or {}
    figures = [column for column in row if column in columns]
    for column in figures:
        values = _cell(before, column), _cell(after, column)
        if values[0] != values[1]:
            name = row["name"] if "name" in row and column == "value" else column
            yield _figure_entry(table, name, common | _values(*values))
    if not figures:
        yield _figure_entry(table, "row", common)


def _figure_entry(table: str, name: str, more: Entry) -> Entry:
    return {"subject": "figure", "table_name": table, "name": name, **more}


def _cell(row: Row | None, column: str) -> str:
    return row[column] if row else ""


def _values(old: str, new: str) -> Entry:
    """Return two values as texts, and their difference where both are numbers."""
    delta = difference(old, new)
    return {"old_value": old, "new_value": new} | ({} if delta is None else {"delta": delta})


def _differing_rows(
    engine: Engine, old: pa.Table, new: pa.Table, keys: list[str], ignored: Collection[str]
) -> Iterator[tuple[Row | None, Row | None]]:
    """Yield the old and the new row of each key where they differ, in the order of keys."""
    common = [name for name in old.column_names if name in new.column_names]
    names = [name for name in common if name in keys or name not in ignored]
    keys = [name for name in keys if name in names]
    older, newer = old.select(names), new.select(names)
    if older.equals(newer):
        return
    with interruptible():
        engine.register("older", older)
        engine.register("newer", newer)
        pairs = engine.sql(_difference_query(keys)).to_arrow_table()
    for batch in pairs.to_batches(max_chunksize=_BATCH):
        for pair in batch.to_pylist():
            before, after = pair["before"], pair["after"]
            yield (before if pair["was_there"] else None, after if pair["is_there"] else None)


def _difference_query(keys: list[str]) -> str:
    """Return the SQL that pairs rows by key, and rows of the same key by their order."""
    key = ", ".join(f'"{name}"' for name in keys)
    numbered = f"select t, {key}, row_number() over (partition by {key} order by t) as n from"
    return f"""
        with a as ({numbered} older as t), b as ({numbered} newer as t)
        select a.t as before, b.t as after,
            a.n is not null as was_there, b.n is not null as is_there
        from a full join b using ({key}, n)
        where a.t is distinct from b.t
        order by {key}, n
    """


def read_csv(path: Path) -> pa.Table:
    """Read a CSV file as texts; raise `ValueError` where a row is not as wide as the head."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, strict=True)
        head = next(rows, None)
        if head is None:
            raise ValueError("it is empty")
        return _texts(head, (_cells(row, head, rows.line_num) for row in rows))


def _cells(row: list[str], head: list[str], line: int) -> list[str]:
    if len(row) != len(head):
        raise ValueError(f"line {line} has {len(row)} cells, and the head has {len(head)}")
    return list(map(unescape_formula, row))


def _texts(names: list[str], rows: Iterable[list[str]]) -> pa.Table:
    schema = pa.schema([(name, pa.string()) for name in names])
    rows, batches = iter(rows), []
    while chunk := list(islice(rows, _BATCH)):
        columns = [pa.array(column, pa.string()) for column in zip(*chunk, strict=True)]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(batches, schema)


def comparable(sealed: Tables, new: Tables) -> tuple[Tables, Tables]:
    """Return the tables of two statements with what both name, as the sealed one has it."""
    return both_name(sealed, in_older_form(sealed, new))


def both_name(sealed: Tables, new: Tables) -> tuple[Tables, Tables]:
    """Return the tables of two statements with what both name, in the order of the sealed one."""
    pairs = {name: _both(name, sealed[name], new[name]) for name in sealed if name in new}
    return {name: pair[0] for name, pair in pairs.items()}, {
        name: pair[1] for name, pair in pairs.items()
    }


def in_older_form(sealed: Tables, new: Tables) -> Tables:
    """Return a new statement's tables, its payers as a sealed one from before the prefix has them.

    Such a one has no trend, and none of its payers begins with it.
    """
    named = [table[_PAYER] for table in sealed.values() if _PAYER in table.column_names]
    has_prefix = any(pc.any(pc.starts_with(each, _PREFIX)).as_py() for each in named)
    return new if TREND in sealed or has_prefix else {n: _bare(t) for n, t in new.items()}


def _bare(table: pa.Table) -> pa.Table:
    if _PAYER not in table.column_names:
        return table
    place = table.column_names.index(_PAYER)
    bare = pc.replace_substring_regex(table[_PAYER], f"^{_PREFIX}", "")
    return table.set_column(place, table.schema.field(place), bare)


def _both(name: str, sealed: pa.Table, new: pa.Table) -> tuple[pa.Table, pa.Table]:
    columns = [column for column in sealed.column_names if column in new.column_names]
    old, now = _select(sealed, columns), _select(new, columns)
    if name == TREND and "month" in columns:
        return old, _newest_year(now, old)
    if name != _FIGURES or not (len(old) and len(now)):
        return old, now
    return _of_figures(old, now), _of_figures(now, old)


def _select(table: pa.Table, columns: list[str]) -> pa.Table:
    return table if columns == table.column_names else table.select(columns)


def _of_figures(table: pa.Table, other: pa.Table) -> pa.Table:
    """Return the rows of the figures that the other table has rows of."""
    is_in_both = pc.is_in(table["name"], value_set=pc.unique(other["name"]))
    return table if pc.all(is_in_both).as_py() else table.filter(is_in_both)


def _newest_year(new: pa.Table, sealed: pa.Table) -> pa.Table:
    """Return the last twelve months of a trend, if the sealed one has none before them."""
    months = sorted(set(new["month"].to_pylist()))  # labels of one calendar are ordered by time
    year = pa.array(months[-_MONTHS:])
    if len(months) <= _MONTHS or not pc.all(pc.is_in(sealed["month"], value_set=year)).as_py():
        return new
    return new.filter(pc.is_in(new["month"], value_set=year))


def months_left_out(sealed: Tables, new: Tables) -> list[str]:
    """Name the months before the last twelve, if a new trend has some and a sealed one none."""
    if TREND not in sealed or TREND not in new:
        return []
    is_shorter = len(_newest_year(new[TREND], sealed[TREND])) < len(new[TREND])
    return [f"the months of {TREND} before the last twelve"] if is_shorter else []


def no_longer_stated(sealed: Tables, new: Tables) -> list[str]:
    """Name the tables, columns and figures of a sealed statement that a new one does not have."""
    lacking = [f"the table {name}" for name in sealed if name not in new]
    for name in (name for name in sealed if name in new):
        columns = [each for each in sealed[name].column_names if each not in new[name].column_names]
        lacking += [f"{name}.{column}" for column in columns]
    if len(sealed.get(_FIGURES, ())) and len(new.get(_FIGURES, ())):
        known = set(new[_FIGURES]["name"].to_pylist())
        named = dict.fromkeys(sealed[_FIGURES]["name"].to_pylist())
        lacking += [f"{_FIGURES}.{name}" for name in named if name not in known]
    return lacking


def cause_of_record(
    before: Row | None, after: Row | None, columns: list[str], changed_ids: Collection[str] | None
) -> str:
    """Return why a row differs: `late`, `changed`, `verified`, or `reclassified`.

    What is reclassified counts differently; of what is verified only the verdict is another one.
    """
    if before is None and after is not None:
        return "changed" if after["record_id"] in (changed_ids or ()) else "late"
    if columns and _VERDICT.issuperset(columns):
        return _VERIFIED
    return "reclassified" if columns and _CLASS.issuperset(columns) else "changed"


class Causes:
    """Why the figures of two statements of a period differ, coin by coin.

    `rows` are the lines that differ, with their causes; `old` and `new` the tables of the two.
    """

    def __init__(self, rows: Iterable[Row], old: Tables, new: Tables) -> None:
        self._of_rows: dict[str, set[str]] = {}
        for row in rows:
            self._of_rows.setdefault(row["currency"], set()).add(row["cause"])
        self._openings, self._movements = (_moved(name, old, new) for name in (_OPENING, _MOVEMENT))
        self._asserted = _newly_asserted(old, new)

    def of_figure(self, entry: Row) -> str:
        """Return why a figure differs; `entry` has its name, coin, change and difference."""
        name, coin = entry["name"], entry.get("currency", "")
        if name in _ASSERTED and coin in self._asserted:
            return "asserted"
        causes = self._of_rows.get(coin, set())
        if name not in _verdict_names():
            causes = causes - {_VERIFIED}
        if coin in self._openings and name in _ON_OPENING:
            is_all = name == _OPENING or entry.get("delta") == self._openings[coin]
            has_other = coin in self._movements and not is_all
            causes = {_EARLIER_MONTH} | (causes if has_other else set())
        elif coin in self._openings and entry["change"] != "changed":
            causes = causes or {_EARLIER_MONTH}  # the coin has a row because it has a position
        return ", ".join(sorted(causes)) or "elsewhere"


@cache
def _verdict_names() -> frozenset[str]:
    """Return the names of the figures, and of the columns of receipts, that verdicts move."""
    figures = (each.name for each in read_figures().values() if "verdicts" in each.needs)
    return frozenset((*figures, "verdict", "reason"))


def _moved(column: str, old: Tables, new: Tables) -> dict[str, str | None]:
    """Return by how much a figure moved, by coin; None where it is unknown on one side.

    A coin that a summary does not have is zero there.
    """
    rows = (tables["summary"].to_pylist() if "summary" in tables else [] for tables in (old, new))
    before, after = ({row["currency"]: row.get(column, "") for row in side} for side in rows)
    values = {
        coin: (before.get(coin, "0"), after.get(coin, "0")) for coin in before.keys() | after.keys()
    }
    return {coin: difference(*pair) for coin, pair in values.items() if pair[0] != pair[1]}


def _newly_asserted(old: Tables, new: Tables) -> set[str]:
    """Return the coins whose asserted balance is another one, or is new."""
    rows = (tables["figures"].to_pylist() if "figures" in tables else [] for tables in (old, new))
    before, after = (
        {(row["currency"], row["value"]) for row in each if row["name"] == "asserted_balance"}
        for each in rows
    )
    return {coin for coin, _ in before ^ after}


def difference(old: str, new: str) -> str | None:
    """Return the difference of two texts as a text; None where one of them is no number."""
    if not (is_plain(old) and is_plain(new)):
        return None
    return format_amount(EXACT.subtract(Decimal(new), Decimal(old)))
