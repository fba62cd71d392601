"""Reading months again before they are sealed: until two readings in a row see the same.

The months behind the first one are read together: a reading costs nearly as much for one small
month as for twelve.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, takewhile

from svc_analytics.closing import seals
from svc_analytics.closing.job import Job
from svc_analytics.extraction.plan import Request, Seen
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message
from svc_analytics.periods import Period, utc_months
from svc_analytics.render.document import Reason
from svc_analytics.schema import STREAMS
from svc_analytics.statements.finality import unread_again

MOST_PASSES = 3  # time is read at most so often; two passes in a row must find the same
MOST_TOGETHER = 200_000  # records: the months of so many are sealed before the next are read


class Readings:
    """Reads the months of one run of closing again, each before it is closed.

    `due` are all the months of the run, oldest first. The first that has to be read is read
    alone: where it cannot be sealed, the run ends there, and the others were read for nothing.
    """

    def __init__(self, job: Job, due: Sequence[Period] = ()) -> None:
        self._job = job
        self._due = due
        self._is_begun = False
        self.has_news = False  # whether what was read last brought records, or other versions
        self._doubts: dict[Period, list[Reason]] = {}  # of months that were read together

    def doubts(self, period: Period) -> list[Reason]:
        """Read a month again, unless it was read with others before it was its turn.

        Returns what could not be read, or that no two passes in a row agreed.
        """
        self.has_news = False
        if waits := self._job.waits_for(period):
            return waits
        if self._is_begun and not self._doubts:
            self._read_together(self._following(period))
        self._is_begun = True
        if period in self._doubts:
            return self._doubts.pop(period)
        self._job.note(Message("reading {label} again", label=period.folder))
        unread = self._read(period.start, period.end)
        if unread is not None:
            return unread
        return [Reason(Message("reason.still_changes", count=MOST_PASSES))]

    def _following(self, first: Period) -> list[Period]:
        """Return a month and those behind it that have no seal, not too many to read together."""
        behind = (month for month in self._due if month.start > first.start)
        months = [first, *takewhile(self._is_to_read, behind)]
        counts = accumulate(_records(self._job.lake, months))
        counted = zip(months, counts, strict=True)
        return [month for month, count in counted if count <= MOST_TOGETHER]

    def _is_to_read(self, month: Period) -> bool:
        return not (seals.versions(self._job.folder(month)) or self._job.waits_for(month))

    def _read_together(self, months: Sequence[Period]) -> None:
        """Read several months at once; where something moves, each is read alone from then on."""
        if len(months) > 1:
            span = {"first": months[0].folder, "last": months[-1].folder}
            self._job.note(Message("reading {first} to {last} again", **span))
            unread = self._read(months[0].start, months[-1].end)
            if unread is None:
                self._due = ()
            else:
                self._doubts = dict.fromkeys(months, unread)

    def _read(self, start: int, end: int) -> list[Reason] | None:
        """Read an interval again and again, until one pass sees what the pass before it saw.

        Returns what could not be read; None where no two passes in a row agreed.
        """
        seen: Seen = {}
        for number in range(MOST_PASSES):
            result = self._job.read(Request(start=start, end=end, rereads=True, confirms=seen))
            seen = result.seen
            self.has_news |= result.published.files > 0
            if number and result.is_confirmed:
                return unread_again(self._could_be_read(result.not_extracted))
        return None

    def _could_be_read(self, not_extracted: Mapping[str, str]) -> dict[str, str]:
        """Leave out the streams that were never read: the statement says so of them."""
        lake = self._job.lake
        return {
            name: why for name, why in not_extracted.items() if lake.coverage(STREAMS[name]).read
        }


def _records(lake: Lake, months: Iterable[Period]) -> list[int]:
    """Count the records that the lake holds of each month, those of its UTC months included."""
    rows = [
        {label: footer.totals.rows for label, footer in lake.footers(stream).items()}
        for stream in STREAMS.values()
    ]
    return [
        sum(held.get(utc.label, 0) for held in rows for utc in utc_months(month.start, month.end))
        for month in months
    ]
