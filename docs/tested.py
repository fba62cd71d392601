"""How much is tested, counted from the tests: what the page *How it is tested* is made of."""

import ast
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.benchmarks import budget  # noqa: E402
from tests.conftest import EXAMPLES  # noqa: E402
from tests.faults import test_flips, test_kills  # noqa: E402
from tests.lake import test_crash_points  # noqa: E402
from tests.mutation import ring  # noqa: E402
from tests.simulation import test_machines, test_seeds  # noqa: E402
from tests.statements import test_full_scan  # noqa: E402

OUTCOMES = ("killed", "survived", "undecided", "equivalent")


def rings() -> list[tuple[str, int, int]]:
    """Return what is tried, how often in every run, and how often in the deep ring."""
    functions = _functions()
    kills = sum(map(len, test_kills.ALL))
    flips = test_flips.FLIPS * test_flips.SEEDS
    return [
        ("test functions, most of them with several cases", functions["usual"], functions["all"]),
        ("random inputs of each property", EXAMPLES["usual"], EXAMPLES["thorough"]),
        ("simulated lives of a lake, by seed", *_seeds(test_seeds)),
        ("the same, of several machines at one bucket", *_seeds(test_machines)),
        ("commands killed at any moment, and run again", len(test_kills.USUAL), kills),
        ("parts of the calls of the disk that fail or are the last, each call once",
         len(test_crash_points.USUAL), len(test_crash_points.ALL)),
        ("bits flipped in the files of a lake", test_flips.USUAL, flips),
        ("lakes of which each figure is reckoned a second time",
         len(test_full_scan.QUICK), test_full_scan.SEEDS),
    ]  # fmt: skip


def mutants() -> list[tuple[str | int | float, ...]]:
    """Return for each part of the code what became of its mutants, and which were killed."""
    rows = ring.read_rows(ring.RESULTS)
    parts = {part: [row for row in rows if row[0] == part] for part in ring.TARGETS}
    return [
        (part, *(sum(row[-1] == outcome for row in of) for outcome in OUTCOMES), ring.score(of))
        for part, of in [*parts.items(), ("all", rows)]
    ]


def mutants_of_now() -> tuple[int, int]:
    """Count the mutants of the table that would be drawn of the code as it is now, and all."""
    rows = [row[:4] for row in ring.read_rows(ring.RESULTS)]
    now = [
        [each.target, each.file, str(each.mutant.line), each.mutant.change]
        for each in ring.draw(len(rows), 1)
    ]
    return sum(row in now for row in rows), len(rows)


def costs() -> dict[str, dict[str, float]]:
    """Return what whole commands cost, by release and command."""
    return budget.read_costs()


def _functions() -> Counter[str]:
    """Count the test functions: those of every run, and all."""
    counts: Counter[str] = Counter()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                marks = {ast.unparse(each) for each in node.decorator_list}
                if "pytest.mark.mutants" not in marks:  # a ring of its own
                    counts["all"] += 1
                    counts["usual"] += "pytest.mark.thorough" not in marks
    return counts


def _seeds(tests: object) -> tuple[int, int]:
    """Count the seeds of a module of simulations: in every run, and in the deep ring."""
    usual = every = 0
    for name in ("SAFE", "LIVELY"):
        size, firsts = getattr(tests, name), getattr(tests, f"{name}_FROM")
        every += size * len(firsts)
        usual += size * sum(isinstance(first, int) for first in firsts)
    return usual, every
