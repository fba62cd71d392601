"""Helper processes: how they begin, which jobs they get, and how they hand their verdicts over."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from svc_analytics.lake.loading import load_arrow_alone

if TYPE_CHECKING:
    import pyarrow as pa

    from svc_analytics.receipts.bulk import BulkVerifier
    from svc_analytics.receipts.lake_months import MonthPart

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


# ---------- A helper process that verifies parts of months
# How it begins, and hands over its verdicts.
#
# Verdicts go through a file beside the snapshot that the helper reads from. Through the pipe of
# processes, the one that began it would read them bit by bit, between its own hashes.


PlainRing = tuple[tuple[str, int | None], ...]  # secrets, and since when each signs

_verifier: list[BulkVerifier] = []  # the one of this process


def begin_helper(ring: PlainRing, webhook_ring: PlainRing) -> None:
    """Begin a process that verifies parts with the key ring and webhook secrets given."""
    load_arrow_alone()
    from svc_analytics.receipts.bulk import BulkVerifier
    from svc_analytics.signing.secrets import Secret, SigningSecret

    end_with_parent()
    mine, webhooks = (
        [SigningSecret(Secret(text), valid_from) for text, valid_from in plain]
        for plain in (ring, webhook_ring)
    )
    _verifier[:] = [BulkVerifier(mine, webhooks)]


def verify_into_file(part: MonthPart) -> Path:
    """Write the verdicts on a part to a file, in a process that was begun for it."""
    import pyarrow as pa

    from svc_analytics.receipts.lake_months import verify_part

    table = verify_part(part, _verifier[0])
    path = part.month.payments.with_suffix(f".{part.groups.start}.verdicts")
    with path.open("wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)
    return path


def take_verdicts(path: Path) -> pa.Table:
    """Return the verdicts that a helper wrote to a file, and remove it.

    Where a file that is being read cannot be removed, it goes with the snapshot it lies in.
    """
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_stream(file).read_all()
    with suppress(PermissionError):
        path.unlink()
    return table
