"""What the work on a lake costs as the lake grows: the cost of a month, and of nothing else.

    python -m tests.benchmarks.growth_benchmark [--payments 1e6,1e7,1e8] [--folder DIR]

Makes lakes of 120 months with a tenth of the payments in the newest, in minutes, or uses those
that are in the folder. Prints what each piece of work costs a process of its own, and by which
power of the lake's size that grows: 1 as fast as the lake, and its newest month; 0 not at all.
Nothing of the lake is in the page cache when a measurement begins; times are the processor's.
Nothing is compared with a time. One line tells when stating the newest month reads more than 1.2
times the bytes of that month's files.
"""

import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import click

from svc_analytics.lake.lake import Lake
from svc_analytics.schema import STREAMS
from tests.benchmarks import growth_work as work
from tests.benchmarks.bounds import note
from tests.benchmarks.child_cost import MEGABYTE, Cost, cost_of
from tests.benchmarks.growth_lakes import NEWEST, Shape, make_lake

MOST_READ = 1.2  # times the newest month's own files
_HEAD = ("work", "payments", "processor s", "memory MB", "read MB", "spilled MB", "grows by")
_FORM = "{:<20}{:>13}{:>13}{:>11}{:>11}{:>12}  {}"

Found = dict[int, Cost]  # by the number of payments


def summary(lake: Path, shape: Shape) -> Cost:
    """The newest month's summary alone."""
    return cost_of(work.summarize, lake)


def statement(lake: Path, shape: Shape) -> Cost:
    """The newest month's whole statement: all its tables."""
    return cost_of(work.state, lake)


def close(lake: Path, shape: Shape) -> Cost:
    """Closing the newest month, but for the service: no request is made."""
    with _copied(lake) as copy:
        return cost_of(work.close_newest, copy)


def receipts(lake: Path, shape: Shape) -> Cost:
    """Verifying the newest month's receipts, as closing it does."""
    with _copied(lake) as copy:
        return cost_of(work.verify_newest, copy)


def check(lake: Path, shape: Shape) -> Cost:
    """Every check over all time."""
    return cost_of(work.check, lake)


def sql(lake: Path, shape: Shape) -> Cost:
    """A query of all months, `from fees_monthly`."""
    return cost_of(work.query, lake)


def drill(lake: Path, shape: Shape) -> Cost:
    """From a figure of the newest month to its records in order, and to one record's verdict."""
    return cost_of(work.drill, lake)


def customers(lake: Path, shape: Shape) -> Cost:
    """What each customer paid and got back, of all months."""
    return cost_of(work.query, lake, "from customers")


def refresh(lake: Path, shape: Shape) -> Cost:
    """Publishing 100 payments more of the newest month, whose file is written again."""
    with _copied(lake) as copy:
        return cost_of(work.refresh, copy, shape)


def extract(lake: Path, shape: Shape) -> Cost:
    """Publishing all records into a new lake, newest first, without a service."""
    with tempfile.TemporaryDirectory(dir=lake.parent) as folder:
        return cost_of(work.extract, Path(folder) / "lake", shape)


MEASURES: dict[str, Callable[[Path, Shape], Cost]] = {
    measure.__name__: measure
    for measure in (
        *(summary, statement, close, receipts, check),
        *(sql, drill, customers, refresh, extract),
    )
}


@contextmanager
def _copied(lake: Path) -> Iterator[Path]:
    """Give a copy of a lake to be written to: links, for its files are only ever replaced."""
    with tempfile.TemporaryDirectory(dir=lake.parent) as folder:
        copy = Path(folder) / "lake"
        shutil.copytree(lake, copy, copy_function=os.link, ignore=shutil.ignore_patterns(".lock"))
        yield copy


def year(folder: Path, payments: int, memory: str) -> Cost:
    """The summary of a year that holds all payments of a lake, within so much memory."""
    shape = Shape(payments, months=12, newest=1 / 12)
    lake = _made(folder / f"year-{payments}", shape)
    period = replace(NEWEST, start=NEWEST.shift(-11).start)
    return cost_of(work.summarize, lake, period, memory)


def measure(folder: Path, sizes: list[int], names: tuple[str, ...]) -> dict[str, Found]:
    """Return what each piece of work costs at each size, and print it as it comes."""
    found: dict[str, Found] = {name: {} for name in names}
    click.echo(_FORM.format(*_HEAD))
    for payments in sizes:
        shape = Shape(payments)
        lake = _made(folder / f"lake-{payments}", shape)
        for name in names:
            cost = found[name][payments] = MEASURES[name](lake, shape)
            click.echo(line(name, found[name]))
            if name in ("summary", "statement"):
                _tell_excess(name, cost, _month_size(lake))
    return found


def line(name: str, found: Found) -> str:
    """Return the newest measurement as a line of the table, and how it has grown."""
    (payments, cost), *before = reversed(found.items())
    figures = [f"{figure:,.1f}" for figure in astuple(cost)]
    return _FORM.format(name, f"{payments:,}", *figures, _growth(before[:1], payments, cost))


def _growth(before: list[tuple[int, Cost]], payments: int, cost: Cost) -> str:
    """Return the powers of the lake's size by which time, memory and bytes read have grown."""
    if not before:
        return ""
    ((fewer, less),) = before
    pairs = zip(astuple(cost)[:3], astuple(less)[:3], strict=True)
    powers = [
        math.log(now / then) / math.log(payments / fewer) if min(now, then) > 0 else math.nan
        for now, then in pairs
    ]
    return " ".join(f"{power:.2f}" for power in powers)


def _made(path: Path, shape: Shape) -> Path:
    """Return the folder of a lake, which is made first if it is not there."""
    if not (path / "made").exists():
        began = time.monotonic()
        shutil.rmtree(path, ignore_errors=True)
        make_lake(Lake(path), shape)
        (path / "made").touch()
        note(f"{shape.payments:,} payments written in {time.monotonic() - began:.0f} s")
    return path


def _month_size(lake: Path) -> float:
    """Return the size of the newest month's files in MB."""
    paths = [Lake(lake).month_path(stream, NEWEST.label) for stream in STREAMS.values()]
    return sum(path.stat().st_size for path in paths) / MEGABYTE


def _tell_excess(name: str, cost: Cost, own: float) -> None:
    """Say so when more is read than the month's own files, and a fifth."""
    times = cost.read / own
    if times > MOST_READ:
        click.echo(f"  {name} reads {times:.1f} times its month's own {own:,.1f} MB")


def _sizes(context: click.Context, option: click.Parameter, text: str) -> list[int]:
    try:
        return [round(float(size)) for size in text.split(",")]
    except ValueError as error:
        message = f"{text}: numbers with commas between, such as 1e6,1e7"
        raise click.BadParameter(message) from error


@click.command()
@click.option("--payments", default="1e6,1e7,1e8", show_default=True, callback=_sizes)
@click.option("--folder", metavar="DIR", help="Keep the lakes here, and use them again.")
@click.option("--only", "names", multiple=True, type=click.Choice(list(MEASURES)))
@click.option("--year", "of_year", type=float, help="Measure the summary of a year of so many.")
@click.option("--memory", default="1GB", show_default=True, help="The limit for that summary.")
def main(
    payments: list[int],
    folder: str | None,
    names: tuple[str, ...],
    of_year: float | None,
    memory: str,
) -> None:
    """Print what the work on a lake costs as the lake grows."""
    place: Any = nullcontext(folder) if folder else tempfile.TemporaryDirectory()
    with place as path:
        if of_year is None:
            measure(Path(path), payments, names or tuple(MEASURES))
            return
        cost = year(Path(path), round(of_year), memory)
        click.echo(_FORM.format(*_HEAD))
        click.echo(line(f"year in {memory}", {round(of_year): cost}))


if __name__ == "__main__":
    sys.exit(main())
