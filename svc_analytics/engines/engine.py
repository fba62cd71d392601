"""What is asked of an engine: to answer a query, over tables and files that it is shown.

`connect` chooses the engine, `dialects` and `words` hold what each one calls things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa


class Engine(Protocol):
    """A place where queries are answered, by one verb: `query`.

    `name` says which engine it is and where, without a credential; `dialect` is that of its SQL.
    One that `is_gone` was lost, with all that it was shown: only a new connection can help.
    """

    name: str
    dialect: str
    is_gone: bool

    def query(self, sql: str) -> pa.Table:
        """Answer a query; raise `EngineError` when the engine cannot."""
        ...

    def put(self, name: str, table: pa.Table) -> None:
        """Hand over a small table, to be queried by name."""
        ...

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        """Let Parquet files, and no others, be queried by name, `rows` handed over beside them."""
        ...

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        """Return how many bytes it sees in files of one folder, by their names."""
        ...

    def forget(self, names: Sequence[str]) -> None:
        """Forget these tables."""
        ...
