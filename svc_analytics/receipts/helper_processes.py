"""Helper processes: how they begin, which jobs they get, and how they hand their verdicts over."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing import parent_process
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from svc_analytics.lake.loading import load_arrow_alone

if TYPE_CHECKING:
    import pyarrow as pa

    from svc_analytics.receipts.bulk import BulkVerifier
    from svc_analytics.receipts.lake_months import MonthPart

AHEAD = 2  # jobs of a helper: the next one waits there, for this process is busy with its own
Job = TypeVar("Job")


def map_shared(
    jobs: Iterable[Job],
    here: Callable[[Job], Any],
    there: Callable[[Job], Future[Any]],
    helpers: int,
) -> Iterator[tuple[Job, Any]]:
    """Yield each job with its result, in order; a job is made only when somebody is free for it.

    `there` begins a job in a helper; `here` runs one in this thread, which would otherwise wait
    while helpers start. An error here ends the work at once, one of a helper in its job's turn.
    """
    begun: deque[tuple[Job, Future[Any]]] = deque()
    for job in jobs:
        if sum(not result.done() for _, result in begun) < helpers * AHEAD:
            begun.append((job, there(job)))
        else:
            begun.append((job, Future()))
            begun[-1][1].set_result(here(job))
        while begun and begun[0][1].done():
            first, result = begun.popleft()
            yield first, result.result()
    yield from ((job, result.result()) for job, result in begun)


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
