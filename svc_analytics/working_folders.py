"""Folders that a process works in, and what a killed one leaves of them.

Such a folder has a lock, which its process holds and which ends with it. So a folder that nobody
holds was left behind, and whoever writes next may remove it at once.
"""

import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from svc_analytics.files import Putting, sync_file, sync_folder

_NEW, _OLD, _LOCK = "new", "old", "lock"
_REPLACING = f".*.{'[0-9a-f]' * 8}.writing"


def hold_folder(make: Callable[[], Path]) -> tuple[Path, BaseFileLock]:
    """Make a folder and lock it, so that nobody takes it for abandoned."""
    while True:  # another process may remove it before it is locked
        folder = make()
        lock = FileLock(folder / _LOCK)
        with suppress(FileNotFoundError):
            lock.acquire()
            if (folder / _LOCK).exists():
                return folder, lock
            lock.release()


def leave_folder(folder: Path, lock: BaseFileLock) -> None:
    """Remove a folder that this process held."""
    lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(
    folders: Iterable[Path], rescue: Callable[[Path], None] = lambda folder: None
) -> None:
    """Remove the folders that nobody holds; `rescue` is called with each before."""
    for folder in folders:
        with suppress(Timeout, OSError), FileLock(folder / _LOCK, timeout=0):
            rescue(folder)
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def replacing_folder(
    out: Path, putting: Putting = lambda temporary, path: nullcontext()
) -> Iterator[Path]:
    """Give an empty folder; once it is filled, it takes the place of `out`, durably.

    After a failure `out` is as it was. After a kill too, once `restore_folders` was called.
    """

    def make() -> Path:
        # Not named by its process: in containers, each run has the number of a killed one.
        folder = out.with_name(f".{out.name}.{secrets.token_hex(4)}.writing")
        folder.mkdir(parents=True)
        return folder

    held, lock = hold_folder(make)
    try:
        new = held / _NEW
        new.mkdir()
        yield new
        for path in new.iterdir():  # a seal is written once and must survive a power cut
            sync_file(path)
        sync_folder(new)
        with putting(new, out):
            _move(new, out, held / _OLD)
    finally:
        leave_folder(held, lock)


def _move(new: Path, out: Path, old: Path) -> None:
    if out.exists():
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise
    sync_folder(out.parent)


def restore_folders(parent: Path) -> None:
    """Remove what killed runs left while they replaced folders; put back what they moved aside."""
    remove_abandoned(filter(_is_ours, parent.glob(_REPLACING)), _put_back)


def _is_ours(folder: Path) -> bool:
    """Tell whether a folder is one of `replacing_folder`: a person may name one of theirs so."""
    return folder.is_dir() and {path.name for path in folder.iterdir()} <= {_NEW, _OLD, _LOCK}


def _put_back(held: Path) -> None:
    out = held.with_name(held.name[1:].rsplit(".", 2)[0])
    with suppress(FileNotFoundError):
        if not out.exists():
            (held / _OLD).rename(out)
