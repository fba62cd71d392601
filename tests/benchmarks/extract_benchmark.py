"""The speed and memory of `extract`, as ratios taken in one run on one machine.

    python -m tests.benchmarks.extract_benchmark [--payments N] [--millions N]
        [--limited] [--news]

The floor is the same pages fetched by the same HTTP client one after another and
thrown away. Times suffer from whatever else the machine does; the ratios of processor
time, which stand in the notes, suffer less. Exits 1 when a bound does not hold.
"""

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import click
import httpx

from svc_analytics.api.client import TIMEOUT
from svc_analytics.config import Settings
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.extraction.run import extract
from svc_analytics.lake.lake import Lake
from svc_analytics.signing.secrets import Secret
from tests.benchmarks.bare_server import PREFIX, serve
from tests.benchmarks.bounds import Bound, both_times, note, peak_memory, seconds

CHECKOUT_KEY = "svc_live_" + "1" * 64
PAYOUT_KEY = "svc_payout_" + "2" * 64
REPEATS = 3
LATENCY = 0.05
# One after another takes 50 ms a page however many there are, so few are timed.
SEQUENTIAL_PAYMENTS = 20_000
# Payments, workers, and the least gain: 8 pages at a time cannot gain 8 times, for the first
# page, its neighbours and the last write are not shared.
DISTANT = ((20_000, 8, 5), (100_000, 8, 7), (100_000, 16, 10))
# Of the whole command, as a person calls it: payments, and the least gain.
COMMANDS = ((20_000, 5), (100_000, 8))
MILLION = 1_000_000
LIMIT = 20  # requests a second
LIMITED_PAYMENTS = 120_000  # a minute at that limit
NEWS = 100  # payments
_CURSOR = re.compile(rb'"next_cursor":"([^"]+)"\}\Z')


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
    return sum(run_extract(base_url, folder, workers).rows.values())


def run_extract(base_url: str, folder: Path, workers: int = 8) -> ExtractionResult:
    """Bring a lake up to date."""
    settings = Settings(base_url, Secret(CHECKOUT_KEY), Secret(PAYOUT_KEY))
    return extract(Lake(folder), settings, workers=workers)


@dataclass(frozen=True)
class Cost:
    """What one extraction took, in a process of its own: seconds, and the peak in MB."""

    rows: int
    pages: int
    files: int
    seconds: float
    cpu: float
    peak: float


def cost_of_extract(base_url: str, folder: Path, workers: int = 8) -> Cost:
    """Extract into a lake in a new process; return what it took."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(_extract_and_weigh, base_url, folder, workers).result()


def _extract_and_weigh(base_url: str, folder: Path, workers: int) -> Cost:
    began, worked = time.perf_counter(), time.process_time()
    run = run_extract(base_url, folder, workers)
    took, cpu = time.perf_counter() - began, time.process_time() - worked
    files = run.published.files
    return Cost(sum(run.rows.values()), run.pages, files, took, cpu, peak_memory())


def times_of_extract(base_url: str) -> tuple[float, float]:
    """Return both times of a whole extraction, from no lake to all months written."""
    with tempfile.TemporaryDirectory() as folder:
        return both_times(lambda: extract_all(base_url, Path(folder) / "lake"))


def seconds_to_extract(base_url: str, workers: int = 8) -> float:
    """Return how long a whole extraction takes, from no lake to all months written."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(lambda: extract_all(base_url, Path(folder) / "lake", workers))


def against_the_floor(payments: int) -> list[Bound]:
    """Compare a whole extraction with its pages alone, fetched one after another."""
    with serve(payments) as base_url:
        runs = [
            (both_times(lambda: fetch_all(base_url)), times_of_extract(base_url))
            for _ in range(REPEATS)
        ]
        memory = weigh(base_url).peak
    (floor, floor_cpu), (whole, whole_cpu) = (
        [median(times) for times in zip(*pairs, strict=True)] for pairs in zip(*runs, strict=True)
    )
    note(f"pages alone {_each(floor, payments)}, extract {_each(whole, payments)}")
    note(f"processor time: {whole_cpu / floor_cpu:.2f} times that of the pages alone")
    return [
        Bound("extract / the same pages, fetched alone", whole / floor, 2.5, "x"),
        Bound(f"peak memory, {payments:,} payments", memory, 512, "MB"),
    ]


def weigh(base_url: str, workers: int = 8) -> Cost:
    """Extract into a lake that is then thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        return cost_of_extract(base_url, Path(folder) / "lake", workers)


def with_latency() -> list[Bound]:
    """Compare whole extractions 50 ms away with one request after another.

    Each runs in a new process. The command itself is timed too, with its start.
    """
    with serve(SEQUENTIAL_PAYMENTS, LATENCY) as base_url:
        alone = seconds(lambda: fetch_all(base_url)) / SEQUENTIAL_PAYMENTS
    bounds = [_gain_of_command(payments, alone, limit) for payments, limit in COMMANDS]
    for payments, workers, limit in DISTANT:
        with serve(payments, LATENCY) as base_url:
            costs = [weigh(base_url, workers) for _ in range(REPEATS)]
            requests = round(counts(base_url)["passed"] / REPEATS)
        cost = sorted(costs, key=lambda cost: cost.seconds)[REPEATS // 2]
        least = requests * LATENCY / workers
        case = f"{workers} workers, {payments:,} payments"
        note(f"50 ms away, {case}: {_each(cost.seconds, payments)}, {cost.cpu:.2f} s of cpu")
        note(f"{requests:,} requests take at least {least:.2f} s: {alone * payments / least:.1f}x")
        gain = alone * payments / cost.seconds
        bounds.append(Bound(f"gain of {case}, 50 ms away", gain, limit, "x", True))
    return bounds


def _gain_of_command(payments: int, alone: float, limit: float) -> Bound:
    """Compare the whole command 50 ms away with that many payments read one after another."""
    with serve(payments, LATENCY) as base_url:
        command = median(seconds_of_command(base_url) for _ in range(REPEATS))
    case = f"the command, {payments:,} payments"
    note(f"50 ms away, {case}: {_each(command, payments)}")
    return Bound(f"gain of {case}, 50 ms away", alone * payments / command, limit, "x", True)


def seconds_of_command(base_url: str) -> float:
    """Return how long `svc-analytics extract` takes as a person calls it, start and all."""
    keys = {"SVC_CHECKOUT_KEY": CHECKOUT_KEY, "SVC_PAYOUT_KEY": PAYOUT_KEY}
    script = Path(sys.executable).with_name("svc-analytics")
    with tempfile.TemporaryDirectory() as folder:
        command = [script, "extract", "--data-dir", f"{folder}/lake"]
        given = os.environ | keys | {"SVC_BASE_URL": base_url}
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True, env=given))


def of_millions(millions: int) -> list[Bound]:
    """Weigh the extraction of some million payments."""
    with serve(millions * MILLION) as base_url:
        cost = weigh(base_url)
    note(f"{cost.rows:,} payments in {_each(cost.seconds, cost.rows)}")
    return [Bound(f"peak memory, {cost.rows:,} payments", cost.peak, 512, "MB")]


def of_news() -> list[Bound]:
    """Compare what a hundred new payments cost after 100,000 of a year and a million of ten."""
    bounds, costs = [], []
    for years in (1, 10):
        held = years * MILLION // 10
        requests, cost = _cost_of_news(held, years)
        costs.append(cost)
        # The overlap is a day's payments; the news come with it.
        beside = requests - math.ceil((MILLION / 10 / 330 + NEWS) / 100)
        bounds += [
            Bound(f"requests beside the overlap, {held:,} held", beside, 8, ""),
            Bound(f"files written, {held:,} held", cost.files, 4, ""),
        ]
    small, large = costs
    note(f"news after 100,000 and a million: {small.cpu:.2f} s and {large.cpu:.2f} s of cpu")
    return [
        *bounds,
        Bound("cpu for news, a million / 100,000 held", large.cpu / small.cpu, 1.5, "x"),
        Bound("memory for news, a million / 100,000 held", large.peak / small.peak, 1.2, "x"),
    ]


def _cost_of_news(held: int, years: int) -> tuple[float, Cost]:
    """Add the same news to copies of one lake; return the requests, and the median cost."""
    with (
        serve(held + NEWS, hidden=NEWS, years=years) as base_url,
        tempfile.TemporaryDirectory() as folder,
    ):
        lake = Path(folder) / "lake"
        extract_all(base_url, lake)
        before = counts(base_url)["passed"]
        httpx.get(f"{base_url}{PREFIX}/reveal", trust_env=False)
        copies = [shutil.copytree(lake, f"{lake} {number}") for number in range(REPEATS)]
        costs = [cost_of_extract(base_url, Path(copied)) for copied in copies]
        # Each question is one of what it counts: this one, and that to reveal.
        requests = (counts(base_url)["passed"] - before - 2) / REPEATS
        return requests, sorted(costs, key=lambda cost: cost.cpu)[REPEATS // 2]


def counts(base_url: str) -> dict[str, int]:
    """Ask the server how many requests it let through and refused, this one included."""
    return dict(httpx.get(f"{base_url}{PREFIX}/counts", trust_env=False).json())


def before_a_limit() -> list[Bound]:
    """Extract from a service that lets 20 requests through within any second."""
    with serve(LIMITED_PAYMENTS, LATENCY, rate=LIMIT) as base_url:
        took = seconds_to_extract(base_url, 8)
        time.sleep(1.1)  # so that the question itself is not refused
        found = counts(base_url)
    passed, refused = found["passed"] - 1, found["refused"]
    return [
        Bound(f"share of {LIMIT} requests a second used", passed / took / LIMIT, 0.95, "", True),
        Bound("share of requests refused", refused / (passed + refused), 0.05, ""),
    ]


def of_help() -> list[Bound]:
    """Time the answer to `--help`."""
    command = [Path(sys.executable).with_name("svc-analytics"), "--help"]
    times = [
        seconds(lambda: subprocess.run(command, check=True, capture_output=True)) for _ in range(5)
    ]
    return [Bound("svc-analytics --help", median(times), 0.3, "s")]


def _each(total: float, payments: int) -> str:
    return f"{total:.2f} s ({total / payments * 1e6:.1f} µs a payment)"


@click.command()
@click.option("--payments", default=100_000, show_default=True, type=click.IntRange(500))
@click.option("--millions", default=0, help="Also weigh the extraction of so many million.")
@click.option("--limited", is_flag=True, help="Also extract for a minute before a limit.")
@click.option("--news", is_flag=True, help="Also add to lakes of one year and of ten.")
def main(payments: int, millions: int, limited: bool, news: bool) -> None:
    """Measure `extract` and compare the figures with their bounds."""
    bounds = [*of_help(), *against_the_floor(payments), *with_latency()]
    bounds += of_millions(millions) if millions else []
    bounds += before_a_limit() if limited else []
    bounds += of_news() if news else []
    for bound in bounds:
        click.echo(bound)
    raise SystemExit(not all(bound.holds for bound in bounds))


if __name__ == "__main__":
    main()
