"""What an engine is shown: the lake's files where they lie, and small tables handed over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sqlglot import exp

from svc_analytics.engines.engine import Engine
from svc_analytics.engines.paths import Places
from svc_analytics.engines.support import models, reads_records
from svc_analytics.engines.trees import OUR_DIALECT, call_of
from svc_analytics.warehouse.images import file_schemas
from svc_analytics.warehouse.view_builder import Files

MOST_ROWS = 200_000  # of a table that is handed over


@dataclass
class TableUploader:
    """The tables of one lake on an engine, each shown when it is first needed."""

    engine: Engine
    files: Files
    places: Places
    rows_of: Callable[[str], pa.Table]  # the rows of a call, as counted here
    row_counts: Mapping[str, int]  # how many rows there are of the models that are kept here
    mark: str  # what the names of its tables begin with
    _shown: dict[str, str] = field(default_factory=dict)  # tables of the engine, by what they are

    def is_kept(self, name: str) -> bool:
        """Tell whether a model is kept here with few rows."""
        return self.row_counts.get(name, MOST_ROWS + 1) <= MOST_ROWS

    def table_of(self, table: exp.Table) -> str | None:
        """Return the engine's table of a file or of a small model; None for any other model."""
        name = call_of(table)
        if name.startswith("{"):
            return self._files(name[1:-1])
        if self.is_kept(name):
            return self._rows(name, table)
        if name in models() and not reads_records(name):
            return self._rows(table.this.sql(OUR_DIALECT), table)
        return None

    def forget(self) -> None:
        """Let the engine forget these tables."""
        self.engine.forget([*self._shown.values()])

    def _rows(self, called: str, table: exp.Table) -> str:
        if called not in self._shown:
            name = self._new(call_of(table))
            self.engine.put(name, self.rows_of(table.this.sql(OUR_DIALECT)))
            self._shown[called] = name
        return self._shown[called]

    def _files(self, name: str) -> str:
        if name not in self._shown:
            shown, schema = self._new(name), file_schemas()[name]
            placed = {path: self.places.place(path) for path in self.files[name]}
            places = [place for place in placed.values() if place is not None]
            self.places.require_seen(places, self.engine.sizes)
            rows = _rows_of([path for path, place in placed.items() if place is None], schema)
            self.engine.read(shown, places, schema, rows)
            self._shown[name] = shown
        return self._shown[name]

    def _new(self, name: str) -> str:
        number = f"_{len(self._shown)}" if f"{self.mark}_{name}" in self._shown.values() else ""
        return f"{self.mark}_{name}{number}"


def _rows_of(paths: list[Path], schema: pa.Schema) -> pa.Table | None:
    """Return the rows of files that were made here; nothing where there is none."""
    tables = [pq.read_table(path, columns=schema.names).cast(schema) for path in paths]
    return pa.concat_tables(tables).replace_schema_metadata() if tables else None
