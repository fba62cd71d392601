"""Virtual time, and threads that take turns in it: one seed, one order of events.

The threads of a `World` are real ones, but only one of them ever runs: whoever waits
gives way to another, chosen by the seed, and when all wait the clock moves on to the
first that is to be woken. So a run has all the interleavings that many workers may
have, waits for nothing, and happens again exactly as it was.
"""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

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
