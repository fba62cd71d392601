"""Store of the service in SQLite: one file, or a temporary one.

Lists are read by keyset on (instant, id), so every page costs the same. Amounts are text,
instants are integers of UTC microseconds.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any, Self

from svc_analytics.errors import ConfigError
from svc_analytics.sandbox.sales import DayOfRecords, StoredRecord
from svc_analytics.sandbox.scenario import HISTORY_VERSION, Scenario
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS, STREAMS, Stream

# Receipt tokens are signed when a payment is read, so none is stored.
_STORED = {
    stream.name: [column for column in stream.columns if column.name != "receipt"]
    for stream in STREAMS.values()
}
_COLUMNS = {name: [column.name for column in stored] for name, stored in _STORED.items()}
# A record is sorted by its own instant but listed only once it is settled.
_SETTLED_AT = {PAYMENTS.name: "paid_at", PAYOUT_RECORDS.name: "settled_at"}
# The column that filters a list; the query parameter has the same name.
FILTERS = {PAYMENTS.name: "currency", PAYOUT_RECORDS.name: "kind"}

_SCENARIO_TABLE = """
    create table scenario
    (version integer, seed integer, months integer, payments integer, month text, business text)
"""
# Created after the rows: sorting once is far cheaper than a million random inserts.
_INDEXES = (
    "create index payments_by_time on payments (paid_at, id)",
    "create index payments_by_currency on payments (currency, paid_at, id)",
    "create unique index payments_by_id on payments (id)",
    "create unique index payments_by_receipt_no on payments (receipt_no)",
    "create index payout_records_by_time on payout_records (created_at, id)",
    "create index payout_records_by_kind on payout_records (kind, created_at, id)",
    "create unique index payout_records_by_id on payout_records (id)",
    "create unique index payout_records_by_reference on payout_records (reference_id)",
)

# Names come from the constants above; values are always bound.
_SELECT = {name: f"select {', '.join(names)} from {name}" for name, names in _COLUMNS.items()}

Row = tuple[Any, ...]
Position = tuple[int, str]  # the (instant, id) of a record in its list


@dataclass(frozen=True)
class Slice:
    """Select part of a list: from an instant up to a position, exclusive."""

    stream: Stream
    since: int
    before: Position
    only: str | None = None  # one currency of payments, one kind of payout records


def page_query(part: Slice, now: int, limit: int) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL of a page and its values; an index delivers it without sorting."""
    name, instant = part.stream.name, part.stream.instant
    filtered = "" if part.only is None else f"{FILTERS[name]} = ? and "
    # The + stops SQLite from using an index on that bound: it would read all newer rows.
    sql = (
        f"{_SELECT[name]} where {filtered}{instant} >= ? and ({instant}, id) < (?, ?)"
        f" and +{_SETTLED_AT[name]} <= ? order by {instant} desc, id desc limit ?"
    )
    chosen = () if part.only is None else (part.only,)
    return sql, (*chosen, part.since, *part.before, now, limit)


class Store:
    """Keep one merchant's records; threads may share it. Close it when done."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.name = str(path or "a temporary file")
        self._lock = RLock()  # no thread reads uncommitted rows of another
        # An empty name is a private temporary database, deleted when it is closed.
        if path and not Path(path).exists():
            _make_private(Path(path))
        with self._config_errors():
            self._db = sqlite3.connect(path or "", isolation_level=None, check_same_thread=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def scenario(self) -> Scenario | None:
        """Return the scenario of the store, or None if it is empty."""
        with self._config_errors():
            if not self.fetch("select 1 from sqlite_master where name = 'scenario'"):
                return None
            [(version, *parameters)] = self.fetch("select * from scenario")
            is_of_this_schema = all(map(self._has_columns, STREAMS))
        if version != HISTORY_VERSION or not is_of_this_schema:
            message = f"{self.name} was seeded by another version of the sandbox: use another file"
            raise ConfigError(message)
        return Scenario.of_month(*parameters)

    def fill(self, scenario: Scenario, history: Iterable[DayOfRecords]) -> None:
        """Write a whole history in one transaction: if killed, the store stays empty."""
        with self._config_errors():
            # This mode writes each page of a first transaction once; WAL would write it twice.
            self._db.execute("pragma journal_mode = delete")
            self._db.execute("pragma cache_size = -65536")  # KiB; only an upper limit
            with self._transaction():
                self._write(scenario, history)
            self._db.execute("pragma journal_mode = wal")

    def page(self, part: Slice, now: int, limit: int) -> list[StoredRecord]:
        """Return the newest settled records of a slice."""
        rows = self.fetch(*page_query(part, now, limit))
        return [_named(part.stream, row) for row in rows]

    def find(self, stream: Stream, column: str, value: str, now: int) -> StoredRecord | None:
        """Find the settled record with a value in a unique column."""
        sql = f"{_SELECT[stream.name]} where {column} = ? and {_SETTLED_AT[stream.name]} <= ?"
        row = self.first(sql, value, now)
        return _named(stream, row) if row else None

    def walk(self, stream: Stream, now: int) -> Iterator[StoredRecord]:
        """Yield every settled record, oldest first."""
        settled = f"{_SELECT[stream.name]} where {_SETTLED_AT[stream.name]} <= ?"
        sql = f"{settled} order by {stream.instant}, id"
        return (_named(stream, row) for row in self._db.execute(sql, (now,)))

    def fetch(self, sql: str, values: Row | dict[str, Any] = ()) -> list[Row]:
        """Run a statement and return all rows, if it has any."""
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def first(self, sql: str, *values: Any) -> Row | None:
        """Run a query and return its first row, or None if it has none."""
        return next(iter(self.fetch(sql, values)), None)

    def insert(self, table: str, *values: Any) -> None:
        """Insert a row with a value for every column."""
        self.fetch(f"insert into {table} values ({', '.join('?' * len(values))})", values)

    def add(self, stream: Stream, record: StoredRecord) -> None:
        """Insert a settled record."""
        self.fetch(_insert_sql(stream.name, record), tuple(record.values()))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block in a transaction, or in the one that is already open.

        BEGIN IMMEDIATE takes the write lock before the first read, so nothing that the
        block has checked can change before it writes.
        """
        with self._lock:
            if self._db.in_transaction:
                yield
                return
            with self._transaction():
                yield

    def _has_columns(self, name: str) -> bool:
        held = {row[1] for row in self.fetch(f"pragma table_info({name})")}
        return held >= {*_COLUMNS[name]}

    def _write(self, scenario: Scenario, history: Iterable[DayOfRecords]) -> None:
        for statement in (_SCENARIO_TABLE, *map(_table_sql, STREAMS.values())):
            self._db.execute(statement)
        for day in history:
            for name, records in day._asdict().items():
                if records:
                    rows = (tuple(record.values()) for record in records)
                    self._db.executemany(_insert_sql(name, records[0]), rows)
        for statement in _INDEXES:
            self._db.execute(statement)
        self.insert("scenario", *scenario.parameters)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    @contextmanager
    def _config_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ConfigError(f"cannot use {self.name} as a sandbox database: {error}") from error


def _make_private(path: Path) -> None:
    """Make the file, for this user alone: it holds secrets; SQLite fills it."""
    with suppress(OSError):  # SQLite says what is wrong with the place
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def _table_sql(stream: Stream) -> str:
    columns = (
        f"{column.name} {'integer' if column.kind == 'instant' else 'text'}"
        for column in _STORED[stream.name]
    )
    return f"create table {stream.name} ({', '.join(columns)})"


def _insert_sql(table: str, record: StoredRecord) -> str:
    """Return the SQL that inserts the values of such records; a column that they lack is NULL."""
    return f"insert into {table} ({', '.join(record)}) values ({', '.join('?' * len(record))})"


def _named(stream: Stream, row: Row) -> StoredRecord:
    return dict(zip(_COLUMNS[stream.name], row, strict=True))


def prepare(store: Store) -> None:
    """Create the missing tables of `tables.sql`; a file of an older sandbox gets them too."""
    newest = "select count(*) from sqlite_master where name in (?, ?)"
    if store.first(newest, "wrong_codes_by_payer", "entries_by_time") == (2,):
        return
    script = (files("svc_analytics.sandbox") / "tables.sql").read_text(encoding="utf-8")
    with store.transaction():
        for statement in script.split(";"):
            store.fetch(statement)
