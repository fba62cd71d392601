"""What whole commands cost, beside what they cost in the last release.

    python -m tests.benchmarks.budget [--write]

Each figure is the least processor time of three runs, over that of a loop of plain Python in the
same run: a ratio, which another machine shares roughly. Exits 1 where one has grown by a third.
`--write` writes `budget.csv` anew, once a release is made.
"""

import csv
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.benchmarks.bounds import Bound, tell
from tests.benchmarks.children import environment, times_of_command

LAST_RELEASE = Path(__file__).with_name("budget.csv")
RUNS, MOST = 3, 4 / 3  # times what it was
_LOOP = 5_000_000  # additions: about a third of a second
_MERCHANT = ("demo", "--months", "12", "--payments", "2000")
_STATEMENT = ("statement", "2026-10", "--out", "{folder}/forms", "--format")
# In their order: the first one makes the lake that the others read.
COMMANDS = {
    "demo, 2,000 payments": _MERCHANT,
    "--help": ("--help",),
    "sql": ("sql", "select 1"),
    "status": ("status",),
    "check": ("check",),
    "statement, csv": (*_STATEMENT, "csv"),
    "statement, html": (*_STATEMENT, "html"),
    "statement, xlsx": (*_STATEMENT, "xlsx"),
    "statement, pdf": (*_STATEMENT, "pdf"),
}


def plain_loop() -> float:
    """Return the processor time of a fixed piece of work."""
    begun = time.process_time()
    sum(number for number in range(_LOOP))
    return time.process_time() - begun


def cost(words: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> float:
    """Return the processor time of one command, its children counted, on the lake of a folder."""
    filled = [word.format(folder=folder) for word in words]
    lake = [] if words == ("--help",) else ["--data-dir", str(folder / "lake")]
    return times_of_command(["svc_analytics", *filled, *lake], environ)[1]


def measure(folder: Path) -> dict[str, float]:
    """Return what each command costs, in loops; a run before them compiles the modules."""
    environ = environment()
    for words in COMMANDS.values():
        cost(words, folder / "first", environ)
    costs = {}
    for name, words in COMMANDS.items():
        runs = 1 if words == _MERCHANT else RUNS
        loop = min(plain_loop() for _ in range(RUNS))
        costs[name] = min(cost(words, folder, environ) for _ in range(runs)) / loop
    return costs


def compared(costs: Mapping[str, float], before: Mapping[str, float]) -> list[Bound]:
    """Return each command beside the last release; one that is new there has no bound."""
    return [
        Bound(name, figure, round(before.get(name, float("inf")) * MOST, 2), "x")
        for name, figure in costs.items()
    ]


def read_costs() -> dict[str, float]:
    """Read what each command cost in the last release, in loops."""
    with LAST_RELEASE.open(newline="", encoding="utf-8") as file:
        return {row["command"]: float(row["loops"]) for row in csv.DictReader(file)}


def write_costs(costs: Mapping[str, float]) -> None:
    """Write what each command costs, for the next release."""
    with LAST_RELEASE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["command", "loops"])
        writer.writerows([name, f"{figure:.2f}"] for name, figure in costs.items())


@click.command()
@click.option("--write", "is_written", is_flag=True, help="Write budget.csv anew.")
def main(*, is_written: bool) -> None:
    """Tell what each command costs beside the last release."""
    with TemporaryDirectory() as folder:
        costs = measure(Path(folder))
    if is_written:
        write_costs(costs)
    tell(compared(costs, read_costs()))


if __name__ == "__main__":
    main()
