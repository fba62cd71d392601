"""DuckDB over the lake: views built from `sql/`, queries answered exactly and read-only.

Our own readers work on a snapshot in memory, locked down; `analytics.duckdb` holds the
same views for other tools (design 4 and 13).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from filelock import FileLock

from svc_analytics.coverage import Coverage, unite
from svc_analytics.displayed import Displayed
from svc_analytics.errors import LakeError, QueryError
from svc_analytics.interruption import beside, interruptible
from svc_analytics.lake import Lake
from svc_analytics.models import named_in
from svc_analytics.monthfile import read_groups, sync_folder, torn
from svc_analytics.schema import STREAMS
from svc_analytics.sidefile import VERDICTS_FOLDER
from svc_analytics.verdictfile import require_whole
from svc_analytics.views import build_views, list_views, quote, write_database

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.explanations import Explanation

# Files written by DuckDB 2 must still open in the 1.x command line.
STORAGE_VERSION = "v1.2.0"
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "storage_compatibility_version": STORAGE_VERSION,
}


class AnalyticLake(Displayed, Lake):
    """A lake that answers SQL: what `svc_analytics.open_lake` returns."""

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Answer one read-only query on the views, exactly, as an Arrow-backed frame.

        Raises `QueryError` for anything but a single SELECT, and for errors in it.
        """
        with open_warehouse(self, named_in(query)) as warehouse:
            return to_frame(warehouse.ask(query, parameters))

    def explain(
        self,
        month: str,
        currency: str,
        figure: str,
        *,
        zone: str = "UTC",
        calendar: str = "gregorian",
    ) -> Explanation:
        """Say where a figure of a month's statement comes from: its SQL and its records."""
        from svc_analytics.explanations import explain

        return explain(self, month, currency, figure, zone=zone, calendar=calendar)

    def views(self) -> pd.DataFrame:
        """List the views and statement macros: name, grain, columns and meaning."""
        import pandas as pd

        return pd.DataFrame(list_views())


class Warehouse:
    """An open connection over one unchanging state of the lake."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, lake: Lake, folder: Path) -> None:
        self._connection = connection
        self._lake = lake
        self._folder = folder

    def verify(self, months: Collection[str]) -> None:
        """Hold every page of these months' files against its checksum, or raise `LakeError`.

        So are what was set aside and what was superseded, of any month: they keep a
        statement from being final.
        """
        files = [self._folder / name / f"{month}.pq" for month in months for name in STREAMS]
        for kind in ("changes", "quarantine"):
            files += sorted((self._folder / kind).glob("*/*.pq"))
        for file in files:
            try:
                for _ in read_groups(file) if file.exists() else ():
                    pass
            except LakeError as error:
                raise torn(self._in_the_lake(file), error.__cause__) from error
        for month in months:
            verdicts = self._folder / VERDICTS_FOLDER / f"{month}.pq"
            require_whole(verdicts, self._in_the_lake(verdicts))

    def _in_the_lake(self, file: Path) -> Path:
        """Name a file of the snapshot as people know it."""
        return self._lake.path / file.relative_to(self._folder).with_suffix(".parquet")

    def ask(self, query: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
        """Answer a query that may come from anywhere: one SELECT, or nothing."""
        try:
            statements = self._connection.extract_statements(query)
        except duckdb.Error as error:
            raise QueryError(_first_line(error)) from error
        allowed = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
        if len(statements) != 1 or statements[0].type not in allowed:
            raise QueryError("only a single SELECT is answered: the lake is read-only")
        return self.fetch(query, parameters)

    @interruptible()
    def fetch(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        tables: Mapping[str, pa.Table] | None = None,
    ) -> pa.Table:
        """Answer a query of our own as an Arrow table: decimals and instants stay exact.

        `tables` can be queried by name beside the views.
        """
        try:
            with self._connection.cursor() as cursor:
                for name, table in (tables or {}).items():
                    cursor.register(name, table)
                values = dict(parameters or {})
                return beside(cursor, lambda: cursor.sql(query, params=values).to_arrow_table())
        except duckdb.Error as error:
            text = _as_in_the_lake(_first_line(error), self._folder, self._lake)
            raise QueryError(text) from error

    def coverage(self) -> dict[str, Coverage]:
        """Return what was read of each stream, in UTC microseconds."""
        spans = self.fetch(
            "select stream, state, epoch_us(span_start) as start, epoch_us(span_end) as until "
            "from stg_spans"
        ).to_pylist()
        return {
            name: Coverage(
                **{
                    state: unite(
                        (span["start"], span["until"])
                        for span in spans
                        if (span["stream"], span["state"]) == (name, state)
                    )
                    for state in ("complete", "provisional")
                }
            )
            for name in STREAMS
        }


@contextmanager
def open_warehouse(lake: Lake, models: Collection[str] | None = None) -> Iterator[Warehouse]:
    """Open the views over a snapshot of the lake, in memory, locked against any change.

    `models` names those to make, sources included; without it there are all.
    """
    for stream in STREAMS.values():
        lake.footers(stream)  # a torn or foreign file is named here, not by DuckDB
    with lake.snapshot() as folder:
        connection = _open_views(lake, folder, models)
        try:
            yield Warehouse(connection, lake, folder)
        finally:
            connection.close()


@interruptible()
def _open_views(
    lake: Lake, folder: Path, models: Collection[str] | None
) -> duckdb.DuckDBPyConnection:
    try:
        if models is None:
            path = folder / "views.duckdb"
            write_database(path, folder, "pq", _CONFIG)
            connection = duckdb.connect(path, read_only=True, config=_CONFIG)
            _prepare(connection, folder)
        else:
            connection = duckdb.connect(config=_CONFIG)
            _prepare(connection, folder)
            build_views(connection, folder, "pq", models)
        _lock_down(connection, folder)
    except duckdb.Error as error:
        reason = _as_in_the_lake(_first_line(error), folder, lake)
        message = f"{lake.path} cannot be read ({reason}): run svc-analytics extract"
        raise LakeError(message) from error
    return connection


def _as_in_the_lake(text: str, folder: Path, lake: Lake) -> str:
    """Name the lake's own files where DuckDB names those of the snapshot."""
    return text.replace(str(folder), str(lake.path)).replace(".pq", ".parquet")


@interruptible()
def write_views(lake: Lake) -> Path:
    """Re-make `analytics.duckdb`: the same views over the lake's own files, for other tools."""
    lake.require()
    path = lake.path / "analytics.duckdb"
    try:
        with FileLock(lake.path / ".views.lock"):
            _write_views(lake, path)
    except (duckdb.Error, OSError) as error:
        raise LakeError(f"cannot make {path}: {_first_line(error)}") from error
    return path


def _write_views(lake: Lake, path: Path) -> None:
    temporary = lake.path / ".analytics.writing"
    temporary.unlink(missing_ok=True)  # what a killed run left
    try:
        write_database(temporary, lake.path, "parquet", _CONFIG)
        temporary.replace(path)
        sync_folder(lake.path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def to_frame(table: pa.Table) -> pd.DataFrame:
    """Return a frame that keeps every digit: Arrow-backed, never float."""
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def _prepare(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for setting in (
        "TimeZone='UTC'",
        f"temp_directory={quote(str(folder / 'tmp'))}",
        "python_enable_replacements=false",
        "cache_local_files=false",
        "parquet_metadata_cache=false",
        # What one step of a query has freed is given back before the next one takes more.
        "allocator_flush_threshold='256KiB'",
        "allocator_bulk_deallocation_flush_threshold='256KiB'",
    ):
        connection.execute(f"SET {setting}")


def _lock_down(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    connection.execute(f"SET allowed_directories=[{quote(str(folder))}]")
    connection.execute("SET enable_external_access=false")
    connection.execute("SET lock_configuration=true")


def _first_line(error: Exception) -> str:
    first, *others = str(error).strip().splitlines()
    hints = [line for line in others if line.startswith(("Did you mean", "Candidate bindings"))]
    text = " ".join([first, *hints[:1]])
    if isinstance(error, duckdb.OutOfRangeException):
        text += " (a sum of more than 38 digits cannot be held)"
    return text
