"""Files: atomic writes, durable folders, damaged files, locks between processes."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from svc_analytics.errors import LakeBusy, LakeError

LOCK_PATIENCE = 5  # seconds to wait for another process to finish
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)


@contextmanager
def atomic_write(
    path: Path, *, suffix: str = ".writing", is_durable: bool = True
) -> Iterator[Path]:
    """Give a temporary path; once it is written, it replaces `path` in one step.

    After a failure the old file is as it was. The lake's writer removes files of a killed run
    with the usual `suffix`; a process that holds another lock uses its own. Where
    `is_durable`, a power cut does not undo the step.
    """
    temporary = path.with_name(f".{path.name}{suffix}")
    try:
        yield temporary
        if is_durable:
            sync_file(temporary)
        os.replace(temporary, path)  # noqa: PTH105  (fault tests count on this one call)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if is_durable:
        sync_folder(path.parent)


def write_json(path: Path, document: object) -> None:
    """Replace a small JSON file atomically."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    with atomic_write(path) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, durably."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        with suppress(PermissionError):  # the folder above is another user's: nothing to sync
            sync_folder(folder.parent)


def sync_file(path: Path) -> None:
    """Make the content of a file durable: a power cut does not take it."""
    _fsync(path, os.O_RDWR)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, on systems that can."""
    if os.name != "nt":
        _fsync(folder, os.O_RDONLY)


def _fsync(path: Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_refused(error: BaseException | None) -> bool:
    """Tell whether the system refused to open a file; it may be whole."""
    return isinstance(error, OSError) and error.errno in _REFUSALS


def damaged_file(
    path: Path, error: BaseException | None = None, remedy: str | None = None
) -> LakeError:
    """Return the error for a damaged file, or one that the system refused to open."""
    if isinstance(error, OSError) and is_refused(error):
        return LakeError(f"{path} cannot be read: {os.strerror(error.errno or 0)}")
    if isinstance(error, MemoryError):  # it may be whole
        return LakeError(f"{path} cannot be read: not enough memory")
    remedy = remedy or "move it away and run extract, which reads its month again"
    return LakeError(f"{path} is torn or altered: {remedy}")


@contextmanager
def locked(
    path: Path,
    doing: str,
    *,
    patience: float | None = None,
    holder: Callable[[], str] = lambda: "another process",
) -> Iterator[None]:
    """Hold a lock between processes; raise `LakeBusy` if another one keeps it.

    `doing` completes the message: "another process <is closing a month of data>".
    `patience` is how many seconds to wait, `LOCK_PATIENCE` unless given.
    """
    try:
        lock = FileLock(path).acquire(timeout=LOCK_PATIENCE if patience is None else patience)
    except Timeout as error:
        raise LakeBusy(f"{holder()} {doing}: try again later") from error
    with lock:
        yield
