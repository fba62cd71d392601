"""A balance that is written down after its month was sealed is a note on it, and no difference."""

from pathlib import Path

import pytest

from svc_analytics import verify_statement
from tests.support.closings import Closer
from tests.support.rings import sample

HEAD = "at,currency,balance,note\n"
OPENING, SEALED = "2026-10-02T00:00:00Z,btc,5", "2026-10-31T00:00:00Z,usdt,49"
# What the file has when the month is sealed, what it has later, and what the note says of it.
CHANGED = {
    "corrected": ([OPENING], [OPENING, f"{OPENING}.5"], "5.5 btc"),
    "written": ([], [OPENING], "was asserted after the sealing"),
    "removed": ([OPENING, SEALED], [OPENING], "assertions.csv no longer has it"),
}


def write(closer: Closer, lines: list[str]) -> None:
    closer.desk.lake.path.mkdir(exist_ok=True)
    path: Path = closer.desk.lake.path / "assertions.csv"
    path.write_text(HEAD + "".join(f"{line},\n" for line in lines))


@pytest.mark.parametrize(
    ("before", "after", "said"), sample(CHANGED.values(), 3), ids=CHANGED.keys()
)
def test_a_sealed_month_keeps_the_balances_that_it_names(
    closer: Closer, before: list[str], after: list[str], said: str
) -> None:
    write(closer, before)
    folder = closer.close().folder
    assert not verify_statement(folder, closer.desk.lake).notes
    write(closer, after)
    checked, again = verify_statement(folder, closer.desk.lake), closer.close()
    assert checked.holds and any(said in note for note in checked.notes)
    assert (again.state, again.version, again.needs_attention) == ("unchanged", 1, False)
    assert said in (again.note or "") and "compares what assertions.csv has now" in again.note
