"""What the benchmarks share: a figure compared with its bound, and what a call takes."""

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import click

from tests.benchmarks.children import in_child


@dataclass(frozen=True)
class Bound:
    """One line of the table: what was measured, and what it must not miss."""

    measure: str
    figure: float
    limit: float
    unit: str
    is_floor: bool = False  # whether more is better

    @property
    def holds(self) -> bool:
        """Whether the figure is on the right side of the limit."""
        return self.figure >= self.limit if self.is_floor else self.figure <= self.limit

    def __str__(self) -> str:
        sign = ">=" if self.is_floor else "<="
        verdict = "holds" if self.holds else "MISSED"
        return (
            f"{self.measure:<48}{self.figure:>9.2f}{self.unit:<4}{sign} {self.limit:<8g}{verdict}"
        )


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    return both_times(call)[0]


def both_times(call: Callable[[], object]) -> tuple[float, float]:
    """Return how long a call takes, and how much of the processor in this process."""
    began, worked = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - began, time.process_time() - worked


def peak_memory() -> float:
    """Return the most memory that this process had, in MB, and not the one that began it."""
    status = Path("/proc/self/status").read_text()  # getrusage tells that of the parent too
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1000


def weighed(work: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """Return what work returns in a process of its own, and the most memory that this had."""
    return in_child(_weigh, work, *arguments)


def _weigh(work: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    return work(*arguments), peak_memory()


def tell(bounds: Iterable[Bound]) -> NoReturn:
    """Print each bound, and exit with 1 where one does not hold."""
    told = [*bounds]
    for bound in told:
        click.echo(bound)
    raise SystemExit(not all(bound.holds for bound in told))


def note(text: str) -> None:
    """Tell what stands behind a figure, apart from the table."""
    click.echo(text, err=True)
