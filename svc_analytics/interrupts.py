"""Ctrl-C and stopped notebook cells during DuckDB queries: heard at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `KeyboardInterrupt` where DuckDB reports Ctrl-C as an error of its own."""
    try:
        yield
    except Exception as error:  # its own classes load DuckDB, which not every process needs
        if str(error) == "Query interrupted" or ": KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error
        raise


def run_interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Run a query in a thread, so that Ctrl-C stops it at once.

    In the main thread DuckDB would notice Ctrl-C only after its current step, and a large
    join is one long step. Afterwards the connection is always free again.
    """
    job: Future[T] = Future()
    try:
        Thread(target=_do, args=(job, work), daemon=True).start()
        return job.result()
    except BaseException:
        # If Ctrl-C comes before the thread has begun, the job is cancelled.
        while not (job.cancel() or job.done()):
            with suppress(KeyboardInterrupt):  # one is enough: the query stops in a moment
                connection.interrupt()
                wait([job], timeout=0.05)
        raise


def _do(job: Future[T], work: Callable[[], T]) -> None:
    if not job.set_running_or_notify_cancel():
        return
    try:
        job.set_result(work())
    except BaseException as error:
        job.set_exception(error)
