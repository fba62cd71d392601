"""Ask engines that our SQL is not run on the probe: `python -m tests.benchmarks.other_engines`.

DataFusion, chDB and Daft are asked where they are installed, in an environment of their own. Each
is expected to be refused: they return a sum that wrapped around, and no error.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import pyarrow as pa

from svc_analytics.engines.probe.probe import ask
from svc_analytics.errors import EngineError

Run = Callable[[str, dict[str, pa.Table]], pa.Table]


@dataclass
class Other:
    """An engine behind the verbs that the probe needs."""

    name: str
    dialect: str
    run: Run
    tables: dict[str, pa.Table] = field(default_factory=dict)
    is_gone: bool = False

    def query(self, sql: str) -> pa.Table:
        try:
            return self.run(sql, self.tables)
        except Exception as error:  # of whatever kind an engine raises
            raise EngineError(f"{type(error).__name__}: {error}") from error

    def put(self, name: str, table: pa.Table) -> None:
        self.tables[name] = table

    def read(
        self, name: str, paths: Sequence[str], schema: pa.Schema, rows: pa.Table | None = None
    ) -> None:
        raise NotImplementedError

    def sizes(self, paths: Sequence[str]) -> Mapping[str, int]:
        raise NotImplementedError

    def forget(self, names: Sequence[str]) -> None:
        self.tables.clear()


def datafusion(sql: str, tables: dict[str, pa.Table]) -> pa.Table:
    from datafusion import SessionContext

    context = SessionContext()
    for name, table in tables.items():
        context.register_record_batches(name, [table.to_batches()])
    return pa.Table.from_batches(context.sql(sql).collect())


def chdb(sql: str, tables: dict[str, pa.Table]) -> pa.Table:
    import chdb as engine

    [(name, table)] = tables.items()
    globals()["probe_table"] = table
    found = engine.query(sql.replace(name, "Python(probe_table)"), "ArrowTable")
    assert isinstance(found, pa.Table)
    return found


def daft(sql: str, tables: dict[str, pa.Table]) -> pa.Table:
    import daft as engine

    frames = {name: engine.from_arrow(table) for name, table in tables.items()}
    found = engine.sql(sql, **frames).to_arrow()
    assert isinstance(found, pa.Table)
    return found


ENGINES = (
    Other("DataFusion", "postgres", datafusion),
    Other("chDB", "clickhouse", chdb),
    Other("Daft", "duckdb", daft),
)


def main() -> None:
    """Write of each engine the first lines that it fails."""
    for engine in ENGINES:
        if sys.argv[1:] and engine.name not in sys.argv[1:]:
            continue
        wrong = islice((found for found in ask(engine) if not found.is_right), 4)
        said = [f"    {found.line.says}: {found.said:.110}\n" for found in wrong]
        verdict = "is refused:" if said else "passes"
        sys.stdout.write(f"{engine.name} {verdict}\n{''.join(said)}")


if __name__ == "__main__":
    main()
