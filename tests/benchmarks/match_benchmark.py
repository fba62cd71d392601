"""How long it takes to match a month with a shop's list, and how much memory, beside start-up.

    python -m tests.benchmarks.match_benchmark [100000 400000 1000000]

At most 3 s and 400 MB for 100,000 orders against 100,000 payments; from some hundred thousand on
the queries put aside what they have no memory for.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import svc_analytics as svc
from svc_analytics.lakehouse import Lakehouse
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
        path = make_orders(lake, Path(folder) / "orders.csv")
        script = [sys.executable, "-c", _TIMED.format(lake=lake.path, path=path)]
        subprocess.run(script, check=True)


_TIMED = """
import time
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from svc_analytics.lakehouse import Lakehouse
import svc_analytics.matching.match
from tests.benchmarks.match_benchmark import match_all
import duckdb, pyarrow, pandas
lake = Lakehouse("{lake}")
before, at, begun = getrusage(RUSAGE_SELF).ru_maxrss, time.perf_counter(), time.process_time()
both = match_all(lake, Path("{path}"))
took, used = time.perf_counter() - at, time.process_time() - begun
more = (getrusage(RUSAGE_SELF).ru_maxrss - before) // 1024
count = both.by["agreed"]["count"]
print(f"{{count:,}} agreed: {{took:.2f}} s ({{used:.2f}} s of the processor), {{more}} MB")
"""

if __name__ == "__main__":
    main()
