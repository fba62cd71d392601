"""Little address space (`ulimit -v`): what native libraries need not reserve, and running out.

By default glibc reserves 64 MB for every thread, and Arrow's allocator a gigabyte. Under a
limit that leaves nothing for data, and libraries that cannot reserve more crash.
"""

import ctypes
import os
from contextlib import suppress

from svc_analytics.errors import SvcError

LEAST = 640 * 1024**2  # bytes: with fewer, libraries crash while they load
AMPLE = 8 * 1024**3  # bytes: under a higher limit nothing is changed
OUT_OF_MEMORY = "not enough memory: close other programs, use fewer --workers, or raise the limit"
_SETTINGS = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# glibc's numbers of the options that MALLOC_ARENA_MAX and MALLOC_MMAP_THRESHOLD_ set.
_ARENA_MAX, _MMAP_THRESHOLD = -8, -3
_LARGE = 256 * 1024  # bytes of a block that is given back to the system at once


def fit_into_limit() -> None:
    """Reserve little if this process may have little, before anything heavy loads.

    Raises `SvcError` where that is too little to begin with.
    """
    limit = _limit()
    if limit is None or limit >= AMPLE:
        return
    if limit < LEAST:
        need = f"{LEAST >> 20} MiB to begin, and 1 GiB for large records"
        raise SvcError(f"this process may have {limit >> 20} MiB of memory: it needs {need}")
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    with suppress(OSError, AttributeError):  # no glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _LARGE)


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether an error means that memory ran out, whichever library noticed."""
    names = {kind.__name__ for kind in type(error).__mro__}
    is_thread = isinstance(error, RuntimeError) and str(error) == "can't start new thread"
    return isinstance(error, MemoryError) or "OutOfMemoryException" in names or is_thread


def _limit() -> int | None:
    """Return the bytes of address space that this process may have, if there is a limit."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if soft == resource.RLIM_INFINITY else soft
