"""Draw mutants, let the tests that cover them run, and write what became of each.

    python -m tests.mutation.ring --count 120 --seed 1    # or: pytest -m mutants

Each mutant lies in a copy of the code. A process forked from one that has loaded the libraries
runs the part's tests of the usual ring until one fails: the mutant is killed. Those that reach its
line are run first. One at which every test passes survived; one that takes too long is undecided,
and counts as not killed.
"""

import csv
import json
import math
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, NoReturn

import click
import pytest

from tests.mutation.covering import Near, Noted, file_seconds, tests_near
from tests.mutation.mutants import Mutant, count_mutants, mutant_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "svc_analytics"
RESULTS = Path(__file__).with_name("results.csv")
EQUIVALENT = Path(__file__).with_name("equivalent.csv")  # what a person found to be no fault
WANTED = 0.92  # of the mutants that are faults are killed
PATIENCE = 5  # times as long as without a fault a part's tests may take at a mutant
LOADED = ("duckdb", "httpx", "hypothesis", "jinja2", "pandas")
LOADED += ("matplotlib.figure", "pyarrow.parquet")
# A library of tests that no part needs takes as long to load as all of ours; what is loaded before
# the tests begin is not rewritten, which would be a warning.
OPTIONS = ("-n0", "-x", "-p", "no:cacheprovider", "-p", "no:schemathesis")
OPTIONS += ("-W", "ignore::pytest.PytestAssertRewriteWarning")


class Target(NamedTuple):
    """A part of the code, and the tests that hold it, the quickest first."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


def part(files: str, tests: str) -> Target:
    """Name the files of a part and those of its tests, with blanks between."""
    return Target((*files.split(),), (*tests.split(),))


TARGETS: dict[str, Target] = {
    "money": part("money.py", "ground/test_money.py formatting/test_columns.py"),
    "signing": part("signing/*.py", "signing ground/test_config.py notebook/test_display.py"),
    "lake": part(
        """
        coverage.py lake/control_totals.py lake/derived.py lake/coverage_footer.py
        lake/month_file.py
        """,
        """
        ground/test_instants.py lake/test_month_file.py lake/test_invariants.py
        lake/test_index.py extraction/test_clock.py extraction/test_extraction.py lake/test_runs.py
        lake/test_lake.py lake/test_fault_files.py extraction/test_unlisted.py
        """,
    ),
    "closing": part(
        """
        closing/seals.py closing/verification/proof.py closing/verification/contents.py
        closing/verification/forms.py
        """,
        """
        closing/test_forgery.py closing/test_seal.py closing/test_neighbours.py
        closing/test_derived_forms.py closing/test_releases.py closing/test_close.py
        closing/test_package.py closing/test_differences.py closing/test_verdicts_after_seal.py
        """,
    ),
    "proofs": part(
        """
        proofs/verify.py closing/chain.py proofs/checkpoint.py proofs/stamp.py
        proofs/statuses.py proofs/signature.py closing/verification/verify.py
        """,
        """
        proofs/test_said_and_no_more.py proofs/test_checkpoints.py proofs/test_memory.py
        proofs/test_signing.py proofs/test_stamps.py proofs/test_prove.py
        closing/test_verify_alone.py closing/test_package.py
        """,
    ),
    "unlisted": part(
        "extraction/unlisted.py extraction/plan.py",
        """
        extraction/test_unlisted.py extraction/test_answers_by_id.py closing/test_unlisted_months.py
        closing/test_months_behind_a_hole.py
        """,
    ),
    "states": part(
        "closing/stated.py closing/month_states.py",
        """
        closing/test_month_states.py closing/test_kept_months.py closing/test_told_alike.py
        closing/test_releases.py statements/test_change.py closing/test_verdicts_after_seal.py
        """,
    ),
    "typed files": part(
        "lake/typed_files.py warehouse/acknowledgements.py statements/balance_assertions.py",
        """
        ground/test_files.py statements/test_acceptances.py language/test_catalogue.py
        statements/test_final.py statements/test_statement.py closing/test_verdicts_after_seal.py
        lake/test_external_rates.py cli/test_accept_cli.py warehouse/test_figures.py
        """,
    ),
    "checks": part(
        "warehouse/sql/checks/*.sql",
        """
        statements/test_full_scan.py statements/test_absurd_amounts.py warehouse/test_warehouse.py
        lake/test_fault_files.py warehouse/test_sql.py statements/test_receipts_in_statements.py
        extraction/test_clock.py
        """,
    ),
    "figures": part(
        "warehouse/sql/figures/*.sql",
        """
        statements/test_statement.py statements/test_full_scan.py warehouse/test_figures.py
        statements/test_receipts_in_statements.py
        """,
    ),
}


class Drawn(NamedTuple):
    """A mutant that was drawn: of which part and file."""

    target: str
    file: str
    mutant: Mutant


def draw(count: int, seed: int) -> list[Drawn]:
    """Draw equally many mutants of each part of the code."""
    chance, drawn = random.Random(seed), []
    for name, target in TARGETS.items():
        paths = sorted(path for pattern in target.files for path in PACKAGE.glob(pattern))
        texts = [(path, path.read_text("utf-8")) for path in paths]
        places = [
            (path, text, number)
            for path, text in texts
            for number in range(count_mutants(path.name, text))
        ]
        for path, text, number in sorted(chance.sample(places, count // len(TARGETS))):
            mutant = mutant_of(path.name, text, number)
            drawn.append(Drawn(name, path.relative_to(ROOT).as_posix(), mutant))
    return drawn


class Ring:
    """A copy of the code, in which mutants are judged; what each part's tests reach is noted."""

    def __init__(self, folder: Path, parts: Iterable[str]) -> None:
        self.copy, self.notes = folder / "code", folder / "noted.json"
        for name in ("svc_analytics", "tests", "docs", "notebooks"):
            shutil.copytree(ROOT / name, self.copy / name)
        shutil.copy(ROOT / "pyproject.toml", self.copy)
        self.noted = {part: self._note(part) for part in parts}

    def _note(self, part: str) -> dict[str, tuple[float, list[str]]]:
        """Let a part's tests run without a mutant."""
        package = self.copy / PACKAGE.name
        files = {path for pattern in TARGETS[part].files for path in package.glob(pattern)}
        code = self._run(tests_of(part), Noted(files), limit=math.inf)
        assert code == 0, f"the tests of {part} fail without a mutant"
        noted: dict[str, tuple[float, list[str]]] = json.loads(self.notes.read_text("utf-8"))
        return noted

    def judge(self, drawn: Drawn) -> str:
        """Say what becomes of a mutant, which lies in the copy of the code meanwhile."""
        path = self.copy / drawn.file
        noted, is_sql = self.noted[drawn.target], path.suffix == ".sql"
        near = tests_near(noted, str(path) if is_sql else f"{path}:{drawn.mutant.line}")
        limit = PATIENCE * sum(seconds for seconds, _ in noted.values()) + PATIENCE * 20
        path.write_text(drawn.mutant.text, "utf-8")
        code = self._run(file_seconds(near), Near(near, others=False), limit) if near else 0
        if code == 0:
            code = self._run(tests_of(drawn.target), Near(near, others=True), limit)
        shutil.copy(ROOT / drawn.file, path)
        survived = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        return "undecided" if code is None else "survived" if code in survived else "killed"

    def _run(self, tests: Iterable[str], plugin: Noted | Near, limit: float) -> int | None:
        """Run tests in a process of their own; return its exit code, None past the limit."""
        child = os.fork()
        if not child:
            self._be_tested([*tests], plugin)
        until = time.monotonic() + limit
        while time.monotonic() < until:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.1)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def _be_tested(self, tests: list[str], plugin: Noted | Near) -> NoReturn:
        """Run tests of the copy of the code until one fails, and end this process."""
        code = int(pytest.ExitCode.INTERNAL_ERROR)
        try:
            os.setsid()
            os.chdir(self.copy)
            sys.path[0] = os.environ["PYTHONPATH"] = str(self.copy)
            for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
                del sys.modules[name]  # they are imported again, from the copy
            for output in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), output)
            code = int(pytest.main([*OPTIONS, *tests], plugins=[plugin]))
            if isinstance(plugin, Noted):
                plugin.write(self.notes)
        finally:
            os._exit(code)


def tests_of(part: str) -> list[str]:
    """Name the tests of a part, the quickest first."""
    return [f"tests/{test}" for test in TARGETS[part].tests]


def judge_all(mutants: list[Drawn]) -> Iterator[list[str]]:
    """Yield a row for each mutant: its part, file, line, change and outcome."""
    for name in LOADED:
        import_module(name)
    known = {tuple(row[:3]) for row in read_rows(EQUIVALENT)}
    with TemporaryDirectory() as folder:
        ring = Ring(Path(folder), dict.fromkeys(drawn.target for drawn in mutants))
        for drawn in mutants:
            target, file, (line, change, _) = drawn
            source = (ROOT / file).read_text("utf-8").splitlines()[line - 1].strip()
            outcome = "equivalent" if (file, source, change) in known else ring.judge(drawn)
            yield [target, file, str(line), change, outcome]


def read_rows(path: Path) -> list[list[str]]:
    """Read the rows of a file of results, without their head."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def score(rows: list[list[str]]) -> float:
    """Return the share of the mutants that are killed, of all that are faults."""
    counts = Counter(row[-1] for row in rows)
    return counts["killed"] / (len(rows) - counts["equivalent"])


@click.command(help=__doc__)
@click.option("--count", default=120, help="How many mutants.")
@click.option("--seed", default=1, help="Which.")
@click.option("--out", type=Path, default=RESULTS, help="Where what became of them is written.")
def main(count: int, seed: int, out: Path) -> None:
    rows = []
    for row in judge_all(draw(count, seed)):
        rows.append(row)
        click.echo("  ".join(row))
    with out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["part", "file", "line", "change", "outcome"], *rows])
    click.echo(f"{score(rows):.1%} killed")
    sys.exit(score(rows) < WANTED)


if __name__ == "__main__":
    main()
