"""An interruption is told as what it is, whichever library it comes upon."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and the stopping of a cell through: DuckDB tells them as a RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise
