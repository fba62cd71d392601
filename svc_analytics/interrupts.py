"""An interruption is heard, and told as what it is, whichever library it comes upon."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from threading import Thread
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


def run_interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Let the engine work in a thread of its own, and be stopped by an interruption at once.

    In this thread it would hear of none until it is done with what it is at, which a
    large join never is. Whatever happens, the connection is free again afterwards.
    """
    job: Future[T] = Future()
    try:
        Thread(target=_do, args=(job, work), daemon=True).start()
        return job.result()
    except BaseException:
        # An interruption may come before the thread has begun; then it does nothing more.
        while not (job.cancel() or job.done()):
            with suppress(KeyboardInterrupt):  # one is enough: it stops in a moment
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
