"""DuckDB over the lake: views built from `sql/`, queries answered exactly and read-only.

Our own readers work on a snapshot in memory, locked down; `analytics.duckdb` holds the
same views for other tools.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from math import isfinite
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.bucket.mirror import Replaced
from svc_analytics.coverage import Coverage, Span, union
from svc_analytics.errors import ConfigError, LakeChanged, LakeError, QueryError
from svc_analytics.formatting.values import map_table
from svc_analytics.instants import DAY, EPOCH, SECOND, to_micros
from svc_analytics.interrupts import QueryThread, interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.connection import (
    CONFIG,
    bound_memory,
    error_line,
    give_back_memory,
    is_of_full_disk,
    is_select,
    lock_down,
    prepare,
)
from svc_analytics.warehouse.images import read_by_others, without_rows, write_snapshot_database
from svc_analytics.warehouse.models import Model, read_all_models
from svc_analytics.warehouse.sources import SMALL_LAKE, Sources, as_in_the_lake, open_sources
from svc_analytics.warehouse.view_builder import (
    Files,
    build_views,
    lake_folders,
    public_models,
    say_files,
)

_SPILLS = "where queries put aside what they have no memory for"
FEW = 100_000  # records that may be held in memory, once read: at most some hundred MB
MOST_IN_MEMORY = 500_000  # records of which long answers are in memory: half a gigabyte
FEW_MODELS = 5  # to make more than so many takes longer than to copy all
_BATCH = 50_000  # rows of longer ones that are in memory at a time
_MOST_SNAPSHOTS = 5  # of which a result is made, where each was replaced while it was read
_T = TypeVar("_T")


def to_table(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return the answer to a query of our own, whose types Arrow has too."""
    return relation.to_arrow_table()


def _ask(
    connection: duckdb.DuckDBPyConnection, query: str, values: dict[str, Any], *, is_short: bool
) -> duckdb.DuckDBPyRelation:
    if not is_short:
        return connection.sql(query, params=values)
    connection.execute(f"create or replace temp table answer as {query}", values)
    return connection.table("answer")


class Warehouse:
    """An open connection over one unchanging state of the lake."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, lake: Lake, sources: Sources, *, is_small: bool
    ) -> None:
        self._connection = connection
        self._thread = QueryThread(connection)
        self._lake = lake
        self._folder = sources.folder
        self.sources = sources
        self.is_small = is_small  # whether all records fit in little memory
        self.is_held = sources.rows <= FEW  # whether what is read twice may be held in memory
        # Whether all rules together may need more memory than a query gets.
        self.is_large = sources.rows > MOST_IN_MEMORY
        self.read_to = sources.read_to  # the end of the newest read in UTC microseconds, if any

    def query_readonly(self, query: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """Answer a query that may come from anywhere: one SELECT, or nothing."""
        try:
            query.encode()
            statements = self._connection.extract_statements(query)
        except duckdb.Error as error:
            raise QueryError(error_line(error)) from error
        except UnicodeEncodeError as error:
            raise QueryError("the query is not text in UTF-8") from error
        if len(statements) != 1 or not is_select(statements[0]):
            raise QueryError("only a single SELECT is answered: the lake is read-only")
        values = {name: _as_typed(value) for name, value in (parameters or {}).items()}
        return self.query(query, values, is_ours=False)

    @interruptible()
    def query(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        tables: Mapping[str, pa.Table] | None = None,
        *,
        is_ours: bool = True,
        is_short: bool = False,
        is_long: bool = False,
    ) -> pa.Table:
        """Answer a query as an Arrow table: decimals and instants stay exact.

        One that `is_ours` has only types that Arrow has too; of others each column is looked at.
        `tables` can be queried by name beside the views. An answer that `is_short`, as all of ours
        over few records, is kept before it is fetched: DuckDB plans a query twice, once for its
        columns, if it is fetched at once.
        One that `is_long`, with a row for each record, is made here whoever counts the records, and
        lies in a file if there are many.
        """
        fetch = to_table if is_ours else to_exact_table
        if is_long and self.sources.rows > MOST_IN_MEMORY:
            fetch = self._to_mapped_table
        values = dict(parameters or {})
        named = {name: table for name, table in (tables or {}).items() if name in query}
        with self._naming_errors(), self._registered(named) as connection:
            is_short = is_short or (is_ours and self.is_small)
            ask = partial(_ask, connection, query, values, is_short=is_short)
            return self._thread.run(lambda: fetch(ask()))

    def _to_mapped_table(self, relation: duckdb.DuckDBPyRelation) -> pa.Table:
        return map_table(relation.to_arrow_reader(_BATCH), self._folder)

    @interruptible()
    def keep(
        self,
        name: str,
        query: str,
        values: Mapping[str, Any],
        signature: str,
        tables: Mapping[str, pa.Table | pa.RecordBatchReader] | None = None,
    ) -> None:
        """Answer a query once: whatever reads `name` from here on reads its rows.

        The views stay as they are. With the `signature` of a table macro these are its rows,
        whatever it is called with. `tables` can be queried by name beside the views.
        """
        table = f"kept_{name}" if signature else name
        with self._naming_errors(), self._registered(tables or {}) as connection:
            create, run = f"create or replace temp table {table} as {query}", connection.execute
            self._thread.run(lambda: run(create, dict(values)))
            if signature:
                run(f"create or replace temp macro {name}{signature} as table from {table}")

    @contextmanager
    def _registered(self, tables: Mapping[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
        try:
            for name, table in tables.items():
                self._connection.register(name, table)
            yield self._connection
        finally:
            for name in tables:
                self._connection.unregister(name)

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        try:
            yield
        except (duckdb.Error, OSError) as error:
            if is_of_full_disk(error):
                text = f"the disk is full: free some space in {self._folder.parent}, {_SPILLS}"
            elif isinstance(error, OSError):
                raise
            else:
                text = as_in_the_lake(error_line(error), self._folder, self._lake)
            raise QueryError(text) from error

    def coverage(self) -> dict[str, Coverage]:
        """Return the coverage of each stream, in UTC microseconds."""
        spans = self.query(
            "select stream, state, epoch_us(span_start) as start, epoch_us(span_end) as until "
            "from stg_spans"
        ).to_pylist()
        by_state: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
        for span in spans:
            by_state[span["stream"], span["state"]].append((span["start"], span["until"]))
        return {
            name: Coverage(union(by_state[name, "complete"]), union(by_state[name, "provisional"]))
            for name in STREAMS
        }


@contextmanager
def open_warehouse(
    lake: Lake,
    models: frozenset[str] | None = None,
    *,
    as_written: bool = False,
    period: Span | None = None,
    wider: Span | None = None,
    most_memory: str | None = None,
) -> Iterator[Warehouse]:
    """Open the views over a snapshot of the lake, in memory, locked against any change.

    Every file that they read is checked against its checksums first: DuckDB does not do it.
    `models` names those to make, sources included; without it there are all. Queries over
    few records run `as_written` if asked: optimizing ours takes longer than running them. All
    spill rather than take more memory.

    With a `period`, in UTC microseconds, the macros of a statement give its figures as over the
    whole lake, and cost what its months cost: the other records of history are not there. Where
    those of a `wider` one are few, they are there too: see `Sources.holds`.
    """
    with open_sources(lake, models, period, wider) as sources:
        is_small = sources.rows <= SMALL_LAKE
        connection = _open_views(lake, sources, models)
        try:
            if sources.rows > FEW:
                give_back_memory(connection)
            bound_memory(connection, sources.rows, most_memory)
            lock_down(connection, sources.folder, as_written=as_written and is_small)
            yield Warehouse(connection, lake, sources, is_small=is_small)
        finally:
            connection.close()


@interruptible()
def _open_views(
    lake: Lake, sources: Sources, models: frozenset[str] | None
) -> duckdb.DuckDBPyConnection:
    folder = sources.folder
    try:
        if models is None or sources.whole_months or len(models) > FEW_MODELS:
            _require_files(lake, sources.files)
            path = folder / "views.duckdb"
            write_snapshot_database(path)
            connection = duckdb.connect(path, read_only=True, config=CONFIG)
            prepare(connection, folder)
            say_files(connection, sources.files)
        else:
            connection = duckdb.connect(config=CONFIG)
            prepare(connection, folder)
            build_views(connection, sources.files, models)
    except duckdb.Error as error:
        reason = as_in_the_lake(error_line(error), folder, lake)
        message = f"{lake.place} cannot be read ({reason}): run svc-analytics extract"
        raise LakeError(message) from error
    return connection


def _require_files(lake: Lake, files: Files) -> None:
    """Refuse a lake that lacks a side file; views that are copied do not look for them."""
    for name, inside in lake_folders().items():
        paths = files.get(f"totalled_{name}" if name in STREAMS else name)
        if paths == []:
            message = (
                f"{lake.place} cannot be read ({inside} holds no file): run svc-analytics extract"
            )
            raise LakeError(message)


# ---------- Answers to people's queries as Arrow tables
# Each value exact, as text, or refused.
#
# DuckDB has types that Arrow, Python or pandas have not. Some would come out as wrong values
# without a word: 2^128 - 1 as -1, a time with an offset without it.


_AS_TEXT = re.compile(
    r"\b(UHUGEINT|BIGNUM|VARINT|BIT|INTERVAL|UNION|VARIANT|TIME_NS|TIME WITH TIME ZONE)\b"
)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")  # labels of enums, names of members
_INSTANT = "TIMESTAMP WITH TIME ZONE"
_FIRST_DAY, _LAST_DAY = ((day - EPOCH.date()).days for day in (date.min, date.max))
_FIRST, _LAST = (to_micros(at.replace(tzinfo=EPOCH.tzinfo)) for at in (datetime.min, datetime.max))
_TICKS = {"s": 1, "ms": 1_000, "us": SECOND, "ns": 1_000 * SECOND}  # in a second


def to_exact_table(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    """Return an answer whose every value is the one that DuckDB has, or raise `QueryError`."""
    names = relation.columns
    kinds = [_QUOTED.sub("", str(kind)).replace(_INSTANT, "") for kind in relation.types]
    casts = ["::varchar" if _AS_TEXT.search(kind) else "" for kind in kinds]
    if any(casts):
        values = (f"#{place}{cast}" for place, cast in enumerate(casts, 1))
        relation = relation.project(", ".join(values))
    table = relation.to_arrow_table().rename_columns(names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if any(map(_has_odd_times, column.chunks)):
            message = f"column {name!r:.60} has times that no calendar of Python has (infinite, "
            raise QueryError(f"{message}or beyond the years 1 to 9999): cast it to varchar")
    return table


def _has_odd_times(values: pa.Array) -> bool:
    """Tell whether an array holds a date, instant or time of day that Python cannot hold."""
    kind = values.type
    if pa.types.is_date32(kind):
        return _is_beyond(values.view(pa.int32()), _FIRST_DAY, _LAST_DAY)
    if pa.types.is_timestamp(kind):
        ticks = _TICKS[kind.unit]
        bounds = _FIRST * ticks // SECOND, _LAST * ticks // SECOND
        return _is_beyond(values.view(pa.int64()), *bounds)
    if pa.types.is_time64(kind):  # 24:00:00 would become midnight
        return _is_beyond(values.view(pa.int64()), 0, DAY * _TICKS[kind.unit] // SECOND - 1)
    return any(map(_has_odd_times, _parts(values)))


def _is_beyond(numbers: pa.Array, first: int, last: int) -> bool:
    bounds: dict[str, Any] = pc.min_max(numbers).as_py()
    return bounds["min"] is not None and not first <= bounds["min"] <= bounds["max"] <= last


def _parts(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays that an array of lists, structs or maps is made of."""
    kind = values.type
    if pa.types.is_map(kind):
        yield from (values.keys, values.items)
    elif pa.types.is_struct(kind):
        yield from values.flatten()
    elif (
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    ):
        yield values.flatten()


Types = dict[tuple[str, str], str]  # by view and column
_DAY = "('2026-10-01', '2026-10-02')"  # any interval: the types of a macro are always the same


def describe_views(lake: Lake) -> list[dict[str, Any]]:
    """Describe the public views and macros: view, grain, columns, meaning, by name.

    Each column has name, type and comment. Types are DuckDB's, None where there is no lake.
    """
    types = _types_in(lake) if lake.exists else {}
    return [
        {
            "view": f"{model.name}{model.signature}",
            "grain": model.grain,
            "columns": _described(model, columns, types),
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
    return _described(model, columns, _types_in(lake, model) if lake.exists else {})


def _described(model: Model, columns: Mapping[str, str], types: Types) -> list[dict[str, Any]]:
    return [
        {"name": name, "type": types.get((model.name, name)), "comment": comment}
        for name, comment in columns.items()
    ]


def _types_in(lake: Lake, only: Model | None = None) -> Types:
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


# ---------- Counted by DuckDB here, or by the engine that the lake names


def count(
    lake: Lake,
    names: frozenset[str] | None,
    work: Callable[[Warehouse], _T],
    *,
    period: Span | None = None,
    wider: Span | None = None,
    as_written: bool = False,
) -> _T:
    """Return the result of `work` on the views of a lake, all of it of one snapshot.

    Where an object of a bucket was replaced while an engine read it, all work is done again.
    Raises `LakeChanged` where that happens again and again.
    """

    def done() -> _T:
        with open_counted(
            lake, names, period=period, wider=wider, as_written=as_written
        ) as warehouse:
            return work(warehouse)

    return of_one_snapshot(done)


def of_one_snapshot(work: Callable[[], _T]) -> _T:
    """Return the result of `work`, done again where an object was replaced while it was read."""
    place = ""
    for _ in range(_MOST_SNAPSHOTS):
        try:
            return work()
        except Replaced as error:
            place = error.place
    raise LakeChanged(f"{place} changes faster than the engine counts it: try again later")


def _as_typed(value: Any) -> Any:
    """Return a parameter with each float in it as the decimal that was typed.

    >>> _as_typed(0.1), _as_typed([1e-07, "0.1"])
    (Decimal('0.1'), [Decimal('1E-7'), '0.1'])
    """
    if isinstance(value, (list, tuple)):
        return [*map(_as_typed, value)]
    is_number = isinstance(value, float) and isfinite(value)
    return Decimal(repr(float(value))) if is_number else value


def open_counted(
    lake: Lake,
    names: frozenset[str] | None = None,
    *,
    period: Span | None = None,
    wider: Span | None = None,
    as_written: bool = False,
) -> AbstractContextManager[Warehouse]:
    """Open the views of a lake; the engine that the lake names counts its records."""
    if engine := lake.connect():
        return engine.open_views([lake], names, period=period)
    return open_warehouse(lake, names, period=period, wider=wider, as_written=as_written)
