"""Months that wait while they are being read, in memory or spilled as runs, to be merged once."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager

import numpy as np
import pyarrow as pa

from svc_analytics.coverage import Span, Spans, difference, intersection, union
from svc_analytics.lake.index.hash_pile import doubles, share_any
from svc_analytics.lake.index.hashes import hash_texts
from svc_analytics.lake.index.shared import shared_columns
from svc_analytics.lake.runs.folder import AbandonedRuns, Claims, RunFolder, WaitingMonth
from svc_analytics.lake.runs.month_merge import MonthMerge
from svc_analytics.lake.runs.moved import Dropped, Remaining, find_dropped, read_among
from svc_analytics.lake.runs.run_file import Terms
from svc_analytics.lake.writing.month_files import MonthFiles
from svc_analytics.lake.writing.write_buffer import WriteBuffer
from svc_analytics.periods import Period, month, month_of

# Bytes of a month's file: to write a larger one before it is read to its start costs too much.
LARGE_MONTH = 8 * 1024 * 1024

Rows = dict[str, pa.Table]  # by month
Months = Mapping[str, WaitingMonth]


class Spill:
    """The waiting months of a stream: whether on disk, and how they are merged at last."""

    def __init__(self, files: MonthFiles) -> None:
        self._files = files
        self._stream = files.stream
        self._folder = RunFolder(files.lake.storage, files.stream, files.merchant_id)

    def find(self, quarantined: Mapping[str, int]) -> AbandonedRuns:
        """Return the runs that a dead writer left, without those that are void."""
        return self._folder.find(quarantined)

    def choose(self, buffer: WriteBuffer, rows: Rows, *, is_checkpoint: bool) -> set[str]:
        """Return the months that are to wait: still being read, and large at a checkpoint.

        A month that shares a record with one of them waits too: published before it, a record
        that has left its month would come back there by its older version.
        """
        read = self._read(buffer)
        waits = {
            label
            for label in {*rows, *buffer.months}
            if not _is_read(month(label), read)
            and not (is_checkpoint and self._is_small(label, buffer.months))
        }
        while bound := self._bound(waits, rows, buffer.months):
            waits |= bound
        return waits

    def has_finished_month(self, buffer: WriteBuffer) -> bool:
        """Whether the buffer has rows of a month that was read from its start to its end.

        Without rows nothing tells yet which month is the first: before it, none gets a file.
        """
        read = self._read(buffer)
        whole = [_whole_months(span, read[-1][1]) for span in read]
        spilled = [month(label) for label in buffer.months]
        return any(
            any(start <= period.start < end for period in spilled)
            or buffer.has_rows_within(start, end)
            for start, end in whole
        )

    def are_broken(self, months: Months, claims: Mapping[str, Claims]) -> bool:
        """Whether runs claim time that is retracted now: the next run must say so."""
        return any(claims[label].retracted for label in months)

    def write(
        self,
        months: dict[str, WaitingMonth],
        rows: Rows,
        claims: Mapping[str, Claims],
        terms: Terms,
    ) -> None:
        """Spill the rows of months, and what is claimed of them."""
        for label, claim in sorted(claims.items()):
            new = rows.get(label, self._stream.no_rows)
            if len(new) or claim.covered or claim.retracted:
                before = months.get(label) or self._folder.begin(label)
                months[label] = self._folder.spill(before, new, claim, terms)

    def to_merge(self, rows: Rows, months: Months) -> set[str]:
        """Return the months to be merged from runs: that have some, or records of such ones."""
        return {*months, *(each for each in rows if self._shares(each, {*months}, rows, months))}

    def ids(self, months: Months) -> Iterator[pa.ChunkedArray]:
        """Yield the ids of all rows of these months on disk."""
        runs = (run for each in months.values() for run in each.runs)
        return (table["id"] for run in runs for table in run.tables(["id"]))

    def find_dropped(self, months: Months) -> Dropped:
        """Return which rows of these months give way to later ones, of any of them."""
        suspects = doubles([each.hashes for each in months.values()])
        return find_dropped(self._stream, [each.runs for each in months.values()], suspects)

    def find_elsewhere(self, months: Months, dropped: Dropped) -> Rows:
        """Return the rows, by month, whose ids may stand in the file of another month."""
        homes = {}
        for label, each in months.items():
            suspects = self._files.hashes_elsewhere(label, each.hashes.portions())
            if len(suspects):
                runs = (Remaining(run, dropped) for run in each.runs)
                tables = (read_among(self._stream, run, suspects) for run in runs)
                homes[label] = pa.concat_tables(tables)
        return homes

    def merge(self, waiting: WaitingMonth, dropped: Dropped) -> AbstractContextManager[MonthMerge]:
        """Open the merge of a month's runs into its file."""
        label, held = waiting.label, None
        footer = self._files.footers.get(label)
        suspects = np.empty(0, np.uint64)
        if footer and footer.totals.rows:
            held = (self._files.path(label), footer.totals)
            suspects = self._files.shared_hashes(label, waiting.hashes.portions())
        return MonthMerge.open(self._stream, held, waiting.runs, dropped, suspects)

    def incoming(self, waiting: WaitingMonth) -> Iterator[pa.Table]:
        """Yield the rows of a month's runs, as far as other months are searched for them."""
        columns = shared_columns(self._stream)
        return (table for run in waiting.runs for table in run.tables(columns))

    def remove(self, months: Months) -> None:
        """Remove the runs of months that are published."""
        self._folder.remove(months.values())

    def _read(self, buffer: WriteBuffer) -> Spans:
        """Return the coverage of the stream, published or not."""
        published = self._files.coverage.remove(buffer.retracted).read
        spilled = (each.covered for each in buffer.months.values())
        return union(published, buffer.covered, *spilled)

    def _is_small(self, label: str, months: Months) -> bool:
        path = self._files.path(label)
        size = path.stat().st_size if path.exists() else 0
        return label not in months and size <= LARGE_MONTH

    def _bound(self, waits: set[str], rows: Rows, months: Months) -> set[str]:
        """Return the months that wait only because they share a record with one that does."""
        others = {*rows, *months} - waits
        return {each for each in others if waits and self._shares(each, waits, rows, months)}

    def _shares(self, label: str, others: set[str], rows: Rows, months: Months) -> bool:
        """Whether a record of a month may wait in another too, in a run of either."""
        spilled = [months[each] for each in others & months.keys() - {label}]
        if label in rows and spilled:
            hashes = np.sort(hash_texts(rows[label]["id"]))
            if any(each.hashes.holds_any(hashes) for each in spilled):
                return True
        if label not in months:
            return False
        fresh = (np.sort(hash_texts(rows[each]["id"])) for each in others & rows.keys() - {label})
        own = months[label].hashes
        return any(share_any(own, each.hashes) for each in spilled) or any(
            map(own.holds_any, fresh)
        )


def claims_of(
    covered: Spans, buffer: WriteBuffer, labels: Iterable[str], quarantined: Mapping[str, int]
) -> dict[str, Claims]:
    """Return the coverage of each month, and the other claims of a buffer about it."""
    claims = {}
    for label in labels:
        bounds = (month(label).start, month(label).end)
        claims[label] = Claims(
            intersection(covered, *bounds),
            intersection(buffer.retracted, *bounds),
            intersection(buffer.doubtful, *bounds),
            quarantined.get(label, 0),
        )
    return claims


def _is_read(period: Period, read: Spans) -> bool:
    """Whether a month was read from its start to its end, or to the newest time read."""
    newest = read[-1][1] if read else period.start
    end = min(period.end, newest)
    return period.start < end and not difference([(period.start, end)], read)


def _whole_months(span: Span, newest: int) -> Span:
    """Return the whole months of a span; the newest one has no end yet."""
    first, last = month_of(span[0]), month_of(span[1])
    start = first.start if first.start == span[0] else first.end
    return start, span[1] if span[1] == newest else last.start
