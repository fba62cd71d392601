"""The months of a stream that wait on disk, as runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from svc_analytics.coverage import Spans, difference, union
from svc_analytics.lake.index.hashes import Hashes, is_among, join
from svc_analytics.lake.runs.run_file import Run


@dataclass
class WaitingMonth:
    """The runs of one month, in order of observation, and what of it they cover by now."""

    label: str
    runs: list[Run] = field(default_factory=list)
    covered: Spans = ()
    doubtful: Spans = ()
    _hashes: list[Hashes] = field(default_factory=list)  # of all ids, sorted, each far larger

    def add(self, run: Run, hashes: Hashes) -> None:
        """Add the next run, with the hashes of its ids."""
        self.runs.append(run)
        self.covered = union(difference(self.covered, run.head.retracted), run.head.covered)
        self.doubtful = union(self.doubtful, run.head.doubtful)
        while self._hashes and len(self._hashes[-1]) <= 2 * len(hashes):
            hashes = join([self._hashes.pop(), hashes])
        self._hashes.append(join([hashes]))

    def retract(self, spans: Iterable[tuple[int, int]]) -> None:
        """Mark intervals as not covered after all."""
        self.covered = difference(self.covered, spans)

    @property
    def hashes(self) -> Hashes:
        """The hashes of the ids of all its rows, sorted."""
        if len(self._hashes) != 1:
            self._hashes = [join(self._hashes)]
        return self._hashes[0]

    def holds_any(self, hashes: Hashes) -> bool:
        """Whether an id with one of these hashes, sorted, may be among its rows."""
        return any(bool(is_among(held, hashes).any()) for held in self._hashes)

    @property
    def rows(self) -> int:
        """How many rows wait, each version of a record counted."""
        return sum(group.rows for run in self.runs for group in run.groups)
