"""The folder of a stream's runs: spilling into it, finding what a dead writer left, sweeping."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pyarrow as pa

from svc_analytics.coverage import Spans, difference, union
from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file, is_refused, make_folder, sync_folder
from svc_analytics.lake.checksums import DAMAGE
from svc_analytics.lake.index.hash_pile import HashPile
from svc_analytics.lake.index.hashes import Hashes, hash_texts
from svc_analytics.lake.layout import RUNS_FOLDER
from svc_analytics.lake.runs.run_file import Run, RunHead, Terms, read_run, write_run
from svc_analytics.messages import Message
from svc_analytics.schema import Stream, schema_digest
from svc_analytics.storage import Storage

_FOUND = (
    "{STREAM}: rows that an interrupted run had read and not published are published now: {count}"
)
_TORN = (
    "{STREAM}: files of an interrupted run that are not whole were removed, and their time is "
    "read again: {count}"
)
_VOID = (*DAMAGE, KeyError, msgspec.MsgspecError, LakeError)  # what makes a run void


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


@dataclass(frozen=True)
class Claims:
    """The claims of a buffer about one month, besides its rows."""

    covered: Spans = ()
    retracted: Spans = ()
    doubtful: Spans = ()
    quarantined: int = 0


@dataclass
class AbandonedRuns:
    """The runs of a dead writer: the months that wait, and how many were void."""

    months: dict[str, WaitingMonth] = field(default_factory=dict)
    void: int = 0
    terms: Terms | None = None  # of the newest run

    def describe(self, stream: Stream) -> list[Message]:
        """Describe the runs of a dead writer, in a line each."""
        lines: list[Message] = []
        if rows := sum(month.rows for month in self.months.values()):
            lines.append(Message(_FOUND, count=f"{rows:,}", STREAM=stream.words))
        if self.void:
            lines.append(Message(_TORN, count=f"{self.void:,}", STREAM=stream.words))
        return lines


class RunFolder:
    """The runs of one stream.

    Each names the run before it of the same month by its digest. So if one is lost, those
    behind it are void too: they may cover time whose rows were in it.
    """

    def __init__(self, storage: Storage, stream: Stream, merchant_id: str) -> None:
        self.path = storage.folder / RUNS_FOLDER / stream.name
        self._storage = storage
        self._stream = stream
        self._merchant_id = merchant_id
        self._order = 0  # of the last run

    def begin(self, label: str) -> WaitingMonth:
        """Return a month of which nothing waits yet."""
        return WaitingMonth(label, HashPile(self.path))

    def spill(
        self, month: WaitingMonth, rows: pa.Table, claims: Claims, terms: Terms
    ) -> WaitingMonth:
        """Write sorted rows of a month as its next run, and return the month with it."""
        make_folder(self.path)
        self._order += 1
        head = RunHead(
            stream=self._stream.name,
            merchant_id=self._merchant_id,
            schema=schema_digest(self._stream.record_schema),
            month=month.label,
            order=self._order,
            follows=month.runs[-1].digest if month.runs else "",
            covered=claims.covered,
            retracted=claims.retracted,
            doubtful=claims.doubtful,
            quarantined=claims.quarantined,
            terms=terms,
        )
        run = write_run(self._storage, self.path, self._stream, head, rows)
        month.add(run, hash_texts(rows["id"]))
        return month

    def find(self, quarantined: Mapping[str, int]) -> AbandonedRuns:
        """Return the runs that a dead writer left, and remove those that are void.

        Void is what is not whole, of another merchant or another version of the schema, what
        follows a run that is not there, and what counted on rejected records that are not on
        file any more: `quarantined` of each month are.
        """
        abandoned, left = AbandonedRuns(), sorted(self.path.glob("*.run"))
        void: list[Path] = []
        for path in left:
            run = self._read(path)
            month = abandoned.months.get(run.head.month) if run else None
            last = month.runs[-1].digest if month else ""
            if run is None or run.head.follows != last or not _counts(run.head, quarantined):
                void.append(path)
                continue
            month = abandoned.months.setdefault(run.head.month, self.begin(run.head.month))
            month.add(run, hash_texts(_ids(run)))
            self._order, abandoned.terms = run.order, run.head.terms
        abandoned.void = len(void)
        self._unlink(void)
        return abandoned

    def remove(self, months: Iterable[WaitingMonth]) -> None:
        """Remove the runs of months that are published.

        The first of each goes first, durably: what a kill leaves of the others is void then,
        and no older version of a row can come back without the newer ones behind it.
        """
        runs = [[run.path for run in month.runs] for month in months if month.runs]
        self._unlink([paths[0] for paths in runs])
        self._unlink([path for paths in runs for path in paths[1:]])

    def _unlink(self, paths: list[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)
        if paths:
            sync_folder(self.path)
            for folder in (self.path, self.path.parent):
                with suppress(OSError):  # it is not empty yet
                    folder.rmdir()

    def _read(self, path: Path) -> Run | None:
        """Return a run of this stream and merchant; None if it is void."""
        try:
            run = read_run(path, self._stream)
        except _VOID as error:
            if is_refused(error) or is_refused(error.__cause__):
                raise damaged_file(path, error) from error
            return None
        head = run.head
        schema = schema_digest(self._stream.record_schema)
        ours = (self._stream.name, self._merchant_id, schema)
        return run if (head.stream, head.merchant_id, head.schema) == ours else None


def _counts(head: RunHead, quarantined: Mapping[str, int]) -> bool:
    """Whether all rejected records that a run counts on are still on file."""
    return head.quarantined <= quarantined.get(head.month, 0)


def _ids(run: Run) -> pa.ChunkedArray:
    tables = run.tables(["id"])
    return pa.chunked_array([c for table in tables for c in table["id"].chunks], pa.string())
