"""A disk that fails, is torn from a dying process, and loses power.

Every call by which the package changes a file or folder below `root` passes here: it
is counted, may fail, and is remembered as what a real disk may still forget. What was
written is safe once the file was synced; a name, once its folder was.
"""

import builtins
import errno
import io
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

# Decides what becomes of a call: its place in the count, its kind, the path below the root.
# It raises, for a call that fails; or returns an error, for one that fails when all is done.
Fate = Callable[[int, str, str], OSError | None]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.EACCES)
BLOCK = 512  # bytes that reach the disk together


def failure(code: int, path: str = "") -> OSError:
    """Return the error that the system gives for a code."""
    return OSError(code, os.strerror(code), path)


@dataclass
class Node:
    """A file or folder, whatever it is called: what of it is safe."""

    is_folder: bool = False
    synced: bytes | None = None  # the content that survives; None if it never was synced


@dataclass
class Pending:
    """A change of a folder's names that its next sync makes safe."""

    name: str
    node: Node | None  # None: the name goes


@dataclass
class Disk:
    """The part of a disk below `root`.

    `lies`: syncing is answered with success and does nothing, as some disks do.
    """

    root: Path
    fate: Fate = lambda *call: None
    on_step: Callable[[], None] = lambda: None
    lies: bool = False
    calls: list[tuple[str, str]] = field(default_factory=list)
    lives: int = 0  # processes that had files open here, and are over
    _names: dict[str, Node] = field(default_factory=dict)
    _safe: dict[str, Node] = field(default_factory=dict)
    _pending: dict[str, list[Pending]] = field(default_factory=dict)
    _paths: dict[int, str] = field(default_factory=dict)  # of open descriptors

    def __post_init__(self) -> None:
        self.root = self.root.resolve()
        self.settle()

    def settle(self) -> None:
        """Take all that is there now for safe: it has lain long enough."""
        self._pending.clear()
        self._names = {"": Node(is_folder=True)}
        for path in sorted(self.root.rglob("*")):
            content = None if path.is_dir() else path.read_bytes()
            self._names[self._below(path)] = Node(path.is_dir(), content)
        self._safe = dict(self._names)

    def copy(self, root: Path) -> "Disk":
        """Return a twin in another folder: the same files, and the same of them is safe."""
        shutil.copytree(self.root, root)
        twin = Disk(root)
        state = (self._names, self._safe, self._pending)
        twin._names, twin._safe, twin._pending = deepcopy(state)
        return twin

    @contextmanager
    def installed(self) -> Iterator["Disk"]:
        """Let all calls of this process that change something below `root` pass here."""
        names = ("replace", "rename", "link", "unlink", "remove", "mkdir", "rmdir", "open")
        calls = [(os, name, getattr(self, f"_{name}")) for name in (*names, "fsync", "close")]
        calls += [(place, "open", self._open_file) for place in (io, builtins)]
        try:
            with ExitStack() as stack:
                for place, name, stand_in in calls:
                    own = partial(stand_in, getattr(place, name))
                    stack.enter_context(patch.object(place, name, own))
                yield self
        finally:
            self._paths.clear()
            self.lives += 1

    def lose_power(self, chance: random.Random) -> None:
        """Leave below the root what a power cut may leave; everything else is gone.

        Of what was not synced, any part may have reached the disk, in any order.
        """
        kept = self._surviving_names(chance)
        contents = {
            path: self._surviving_content(path, node, chance)
            for path, node in kept.items()
            if not node.is_folder
        }
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path, node in sorted(kept.items()):
            if node.is_folder:
                (self.root / path).mkdir(exist_ok=True)
            else:
                (self.root / path).write_bytes(contents[path])
        self.settle()

    def step(self, kind: str, path: str) -> OSError | None:
        """Count a call, and let fate decide on it."""
        self.on_step()
        self.calls.append((kind, path))
        return self.fate(len(self.calls), kind, path)

    # -- what survives

    def _surviving_names(self, chance: random.Random) -> dict[str, Node]:
        kept = dict(self._safe)
        for changes in self._pending.values():
            for change in changes:
                if chance.random() < 0.5:
                    self._apply(kept, change)
        # Where a folder's own name is lost, all in it is.
        return {
            path: node
            for path, node in kept.items()
            if all(_is_folder(kept, parent) for parent in _parents(path))
        }

    def _surviving_content(self, path: str, node: Node, chance: random.Random) -> bytes:
        if node.synced is not None:
            return node.synced
        place = next((self.root / name for name, n in self._names.items() if n is node), None)
        written = place.read_bytes() if place and place.is_file() else b""
        kind = chance.choice(["none", "all", "beginning", "blocks"])
        if kind == "blocks":  # the length was kept, and not all of it was written
            return b"".join(chance.choice([block, bytes(len(block))]) for block in _blocks(written))
        ends = {"none": 0, "all": len(written), "beginning": chance.randint(0, len(written))}
        return written[: ends[kind]]

    @staticmethod
    def _apply(names: dict[str, Node], change: Pending) -> None:
        if change.node is None:
            names.pop(change.name, None)
        else:
            names[change.name] = change.node

    # -- names

    def _below(self, path: Any) -> str:
        return Path(os.path.abspath(os.fspath(path))).relative_to(self.root).as_posix()  # noqa: PTH100

    def _find(self, path: Any, folder: int | None = None) -> str | None:
        """Return a path below the root, or None if it lies elsewhere."""
        if isinstance(path, int):
            return None
        if folder is not None:
            path = Path(os.readlink(f"/proc/self/fd/{folder}")) / os.fsdecode(path)  # noqa: PTH115
        try:
            name = self._below(os.fsdecode(path))
        except ValueError:
            return None
        return None if name == "." else name

    def _change(self, *changes: Pending) -> None:
        for change in changes:
            self._apply(self._names, change)
            self._pending.setdefault(_parent(change.name), []).append(change)

    def _node(self, name: str) -> Node:
        return self._names.setdefault(name, Node())

    # -- calls

    def _replace(self, real: Any, source: Any, target: Any, **more: Any) -> None:
        old, new = self._find(source), self._find(target)
        if old is None or new is None:
            return real(source, target, **more)
        error = self.step("replace", new)
        real(source, target, **more)
        inner = [name for name in self._names if name.startswith(f"{old}/")]
        self._change(Pending(new, self._node(old)), Pending(old, None))
        for name in inner:  # a folder keeps what is in it
            self._names[new + name[len(old) :]] = self._names.pop(name)
        return _fail(error)

    _rename = _replace

    def _link(self, real: Any, source: Any, target: Any, **more: Any) -> None:
        old, new = self._find(source), self._find(target)
        if old is None or new is None:
            return real(source, target, **more)
        error = self.step("link", new)
        real(source, target, **more)
        self._change(Pending(new, self._node(old)))
        return _fail(error)

    def _unlink(self, real: Any, path: Any, *, dir_fd: int | None = None) -> None:
        name = self._find(path, dir_fd)
        if name is None:
            return real(path, dir_fd=dir_fd)
        error = self.step("unlink", name)
        real(path, dir_fd=dir_fd)
        self._change(Pending(name, None))
        return _fail(error)

    _remove = _rmdir = _unlink

    def _mkdir(self, real: Any, path: Any, *args: Any, **more: Any) -> None:
        name = self._find(path, more.get("dir_fd"))
        if name is None or Path(path).exists():
            return real(path, *args, **more)
        error = self.step("mkdir", name)
        real(path, *args, **more)
        self._change(Pending(name, Node(is_folder=True)))
        return _fail(error)

    def _open(self, real: Any, path: Any, flags: int, *args: Any, **more: Any) -> int:
        name = self._find(path, more.get("dir_fd"))
        if name is None and self._is_root(path):
            name = ""
        if name is None:
            return int(real(path, flags, *args, **more))
        is_new = bool(flags & os.O_CREAT) and name not in self._names
        self.step("open", name or ".")
        descriptor = int(real(path, flags, *args, **more))
        if is_new:
            self._change(Pending(name, Node()))
        self._paths[descriptor] = name
        return descriptor

    def _is_root(self, path: Any) -> bool:
        return not isinstance(path, int) and Path(os.fsdecode(path)).absolute() == self.root

    def _close(self, real: Any, descriptor: int) -> None:
        self._paths.pop(descriptor, None)
        real(descriptor)

    def _fsync(self, real: Any, descriptor: int) -> None:
        name = self._paths.get(descriptor)
        if name is None:
            return real(descriptor)
        error = self.step("fsync", name or ".")
        if not self.lies:
            self._make_safe(name)
        return _fail(error)

    def _make_safe(self, name: str) -> None:
        node = self._node(name)
        if not node.is_folder:
            node.synced = (self.root / name).read_bytes()
            return
        for change in self._pending.pop(name, []):
            self._apply(self._safe, change)

    def _open_file(self, real: Any, path: Any, mode: str = "r", *args: Any, **more: Any) -> Any:
        name = self._find(path) if set(mode) & set("wax+") else None
        if name is None:
            return real(path, mode, *args, **more)
        is_new = name not in self._names
        self.step("open", name)
        file = _File(self, name, os.fspath(path), mode.replace("b", "").replace("t", ""))
        if is_new:
            self._change(Pending(name, Node()))
        buffered = io.BufferedRandom(file) if "+" in mode else io.BufferedWriter(file)
        if "b" in mode:
            return buffered
        names = ("buffering", "encoding", "errors", "newline")
        given = dict(zip(names, args, strict=False)) | more
        return io.TextIOWrapper(buffered, given.get("encoding") or "utf-8")


class _File(io.FileIO):
    """A file that is being written: each write and its end may fail."""

    def __init__(self, disk: Disk, name: str, path: str, mode: str) -> None:
        self._disk, self._name, self._life = disk, name, disk.lives
        super().__init__(path, mode)
        disk._paths[self.fileno()] = name
        disk._node(name).synced = None  # overwritten in place: any part of it may be lost

    def write(self, data: Any) -> int:
        if self._life != self._disk.lives:
            return len(data)  # its process is no more
        try:
            self._disk.step("write", self._name)
        except OSError:
            super().write(bytes(data)[: len(data) // 2])  # what still fitted
            raise
        return super().write(data)

    def close(self) -> None:
        if self.closed:
            return
        self._disk._paths.pop(self.fileno(), None)
        super().close()
        if self._life == self._disk.lives:
            self._disk.step("close", self._name)


def _fail(error: OSError | None) -> None:
    if error:
        raise error


def _blocks(content: bytes) -> Iterator[bytes]:
    return (content[place : place + BLOCK] for place in range(0, len(content), BLOCK))


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _parents(name: str) -> Iterator[str]:
    while name:
        name = _parent(name)
        yield name


def _is_folder(names: dict[str, Node], name: str) -> bool:
    return name in names and names[name].is_folder
