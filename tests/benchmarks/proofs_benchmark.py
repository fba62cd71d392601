"""The time and memory of proving one line, as ratios taken in one run on one machine.

    python -m tests.benchmarks.proofs_benchmark [--lines N]

Exits 1 when a bound does not hold.
"""

import hmac
import tempfile
from hashlib import sha256
from pathlib import Path
from statistics import median

import click

from svc_analytics.proofs.checkpoint import tree_of
from svc_analytics.proofs.line_proof import prove_line
from svc_analytics.storage import Storage, open_storage
from tests.benchmarks.bounds import Bound, note, seconds, tell, weighed
from tests.support.packages import SECRET, Sealed, row, seal_rows

FEW, REPEATS = 10_000, 3


def hash_plainly(folder: Path) -> None:
    """Do the least that any proof must: four hashes of each line, and no more."""
    with (folder / "lines.csv").open("rb") as file:
        for line in file:
            salt = hmac.digest(SECRET, line[:40], "sha256")
            leaf = sha256(b"\0" + salt + line).digest()
            sha256(b"\1" + leaf + leaf).digest()


def prove_middle(made: Sealed, lines: int, storage: Storage | None = None) -> None:
    prove_line(made.folder, made.manifest, SECRET, f"record-{lines // 2}", None, storage)


def sealed_beside(made: Sealed) -> Storage:
    """Make the tree as a close does, in a lake that keeps the roots of its parts."""
    storage = open_storage(made.folder.parent)
    tree_of(made.folder, made.manifest, SECRET, storage)
    return storage


def measure(folder: Path, lines: int) -> list[Bound]:
    """Compare proofs with a plain loop, turn by turn, and their memory with that of few lines.

    A proof of all lines is one without the parts that the lake keeps.
    """
    made = seal_rows(folder / "many", map(row, range(1, lines + 1)))
    few = seal_rows(folder / "few", map(row, range(1, FEW + 1)))
    storage = sealed_beside(made)
    works = (
        lambda: hash_plainly(made.folder),
        lambda: prove_middle(made, lines),
        lambda: prove_middle(made, lines, storage),
    )
    times = [[*map(seconds, works)] for _ in range(REPEATS)]
    plain, whole, proof = (median(each) for each in zip(*times, strict=True))
    note(f"a proof of {lines:,} lines: {proof:.2f} s; with all hashed: {whole:.2f} s")
    note(f"a plain loop over them: {plain:.2f} s")
    peaks = [weighed(prove_middle, *of)[1] for of in ((made, lines, storage), (few, FEW))]
    return [
        Bound("proof of all lines / plain loop of hashes", whole / plain, 2, "x"),
        Bound("proof / proof of all lines", proof / whole, 0.25, "x"),
        Bound(f"peak memory, {lines:,} / {FEW:,} lines", peaks[0] / peaks[1], 1.1, "x"),
    ]


@click.command()
@click.option("--lines", default=1_000_000, show_default=True, type=click.IntRange(1_000))
def main(lines: int) -> None:
    """Measure the proof of a line and compare the figures with their bounds."""
    with tempfile.TemporaryDirectory() as folder:
        tell(measure(Path(folder), lines))


if __name__ == "__main__":
    main()
