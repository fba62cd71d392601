"""Work shared out between this process and helpers beside it."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def map_shared(
    jobs: Iterable[Job],
    here: Callable[[Job], Result],
    there: Callable[[Job], Result],
    helpers: int,
) -> Generator[Result]:
    """Yield the result of each job as it is done; give the largest jobs first.

    `here` works in this thread, which would otherwise wait while helpers start;
    `there` waits for a helper's answer. An error of either ends it: what is under
    way is finished, nothing more is begun.
    """
    left, done = deque(jobs), deque[Result]()

    def keep_busy() -> None:
        try:
            done.extend(there(job) for job in _drain(left))
        except BaseException:
            left.clear()
            raise

    with ThreadPoolExecutor(helpers) as threads:
        try:
            others = [threads.submit(keep_busy) for _ in range(helpers)]
            for job in _drain(left):
                yield here(job)
                yield from _drain(done)
            for other in others:
                other.result()
        finally:
            left.clear()
    yield from _drain(done)


def _drain(items: deque[Job]) -> Iterator[Job]:
    """Take what is there, one by one, while others take too."""
    with suppress(IndexError):
        while True:
            yield items.popleft()
