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
from collections.abc import Callable
from contextlib import nullcontext
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


def _in_copy(measured: Callable[..., float | None], lake: Path, *more: object) -> Cost:
    """Measure work that writes to a lake, in a copy of it: links, for files are only replaced."""
    with tempfile.TemporaryDirectory(dir=lake.parent) as folder:
        copy = Path(folder) / "lake"
        shutil.copytree(lake, copy, copy_function=os.link, ignore=shutil.ignore_patterns(".lock"))
        return cost_of(measured, copy, *more)


def _extracted(lake: Path, shape: Shape) -> Cost:
    with tempfile.TemporaryDirectory(dir=lake.parent) as folder:
        return cost_of(work.extract, Path(folder) / "lake", shape)


# All but the last three are of the newest month alone.
MEASURES: dict[str, Callable[[Path, Shape], Cost]] = {
    "summary": lambda lake, shape: cost_of(work.summarize, lake),
    "statement": lambda lake, shape: cost_of(work.state, lake),
    "close": lambda lake, shape: _in_copy(work.close_newest, lake),  # no service is asked
    "receipts": lambda lake, shape: _in_copy(work.verify_newest, lake),
    "drill": lambda lake, shape: cost_of(work.drill, lake),
    "refresh": lambda lake, shape: _in_copy(work.refresh, lake, shape),
    "check": lambda lake, shape: cost_of(work.check, lake),
    "sql": lambda lake, shape: cost_of(work.query, lake),
    "customers": lambda lake, shape: cost_of(work.query, lake, "from customers"),
    "extract": _extracted,  # of all records into a new lake, newest first
}


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
