"""`analytics.duckdb`: the views over the lake's own files, for other tools."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb
from filelock import FileLock

from svc_analytics.errors import LakeError
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.files import sync_folder
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.connection import CONFIG, error_line
from svc_analytics.warehouse.views import write_database


@interruptible()
def write_views(lake: Lake) -> Path:
    """Re-make `analytics.duckdb`: the same views over the lake's own files, for other tools."""
    lake.require()
    path = lake.path / "analytics.duckdb"
    try:
        with FileLock(lake.path / ".views.lock"):
            _write_views(lake, path)
    except (duckdb.Error, OSError) as error:
        raise LakeError(f"cannot make {path}: {error_line(error)}") from error
    return path


def _write_views(lake: Lake, path: Path) -> None:
    temporary = lake.path / ".analytics.writing"
    temporary.unlink(missing_ok=True)  # what a killed run left
    try:
        write_database(temporary, lake.path, CONFIG)
        temporary.replace(path)
        sync_folder(lake.path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
