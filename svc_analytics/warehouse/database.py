"""`analytics.duckdb`: the views over the lake's own files, for other tools."""

from __future__ import annotations

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import duckdb
from filelock import FileLock

from svc_analytics.errors import LakeError
from svc_analytics.files import hash_file, write_json
from svc_analytics.interrupts import interruptible
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.connection import error_line
from svc_analytics.warehouse.images import describe_database, write_database
from svc_analytics.warehouse.sources import open_sources

_ABOUT = ".views.json"  # what the database was made of, and its hash


@interruptible()
def write_views(lake: Lake) -> Path:
    """Make `analytics.duckdb`: the same views over the lake's own files, for other tools.

    Its views look into the lake's files whenever they are queried. So it is made anew only when
    its views, the lake's place or the accepted findings are others than it was made of.
    """
    lake.require()
    path = lake.path / "analytics.duckdb"
    try:
        with FileLock(lake.path / ".views.lock"):
            made_of = sha256(describe_database(lake.path).encode()).hexdigest()
            if _read_about(lake.path) != {"made_of": made_of, "sha256": _hash(path)}:
                _write(lake, path)
                about = {"made_of": made_of, "sha256": _hash(path)}
                write_json(lake.storage.write(lake.path / _ABOUT), about)
    except (duckdb.Error, OSError, UnicodeDecodeError) as error:  # of DuckDB's own message
        if not isinstance(error, OSError):
            # This names a damaged file with its remedy: DuckDB knows only its own file.
            with open_sources(lake, None):
                pass
        raise LakeError(f"cannot make {path}: {error_line(error)}") from error
    return path


def _write(lake: Lake, path: Path) -> None:
    with lake.storage.write(path) as temporary:
        temporary.unlink(missing_ok=True)  # what a killed run left
        write_database(temporary, lake.path)


def _read_about(lake: Path) -> object:
    with suppress(OSError, ValueError):
        return json.loads((lake / _ABOUT).read_bytes())
    return None


def _hash(path: Path) -> str:
    """Return a file's hash; nothing where there is none."""
    with suppress(FileNotFoundError):
        return hash_file(path)
    return ""
