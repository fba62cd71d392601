"""Ctrl-C and stopped notebook cells during DuckDB queries: heard at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeVar
from weakref import finalize

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


class QueryThread:
    """A thread that runs a connection's queries, so that Ctrl-C stops each at once.

    In the main thread DuckDB would notice Ctrl-C only after its current step, and a large
    join is one long step. One thread runs them all: most queries are shorter than its start.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        Thread(target=_work, args=(self._jobs,), daemon=True).start()
        finalize(self, self._jobs.put, None)  # then it ends

    def run(self, work: Callable[[], T]) -> T:
        """Run a query; afterwards the connection is always free again."""
        job: Future[T] = Future()
        try:
            self._jobs.put(partial(_do, job, work))
            return job.result()
        except BaseException:
            # If Ctrl-C comes before the query has begun, the job is cancelled.
            while not (job.cancel() or job.done()):
                with suppress(KeyboardInterrupt):  # one is enough: the query stops in a moment
                    self._connection.interrupt()
                    wait([job], timeout=0.05)
            raise


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    for do in iter(jobs.get, None):
        do()
        del do  # and with it the answer, which may be large


def _do(job: Future[T], work: Callable[[], T]) -> None:
    if not job.set_running_or_notify_cancel():
        return
    try:
        job.set_result(work())
    except BaseException as error:
        job.set_exception(error)
