"""All views of a lake as tables of one DuckDB file, which needs neither the lake nor a path."""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa

from svc_analytics.arguments import AnyPath
from svc_analytics.errors import ConfigError
from svc_analytics.files import atomic_write, require_outside_lake
from svc_analytics.formatting.display import names_of
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import tool_version
from svc_analytics.schema import INSTANT
from svc_analytics.statements.rules import keep_all_findings
from svc_analytics.warehouse.connection import CONFIG, bound_memory, error_line
from svc_analytics.warehouse.models import Model
from svc_analytics.warehouse.sql_text import quote
from svc_analytics.warehouse.view_builder import public_models
from svc_analytics.warehouse.warehouse import Warehouse, of_one_snapshot, open_warehouse

_MEANING = "whose records these are, and up to when they were read."
ABOUT = Model("about", "", _MEANING, "one row", (), "")
_OF_ABOUT = {
    "merchant_id": "the merchant, UUID",
    "merchant": "the merchant's name as last read",
    "read_to": "the instant up to which the service was read, UTC; NULL where nothing was read",
    "tool_version": "the release of svc-analytics that wrote this file",
}
_ABOUT_SCHEMA = pa.schema(
    [(name, INSTANT if name == "read_to" else pa.string()) for name in _OF_ABOUT]
)


def write_bundle(lake: Lake, path: AnyPath) -> dict[str, int]:
    """Write every view of a lake as a table of a DuckDB file; return the rows of each.

    All are of one moment of the lake, with every digit. The file replaces one that was there.
    Raises `ConfigError` for a file that cannot be written.
    """
    lake.require()
    target = Path(path).absolute()
    if target.suffix != ".duckdb":
        raise ConfigError(f"{path} cannot be a bundle: its suffix must be .duckdb")
    require_outside_lake(target)
    if not target.parent.is_dir():
        raise ConfigError(f"cannot write {path}: there is no folder {target.parent}")
    try:
        return of_one_snapshot(lambda: _write(lake, target))
    except (duckdb.Error, OSError) as error:
        raise ConfigError(
            f"cannot write {path}: {error_line(error)}; nothing there was changed"
        ) from error


def _write(lake: Lake, target: Path) -> dict[str, int]:
    with atomic_write(target) as temporary, open_warehouse(lake, as_written=True) as warehouse:
        temporary.unlink(missing_ok=True)  # what a killed run left
        if warehouse.is_large:
            keep_all_findings(warehouse)
        with duckdb.connect(temporary, config=CONFIG) as connection:
            connection.execute("SET TimeZone='UTC'")
            bound_memory(connection, warehouse.sources.rows)
            return _fill(connection, lake, warehouse)


@interruptible()
def _fill(
    connection: duckdb.DuckDBPyConnection, lake: Lake, warehouse: Warehouse
) -> dict[str, int]:
    cells = [lake.merchant_id, names_of(lake.merchant), warehouse.read_to, tool_version()]
    about = pa.Table.from_pylist([dict(zip(_OF_ABOUT, cells, strict=True))], _ABOUT_SCHEMA)
    rows = {ABOUT.name: _add(connection, ABOUT, _OF_ABOUT, about)}
    for model, columns in public_models():
        if not model.signature:
            table = warehouse.query(f"from {model.name}", is_long=True)
            rows[model.name] = _add(connection, model, columns, table)
    return rows


def _add(
    connection: duckdb.DuckDBPyConnection, model: Model, columns: Mapping[str, str], table: pa.Table
) -> int:
    """Add a table with its comments; return how many rows it has."""
    connection.register("rows_of_a_view", table)
    connection.execute(f"create table {model.name} as from rows_of_a_view")
    connection.unregister("rows_of_a_view")
    meaning = quote(f"{model.meaning} Grain: {model.grain}.")
    comments = [f"comment on table {model.name} is {meaning}"]
    comments += [
        f"comment on column {model.name}.{name} is {quote(text)}" for name, text in columns.items()
    ]
    connection.execute(";".join(comments))
    return len(table)
