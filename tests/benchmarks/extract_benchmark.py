"""The speed and memory of `extract`, as ratios taken in one run on one machine.

    python -m tests.benchmarks.extract_benchmark [--payments N] [--millions N]

Beside the whole command stand the same pages, fetched by the same HTTP client one after another
and thrown away, and the script that people write instead (`plain_script.py`). Times suffer from
whatever else the machine does; the ratios of processor time, which stand in the notes, suffer
less. Exits 1 when a bound does not hold.
"""

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click
import httpx

from svc_analytics import Secret, Settings
from svc_analytics.api.client import TIMEOUT
from svc_analytics.extraction.update import read_missing
from svc_analytics.lake.lake import Lake
from tests.benchmarks import children
from tests.benchmarks.bare_server import PREFIX, serve
from tests.benchmarks.bounds import Bound, both_times, note, seconds, tell, weighed
from tests.benchmarks.children import environment
from tests.support.fake_service import CHECKOUT_KEY, PAYOUT_KEY

REPEATS = 3
LATENCY = 0.05
# One after another takes 50 ms a page however many there are, so few are timed.
SEQUENTIAL_PAYMENTS = 20_000
# Payments, workers, and the least gain: 8 pages at a time cannot gain 8 times, for the first
# page, its neighbours and the last write are not shared.
DISTANT = ((20_000, 8, 5), (100_000, 8, 7), (100_000, 16, 10))
MILLION = 1_000_000
_CURSOR = re.compile(rb'"next_cursor":"([^"]+)"\}\Z')


def fetch_all(base_url: str) -> int:
    """Fetch all pages of payments one after another and throw them away; count them."""
    headers = {"accept": "application/json", "authorization": f"Bearer {CHECKOUT_KEY}"}
    params, pages = {"limit": "100"}, 0
    options = {"timeout": TIMEOUT, "trust_env": False, "headers": headers}
    with httpx.Client(base_url=base_url, **options) as client:
        while True:
            body = client.get(f"{PREFIX}/payments", params=params).content
            pages += 1
            found = _CURSOR.search(body, max(0, len(body) - 200))
            if not found:
                return pages
            params["cursor"] = found[1].decode()


def extract_all(base_url: str, folder: Path, workers: int = 8) -> int:
    """Extract everything into a new lake; count the rows."""
    settings = Settings(base_url, Secret(CHECKOUT_KEY), Secret(PAYOUT_KEY))
    return sum(read_missing(Lake(folder), settings, workers=workers).rows.values())


@dataclass(frozen=True)
class Cost:
    """What one extraction took, in a process of its own: seconds, and the peak in MB."""

    rows: int
    seconds: float
    cpu: float
    peak: float


def times_of_command(base_url: str) -> tuple[float, float]:
    """Return both times of the command `extract`, from no lake to all months and views written."""
    with tempfile.TemporaryDirectory() as folder:
        keys = {"SVC_CHECKOUT_KEY": CHECKOUT_KEY, "SVC_PAYOUT_KEY": PAYOUT_KEY}
        environ = environment() | keys | {"SVC_BASE_URL": base_url}
        words = ["svc_analytics", "extract", "--data-dir", f"{folder}/lake"]
        return children.times_of_command(words, environ)


def times_of_script(base_url: str) -> tuple[float, float]:
    """Return both times of the script that people write instead."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["tests.benchmarks.plain_script", base_url, CHECKOUT_KEY, f"{folder}/payments"]
        return children.times_of_command(words, environment())


def on_loopback(payments: int) -> list[Bound]:
    """Compare a whole command with its pages alone, and with a plain script, turn by turn."""
    ways = (
        lambda: both_times(lambda: fetch_all(base_url)),
        lambda: times_of_script(base_url),
        lambda: times_of_command(base_url),
    )
    with serve(payments) as base_url:
        runs = [[way() for way in ways] for _ in range(REPEATS + 1)][1:]  # the first one compiles
        memory = weigh(base_url).peak
    (pages, script, whole), (pages_cpu, script_cpu, whole_cpu) = (
        [median(each) for each in zip(*rows, strict=True)]
        for rows in zip(*(zip(*run, strict=True) for run in runs), strict=True)
    )
    for name, total in (("pages alone", pages), ("script", script), ("extract", whole)):
        note(f"{name:<12}{_each(total, payments)}")
    note(f"processor time: {whole_cpu / pages_cpu:.2f} times that of the pages alone")
    note(f"processor time: {script_cpu / whole_cpu:.2f} times faster than the script")
    return [
        Bound("extract / the same pages, fetched alone", whole / pages, 2.4, "x"),
        Bound("the script that people write / extract", script / whole, 1.4, "x", True),
        Bound(f"peak memory, {payments:,} payments", memory, 512, "MB"),
    ]


def weigh(base_url: str, workers: int = 8) -> Cost:
    """Extract into a lake that is then thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        times, peak = weighed(_times, base_url, Path(folder) / "lake", workers)
    return Cost(*times, peak)


def _times(base_url: str, folder: Path, workers: int) -> tuple[int, float, float]:
    rows: list[int] = []
    times = both_times(lambda: rows.append(extract_all(base_url, folder, workers)))
    return rows[0], *times


def with_latency() -> list[Bound]:
    """Compare whole extractions 50 ms away with one request after another.

    Each runs in a new process.
    """
    with serve(SEQUENTIAL_PAYMENTS, LATENCY) as base_url:
        alone = seconds(lambda: fetch_all(base_url)) / SEQUENTIAL_PAYMENTS
        whole = median(times_of_command(base_url)[0] for _ in range(REPEATS))
    gain = alone * SEQUENTIAL_PAYMENTS / whole
    bounds = [Bound("gain of the whole command, 50 ms away", gain, 6, "x", True)]
    for payments, workers, limit in DISTANT:
        with serve(payments, LATENCY) as base_url:
            costs = [weigh(base_url, workers) for _ in range(REPEATS)]
            requests = round(counts(base_url) / REPEATS)
        cost = sorted(costs, key=lambda cost: cost.seconds)[REPEATS // 2]
        least = requests * LATENCY / workers
        case = f"{workers} workers, {payments:,} payments"
        note(f"50 ms away, {case}: {_each(cost.seconds, payments)}, {cost.cpu:.2f} s of cpu")
        note(f"{requests:,} requests take at least {least:.2f} s: {alone * payments / least:.1f}x")
        gain = alone * payments / cost.seconds
        bounds.append(Bound(f"gain of {case}, 50 ms away", gain, limit, "x", True))
    return bounds


def of_millions(millions: int) -> list[Bound]:
    """Weigh the extraction of some million payments."""
    with serve(millions * MILLION) as base_url:
        cost = weigh(base_url)
    note(f"{cost.rows:,} payments in {_each(cost.seconds, cost.rows)}")
    return [Bound(f"peak memory, {cost.rows:,} payments", cost.peak, 512, "MB")]


def counts(base_url: str) -> int:
    """Ask the server how many requests it has answered."""
    return int(httpx.get(f"{base_url}/counts", trust_env=False).text)


def _each(total: float, payments: int) -> str:
    return f"{total:.2f} s ({total / payments * 1e6:.1f} µs a payment)"


@click.command()
@click.option("--payments", default=400_000, show_default=True, type=click.IntRange(500))
@click.option("--millions", default=0, help="Also weigh the extraction of so many million.")
def main(payments: int, millions: int) -> None:
    """Measure `extract` and compare the figures with their bounds."""
    bounds = [*on_loopback(payments), *with_latency()]
    bounds += of_millions(millions) if millions else []
    tell(bounds)


if __name__ == "__main__":
    main()
