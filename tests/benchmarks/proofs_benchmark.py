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

from svc_analytics.proofs.single import prove_line
from tests.benchmarks.bounds import Bound, note, seconds, tell, weighed
from tests.support.hand_made_lines import SECRET, Sealed, row, seal_rows

FEW, REPEATS = 10_000, 3


def hash_plainly(folder: Path) -> None:
    """Do the least that any proof must: four hashes of each line, and no more."""
    with (folder / "lines.csv").open("rb") as file:
        for line in file:
            salt = hmac.digest(SECRET, line[:40], "sha256")
            leaf = sha256(b"\0" + salt + line).digest()
            sha256(b"\1" + leaf + leaf).digest()


def prove_middle(made: Sealed, lines: int, processors: int = 1) -> None:
    prove_line(made.folder, made.manifest, SECRET, f"record-{lines // 2}", None, processors)


def measure(folder: Path, lines: int) -> list[Bound]:
    """Compare a proof with a plain loop, turn by turn, and its memory with that of few lines."""
    made = seal_rows(folder / "many", map(row, range(1, lines + 1)))
    few = seal_rows(folder / "few", map(row, range(1, FEW + 1)))
    times = [
        (seconds(lambda: hash_plainly(made.folder)), seconds(lambda: prove_middle(made, lines)))
        for _ in range(REPEATS)
    ]
    plain, proof = (median(each) for each in zip(*times, strict=True))
    note(f"a proof of {lines:,} lines: {proof:.2f} s; a plain loop over them: {plain:.2f} s")
    peaks = [weighed(prove_middle, *of)[1] for of in ((made, lines), (few, FEW))]
    return [
        Bound("proof / plain loop of hashes", proof / plain, 2, "x"),
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
