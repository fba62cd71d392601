"""Virtual time, and threads that take turns in it: one seed, one order of events.

The threads of a `World` are real ones, but only one of them ever runs: whoever waits
gives way to another, chosen by the seed, and when all wait the clock moves on to the
first that is to be woken. So a run has all the interleavings that many workers may
have, waits for nothing, and happens again exactly as it was.
"""

import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any
from unittest.mock import patch

FOREVER = float("inf")
TOO_MANY_STEPS = 100_000  # of one run: nothing sound takes a tenth of it
PREEMPTED = 0.15  # how often a thread gives way where it need not
PATIENCE = 900.0  # virtual seconds that a run's workers may outlive it

Ready = Callable[[], bool]


class Killed(BaseException):
    """The process is no more: nobody catches this, and nothing is written any longer."""


class Stuck(Exception):
    """All threads wait for one another, or for ever."""


def _always() -> bool:
    return True


class Task:
    """A thread, and what it waits for."""

    def __init__(self) -> None:
        self.baton = threading.Semaphore(0)
        self.is_alive = True
        self.ready: Ready = _always
        self.wake_at = FOREVER


class World:
    """A clock that only waiting moves, and the threads that live by it.

    `epoch` is the true time at the beginning, in UTC microseconds.
    """

    def __init__(self, seed: str, epoch: int = 0) -> None:
        self.chance = random.Random(seed)
        self.now = 0.0
        self.kill_at = FOREVER
        self.is_dead = False
        self._epoch = epoch
        self._steps = 0
        self._trouble = ""
        self._main = self._current = Task()
        self._tasks = [self._main]

    @property
    def micros(self) -> int:
        """The true time, in UTC microseconds."""
        return self._epoch + round(self.now * 1_000_000)

    def kill(self) -> None:
        """End the process at once: its other threads find out when they next wait."""
        self.is_dead = True
        raise Killed

    def pause(self, ready: Ready = _always, seconds: float = FOREVER) -> bool:
        """Give way until `ready`, or until `seconds` have passed; tell whether it is ready."""
        self.check()
        me = self._current
        me.ready, me.wake_at = ready, self.now + seconds
        chosen = self._choose()
        if chosen is not me:
            self._pass_to(chosen)
            me.baton.acquire()
        self.check()
        return ready()

    def sleep(self, seconds: float) -> None:
        """Let time pass for this thread."""
        until = self.now + seconds
        self.pause(lambda: self.now >= until, seconds)

    def give_way(self) -> None:
        """Let another thread go first, now and then."""
        if len(self._tasks) > 1 and self.chance.random() < PREEMPTED:
            self.pause()

    def check(self) -> None:
        """Die where the process is dead, or should be by now."""
        self._steps += 1
        if self._steps > TOO_MANY_STEPS:
            self._fail("the run does not end")
        if self.is_dead or self.now >= self.kill_at:
            self.kill()

    def begin(self, work: Callable[[], Any]) -> Task:
        """Start another thread; it runs when its turn comes."""
        task = Task()
        self._tasks.append(task)
        threading.Thread(target=self._live, args=(task, work), daemon=True).start()
        return task

    def end_run(self) -> bool:
        """See the threads of a run to their end, and live on; tell whether the run was killed.

        Raises `Stuck` where a thread does not come to its end.
        """
        if not self.is_dead:
            self.kill_at = FOREVER
            with suppress(Killed):
                if not self.pause(lambda: self._tasks == [self._main], PATIENCE):
                    self._trouble = "a worker outlived its run"
        was_killed, self.is_dead = self.is_dead, True
        for task in self._tasks[1:]:
            self._pass_to(task)
            self._main.baton.acquire()
        self.is_dead, self.kill_at, self._steps = False, FOREVER, 0
        if self._trouble:
            raise Stuck(self._trouble)
        return was_killed

    def _live(self, task: Task, work: Callable[[], Any]) -> None:
        task.baton.acquire()
        try:
            if not self.is_dead:
                work()
        except Killed:
            pass
        finally:
            task.is_alive = False
            self._tasks.remove(task)
            self._pass_to(self._main if self.is_dead else self._choose())

    def _pass_to(self, task: Task) -> None:
        self._current = task
        task.baton.release()

    def _choose(self) -> Task:
        able = [task for task in self._tasks if task.ready()]
        if not able:
            moment = min(task.wake_at for task in self._tasks)
            if moment == FOREVER:
                self._fail("every thread waits for another")
            self.now = max(self.now, moment)
            able = [task for task in self._tasks if task.wake_at <= self.now]
        return able[0] if len(able) == 1 else self.chance.choice(able)

    def _fail(self, trouble: str) -> None:
        self._trouble = self._trouble or trouble
        self.kill()


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
