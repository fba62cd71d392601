"""Interruptions of DuckDB's work: heard at once, and raised as KeyboardInterrupt."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TypeVar

import duckdb

T = TypeVar("T")


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise Ctrl-C and the stopping of a cell as such: DuckDB raises errors of its own."""
    try:
        yield
    except (RuntimeError, duckdb.Error) as error:
        if str(error) == "Query interrupted" or ": KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error
        raise


def run_interruptibly(connection: duckdb.DuckDBPyConnection, work: Callable[[], T]) -> T:
    """Let the engine work in a thread of its own, so that an interruption stops it at once.

    In this thread it would first end what it does. The connection is free again afterwards.
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
