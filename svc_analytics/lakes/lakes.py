"""Several lakes, one merchant each, opened together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import Instant, as_instant, check, check_path, described
from svc_analytics.closing.states.stated import statement
from svc_analytics.engines.connect import connect, of_one_snapshot
from svc_analytics.engines.engine import Engine
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.counts import counted
from svc_analytics.formatting.display import Display, names_of, text_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_frame
from svc_analytics.instants import now as now_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.lakes.statement import GroupStatement, figures_of
from svc_analytics.lakes.views import open_views, public_views
from svc_analytics.statements.comparison import side_of
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.sources import open_sources
from svc_analytics.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd


class Lakes(Displayable):
    """The lakes of several merchants: what `svc_analytics.open_lakes` returns.

    Examples:
        >>> both = svc.open_lakes(["data/a", "data/b"])  # doctest: +SKIP
        >>> both.sql("select merchant_id, count(*) from payments group by all")  # doctest: +SKIP
    """

    def __init__(self, lakes: Sequence[Lakehouse]) -> None:
        self.lakes = tuple(lakes)

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Run one read-only query on the views of all lakes; return an exact frame.

        Each public view has the column `merchant_id` before its own. Join on it too: ids of two
        merchants may be the same. With an engine, one query of it counts the records of all.

        Returns:
            A frame as `lake.sql` returns it.

        Raises:
            QueryError: for anything but a single SELECT, and for errors in it.
            LakeError: when a file of a lake was altered.

        Examples:
            >>> both.sql("select merchant_id, currency, fee from fees")  # doctest: +SKIP
        """
        check("query", query, str, 'a query as text, such as "select * from coverage"')
        return to_frame(query_lakes(self.lakes, query, parameters))

    def statement(
        self,
        month: str,
        *,
        zone: str = "UTC",
        calendar: str | None = None,
        now: Instant | None = None,
    ) -> GroupStatement:
        """State a month, a quarter or a year of each merchant, and sum the figures per coin.

        The arguments are those of `svc.statement`. A sum with an unknown part is unknown and
        says of which merchant; ratios are made of sums.

        Returns:
            A `GroupStatement`: `statements` by merchant, and `figures`, a frame with a row per
            merchant, coin and figure; those of `all merchants` come last.

        Raises:
            ConfigError: as `svc.statement`.
            LakeError: when a file of a lake was altered.

        Examples:
            >>> both.statement("2026-Q3").figures  # doctest: +SKIP
        """
        clock = now_micros() if now is None else as_instant("now", now)
        statements = {
            lake.merchant_id: statement(lake, month, zone=zone, calendar=calendar, now=clock)
            for lake in self.lakes
        }
        period = next(iter(statements.values())).period
        table = figures_of({merchant: side_of(each) for merchant, each in statements.items()})
        return GroupStatement(period, statements, table)

    def _display(self) -> Display:
        rows = [
            (lake.merchant_id, single_line(names_of(lake.merchant)), str(lake.path))
            for lake in self.lakes
        ]
        header = ["merchant_id", "merchant", "lake"]
        return Display(counted(len(rows), "lake"), [], [text_table("", header, rows)])


def open_lakes(
    data_dirs: Sequence[str | os.PathLike[str]],
    *,
    engine: str | None = None,
    engine_data: Sequence[str] | None = None,
) -> Lakes:
    """Open the lakes of several merchants together.

    `data_dirs` are their folders. No merchant may stand among them twice, because its money
    would be counted twice. With an `engine`, as in `open_lake`, that server counts the records
    of all; `engine_data` are the lakes' folders as its machines see them, in the same order.

    Returns:
        The lakes, to query and to state together.

    Raises:
        ConfigError: for no folder at all, for a folder or a merchant that is given twice, and
            for another number of folders in `engine_data`.
        NoLake: where a folder holds no lake.

    Examples:
        >>> both = svc.open_lakes(["data/a", "data/b"])  # doctest: +SKIP
    """
    folders = _listed("data_dirs", data_dirs, "data/a", "data/b")
    if not folders:
        raise ConfigError("no lake given: name at least one folder")
    check("engine", engine, (str, type(None)), 'an address, such as "sc://spark.example:15002"')
    lakes: dict[str, Lakehouse] = {}
    for data_dir, place in zip(folders, _places(folders, engine_data), strict=True):
        check_path("data_dirs", data_dir, "data/a")
        lake = Lakehouse(data_dir, engine=engine or "", engine_data=place)
        lake.require()
        if other := lakes.get(lake.merchant_id):
            same = f"{other.path} and {lake.path} are of one merchant, {lake.merchant_id}"
            raise ConfigError(f"{same}: its money would be counted twice")
        lakes[lake.merchant_id] = lake
    return Lakes(list(lakes.values()))


def _places(folders: Sequence[object], engine_data: Sequence[str] | None) -> list[str]:
    """Return where an engine sees each folder; empty where it sees it as this machine does."""
    if engine_data is None:
        return [""] * len(folders)
    seen = _listed("engine_data", engine_data, "/mnt/a", "/mnt/b")
    if len(seen) != len(folders):
        places = f"{len(seen)} folder{'s' * (len(seen) != 1)}"
        message = f"{len(folders)} lakes, but the engine is told of {places}"
        next_step = "give --engine-data, in Python engine_data, once for each, in the same order"
        raise ConfigError(f"{message}: {next_step}")
    return seen


def _listed(name: str, folders: Any, *examples: str) -> list[Any]:
    """Return a list of folders; a single one is no list."""
    if isinstance(folders, (str, os.PathLike)) or not isinstance(folders, Sequence):
        wanted = ", ".join(f'"{each}"' for each in examples)
        raise ConfigError(
            f"{name} is {described(folders)}: give a list of folders, such as [{wanted}]"
        )
    return list(folders)


# ---------- One query over several lakes
# By DuckDB here, or by the engine that the lakes name.


def query_lakes(
    lakes: Sequence[Lake], query: str, parameters: Mapping[str, Any] | None = None
) -> pa.Table:
    """Answer one read-only query over the views of all lakes, exactly.

    Raises `QueryError` for anything but one SELECT on views, and for errors in it.
    """
    models = models_used_by(query)
    engine = connect(lakes[0].engine)
    opened = _open_here if engine is None else partial(_open_on_engine, engine)

    def answer() -> pa.Table:
        with ExitStack() as stack:
            return opened(stack, lakes, models).query_readonly(query, parameters)

    return of_one_snapshot(answer)


def _open_here(stack: ExitStack, lakes: Sequence[Lake], models: frozenset[str] | None) -> Warehouse:
    sources = [stack.enter_context(open_sources(lake, models)) for lake in lakes]
    return open_views(stack, sources, models)


def _open_on_engine(
    engine: Engine, stack: ExitStack, lakes: Sequence[Lake], models: frozenset[str] | None
) -> Warehouse:
    """Open the same, over the snapshots that the engine is shown."""
    from svc_analytics.engines.warehouse import open_on_engine
    from svc_analytics.lakes.counted import EngineLakes

    opened = {
        lake.merchant_id: stack.enter_context(open_on_engine(lake, engine, models))
        for lake in lakes
    }
    here = open_views(stack, [each.sources for each in opened.values()], models)
    return EngineLakes(here, engine, opened, public_views(models))
