"""An interruption is told as what it is, whichever library it comes upon."""

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and the stopping of a cell through: DuckDB tells them as errors of its own."""
    try:
        yield
    except (RuntimeError, duckdb.Error) as error:
        if str(error) == "Query interrupted" or ": KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error
        raise
