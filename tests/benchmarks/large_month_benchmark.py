"""What the commands behind a close cost on a month of 100,000 payments.

    python -m tests.benchmarks.large_month_benchmark [--payments N]

Each is a ratio of processor time, to the least that it must do: the statement it makes again, the
bytes it copies or hashes. Both are taken in the same run, without what Python takes to start.
Exits 1 when one costs more than twice that.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from svc_analytics import ExtractionResult, Lakehouse, close
from svc_analytics.books.accounts import FILE, starter
from tests.benchmarks.bounds import Bound, both_times, tell
from tests.benchmarks.children import environment, times_of_command
from tests.benchmarks.growth_lakes import MERCHANT, NEWEST, Shape, make_lake
from tests.benchmarks.growth_work import NOW

MOST, RUNS = 2.0, 3
_MONTH, _BEFORE = NEWEST.label, NEWEST.shift(-1).label


@dataclass(frozen=True)
class Desk:
    """A folder with a lake of one large month and a small one before it, both sealed."""

    folder: Path

    @property
    def lake(self) -> Path:
        """The folder of the lake."""
        return self.folder / "lake"

    def run(self, *words: str) -> float:
        """Return the processor time of a command on the lake, as a user starts it."""
        told = ["svc_analytics", *words, "--data-dir", str(self.lake)]
        return times_of_command(told, environment(), sys.executable, self.folder)[1]

    def state(self, month: str, forms: str) -> float:
        """Make a month's statement in these forms."""
        return self.run("statement", month, "--format", forms, "--out", f"{self.folder}/forms")

    def copy(self) -> float:
        """Copy each file of the lake, and hash what was written."""
        return both_times(self._copy)[1]

    def _copy(self) -> None:
        to = self.folder / "copy"
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.lake, to)
        for path in (each for each in to.rglob("*") if each.is_file()):
            sha256(path.read_bytes())


def made(folder: Path, payments: int) -> Desk:
    """Return a desk of which the last month has all payments but a tenth."""
    desk = Desk(folder)
    lake = Lakehouse(desk.lake)
    make_lake(lake, Shape(payments, 2, 0.9))
    for month in (_BEFORE, _MONTH):
        result = ExtractionResult(MERCHANT["id"], NOW, is_confirmed=True)
        assert close(lake, month, read=lambda request, read=result: read).seal
    text = starter().replace("[coins]", '[coins]\nton = "other"\ntrx = "other"')
    (desk.lake / FILE).write_text(text, encoding="utf-8")
    return desk


def record_of(desk: Desk) -> str:
    """Return the id of a payment in the middle of the month."""
    query = "select payment_id from payments where month = $month order by paid_at offset 1000"
    return str(Lakehouse(desk.lake).sql(f"{query} limit 1", {"month": _MONTH}).iat[0, 0])


def works(desk: Desk) -> dict[str, tuple[Callable[[], float], Callable[[], float]]]:
    """Return each command, and beside it the least that it must do."""
    sealed, record = str(desk.lake / "statements" / _MONTH), record_of(desk)

    def backup() -> float:
        shutil.rmtree(desk.folder / "backup", ignore_errors=True)
        return desk.run("backup", str(desk.folder / "backup"))

    def both_months() -> float:
        return desk.state(_MONTH, "csv") + desk.state(_BEFORE, "csv") - start(desk)

    forms = "csv,parquet"
    return {
        "statement-verify: the statement": (
            lambda: desk.run("statement-verify", sealed),
            lambda: desk.state(_MONTH, forms),
        ),
        "backup: its bytes, copied and hashed": (backup, lambda: desk.copy() + start(desk)),
        "prove: the statement": (
            lambda: desk.run("prove", _MONTH, record, "--out", f"{desk.folder}/proof.json"),
            lambda: desk.state(_MONTH, "csv"),
        ),
        "compare --why: both statements": (
            lambda: desk.run("compare", _BEFORE, _MONTH, "--why"),
            both_months,
        ),
        "books: the statement": (
            lambda: desk.run("books", _MONTH, "--preset", "csv"),
            lambda: desk.state(_MONTH, "csv"),
        ),
    }


def start(desk: Desk) -> float:
    """Return what Python and the libraries take to start."""
    return desk.run("sql", "select 1")


def measure(desk: Desk) -> list[Bound]:
    """Return each command beside the least that it must do, the least of some runs."""
    begin = min(start(desk) for _ in range(RUNS))
    bounds = []
    for name, both in works(desk).items():
        own, least = (min(work() for _ in range(RUNS)) - begin for work in both)
        bounds.append(Bound(name, own / least, MOST, "x"))
    return bounds


@click.command()
@click.option("--payments", default=100_000, show_default=True)
def main(payments: int) -> None:
    """Tell what each command costs beside the least that it must do."""
    with TemporaryDirectory() as folder:
        tell(measure(made(Path(folder), payments)))


if __name__ == "__main__":
    main()
