"""Ctrl-C, stopped notebook cells and stopped threads: heard at once, also during queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar
from weakref import finalize

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
_STOP = ContextVar[Event | None]("stop", default=None)  # of this thread alone
_HEARD_WITHIN = 0.05  # seconds, while a query runs


class Stopped(KeyboardInterrupt):
    """An event stopped this thread, not a person's Ctrl-C."""


@contextmanager
def stopped_by(stop: Event) -> Iterator[None]:
    """Let an event stop this thread within the block, as Ctrl-C stops the main thread."""
    token = _STOP.set(stop)
    try:
        yield
    finally:
        _STOP.reset(token)


def check_stop() -> None:
    """Raise `Stopped`, once, if this thread is to stop: ask between two steps."""
    stop = _STOP.get()
    if stop and stop.is_set():
        stop.clear()  # what is tidied up now is not stopped again
        raise Stopped


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
            self._jobs.put(partial(fulfil, job, work))
            return _answer(job)
        except BaseException:
            # If Ctrl-C comes before the query has begun, the job is cancelled.
            while not (job.cancel() or job.done()):
                with suppress(KeyboardInterrupt):  # one is enough: the query stops in a moment
                    self._connection.interrupt()
                    wait([job], timeout=0.05)
            raise


def _answer(job: Future[T]) -> T:
    while _STOP.get() and not wait([job], timeout=_HEARD_WITHIN).done:
        check_stop()
    return job.result()


def _work(jobs: SimpleQueue[Callable[[], None] | None]) -> None:
    for do in iter(jobs.get, None):
        do()
        del do  # and with it the answer, which may be large


def fulfil(job: Future[T], work: Callable[[], T]) -> None:
    """Do work unless it was cancelled; whoever waits for the job gets its answer or its error."""
    if not job.set_running_or_notify_cancel():
        return
    try:
        job.set_result(work())
    except BaseException as error:
        job.set_exception(error)
