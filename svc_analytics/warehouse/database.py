"""`analytics.duckdb`: the views over the lake's own files, for other tools."""

from __future__ import annotations

from pathlib import Path

import duckdb
from filelock import FileLock

from svc_analytics.errors import LakeError
from svc_analytics.files import atomic_write
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.footer import is_of_earlier_layout
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.connection import CONFIG, error_line
from svc_analytics.warehouse.views import write_database


@interruptible()
def write_views(lake: Lake) -> Path:
    """Re-make `analytics.duckdb`: the same views over the lake's own files, for other tools."""
    lake.require()
    _require_todays_layout(lake)
    path = lake.path / "analytics.duckdb"
    try:
        with FileLock(lake.path / ".views.lock"), atomic_write(path) as temporary:
            temporary.unlink(missing_ok=True)  # what a killed run left
            write_database(temporary, lake.path, CONFIG)
    except (duckdb.Error, OSError) as error:
        raise LakeError(f"cannot make {path}: {error_line(error)}") from error
    return path


def _require_todays_layout(lake: Lake) -> None:
    """Refuse a lake whose month files other tools could not read by these views."""
    paths = (path for each in STREAMS.values() for path in lake.folder(each).glob("*.parquet"))
    if any(map(is_of_earlier_layout, paths)):
        message = (
            f"{lake.path} was written by an earlier svc-analytics: run svc-analytics extract, "
            "which brings its files up to date"
        )
        raise LakeError(message)
