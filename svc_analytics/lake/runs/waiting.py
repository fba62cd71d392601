"""The months of a stream that wait on disk, as runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from svc_analytics.coverage import Spans, difference, union
from svc_analytics.lake.index.hash_pile import HashPile
from svc_analytics.lake.index.hashes import Hashes
from svc_analytics.lake.runs.run_file import Run


@dataclass
class WaitingMonth:
    """The runs of one month, in order of observation, and what of it they cover by now."""

    label: str
    hashes: HashPile  # of the ids of all its rows
    runs: list[Run] = field(default_factory=list)
    covered: Spans = ()
    doubtful: Spans = ()

    def add(self, run: Run, hashes: Hashes) -> None:
        """Add the next run, with the hashes of its ids."""
        self.runs.append(run)
        self.covered = union(difference(self.covered, run.head.retracted), run.head.covered)
        self.doubtful = union(self.doubtful, run.head.doubtful)
        self.hashes.add(hashes)

    def retract(self, spans: Iterable[tuple[int, int]]) -> None:
        """Mark intervals as not covered after all."""
        self.covered = difference(self.covered, spans)

    @property
    def rows(self) -> int:
        """How many rows wait, each version of a record counted."""
        return sum(group.rows for run in self.runs for group in run.groups)
