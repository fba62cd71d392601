"""Small files and folders of the lake: write, sync, recognise what is damaged."""

import errno
import json
import os
from contextlib import suppress
from pathlib import Path

from svc_analytics.errors import LakeError


def write_json(path: Path, document: object) -> None:
    """Replace a small JSON file in one step."""
    temporary = path.with_name(f".{path.name}.writing")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


_REFUSALS = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE)


def is_refused(error: BaseException | None) -> bool:
    """Whether the system would not let a file be read, which says nothing about the file."""
    return isinstance(error, OSError) and error.errno in _REFUSALS


def damaged_file(path: Path, error: BaseException | None = None) -> LakeError:
    """Say that a file cannot be trusted, and how to come back from it.

    If the `error` tells that it was not even opened, only that is said: it may be whole.
    """
    if isinstance(error, OSError) and is_refused(error):
        return LakeError(f"{path} cannot be read: {os.strerror(error.errno or 0)}")
    message = (
        f"{path} is torn or altered: move it away and run extract, which reads its month again"
    )
    return LakeError(message)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, so that a power cut does not take it with all in it."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        with suppress(PermissionError):  # a folder that is not ours to read, nor to sync
            sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, where the system knows how."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
