"""Images of the views that a command keeps for the next ones, as Python keeps its bytecode.

They lie in the cache folder, and may be deleted at any time. The name of each is a hash of all that
it is made of, so none of another version is taken; nor is one that is damaged, or another user's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from svc_analytics.files import atomic_write, cache_folder

MOST = 8  # images, of the versions and environments that are in use
_HASH = sha256().digest_size
_NO_FOLDER = (OSError, RuntimeError)  # it cannot be written, or there is no home: that costs time


def keep_made(made_of: str, make: Callable[[], bytes]) -> bytes:
    """Return what was made of this before, or make it and keep it."""
    name = sha256(made_of.encode()).hexdigest()
    with suppress(*_NO_FOLDER):
        if image := _read(cache_folder() / "views" / name):
            return image
    image = make()
    with suppress(*_NO_FOLDER):
        _keep(cache_folder() / "views" / name, image)
    return image


def _read(path: Path) -> bytes | None:
    kept = path.read_bytes()
    image = kept[_HASH:]
    is_whole = sha256(image).digest() == kept[:_HASH]
    return image if is_whole and _is_ours(path) else None


def _is_ours(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _keep(path: Path, image: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with atomic_write(path, suffix=f".{os.getpid()}", is_durable=False) as temporary:
        temporary.write_bytes(sha256(image).digest() + image)
    kept = sorted(path.parent.iterdir(), key=lambda each: each.stat().st_mtime)
    for each in kept[:-MOST]:
        each.unlink(missing_ok=True)
