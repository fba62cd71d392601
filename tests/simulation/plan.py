"""What a seed stands for: a service with its nature and records, and runs with their troubles."""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from svc_analytics.instants import DAY, HOUR, MINUTE, SECOND
from tests.simulation.disk import FULL
from tests.simulation.ledger import Entry, Habits, draw_ledger
from tests.simulation.service import Nature, Weather
from tests.simulation.virtual import FOREVER

MONTH_EDGE = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp()) * SECOND
BOUNDS = ("[]", "()", "[)", "(]", "")


@dataclass
class Trouble:
    """What befalls one run, in seconds or in calls of the disk after its beginning."""

    weather: Weather = field(default_factory=Weather)
    killed_at: float = FOREVER
    killed_at_call: int = 0
    failing_call: int = 0
    failing_for_ever: bool = False
    failing_late: bool = False  # when the call has done its work
    failing_kind: str = ""  # of the calls that fail; all when empty
    code: int = 0
    loses_power: bool = False  # when killed
    cursor_life: int = 10**9

    def fails(self, call: int, kind: str) -> bool:
        """Tell whether the disk fails at a call of a kind, counted from the run's beginning."""
        if not 0 < self.failing_call <= call or self.failing_kind not in ("", kind):
            return False
        if not self.failing_for_ever:
            self.failing_call = 0
        return True


@dataclass
class Run:
    """One call of `extract`, `gap` seconds after the one before."""

    gap: float
    workers: int
    request: dict[str, Any] = field(default_factory=dict)
    skew: int = 0
    step_back: int = 0  # what the local clock loses during the run
    trouble: Trouble = field(default_factory=Trouble)


@dataclass
class Plan:
    """Everything a seed decides beforehand."""

    epoch: int
    nature: Nature
    entries: list[Entry]
    runs: list[Run]
    row_group: int
    staged_limit: int
    lies: bool = False  # the disk
    large_month: int = 0  # bytes of a month from which on it is spilled at a checkpoint
    checkpoint: float = 5.0  # seconds between two
    batch_pages: int = 32  # that a worker delivers together


def draw_plan(seed: int) -> Plan:
    """Draw everything from a seed."""
    chance = random.Random(f"plan {seed}")
    epoch = MONTH_EDGE + chance.choice([chance.randint(-DAY, DAY), chance.randint(0, 29 * DAY)])
    runs = [_draw_run(chance, epoch) for _ in range(chance.randint(2, 4))]
    nature, habits = _draw_nature(chance), _draw_habits(chance)
    if nature.order == "any":
        # Enough rows on a page for it to show that they are in no order.
        nature.cursor, nature.page_sizes, nature.empty_pages = "count", (8, 8), 0.0
        _keep_whole(runs)
    if nature.cursor != "place":
        habits.moved = 0.0
    if nature.date != "told":
        _keep_clock(runs)
    return Plan(
        epoch,
        nature,
        draw_ledger(chance, epoch, habits),
        runs,
        row_group=chance.choice([2, 5, 12_000]),
        staged_limit=chance.choice([1, 2_000, 10**9]),
        lies=chance.random() < 0.1,
        large_month=chance.choice([-1, -1, 8 * 1024 * 1024]),  # any month, even one without a file
        checkpoint=chance.choice([0.5, 5.0]),
        batch_pages=chance.choice([1, 1, 32]),
    )


def _draw_nature(chance: random.Random) -> Nature:
    sizes = chance.choice([(1, 1), (1, 4), (5, 5), (2, 30), (100, 100)])
    return Nature(
        page_sizes=sizes,
        bounds=chance.choice(BOUNDS),
        empty_pages=chance.choice([0.0, 0.0, 0.3]),
        cursor=chance.choice(["place", "place", "place", "count", "copy"]),
        date=chance.choice(["told", "told", "told", "absent", "garbled"]),
        order="any" if chance.random() < 0.05 else "newest",
        spaces=chance.choice(["", "", " ", "\n  "]),
    )


def _draw_habits(chance: random.Random) -> Habits:
    return Habits(
        count=chance.choice([0, 3, 15, 40]),
        history=chance.choice([DAY, 20 * DAY, 100 * DAY]),
        future=chance.choice([HOUR, 2 * DAY]),
        ties=chance.choice([0.0, 0.2, 0.8]),
        late=chance.choice([0.0, 0.3, 0.9]),
        changed=chance.choice([0.0, 0.4]),
        moved=chance.choice([0.0, 0.6]),
        bad=chance.choice([0.0, 0.0, 0.2]),
    )


def _draw_run(chance: random.Random, epoch: int) -> Run:
    run = Run(
        gap=chance.choice([0.0, 30.0, chance.uniform(0, 7200), chance.uniform(0, 3 * 86400)]),
        workers=chance.choice([1, 2, 4]),
        skew=chance.choice([0, chance.randint(-10, 10) * MINUTE, chance.choice([-1, 1]) * DAY]),
        step_back=chance.choice([0, 0, 0, HOUR]),
        trouble=_draw_trouble(chance),
    )
    if chance.random() < 0.25:
        run.request = _draw_request(chance, epoch)
    return run


def _draw_request(chance: random.Random, epoch: int) -> dict[str, Any]:
    return chance.choice(
        [
            {"start": epoch - chance.randint(1, 60 * DAY)},
            {"end": epoch - chance.randint(0, 20 * DAY)},
            {"streams": (chance.choice(["payments", "payout_records"]),)},
            {"rereads": True},
            {"start": epoch - 40 * DAY, "end": epoch - chance.randint(1, 9 * DAY), "rereads": True},
        ]
    )


def _draw_trouble(chance: random.Random) -> Trouble:
    trouble = Trouble(weather=_draw_weather(chance))
    trouble.cursor_life = chance.choice([10**9, 10**9, 2, 5])
    match chance.choice(["none", "none", "kill", "kill at call", "kill at call", "disk"]):
        case "kill":
            trouble.killed_at = chance.uniform(0, 20.0)
        case "kill at call":
            trouble.killed_at_call = chance.randint(1, 250)
        case "disk":
            trouble.failing_call = chance.randint(1, 200)
            trouble.failing_for_ever = chance.random() < 0.5
            trouble.failing_late = chance.random() < 0.3
            trouble.failing_kind = chance.choice(["", "", "fsync", "write", "replace"])
            trouble.code = chance.choice(FULL)
    trouble.loses_power = chance.random() < 0.6
    return trouble


def _draw_weather(chance: random.Random) -> Weather:
    began = chance.uniform(0, 30)
    return Weather(
        passing=chance.choice([0.0, 0.0, 0.05, 0.3]),
        lasting=chance.choice([0.0, 0.0, 0.0, 0.0, 0.02, 0.1]),
        outage=(began, began + chance.choice([0, 0, 0, 20, 3600])),
        latency=chance.choice([0.01, 0.2, 2.0]),
        stalls=chance.choice([0.0, 0.0, 0.05]),
    )


def _keep_whole(runs: list[Run]) -> None:
    """Spare runs what ends them: out of order, a page may claim what only the next takes back."""
    for run in runs:
        run.trouble = Trouble(Weather(passing=min(run.trouble.weather.passing, 0.05)))


def _keep_clock(runs: list[Run]) -> None:
    """Keep the local clock within the quarter of an hour that is allowed for it."""
    for run in runs:
        run.step_back = 0
        run.skew = max(-10 * MINUTE, min(run.skew, 10 * MINUTE))
