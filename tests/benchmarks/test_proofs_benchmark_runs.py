"""The proofs benchmark itself, without its times: that it proves what it says."""

from pathlib import Path

import pytest

from svc_analytics.errors import LakeError
from tests.benchmarks.proofs_benchmark import hash_plainly, prove_middle
from tests.support.hand_made_lines import row, seal_rows


def test_the_benchmark_proves_a_line_of_all(tmp_path: Path) -> None:
    """What it times is a whole proof: an altered line, whichever it is, ends it."""
    made = seal_rows(tmp_path / "lines", map(row, range(1, 2001)))
    prove_middle(made, 2000)
    hash_plainly(made.folder)
    path = made.folder / "lines.csv"
    path.write_bytes(path.read_bytes().replace(b"SVC-1999", b"SVC-1998"))
    with pytest.raises(LakeError, match="not those that were sealed"):
        prove_middle(made, 2000)
