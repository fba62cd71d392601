"""What a piece of work costs a process of its own: processor time, memory, bytes read, spill."""

import os
import re
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.benchmarks.bounds import peak_memory
from tests.benchmarks.children import in_child

LIBRARIES = ("numpy", "pyarrow.parquet", "pyarrow.compute", "duckdb", "pandas", "jinja2")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Cost:
    """What a piece of work cost, the loading of libraries left out of all but the memory."""

    seconds: float  # of processor time, user and system, of all threads
    memory: float  # MB, at most
    read: float  # MB that came from storage; where none did, that passed read calls
    spilled: float  # MB in DuckDB's temporary folders, at most


def cost_of(work: Callable[..., float | None], lake: Path, *arguments: object) -> Cost:
    """Return what `work(lake, *arguments)` costs, with nothing of the lake in the page cache.

    Work that returns a number says itself how many of the processor's seconds were its own.
    """
    forget(lake)
    return in_child(_pay, work, lake, *arguments)


def forget(lake: Path) -> None:
    """Let the system drop a folder's files from its page cache."""
    for path in lake.rglob("*.parquet"):
        with path.open("rb") as file, suppress(AttributeError):  # only where there is a call for it
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _pay(work: Callable[..., float | None], lake: Path, *arguments: object) -> Cost:
    # DuckDB takes a process without a file for a person's, and draws bars of its progress.
    sys.modules["__main__"].__file__ = __file__
    for name in LIBRARIES:
        import_module(name)
    read, worked = _bytes_read(), _seconds()
    with _watched(lake) as spilled:
        own = work(lake, *arguments)
    seconds = _seconds() - worked if own is None else own
    stored, passed = (after - before for after, before in zip(_bytes_read(), read, strict=True))
    return Cost(seconds, peak_memory(), (stored or passed) / MEGABYTE, max(spilled) / MEGABYTE)


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _bytes_read() -> tuple[int, int]:
    """Return what came from storage so far, and what passed read calls."""
    told = dict(re.findall(r"(\w+): (\d+)", Path("/proc/self/io").read_text()))
    return int(told["read_bytes"]), int(told["rchar"])


@contextmanager
def _watched(lake: Path) -> Iterator[list[int]]:
    """Note again and again how much lies in the temporary folders of a lake's readers."""
    sizes, is_over = [0], threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            sizes.append(sum(map(_size, lake.glob(".snapshot-*/tmp/*"))))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield sizes
    finally:
        is_over.set()
        thread.join()


def _size(path: Path) -> int:
    with suppress(OSError):  # gone meanwhile
        return path.stat().st_size
    return 0
