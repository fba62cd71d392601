"""What whole commands cost, beside what they cost in the last release.

    python -m tests.benchmarks.budget [--quick] [--beside PYTHON] [--write]

Each figure is the processor time of a run over that of a loop of plain Python right beside it, the
least of three runs: a ratio, which another machine shares roughly. What has grown by a third is run
again, for other work on the machine may have slowed it; what still has exits 1.
`--quick` measures the half that CI does. `--beside` names the Python of an environment that holds
an older release, which is measured in the same run. `--write` writes `budget.csv` anew, once a
release is made; a page of the docs shows it.
"""

import csv
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.benchmarks.bounds import Bound, tell
from tests.benchmarks.children import environment, times_of_command

LAST_RELEASE = Path(__file__).with_name("budget.csv")
RUNS, AGAIN = 3, 5
MOST = 4 / 3  # times what it was
_LOOP = 5_000_000  # additions: about a third of a second
_DEMO = "demo, 2,000 payments"
_STATEMENT = ("statement", "--month", "2026-10", "--out", "{folder}/forms", "--format")
# In their order: the first one makes the lake that the others read.
COMMANDS = {
    _DEMO: ("demo", "--months", "12", "--payments", "2000"),
    "--help": ("--help",),
    "sql": ("sql", "select 1"),
    "status": ("status",),
    "statement, csv": (*_STATEMENT, "csv"),
    "check": ("check",),
    "statement, html": (*_STATEMENT, "html"),
    "statement, xlsx": (*_STATEMENT, "xlsx"),
    "statement, pdf": (*_STATEMENT, "pdf"),
}
QUICK = [*COMMANDS][:5]


def plain_loop() -> float:
    """Return the processor time of a fixed piece of work."""
    begun = time.process_time()
    sum(number for number in range(_LOOP))
    return time.process_time() - begun


def cost(python: str, words: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> float:
    """Return the processor time of one command, its children counted, on the lake of a folder."""
    filled = [word.format(folder=folder) for word in words]
    lake = [] if words == ("--help",) else ["--data-dir", str(folder / "lake")]
    words = ["svc_analytics", *filled, *lake]
    return times_of_command(words, environ, python, folder)[1]


def measure(
    folder: Path, before: Mapping[str, float], names: Sequence[str], python: str = sys.executable
) -> dict[str, float]:
    """Return what each of these commands costs, in loops; a run before them compiles modules."""
    environ = environment()
    (folder / "first").mkdir(parents=True)
    for name in names:
        cost(python, COMMANDS[name], folder / "first", environ)
    costs = {}
    for name in names:
        ratios = _ratios(python, name, folder, environ)
        costs[name] = min(islice(ratios, RUNS))
        if costs[name] > before.get(name, costs[name]) * MOST:
            costs[name] = min(costs[name], *islice(ratios, AGAIN))
    return costs


def _ratios(python: str, name: str, folder: Path, environ: Mapping[str, str]) -> Iterator[float]:
    while True:
        if name == _DEMO:
            shutil.rmtree(folder / "lake", ignore_errors=True)
        loop = plain_loop()
        own = cost(python, COMMANDS[name], folder, environ)
        yield 2 * own / (loop + plain_loop())


def compared(costs: Mapping[str, float], before: Mapping[str, float]) -> list[Bound]:
    """Return each command beside the last release; one that is new there has no bound."""
    return [
        Bound(name, figure, round(before.get(name, float("inf")) * MOST, 2), "x")
        for name, figure in costs.items()
    ]


def read_costs() -> dict[str, dict[str, float]]:
    """Read what each command costs in loops, by column: now, and in older releases."""
    with LAST_RELEASE.open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    columns = [name for name in rows[0] if name != "command"]
    return {
        name: {row["command"]: float(row[name]) for row in rows if row[name]} for name in columns
    }


def write_costs(costs: Mapping[str, Mapping[str, float]]) -> None:
    """Write what each command costs, for the next release and for the page."""
    with LAST_RELEASE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["command", *costs])
        for name in COMMANDS:
            writer.writerow(
                [name, *(f"{of[name]:.2f}" if name in of else "" for of in costs.values())]
            )


@click.command()
@click.option("--quick", "is_quick", is_flag=True, help="Measure the half that CI does.")
@click.option("--beside", metavar="PYTHON", help="Of an environment that holds an older release.")
@click.option("--write", "is_written", is_flag=True, help="Write budget.csv anew.")
def main(*, is_quick: bool, beside: str | None, is_written: bool) -> None:
    """Tell what each command costs beside the last release."""
    before = read_costs()
    names = QUICK if is_quick else [*COMMANDS]
    with TemporaryDirectory() as folder:
        costs = {"loops": measure(Path(folder) / "own", before["loops"], names)}
        if beside:
            costs["before"] = measure(Path(folder) / "beside", {}, names, beside)
    if is_written:
        write_costs(before | costs)
    tell(compared(costs["loops"], before["loops"]))


if __name__ == "__main__":
    main()
