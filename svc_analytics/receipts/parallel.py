"""Parallel jobs: some run in this process, the rest in helper processes."""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import parent_process
from threading import Lock, Thread
from typing import Generic, TypeVar

AHEAD = 2  # jobs of a helper: the next one waits there, for this process is busy with its own
Job = TypeVar("Job")
Result = TypeVar("Result")


def map_shared(
    jobs: Iterable[Job], here: Callable[[Job], Result], there: Callable[[Job], Result], helpers: int
) -> Generator[Result]:
    """Yield each job's result in order; a job is made only when somebody is free for it.

    `here` runs a job in this thread, which would otherwise wait while helpers start;
    `there` runs one in a helper and waits for it, and is called by several threads. After an
    error of either, running jobs end but no other job starts.
    """
    waiting, done = _Jobs(jobs), _InOrder[Result]()

    def feed_a_helper() -> None:
        try:
            for number, job in waiting:
                done.results[number] = there(job)
        except BaseException:
            waiting.is_over = True
            raise

    with ThreadPoolExecutor(max(helpers * AHEAD, 1)) as threads:
        try:
            feeders = [threads.submit(feed_a_helper) for _ in range(helpers * AHEAD)]
            for number, job in waiting:
                done.results[number] = here(job)
                yield from done
            for feeder in feeders:
                feeder.result()
                yield from done
        finally:
            waiting.is_over = True


class _Jobs(Generic[Job]):
    """Numbered jobs that several threads take, one by one, until they are over."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = enumerate(jobs)
        self._lock = Lock()
        self.is_over = False

    def __iter__(self) -> Iterator[tuple[int, Job]]:
        while not self.is_over:
            with self._lock:
                taken = next(self._jobs, None)
            if taken is None:
                return
            yield taken


class _InOrder(Generic[Result]):
    """Results by the number of their job; iterating takes those whose turn it is."""

    def __init__(self) -> None:
        self.results: dict[int, Result] = {}
        self._due = 0

    def __iter__(self) -> Iterator[Result]:
        while self._due in self.results:
            self._due += 1
            yield self.results.pop(self._due - 1)


def end_with_parent() -> None:
    """Let this helper process end when the one that began it is gone, even by a kill.

    Nobody else would tell it: it would wait for jobs for ever, or write where the next run does.
    """
    Thread(target=_await_parent, daemon=True).start()


def _await_parent() -> None:
    if parent := parent_process():
        parent.join()
        os._exit(1)
