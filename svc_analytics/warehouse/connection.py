"""The DuckDB connection: settings, lock-down, and its errors in one line."""

import errno
import os
import re
from pathlib import Path

import duckdb

from svc_analytics.config import read_memory
from svc_analytics.warehouse.sql_text import quote

MOST_MEMORY = "1 GiB"  # of DuckDB at most: with its results the process stays under 2 GiB
LARGE = 1_500_000  # records that one thread reads: it takes no more processor time than several
# Files written by DuckDB 2 must still open in the 1.x command line.
STORAGE_VERSION = "v1.2.0"
# What DuckDB says of a total of a month file that a decimal cannot hold.
_TOO_LONG = re.compile(r'Could not convert string "-?\d{21,}(\.\d+)?" to DECIMAL')
# What it says when there is no room to put aside what it has no memory for.
_FULL_DISK = re.compile("failed to offload|No space left on device|Disk quota exceeded")
# The same of a step that can put nothing aside, and how much it may take.
_LACKS_MEMORY = re.compile(r"Out of Memory Error: .*/(?P<most>[\d.]+ [KMGT]?i?B) used\)")
_LESS = "ask for fewer rows or columns, or let it take more by SVC_MEMORY=4GiB"
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "storage_compatibility_version": STORAGE_VERSION,
}


# DuckDB draws bars on stdout, where data goes, and leaves them in a notebook's page.
NO_BARS = "enable_progress_bar=false"


def prepare(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    for setting in (
        NO_BARS,
        "TimeZone='UTC'",
        f"temp_directory={quote(str(folder / 'tmp'))}",
        "python_enable_replacements=false",
        "cache_local_files=false",
        "parquet_metadata_cache=false",
    ):
        connection.execute(f"SET {setting}")


def give_back_memory(connection: duckdb.DuckDBPyConnection) -> None:
    """Let each step of a query give back what it freed, before the next one takes more.

    Over few records this would take a quarter of a statement's time.
    """
    connection.execute(
        "SET allocator_flush_threshold='1MiB'; "
        "SET allocator_bulk_deallocation_flush_threshold='1MiB'"
    )


def bound_memory(connection: duckdb.DuckDBPyConnection, rows: int, most: str | None = None) -> None:
    """Let queries over so many records spill rather than take more memory.

    Each thread has sorts and joins of its own, which can spill only so far: the lines of five
    million records do not fit two of them, nor a check of ten million eight. Whoever gives more
    memory by SVC_MEMORY has all threads too.
    """
    setting = read_memory()
    connection.execute(f"SET memory_limit='{setting or most or MOST_MEMORY}'")
    if rows > LARGE and not setting:
        connection.execute("SET threads=1")


def lock_down(connection: duckdb.DuckDBPyConnection, folder: Path, *, as_written: bool) -> None:
    if as_written:
        connection.execute("PRAGMA disable_optimizer; SET threads=1")
    connection.execute(f"SET allowed_directories=[{quote(str(folder))}]")
    connection.execute("SET enable_external_access=false")
    connection.execute("SET lock_configuration=true")


def is_select(statement: duckdb.Statement) -> bool:
    """Tell whether a statement only reads; a pivot is of several steps, all of which do."""
    try:
        return statement.type in (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)
    except ValueError:  # a kind of statement that DuckDB's Python package does not know
        return False


def is_of_full_disk(error: Exception) -> bool:
    """Tell whether a query failed because it could not put aside what it has no memory for."""
    return bool(_FULL_DISK.search(str(error)))


def error_line(error: Exception) -> str:
    if match := _LACKS_MEMORY.search(str(error)):
        return f"the query needs more than {match['most']} of memory at once: {_LESS}"
    first, *others = str(getattr(error, "strerror", None) or error).strip().splitlines()
    hints = [line for line in others if line.startswith(("Did you mean", "Candidate bindings"))]
    text = " ".join([first, *hints[:1]])
    if isinstance(error, duckdb.OutOfRangeException) or _TOO_LONG.search(text):
        text += " (a sum of more than 38 digits cannot be held)"
    if text.endswith(os.strerror(errno.EMFILE)):
        text += ": raise the limit of open files (ulimit -n), and run it again"
    return text
