"""The month files of one stream while a writer is open: footers, replacements."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from svc_analytics.coverage import Coverage, Span
from svc_analytics.lake.control_totals import ControlTotals
from svc_analytics.lake.footer import PartitionFooter
from svc_analytics.lake.id_index import IdIndex
from svc_analytics.lake.lake import Lake, whole_coverage
from svc_analytics.lake.layout import IDS_FOLDER
from svc_analytics.lake.month_coverage import owned_span
from svc_analytics.lake.partition import write_partition
from svc_analytics.lake.side_files import keep_changes
from svc_analytics.schema import Stream


@dataclass
class PublishStats:
    """What publishing changed: files rewritten, records a person should look at."""

    files: int = 0
    quarantined: int = 0
    changed: int = 0
    restated: int = 0


class MonthFiles:
    """A stream's footers by month, and the files they are of, to be replaced."""

    def __init__(
        self, lake: Lake, stream: Stream, merchant_id: str, now: int, stats: PublishStats
    ) -> None:
        self.lake = lake
        self.stream = stream
        self.now = now
        self.footers = lake.footers(stream, merchant_id)
        self.stats = stats
        self._merchant_id = merchant_id
        self._id_index = IdIndex(lake.path / IDS_FOLDER / stream.name)

    @property
    def coverage(self) -> Coverage:
        """What is published as read, in all files."""
        return whole_coverage(self.footers)

    def path(self, label: str) -> Path:
        """Return the path of a month's file, whether it exists or not."""
        return self.lake.month_path(self.stream, label)

    def owned_span(self, label: str) -> Span:
        """Return the time that a month's file, or the origin's, answers for."""
        return owned_span(label, self.footers, self.now)

    def find_elsewhere(self, rows: dict[str, pa.Table]) -> dict[str, pa.Array]:
        """Find by month the ids of new rows that the file of another month holds."""
        if not rows:
            return {}
        lookup = self._id_index.lookup(rows)
        found = {
            label: self._id_index.find_in(self.path(label), footer.totals.ids_digest, lookup)
            for label, footer in self.footers.items()
        }
        return {label: ids for label, ids in found.items() if len(ids)}

    def keep_superseded(self, label: str, versions: pa.Table) -> None:
        """Write superseded versions of records to a file beside the months."""
        self.stats.restated += keep_changes(self.lake.path, self.stream, label, versions)
        self.stats.changed += len(versions)

    def write(
        self,
        label: str,
        tables: Iterable[pa.Table],
        coverage: Coverage,
        quarantined: int,
        expected: ControlTotals | None,
    ) -> None:
        """Replace a month's file by rows that have the totals expected of them, if known."""
        footer = PartitionFooter(
            stream=self.stream.name,
            merchant_id=self._merchant_id,
            owns=self.owned_span(label),
            coverage=coverage,
            quarantined=quarantined,
            written_at=self.now,
        )
        observed = self._id_index.observe(tables)
        footer = write_partition(self.path(label), self.stream, observed, footer, expected)
        self.footers[label] = footer
        self._id_index.save(label, footer.totals.ids_digest)
        self.stats.files += 1
