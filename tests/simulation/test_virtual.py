"""The simulation's threads take turns, happen again as they were, and cannot hang unnoticed."""

import pytest

from tests.simulation.stand_ins import Lock, Thread
from tests.simulation.virtual import Stuck, World


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
