"""Timing of the past: how many sales a day has, and at which instants.

Sales depend on the month, the weekday, the hour and slow growth. Every month also has
records at its very edges, which a wrong interval would lose or count twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, pairwise
from random import Random

from svc_analytics.instants import DAY, HOUR, MINUTE, SECOND, from_micros
from svc_analytics.sandbox.past.scenario import Scenario

_WEEKDAY_WEIGHTS = (10, 10, 11, 13, 12, 14, 11)
_HOUR_WEIGHTS = (
    *(4, 3, 2, 1, 1, 2, 4, 7),
    *(10, 12, 13, 13, 12, 11, 12, 13),
    *(15, 17, 19, 18, 15, 11, 8, 5),
)
_HOURS = tuple(hour * HOUR for hour in range(24))
_CUMULATIVE_HOURS = tuple(accumulate(_HOUR_WEIGHTS))

_TEHRAN_MIDNIGHT = 20 * HOUR + 30 * MINUTE  # Asia/Tehran is UTC+03:30 all year
_LAST_MOMENTS = (DAY - 1, _TEHRAN_MIDNIGHT, _TEHRAN_MIDNIGHT - 1)
_FLASH_SALE = (12 * HOUR,) * 4


@dataclass(frozen=True)
class Day:
    """Describe one UTC day of a scenario and the number of its sales."""

    index: int
    start: int
    sales: int
    fee_tier: int  # in basis points
    edges: tuple[int, ...]  # microseconds of the day that should hold a record

    @property
    def is_last_of_month(self) -> bool:
        """Whether the next day belongs to another month."""
        return self.edges == _LAST_MOMENTS


def days(scenario: Scenario) -> Iterator[Day]:
    """Yield every day from the start of a scenario to the end of its current month."""
    starts = range(scenario.start, scenario.current_month.end, DAY)
    season = scenario.business.season
    weights = [_weight(index, start, season) for index, start in enumerate(starts)]
    total = sum(weights[: (scenario.current_month.start - scenario.start) // DAY])
    # Cumulative apportionment: the full months hold exactly `payments` sales.
    marks = [mark * scenario.payments // total for mark in accumulate(weights, initial=0)]
    for index, (before, after) in enumerate(pairwise(marks)):
        start = starts[index]
        yield Day(index, start, after - before, scenario.fee_tier(start), _edges(start))


def draw_instants(rng: Random, day: Day, count: int) -> list[int]:
    """Draw so many instants of a day in order, its edge instants among them."""
    edges = day.edges[:count]
    hours = rng.choices(_HOURS, cum_weights=_CUMULATIVE_HOURS, k=count - len(edges))
    return sorted(
        [
            *(day.start + edge for edge in edges),
            *(day.start + hour + _within_an_hour(rng) for hour in hours),
        ]
    )


def _within_an_hour(rng: Random) -> int:
    """Draw a time within an hour: mostly whole milliseconds, some finer or coarser."""
    kind = rng.randrange(20)
    if kind == 0:
        return rng.randrange(3600) * SECOND
    if kind < 4:
        return rng.randrange(HOUR)
    return rng.randrange(3_600_000) * 1000


def _weight(index: int, start: int, season: Sequence[int]) -> int:
    date = from_micros(start)
    growth = 1000 + index
    return season[date.month - 1] * _WEEKDAY_WEIGHTS[date.weekday()] * growth


def _edges(start: int) -> tuple[int, ...]:
    date = from_micros(start)
    if date.day == 1:
        return (0,)
    if date.day == 15:
        return _FLASH_SALE
    return _LAST_MOMENTS if (date + timedelta(days=1)).day == 1 else ()
