"""Files: atomic writes, durable folders, damaged files, locks between processes, the cache."""

import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from svc_analytics.environment import here
from svc_analytics.errors import ConfigError, LakeBusy, LakeError
from svc_analytics.messages import Message, translated

LOCK_PATIENCE = 5  # seconds to wait for another process to finish
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)
MOST_MADE = 8  # things of one kind that are kept, of the versions and environments in use
_CHUNK = 1 << 20  # bytes
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the only date that every zip reader knows: it says nothing
_HASH = hashlib.sha256().digest_size
# What reading a document raises that is torn, altered, of another form, or nested without end.
UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_NO_FOLDER = (OSError, RuntimeError)  # it cannot be written, or there is no home: that costs time
WRITING = ".writing"  # the suffix of files that the lake's writer has not finished
# Puts a file or a folder elsewhere too, from its temporary path; within, it takes its name.
Putting = Callable[[Path, Path], AbstractContextManager[None]]
PRIVATE = 0o770  # a folder for its owner and group alone, as far as the umask lets them
_NEW, _OLD, _LOCK = "new", "old", "lock"
_REPLACING = f".*.{'[0-9a-f]' * 8}.writing"


class DamagedFile(LakeError):
    """The file `path` is torn or altered; `remedy` is what to do."""

    def __init__(self, path: Path, remedy: str) -> None:
        super().__init__(Message("file.torn", path=path, remedy=translated(remedy)))
        self.path, self.remedy = path, remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.remedy)


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what can be made or fetched again: SVC_CACHE_DIR, or the user's."""
    if chosen := here(environ).text("SVC_CACHE_DIR"):
        return Path(chosen).absolute()
    home = Path.home()
    if sys.platform == "win32":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "svc-analytics"


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for what nobody can make again: SVC_STATE_DIR, or the user's."""
    if chosen := here(environ).text("SVC_STATE_DIR"):
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "svc-analytics"


@cache
def program_digest() -> str:
    """Return one hash over the program's own files: what has the same one writes the same files."""
    package, digest = str(Path(__file__).parent), hashlib.sha256()
    places = (f"{folder}{os.sep}{name}" for folder, _, names in os.walk(package) for name in names)
    for place in sorted(each for each in places if not each.endswith(".pyc")):
        name = place.removeprefix(package).replace(os.sep, "/")
        digest.update(f"{name} {hashlib.sha256(Path(place).read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def write_cached(
    kind: str, made_of: str, make: Callable[[], bytes], most: int = MOST_MADE
) -> bytes:
    """Return a kept result, or make it and keep it for the next commands.

    It lies in the cache folder, as Python keeps its bytecode. Its name is a hash of all that it is
    made of, so none of another version is taken; nor is one that is damaged, or another user's.
    `most` of one kind are kept.
    """
    if content := read_cached(kind, made_of):
        return content
    content = make()
    with suppress(*_NO_FOLDER):
        _write_made(cache_folder() / kind / _name_of(made_of), content, most)
    return content


def read_cached(kind: str, made_of: str) -> bytes | None:
    """Return a kept result; None where there is none."""
    with suppress(*_NO_FOLDER):
        return _read_made(cache_folder() / kind / _name_of(made_of))
    return None


def _name_of(made_of: str) -> str:
    return hashlib.sha256(made_of.encode()).hexdigest()


def _read_made(path: Path) -> bytes | None:
    stored = path.read_bytes()
    content = stored[_HASH:]
    is_ours = not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()
    return content if is_ours and hashlib.sha256(content).digest() == stored[:_HASH] else None


def _write_made(path: Path, content: bytes, most: int) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_write(path, suffix=f".{os.getpid()}", is_durable=False) as temporary:
        temporary.write_bytes(hashlib.sha256(content).digest() + content)
    newest_last = sorted(path.parent.iterdir(), key=lambda each: each.stat().st_mtime)
    for each in newest_last[:-most]:
        each.unlink(missing_ok=True)


@contextmanager
def atomic_write(
    path: Path,
    *,
    suffix: str = WRITING,
    is_durable: bool = True,
    putting: Putting = lambda temporary, path: nullcontext(),
) -> Iterator[Path]:
    """Give a temporary path; once it is written, it replaces `path` in one step.

    After a failure the old file is as it was. The lake's writer removes files of a killed run
    with the usual `suffix`; a process that holds another lock uses its own. Where
    `is_durable`, a power cut does not undo the step. Below a lake its storage calls this.
    """
    temporary = path.with_name(f".{path.name}{suffix}")
    try:
        yield temporary
        if is_durable:
            sync_file(temporary)
        with putting(temporary, path):
            os.replace(temporary, path)  # noqa: PTH105  (fault tests count on this one call)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if is_durable:
        sync_folder(path.parent)


def write_json(writing: AbstractContextManager[Path], document: object) -> None:
    """Replace a small JSON file; `writing` is what `atomic_write` gives for its path."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    with writing as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, durably; `mode` is that of the folder itself."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode, exist_ok=True)
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


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def chunks_of(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, a part at a time."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def zip_entry(name: str) -> zipfile.ZipInfo:
    """Return how a file stands in a zip: the same whenever and on whatever system it is packed."""
    entry = zipfile.ZipInfo(name, _EARLIEST)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    return entry


def is_refused(error: BaseException | None) -> bool:
    """Tell whether the system refused to open a file; it may be whole."""
    return isinstance(error, OSError) and error.errno in _REFUSALS


def damaged_file(
    path: Path, error: BaseException | None = None, remedy: str = "file.read_again"
) -> LakeError:
    """Return the error for a damaged file, or one that the system refused to open.

    `remedy` is the code of what to do.
    """
    if isinstance(error, OSError) and is_refused(error):
        reason = os.strerror(error.errno or 0)
        return LakeError(Message("file.refused", path=path, reason=reason))
    if isinstance(error, MemoryError):  # it may be whole
        return LakeError(Message("file.no_memory", path=path))
    return DamagedFile(path, Message(remedy))


@contextmanager
def locked(
    path: Path,
    doing: Message,
    *,
    patience: float | None = None,
    holder: Callable[[], Message] = lambda: Message("busy.another"),
) -> Iterator[None]:
    """Hold a lock between processes; raise `LakeBusy` if another one keeps it.

    `doing` completes the message: "another process <is writing to data>".
    `patience` is how many seconds to wait, `LOCK_PATIENCE` unless given.
    """
    try:
        lock = FileLock(path).acquire(timeout=LOCK_PATIENCE if patience is None else patience)
    except Timeout as error:
        raise LakeBusy(Message("busy.later", who=holder(), doing=translated(doing))) from error
    with lock:
        yield


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


def require_outside_lake(out: str | os.PathLike[str]) -> None:
    """Raise `ConfigError` where a file that a person names would lie among those of a lake.

    It would replace one, or stand in a sealed folder. Entries for the books have a folder there,
    and a packed month may lie beside its statement.
    """
    path = Path(out).resolve()
    for lake in path.parents:
        within = path.relative_to(lake)
        is_of_books = within.parts[0] == "books" and within.name != "booked.json"
        is_packed = within.match("statements/*.zip") and len(within.parts) == 2
        if (lake / "lake.json").is_file() and not (is_of_books or is_packed):
            raise ConfigError(f"{out} lies in the lake {lake}: give a place outside of it")
