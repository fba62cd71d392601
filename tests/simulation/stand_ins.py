"""What the package's modules get in place of `threading`, `queue`, `time` and chance."""

import queue
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, Self
from unittest.mock import patch

from tests.simulation.virtual import FOREVER, World

_LOCK = type(threading.Lock())


class Lock:
    """A lock of the world's threads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_held = False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        self._world.give_way()
        if self._is_held:
            seconds = 0.0 if not blocking else FOREVER if timeout < 0 else timeout
            if not self._world.pause(lambda: not self._is_held, seconds):
                return False
        self._is_held = True
        return True

    def release(self) -> None:
        self._is_held = False

    def locked(self) -> bool:
        return self._is_held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Event:
    """A flag that threads wait for."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        return self._world.pause(self.is_set, FOREVER if timeout is None else timeout)


class Condition:
    """A lock with a queue of those who wait to be told of a change."""

    def __init__(self, world: World, lock: Lock | None = None) -> None:
        self._world = world
        self._lock = lock or Lock(world)
        self._waiting: deque[list[bool]] = deque()
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        told = [False]
        self._waiting.append(told)
        self._lock.release()
        seconds = FOREVER if timeout is None else timeout
        is_told = self._world.pause(lambda: told[0], seconds)
        self._lock.acquire()
        return is_told

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        until = FOREVER if timeout is None else self._world.now + timeout
        while not predicate() and self._world.now < until:
            self.wait(until - self._world.now)
        return predicate()

    def notify(self, n: int = 1) -> None:
        for _ in range(min(n, len(self._waiting))):
            self._waiting.popleft()[0] = True

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class Thread:
    """A thread of the world."""

    def __init__(
        self,
        world: World,
        target: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        self._world = world
        self._work = lambda: target(*args, **(kwargs or {}))

    def start(self) -> None:
        self._task = self._world.begin(self._work)
        self._world.give_way()

    def is_alive(self) -> bool:
        return self._task.is_alive

    def join(self, timeout: float | None = None) -> None:
        seconds = FOREVER if timeout is None else timeout
        self._world.pause(lambda: not self._task.is_alive, seconds)


class Queue:
    """A queue between threads of the world."""

    def __init__(self, world: World, maxsize: int = 0) -> None:
        self._world = world
        self._held: deque[Any] = deque()
        self.maxsize = maxsize

    def empty(self) -> bool:
        return not self._held

    def full(self) -> bool:
        return 0 < self.maxsize <= len(self._held)

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        self._world.give_way()
        if self.full() and not self._wait(lambda: not self.full(), block, timeout):
            raise queue.Full
        self._held.append(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        self._world.give_way()
        if self.empty() and not self._wait(lambda: not self.empty(), block, timeout):
            raise queue.Empty
        return self._held.popleft()

    def _wait(self, ready: Callable[[], bool], block: bool, timeout: float | None) -> bool:
        seconds = 0.0 if not block else FOREVER if timeout is None else timeout
        return self._world.pause(ready, seconds)


class Clock(SimpleNamespace):
    """The module `time`, of a machine whose clock is off by `skew` microseconds."""

    @classmethod
    def of(cls, world: World, skew: Callable[[], int]) -> Self:
        def micros() -> int:
            return world.micros + skew()

        return cls(
            monotonic=lambda: world.now,
            perf_counter=lambda: world.now,
            time_ns=lambda: micros() * 1000,
            time=lambda: micros() / 1_000_000,
            sleep=world.sleep,
        )


class _Unchanged:
    """A module of which some names are other ones."""

    def __init__(self, module: Any, **names: Any) -> None:
        self._module = module
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextmanager
def installed(world: World, skew: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Put the world's time, threads and chance into every module of the package."""
    clock = Clock.of(world, skew)
    own = _Unchanged(
        threading,
        Thread=lambda *args, **more: Thread(world, *args[1:], **more),
        Lock=lambda: Lock(world),
        Event=lambda: Event(world),
        Condition=lambda lock=None: Condition(world, lock),
    )
    stand_ins: dict[int, Any] = {
        id(threading): own,
        id(queue): _Unchanged(queue, Queue=lambda maxsize=0: Queue(world, maxsize)),
        id(time): _Unchanged(time, **vars(clock)),
        id(time.monotonic): clock.monotonic,
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
