"""An interruption is heard, and told as what it is, whichever library it comes upon."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import duckdb

T = TypeVar("T")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and the stopping of a cell through: DuckDB tells them as errors of its own."""
    try:
        yield
    except (RuntimeError, duckdb.Error) as error:
        if str(error) == "Query interrupted" or ": KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error
        raise


def beside(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Let the engine work in a thread of its own, and be stopped by an interruption at once.

    In this thread it would hear of none until it is done with what it is at, which a
    large join never is.
    """
    with ThreadPoolExecutor(1) as thread:
        job = thread.submit(work)
        try:
            return job.result()
        except BaseException:
            while not job.done():  # it may not even have begun
                connection.interrupt()
                wait([job], timeout=0.05)
            raise
