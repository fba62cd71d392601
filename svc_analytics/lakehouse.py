"""A lake that answers SQL queries, lists its views and explains figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import AnyPath, check, check_path
from svc_analytics.config import check_engine, read_data_dir
from svc_analytics.coverage import describe_span
from svc_analytics.errors import needs_extra
from svc_analytics.formatting.display import Display, display_table, names_of, text_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.status_line import StatusLine, attach
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import BEGINNING, ago, format_instant, from_micros, in_words
from svc_analytics.lake.lake import Lake, LakeEngine
from svc_analytics.lake.status import LakeStatus, StreamStatus, lake_status
from svc_analytics.schema import INSTANT
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse, count, describe_columns, describe_views

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.statements.explain import Explanation


_OFFER = (
    "The lake is empty. lake = svc.demo_lake({path!r}) fills it with a made-up merchant, "
    "without account or key. With your keys in the settings, svc.extract(lake) fills it."
)


# They take streams, or are for programs that write the lake.
_INNER = {
    *("clocks", "connect", "coverage", "earlier_profiles", "engine_data", "folder", "footers"),
    *("month_path", "months", "refresh", "require", "service", "snapshot", "storage"),
}


class Lakehouse(Displayable, Lake):
    """A lake that answers SQL queries: what `svc_analytics.open_lake` returns."""

    def __init__(self, path: AnyPath, *, engine: str = "", engine_data: str = "") -> None:
        super().__init__(path)
        self.engine, self.engine_data = check_engine(engine), engine_data

    def connect(self) -> LakeEngine | None:
        """Return the engine at the address that the lake was opened with, found exact.

        Raises `EngineUnavailable` when nothing answers there, and `EngineRefused` when it fails a
        line of the probe.
        """
        if not self.engine:
            return None
        with needs_extra("spark"):
            from svc_analytics.engines.connect import connect
        return connect(self.engine)

    def __dir__(self) -> list[str]:
        """Offer what a person needs; how the lake is kept stays out of Tab's list."""
        return sorted(set(super().__dir__()) - _INNER)

    def _display(self) -> Display:
        if not self.exists:
            return Display(f"Lake {self.place}", [_OFFER.format(path=self.place)])
        status = lake_status(self)
        rows = [
            (stream.name, state, in_words(describe_span((start, end))))
            for stream in status.streams
            for start, end, state in stream.coverage.intervals()
        ]
        coverage = text_table("time that was read", ["stream", "state", "interval"], rows)
        records = display_table(_records(status), "records in the lake", why="no record")
        lines = [f"{stream.name}: {_completeness(stream)}" for stream in status.streams]
        title = f"Lake {self.place} of {names_of(status.merchant)}"
        return Display(title, lines, [records, coverage])

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Run one read-only query on the views; return an exact, Arrow-backed frame.

        `parameters` are the values of `$names` in the query, a float as the decimal that was
        typed. `views` lists what can be queried.

        Returns:
            A frame with the columns that the query selects. Amounts are decimals of 18 places in
            the coin of their row, columns that begin with `usd_` are in US dollars, instants are
            in UTC; an empty cell is unknown.

        Raises:
            QueryError: for anything but a single SELECT, and for errors in it.
            ConfigError: when the query is no text, or the parameters are no dict.
            LakeError: when there is no lake, or a file of it was altered.

        Examples:
            >>> query = "select currency, fee from fees where month = $m"
            >>> lake.sql(query, {"m": "2026-10"})  # doctest: +SKIP
        """
        check("query", query, str, 'a query as text, such as "select * from coverage"')
        values = 'a dict, such as {"month": "2026-10"} for $month in the query'
        check("parameters", parameters, (Mapping, type(None)), values)

        def answer(warehouse: Warehouse) -> pa.Table:
            table = warehouse.query_readonly(query, parameters)
            return attach(table, _status_line(warehouse.read_to))

        return to_frame(count(self, models_used_by(query), answer))

    def explain(
        self,
        month: str,
        currency: str,
        figure: str,
        *,
        zone: str = "UTC",
        calendar: str | None = None,
    ) -> Explanation:
        """Explain a figure of a month's statement: its value, its SQL and its records.

        `month`, `zone` and `calendar` are as in `svc.statement`; `currency` is a coin's slug, such
        as `btc`; `figure` is a name of the summary or of the table `figures`.

        Returns:
            An explanation: `value` (None when unknown), `sql` and `rows`, the records behind it.

        Raises:
            ConfigError: for a figure, a month or a coin that the statement does not have.
            LakeError: when there is no lake, or a file of it was altered.

        Examples:
            >>> lake.explain("2026-10", "btc", "net_settlement").rows  # doctest: +SKIP
        """
        from svc_analytics.statements.explain import explain  # loads what statements are made of

        return explain(self, month, currency, figure, zone=zone, calendar=calendar)

    def views(self, view: str | None = None) -> pd.DataFrame:
        """List the views and statement macros, or the columns of one of them.

        Returns:
            A frame with a row per view: `view`, `grain`, `columns` (their names, with commas
            between) and `meaning`. With the name of a `view`, a row per column: `name`, `type`
            (DuckDB's; empty where there is no lake) and `comment`, its meaning.

        Raises:
            ConfigError: for a view that does not exist; it names the nearest one.

        Examples:
            >>> lake.views("fees_monthly")  # doctest: +SKIP
        """
        if view is None:
            rows = [
                row | {"columns": ", ".join(column["name"] for column in row["columns"])}
                for row in describe_views(self)
            ]
        else:
            check("view", view, str, 'the name of a view, such as "payments"')
            rows = describe_columns(self, view)
        return to_frame(pa.Table.from_pylist(rows))


def _status_line(read_to: int | None) -> StatusLine:
    """Return which days and months of the views, which are of UTC, are not over."""
    day = "" if read_to is None else f"{from_micros(read_to):%Y-%m-%d}"
    return StatusLine(first_open_day=day, first_open_month=day[:7])


def _records(status: LakeStatus) -> pa.Table:
    """Return a row per stream: rows, first and last record, quarantined ones."""
    columns = {"stream": pa.array([stream.name for stream in status.streams], pa.string())}
    for name in ("rows", "first_at", "last_at", "quarantined"):
        values = [getattr(stream, name) for stream in status.streams]
        columns[name] = pa.array(values, INSTANT if name.endswith("_at") else pa.int64())
    return pa.table(columns)


def _completeness(stream: StreamStatus) -> str:
    """Return a line about a stream: how complete and how fresh it is."""
    read, gaps = stream.coverage.read, len(stream.gaps)
    if not read:
        return "never extracted, so figures that need it are unknown"
    start = "the beginning" if read[0][0] == BEGINNING else "later than the beginning"
    count = "without a gap" if not gaps else f"with {gaps} gap{'s' * (gaps > 1)}"
    end = read[-1][1]
    return f"read from {start} up to {format_instant(end)} ({ago(end)}), {count}"


def open_lake(
    data_dir: AnyPath | None = None, *, engine: str | None = None, engine_data: str | None = None
) -> Lakehouse:
    """Open the lake in a folder or in a bucket; it may still be empty.

    `data_dir` is the folder of the lake, or the URL of its bucket, such as `s3://bucket/lake`. By
    default it is that of the settings, as for a command: SVC_DATA_DIR of the environment or of
    `.env`, else `data`. Nothing is read from a bucket before it is needed.

    With an `engine`, the address of a Spark Connect server such as `sc://spark.example:15002`,
    that server counts the records for `sql` and for statements, to the same digits. It reads the
    lake's files by their paths; `engine_data` is the lake's folder as its machines see it, if
    they see it elsewhere. Of a lake in a bucket it is where they find the objects, such as
    `s3a://bucket/lake`.

    Returns:
        The lake. `exists` says whether anything was read into it; `extract` fills it.

    Raises:
        ConfigError: when `data_dir` is no path, a path that DuckDB cannot read, or a URL of no
            bucket, or `engine` is no address.

    Examples:
        >>> lake = svc.open_lake()  # doctest: +SKIP
        >>> lake = svc.open_lake("data")  # doctest: +SKIP
        >>> lake = svc.open_lake("data", engine="sc://spark.example:15002")  # doctest: +SKIP
    """
    if data_dir is not None:
        check_path("data_dir", data_dir, "data")
    check("engine", engine, (str, type(None)), 'an address, such as "sc://spark.example:15002"')
    check("engine_data", engine_data, (str, type(None)), 'a folder, such as "/mnt/lake"')
    place = read_data_dir() if data_dir is None else data_dir
    return Lakehouse(place, engine=engine or "", engine_data=engine_data or "")
