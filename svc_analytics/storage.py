"""Where a lake lies: in a folder of this machine, or in a bucket, with a copy in such a folder.

A lake holds its storage and passes it to whoever writes below its folder.
"""

import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TypeVar

from svc_analytics.arguments import AnyPath
from svc_analytics.bucket.address import copy_folder, is_address, lake_address, read_address
from svc_analytics.bucket.mirror import Book, open_folder
from svc_analytics.bucket.objects import STATEMENTS
from svc_analytics.bucket.store import ObjectStore
from svc_analytics.bucket.writing import BucketStorage, Inherited
from svc_analytics.errors import ConfigError, LakeChanged, LakeError, text_of
from svc_analytics.files import WRITING, DamagedFile, atomic_write, replacing_folder
from svc_analytics.messages import Message, translated

_MOST_TRIES = 40  # to be the first to replace an object of a bucket
_chance = random.SystemRandom()
_T = TypeVar("_T")


class LocalStorage:
    """A folder of this machine: whoever writes there replaces its files, and that is all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = str(folder)

    def refresh(self) -> None:
        """Do nothing: the folder is the lake."""

    def still(self) -> AbstractContextManager[object]:
        """Hold nobody up: a file that is replaced is linked anew."""
        return nullcontext()

    def pins(self, snapshot: Path) -> None:
        """Return nothing."""

    def writing(self, now: int) -> AbstractContextManager[Inherited]:
        """Inherit nothing: no other machine writes."""
        return nullcontext(Inherited())

    def merging(self) -> AbstractContextManager[None]:
        """Do nothing: the folder is up to date."""
        return nullcontext()

    def write(
        self, path: Path, *, suffix: str = WRITING, is_durable: bool = True
    ) -> AbstractContextManager[Path]:
        """Give a temporary path; once it is written, it replaces a file in one step."""
        return atomic_write(path, suffix=suffix, is_durable=is_durable)

    def write_folder(self, path: Path) -> AbstractContextManager[Path]:
        """Give an empty folder; once it is filled, it replaces the folder of a statement."""
        return replacing_folder(path)

    def put_new(self) -> None:
        """Do nothing: who sees the folder sees its files."""

    def mark(self) -> str:
        """Return no text: a file is replaced, whatever its bytes."""
        return ""

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def discard(self, path: Path) -> bool:
        """Remove nothing: there is no other copy."""
        return False


Storage = LocalStorage | BucketStorage  # what is below its folder is replaced by its methods


def open_storage(place: AnyPath) -> Storage:
    """Open where a lake lies, its folder or the URL of its bucket; no object is read yet.

    A folder that is the copy of a bucket says so itself. Raises `ConfigError` for a URL of no
    bucket, and where the copy cannot be kept.
    """
    address = lake_address(place)
    if isinstance(address, Path):
        folder = address.absolute()
        book = Book.read(folder)
        if book is None:
            return LocalStorage(folder)
        return BucketStorage(folder, book.url, ObjectStore(book.url))
    folder = copy_folder(address)
    open_folder(folder, address)
    return BucketStorage(folder, address, ObjectStore(address))


def statement_folder(path: AnyPath) -> Path:
    """Return the path of a statement's folder; of one in a bucket, that of its copy.

    Raises `ConfigError` for a URL that is not one of a lake's statement.
    """
    if not is_address(path):
        return Path(path)
    lake, _, name = read_address(str(path)).rpartition(f"/{STATEMENTS}/")
    if not lake or "/" in name:
        message = "give a statement of a bucket as s3://bucket/lake/statements/2026-10"
        raise ConfigError(message)
    storage = open_storage(lake)
    storage.refresh()
    return storage.folder / STATEMENTS / name.removesuffix(".zip")


def add_file(storage: Storage, path: Path, content: bytes) -> None:
    """Put a file beside those of a statement's folder, in one step.

    The folder of a bucket is one object, which is replaced.
    """
    if isinstance(storage, LocalStorage):
        with storage.write(path) as temporary:
            temporary.write_bytes(content)
        return
    with storage.write_folder(path.parent) as folder:
        for other in path.parent.iterdir():
            if other.is_file() and other != path:
                shutil.copy2(other, folder)
        (folder / path.name).write_bytes(content)


@contextmanager
def replacing_files(storage: Storage, folder: Path) -> Iterator[Path]:
    """Give an empty folder; its files replace those of a folder of a lake, in a bucket one by one.

    What comes first by name is put last: it names the others.
    """
    if isinstance(storage, BucketStorage):
        for path in folder.glob("*"):
            storage.remove(path)
    with replacing_folder(folder) as new:
        yield new
    if isinstance(storage, BucketStorage):
        for path in sorted(folder.iterdir(), reverse=True):
            with storage.write(path) as temporary:
                shutil.copyfile(path, temporary)


def merge_into(storage: Storage, work: Callable[[], _T]) -> _T:
    """Do work that reads files of a lake, and replaces them by what it makes of them.

    Where another machine replaced one of them in the bucket first, it is done again, from the
    newest versions. Work in a folder of this machine is done once.
    """
    for _ in range(_MOST_TRIES - 1):
        with suppress(LakeChanged), storage.merging(), mended(storage):
            return work()
        time.sleep(_chance.uniform(0, 0.2))  # so that the same two do not meet again
    with storage.merging(), mended(storage):
        return work()


@contextmanager
def mended(storage: Storage) -> Iterator[None]:
    """Remove a damaged file that the work within meets, if it can be got again, and say so."""
    try:
        yield
    except DamagedFile as error:
        if not storage.discard(error.path):
            raise
        remedy = Message("file.copy_removed", place=storage.place, remedy=translated(error.remedy))
        raise LakeError(text_of(DamagedFile(error.path, remedy))) from error
