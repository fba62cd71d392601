"""How long it takes to match a month with a shop's list, and how much memory, beside start-up.

    python -m tests.benchmarks.match_benchmark [100000 400000 1000000]

At most 3 s and 400 MB for 100,000 orders against 100,000 payments; from some hundred thousand on
the queries put aside what they have no memory for.
"""

import sys
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import click

import svc_analytics as svc
from svc_analytics.lakehouse import Lakehouse
from tests.benchmarks.bounds import both_times, peak_memory
from tests.benchmarks.children import in_child
from tests.benchmarks.growth_lakes import NEWEST, Shape, make_lake


def make_orders(lake: Lakehouse, path: Path) -> Path:
    """Write the list of a shop whose orders were all paid once."""
    query = "select reference_id, paid_on, currency, amount from payments where month = $month"
    frame = lake.sql(query, {"month": NEWEST.label})
    frame.columns = ["Order ID", "Date", "Currency", "Total"]
    frame.to_csv(path, index=False)
    return path


def match_all(lake: Lakehouse, path: Path) -> svc.Match:
    """Match the month: all of it, rows and sums."""
    both = svc.match(lake, "orders", path, month=NEWEST.label)
    assert both.by.keys() == {"agreed", "refunded_in_part"}  # as the lake has refunds
    assert both.total("theirs") == both.total("ours")
    return both


def main() -> None:
    for count in map(int, sys.argv[1:] or ["100000"]):
        time_one(count)


def time_one(count: int) -> None:
    """Print what a match of so many orders takes, in a process of its own."""
    with TemporaryDirectory() as folder:
        lake = Lakehouse(Path(folder) / "lake")
        make_lake(lake, Shape(count, 1, 1))
        click.echo(in_child(_timed, lake.path, make_orders(lake, Path(folder) / "orders.csv")))


def _timed(lake: Path, orders: Path) -> str:
    """Match where all libraries are loaded: say how many agreed, and what it took."""
    for name in ("svc_analytics.matching.match", "duckdb", "pyarrow", "pandas"):
        import_module(name)
    opened, before, found = Lakehouse(lake), peak_memory(), []
    took, used = both_times(lambda: found.append(match_all(opened, orders)))
    count, more = found[0].by["agreed"]["count"], peak_memory() - before
    return f"{count:,} agreed: {took:.2f} s ({used:.2f} s of the processor), {more:.0f} MB"


if __name__ == "__main__":
    main()
