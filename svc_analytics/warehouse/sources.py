"""The files that the views read: those of a snapshot, and some that a reader makes for itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from svc_analytics.coverage import Span
from svc_analytics.errors import LakeError
from svc_analytics.lake.footer import PartitionFooter
from svc_analytics.lake.index.parents import parents_in
from svc_analytics.lake.lake import Lake, whole_coverage
from svc_analytics.lake.layout import ORIGIN, VERDICTS_FOLDER
from svc_analytics.lake.snapshot import hold_files
from svc_analytics.schema import PAYMENTS, STREAMS, Stream
from svc_analytics.warehouse.acknowledgements import ACCEPTED, write_accepted
from svc_analytics.warehouse.neighbourhood import Elsewhere, near_months
from svc_analytics.warehouse.views import Files, lake_folders, placeholders_read

SHARE = 8  # of so many statements, one holds an earlier month's rows against its totals too
FOOTERS = pa.schema([("month", pa.string()), ("footer", pa.string())])

Footers = Mapping[str, dict[str, PartitionFooter]]  # by stream and month


@dataclass(frozen=True)
class Sources:
    """One unchanging state of the lake: its folder, its footers, and the files to be read."""

    lake: Lake
    folder: Path
    footers: Footers
    files: Files
    near: frozenset[str] | None  # the months whose payments are all there; None for every month

    @property
    def rows(self) -> int:
        """How many records are in the month files to be read."""
        return sum(
            footer.totals.rows
            for name, found in self.footers.items()
            for month, footer in found.items()
            if self.near is None or name != PAYMENTS.name or month in self.near
        )

    def first_at(self, stream: Stream) -> int | None:
        """When the first record of a stream is booked, in UTC microseconds."""
        found = (footer.ends.values() for footer in self.footers[stream.name].values())
        return min((each.first for ends in found for each in ends), default=None)

    @property
    def read_to(self) -> int | None:
        """The end of the newest read in UTC microseconds, if there is any."""
        found = (whole_coverage(footers).read for footers in self.footers.values())
        return max((end for read in found for _, end in read), default=None)


@contextmanager
def open_sources(
    lake: Lake, models: Collection[str] | None, period: Span | None = None
) -> Iterator[Sources]:
    """Give the files that these models read, or all, each held to its checksums.

    With a `period` the payments are those that its figures rest on: see `neighbourhood`.
    """
    wanted = placeholders_read(models)
    wanted |= {PAYMENTS.name} if "totalled_payments" in wanted else set()
    folders = {name: inside for name, inside in lake_folders().items() if name in wanted}
    if "all_receipt_verdicts" in wanted:
        folders[VERDICTS_FOLDER] = VERDICTS_FOLDER
    names = {*folders.values(), *STREAMS}  # the footers of all months say what was read
    later = [*STREAMS, VERDICTS_FOLDER] if period else [*STREAMS]
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(lake.snapshot(sorted(names), held_later=later))
            sources = _read_sources(lake, folder, folders, wanted, period)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            message = f"{lake.path} cannot be read: {reason} while its files were put aside"
            raise LakeError(f"{message}; free some space there, and allow writing") from error
        yield sources


def _read_sources(
    lake: Lake,
    folder: Path,
    folders: Mapping[str, str],
    wanted: Collection[str],
    period: Span | None,
) -> Sources:
    """Choose, and make, the files of a snapshot that are to be read."""
    footers = _read_footers(lake, folder)
    near = frozenset(near_months(period)) if period else None
    files = {name: _files(lake, folder, inside, near) for name, inside in folders.items()}
    files |= _made(lake, folder, footers, wanted)
    if "all_receipt_verdicts" in wanted:
        files["all_receipt_verdicts"] = sorted((folder / VERDICTS_FOLDER).iterdir())
    if PAYMENTS.name in wanted:
        files["totalled_payments"] = [*files[PAYMENTS.name]]
    if near and PAYMENTS.name in wanted:
        elsewhere = Elsewhere(lake, folder / PAYMENTS.name, footers[PAYMENTS.name], near)
        path = folder / "elsewhere.pq"
        pq.write_table(elsewhere.rows(), path)
        files[PAYMENTS.name].append(path)
        audited = elsewhere.audited(SHARE)
        if not files["totalled_payments"]:  # without the origin's file either
            audited = audited or {*elsewhere.far[:1]}
        files["totalled_payments"] += hold_files(lake.path, folder, PAYMENTS.name, audited)
    return Sources(lake, folder, footers, files, near)


def as_in_the_lake(text: str, folder: Path, lake: Lake) -> str:
    """Name the lake's own files where a text names those of a snapshot."""
    return text.replace(str(folder), str(lake.path)).replace(".pq", ".parquet")


def _read_footers(lake: Lake, folder: Path) -> Footers:
    """Read all footers of a snapshot: a torn or foreign file is named here, not by DuckDB."""
    try:
        return {
            name: lake.footers(stream, folder=folder / name) for name, stream in STREAMS.items()
        }
    except LakeError as error:
        raise LakeError(as_in_the_lake(str(error), folder, lake)) from error


def _files(lake: Lake, folder: Path, inside: str, near: frozenset[str] | None) -> list[Path]:
    """Return the files to be read of one folder of a snapshot, held to their checksums.

    Of payments and of verdicts on them these are the files of the months that are near.
    """
    if near and inside in (PAYMENTS.name, VERDICTS_FOLDER):
        return hold_files(lake.path, folder, inside, near | {ORIGIN})
    if inside in STREAMS:
        return hold_files(lake.path, folder, inside)
    return sorted((folder / inside).iterdir())


def _made(
    lake: Lake, folder: Path, footers: Footers, wanted: Collection[str]
) -> dict[str, list[Path]]:
    """Make the files that are no files of the lake: what its footers say, what was accepted."""
    made = {}
    if "footers" in wanted:
        made["footers"] = [folder / "footers.pq"]
        _write_footers(folder / "footers.pq", footers)
    if "parents" in wanted:
        made["parents"] = sorted(parents_in(lake, folder).iterdir())
    if "acknowledgements" in wanted:
        made["acknowledgements"] = [folder / ACCEPTED]
        write_accepted(lake.path, folder)
    return made


def _write_footers(path: Path, footers: Footers) -> None:
    rows = [
        {"month": month, "footer": footer.to_json()}
        for found in footers.values()
        for month, footer in found.items()
    ]
    pq.write_table(pa.Table.from_pylist(rows, FOOTERS), path)
