"""What the package's modules get in place of `threading`, `time` and chance.

Each stand-in can do what the package asks of it, and no more.
"""

import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from tests.simulation.virtual import FOREVER, World

_LOCK = type(threading.Lock())


class Lock:
    """A lock of the world's threads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_held = False

    def acquire(self) -> None:
        self._world.give_way()
        if self._is_held:
            self._world.pause(lambda: not self._is_held)
        self._is_held = True

    def release(self, *_: object) -> None:
        self._is_held = False

    __enter__, __exit__ = acquire, release


class Event:
    """A flag that threads wait for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def wait(self, timeout: float) -> bool:
        return self._world.pause(self.is_set, timeout)


class Condition(Lock):
    """A lock with a queue of those who wait to be told of a change."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._waiting: deque[list[bool]] = deque()

    def wait(self, timeout: float = FOREVER) -> None:
        told = [False]
        self._waiting.append(told)
        self.release()
        self._world.pause(lambda: told[0], timeout)
        self.acquire()

    def wait_for(self, predicate: Callable[[], bool], timeout: float = FOREVER) -> None:
        until = self._world.now + timeout
        while not predicate() and self._world.now < until:
            self.wait(until - self._world.now)

    def notify(self) -> None:
        if self._waiting:
            self._waiting.popleft()[0] = True

    def notify_all(self) -> None:
        while self._waiting:
            self.notify()


class Thread:
    """A thread of the world."""

    def __init__(
        self, world: World, target: Callable[..., Any], args: tuple[Any, ...] = (), **_: Any
    ) -> None:
        self._world = world
        self._work = partial(target, *args)

    def start(self) -> None:
        self._task = self._world.begin(self._work)
        self._world.give_way()

    def is_alive(self) -> bool:
        return self._task.is_alive

    def join(self) -> None:
        self._world.pause(lambda: not self._task.is_alive)


class _Unchanged:
    """A module of which some names are other ones."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextmanager
def installed(world: World, skew: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Put the world's time, threads and chance into every module of the package.

    Its machine's clock is off by `skew` microseconds.
    """
    clock: dict[str, Callable[..., Any]] = {
        "monotonic": lambda: world.now,
        "time_ns": lambda: (world.micros + skew()) * 1000,
        "time": lambda: (world.micros + skew()) / 1_000_000,
        "sleep": world.sleep,
    }
    own = {kind.__name__: partial(kind, world) for kind in (Thread, Lock, Event, Condition)}
    stand_ins: dict[int, Any] = {
        id(threading): _Unchanged(threading, **own),
        id(time): _Unchanged(time, **clock),
        id(time.monotonic): clock["monotonic"],
    }
    put_back = ExitStack()
    for module in [m for name, m in sys.modules.items() if name.startswith("svc_analytics.")]:
        for name, value in list(vars(module).items()):
            if (other := _stand_in(world, stand_ins, value)) is not None:
                put_back.enter_context(patch.object(module, name, other))
    with put_back:
        yield


def _stand_in(world: World, known: dict[int, Any], value: Any) -> Any:
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, _LOCK):
        return Lock(world)
    if isinstance(value, random.SystemRandom):
        return world.chance
    return None
