"""Parallel jobs: some run in this process, the rest in helper processes."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import parent_process
from threading import Thread
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def map_shared(
    jobs: Iterable[Job], here: Callable[[Job], Result], there: Callable[[Job], Result], helpers: int
) -> Generator[Result]:
    """Yield each job's result, in any order; give the largest jobs first.

    `here` runs a job in this thread, which would otherwise wait while helpers start;
    `there` runs one in a helper and waits for it. After an error of either, running
    jobs end but no other job starts.
    """
    waiting, done = deque(jobs), deque[Result]()

    def feed_a_helper() -> None:
        try:
            done.extend(map(there, _take_all(waiting)))
        except BaseException:
            waiting.clear()
            raise

    with ThreadPoolExecutor(helpers) as threads:
        try:
            feeders = [threads.submit(feed_a_helper) for _ in range(helpers)]
            for job in _take_all(waiting):
                yield here(job)
                yield from _take_all(done)
            for feeder in feeders:
                feeder.result()
        finally:
            waiting.clear()
    yield from _take_all(done)


def end_with_parent() -> None:
    """Let this helper process end when the one that began it is gone, even by a kill.

    Nobody else would tell it: it would wait for jobs for ever, or write where the next run does.
    """
    Thread(target=_await_parent, daemon=True).start()


def _await_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)


def _take_all(items: deque[Job]) -> Iterator[Job]:
    """Take items one by one until there are none; other threads may take too."""
    with suppress(IndexError):
        while True:
            yield items.popleft()
