"""The simulation's threads take turns, happen again as they were, and cannot hang unnoticed."""

import queue
from collections.abc import Callable

import pytest

from tests.simulation.stand_ins import Condition, Lock, Queue, Thread
from tests.simulation.virtual import Killed, Stuck, World


def interleaving(seed: str) -> list[str]:
    """Let three workers write down their steps, and return the order of them."""
    world, steps = World(seed), []

    def work(name: str) -> None:
        for step in range(4):
            steps.append(f"{name}{step}")
            world.sleep(world.chance.uniform(0, 1))

    for name in "abc":
        Thread(world, target=work, args=(name,)).start()
    world.end_run()
    return steps


def test_one_seed_is_one_order_of_events() -> None:
    assert interleaving("1") == interleaving("1")
    assert len({tuple(interleaving(str(seed))) for seed in range(20)}) > 15


def test_only_waiting_moves_the_clock() -> None:
    world = World("clock", epoch=7_000_000)
    Thread(world, target=lambda: world.sleep(3600)).start()
    assert world.micros == 7_000_000
    world.sleep(10)
    assert world.micros == 17_000_000
    world.sleep(7200)
    assert world.micros == 7_217_000_000


def test_threads_that_wait_for_one_another_are_told() -> None:
    world = World("stuck")
    first, second = Lock(world), Lock(world)

    def work(one: Lock, other: Lock) -> None:
        with one:
            world.sleep(1)
            with other:
                pass

    Thread(world, target=work, args=(first, second)).start()
    Thread(world, target=work, args=(second, first)).start()
    with pytest.raises(Stuck, match="outlived"):
        world.end_run()


def test_a_loop_without_end_is_told() -> None:
    world = World("loop")

    def work() -> None:
        while True:
            world.sleep(0.001)

    Thread(world, target=work).start()
    with pytest.raises(Stuck):
        world.end_run()


def test_a_kill_ends_every_thread_where_it_stands() -> None:
    world, left = World("kill"), []

    def work() -> None:
        try:
            world.sleep(100)
        finally:
            left.append(world.now)

    for _ in range(3):
        Thread(world, target=work).start()
    world.kill_at = 5.0
    with pytest.raises(Killed):
        world.sleep(50)
    assert world.end_run() is True
    assert left == [left[0]] * 3 and not world.is_dead


def test_a_full_queue_holds_its_writer_back() -> None:
    world = World("queue")
    held: Queue = Queue(world, maxsize=1)
    taken = []

    def read() -> None:
        for _ in range(3):
            world.sleep(10)
            taken.append((held.get(), world.now))

    Thread(world, target=read).start()
    for item in "xyz":
        held.put(item)
    assert world.now == 20
    world.end_run()
    assert taken == [("x", 10), ("y", 20), ("z", 30)]
    with pytest.raises(queue.Empty):
        held.get(timeout=1)


def test_those_who_wait_for_a_change_are_told_of_it() -> None:
    world = World("condition")
    changed, told = Condition(world), []

    def wait() -> None:
        with changed:
            changed.wait()
            told.append(world.now)

    for _ in range(2):
        Thread(world, target=wait).start()
    notify: Callable[[], None]
    for notify in (changed.notify, changed.notify_all):
        world.sleep(5)
        with changed:
            notify()
    world.end_run()
    assert told == [5, 10]
