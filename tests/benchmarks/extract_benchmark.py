"""The speed and memory of `extract`, as ratios taken in one run on one machine.

    python tests/benchmarks/extract_benchmark.py [--payments N] [--million]

The floor is the same pages fetched by the same HTTP client one after another and
thrown away. Exits 1 when a bound does not hold.
"""

import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import click
import httpx
from bare_server import PREFIX, serve

from svc_analytics.client import TIMEOUT
from svc_analytics.config import Settings
from svc_analytics.extraction import extract
from svc_analytics.lake import Lake
from svc_analytics.masked import Masked

CHECKOUT_KEY = "svc_live_" + "1" * 64
PAYOUT_KEY = "svc_payout_" + "2" * 64
REPEATS = 3
LATENCY = 0.05
# One after another takes 50 ms a page, so it is timed on fewer pages; the workers read
# more, so that starting them and the last write do not hide the pace. Rates a row compare.
SEQUENTIAL_PAYMENTS = 20_000
PARALLEL_PAYMENTS = 60_000
MILLION = 1_000_000
_CURSOR = re.compile(rb'"next_cursor":"([^"]+)"\}\Z')


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


def fetch_all(base_url: str) -> int:
    """Fetch all pages of payments one after another and throw them away; count them."""
    headers = {"accept": "application/json", "authorization": f"Bearer {CHECKOUT_KEY}"}
    limits = httpx.Limits(max_connections=8, max_keepalive_connections=8)
    transport = httpx.HTTPTransport(limits=limits, trust_env=False)
    params, pages = {"limit": "100"}, 0
    with httpx.Client(
        base_url=base_url, transport=transport, timeout=TIMEOUT, trust_env=False, headers=headers
    ) as client:
        while True:
            body = client.get(f"{PREFIX}/payments", params=params).content
            pages += 1
            found = _CURSOR.search(body, max(0, len(body) - 200))
            if not found:
                return pages
            params["cursor"] = found[1].decode()


def extract_all(base_url: str, folder: Path, workers: int = 8) -> int:
    """Extract everything into a new lake; count the rows."""
    settings = Settings(base_url, Masked(CHECKOUT_KEY), Masked(PAYOUT_KEY))
    return sum(extract(Lake(folder), settings, workers=workers).rows.values())


def peak_of_extract(base_url: str) -> float:
    """Return the peak memory, in MB, of a process that runs one extraction."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_extract_and_weigh, base_url).result()


def _extract_and_weigh(base_url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        extract_all(base_url, Path(folder) / "lake")
    # On Linux ru_maxrss is handed down from the parent at fork; VmHWM is this process's own.
    with suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1000
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def seconds_to_extract(base_url: str, workers: int = 8) -> float:
    """Return how long a whole extraction takes, from no lake to all months written."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(lambda: extract_all(base_url, Path(folder) / "lake", workers))


def against_the_floor(payments: int) -> list[Bound]:
    """Compare a whole extraction with its pages alone, fetched one after another."""
    with serve(payments) as base_url:
        runs = [
            (seconds(lambda: fetch_all(base_url)), seconds_to_extract(base_url))
            for _ in range(REPEATS)
        ]
        memory = peak_of_extract(base_url)
    floor, whole = (median(times) for times in zip(*runs, strict=True))
    note(f"pages alone {_each(floor, payments)}, extract {_each(whole, payments)}")
    return [
        Bound("extract / the same pages, fetched alone", whole / floor, 3.5, "x"),
        Bound(f"peak memory, {payments:,} payments", memory, 500, "MB"),
    ]


def with_latency() -> list[Bound]:
    """Compare 8 and 16 workers with one request after another, 50 ms away."""
    with serve(SEQUENTIAL_PAYMENTS, LATENCY) as base_url:
        alone = seconds(lambda: fetch_all(base_url)) / SEQUENTIAL_PAYMENTS
    bounds = []
    with serve(PARALLEL_PAYMENTS, LATENCY) as base_url:
        for workers, limit in ((8, 5), (16, 8)):
            times = [seconds_to_extract(base_url, workers) for _ in range(REPEATS)]
            note(f"50 ms away, {workers} workers {_each(median(times), PARALLEL_PAYMENTS)}")
            gain = alone / (median(times) / PARALLEL_PAYMENTS)
            bounds.append(Bound(f"gain of {workers} workers, 50 ms away", gain, limit, "x", True))
    return bounds


def of_a_million() -> list[Bound]:
    """Weigh the extraction of a million payments."""
    with serve(MILLION) as base_url:
        return [Bound("peak memory, 1,000,000 payments", peak_of_extract(base_url), 500, "MB")]


def of_help() -> list[Bound]:
    """Time the answer to `--help`."""
    command = [Path(sys.executable).with_name("svc-analytics"), "--help"]
    times = [
        seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(5)
    ]
    return [Bound("svc-analytics --help", median(times), 0.3, "s")]


def note(text: str) -> None:
    """Tell what stands behind a figure, apart from the table."""
    click.echo(text, err=True)


def _each(total: float, payments: int) -> str:
    return f"{total:.2f} s ({total / payments * 1e6:.1f} µs a payment)"


@click.command()
@click.option("--payments", default=100_000, show_default=True, type=click.IntRange(500))
@click.option("--million", is_flag=True, help="Also weigh the extraction of 1,000,000 payments.")
def main(payments: int, million: bool) -> None:
    """Measure `extract` and hold the figures against their bounds."""
    bounds = [*of_help(), *against_the_floor(payments), *with_latency()]
    bounds += of_a_million() if million else []
    for bound in bounds:
        click.echo(bound)
    raise SystemExit(not all(bound.holds for bound in bounds))


if __name__ == "__main__":
    main()
