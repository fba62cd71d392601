"""The speed and memory of verifying receipts, as ratios taken in one run on one machine.

    python -m tests.benchmarks.receipts_benchmark [--tokens N]

Exits 1 when a bound does not hold. This file loads nothing that the helpers of a verification
would load with it: those of the command do not.
"""

import tempfile
import time
from pathlib import Path

import click

from svc_analytics.lake.loading import load_arrow_alone
from tests.benchmarks.bounds import note, tell


@click.command()
@click.option("--tokens", default=1_000_000, show_default=True, type=click.IntRange(1_000))
def main(tokens: int) -> None:
    """Measure the verification of a lake and compare the figures with their bounds."""
    load_arrow_alone()  # as every command does
    from tests.benchmarks import receipts_work as work

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        lake = work.fill(Path(folder) / "lake", tokens)
        note(f"made the lake in {time.perf_counter() - began:.0f} s")
        tell(work.measure(lake, tokens))


if __name__ == "__main__":
    main()
