"""The one process that may change a lake.

Rows and the intervals they prove arrive together and are published together, so a
kill at any instant leaves every month either as it was or as it should be (design 3).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from svc_analytics.coverage import Coverage, Span
from svc_analytics.errors import ConfigError, LakeBusy, LakeError
from svc_analytics.instants import BEGINNING, format_instant
from svc_analytics.lake.control_totals import ControlTotals
from svc_analytics.lake.files import make_folder, write_json
from svc_analytics.lake.footer import PartitionFooter
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import IDS_FOLDER, LAYOUT, ORIGIN, tool_version
from svc_analytics.lake.partition import write_partition
from svc_analytics.lake.publisher import PublishStats, StreamPublisher
from svc_analytics.lake.quarantine import QuarantinedRecord
from svc_analytics.lake.recovery import dirty_marker, lock_holder, recover
from svc_analytics.lake.side_files import begin_side_folders
from svc_analytics.lake.snapshot import snapshot_folders, sweep_snapshots
from svc_analytics.lake.write_buffer import WriteBuffer
from svc_analytics.periods import month_of
from svc_analytics.schema import STREAMS, Stream

LOCK_PATIENCE = 5  # seconds to wait for another writer to finish


class LakeWriter:
    """Stages what workers read and publishes it. Made by `open_writer`."""

    def __init__(self, lake: Lake, merchant_id: str, now: int) -> None:
        self.lake = lake
        self._publishers = {
            name: StreamPublisher(lake, stream, merchant_id, now)
            for name, stream in STREAMS.items()
        }
        # What was set aside and then lost cannot be told from nothing: it is read anew.
        self._staged = {
            name: WriteBuffer(retracted=publisher.lost())
            for name, publisher in self._publishers.items()
        }

    def begin_run(self, *, settled_at: int, is_open_ended: bool, overlap: int = 0) -> None:
        """Set when time counts as settled, and whether the run reads from the beginning.

        `overlap` is how far back, in microseconds, late records are looked for again.
        """
        for publisher in self._publishers.values():
            publisher.settled_at = settled_at
            publisher.gives_every_month_a_file = not is_open_ended
            publisher.look_back(overlap)

    def coverage(self, stream: Stream) -> Coverage:
        """What is published as read of a stream, and not in doubt."""
        return self._publishers[stream.name].coverage.remove(self._staged[stream.name].retracted)

    @property
    def published(self) -> PublishStats:
        """The sum of all that was published so far."""
        return PublishStats(
            **{
                item.name: sum(
                    getattr(publisher.published, item.name)
                    for publisher in self._publishers.values()
                )
                for item in fields(PublishStats)
            }
        )

    @property
    def staged_bytes(self) -> int:
        """The memory that waits to be published."""
        return sum(staged.size for staged in self._staged.values())

    @property
    def has_finished_month(self) -> bool:
        """Whether what waits was read past the start of a month, which so need not wait longer."""
        covered = (span for staged in self._staged.values() for span in staged.covered)
        return any(start < month_of(end - 1).start for start, end in covered)

    def stage(
        self,
        stream: Stream,
        rows: pa.Table,
        rejected: Iterable[QuarantinedRecord] = (),
        size: int = 0,
    ) -> None:
        """Take rows, in the order they were observed, and rejected records.

        `size` is about what the rows take in memory, in bytes.
        """
        staged = self._staged[stream.name]
        if len(rows):
            staged.add(rows, size)
        staged.rejected.extend(rejected)

    def cover(self, stream: Stream, span: Span) -> None:
        """Note that all rows of [start, end) were staged, now or before."""
        self._staged[stream.name].cover(span)

    def retract(self, stream: Stream, spans: Iterable[Span]) -> None:
        """Take back what was covered of these intervals: they must be read again."""
        self._staged[stream.name].retract(spans)

    def publish(self, *, holds_back: bool = False) -> None:
        """Publish everything staged, or let months that are not yet read whole wait for more."""
        for name, publisher in self._publishers.items():
            self._staged[name] = publisher.publish(self._staged[name], holds_back=holds_back)
        if not holds_back:  # else the same memory is wanted again at once
            pa.default_memory_pool().release_unused()


@contextmanager
def open_writer(lake: Lake, profile: dict[str, Any], now: int) -> Iterator[LakeWriter]:
    """Become the lake's writer, beginning the lake if there is none.

    Raises `ConfigError` when the lake is another merchant's, `LakeBusy` when another
    process writes, `LakeError` when the folder cannot be written or a file is torn.
    """
    check_merchant(lake, profile)
    try:
        make_folder(lake.path)
        with FileLock(lake.path / ".lock").acquire(timeout=LOCK_PATIENCE):
            check_merchant(lake, profile)  # again: someone may have begun it meanwhile
            with dirty_marker(lake, now) as unfinished:
                yield _begin_writing(lake, profile, now, unfinished)
    except Timeout as error:
        message = f"{lake.path} is being written by {lock_holder(lake)}: try again later"
        raise LakeBusy(message) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        message = f"cannot write to {lake.path}: {reason}; the records written before are untouched"
        raise LakeError(message) from error


def check_merchant(lake: Lake, profile: dict[str, Any]) -> None:
    """Refuse to mix two merchants' records in one lake."""
    if lake.exists and lake.merchant_id != profile["id"]:
        message = (
            f"{lake.path} holds the records of merchant {lake.merchant_id}, and the keys belong to "
            f"merchant {profile['id']}: give another --data-dir"
        )
        raise ConfigError(message)


def _begin_writing(
    lake: Lake, profile: dict[str, Any], now: int, unfinished: int | None
) -> LakeWriter:
    _sweep(lake)
    _begin(lake, profile["id"], now)
    # Made here: a torn file is found before anything is changed.
    writer = LakeWriter(lake, profile["id"], now)
    if unfinished is not None:
        recover(lake, unfinished, now)
    merchant = profile | {"read_at": format_instant(now)}
    write_json(lake.path / "lake.json", {"layout": LAYOUT, "merchant": merchant})
    return writer


def _begin(lake: Lake, merchant_id: str, now: int) -> None:
    """Make the folders and the files without rows, where they are missing."""
    for stream in STREAMS.values():
        make_folder(lake.folder(stream))
        begin_side_folders(lake.path, stream)
        path = lake.month_path(stream, ORIGIN)
        if not path.exists():
            _begin_stream(path, stream, merchant_id, now)


def _begin_stream(path: Path, stream: Stream, merchant_id: str, now: int) -> None:
    def describe(tally: ControlTotals) -> PartitionFooter:
        owns = (BEGINNING, now)
        tool = tool_version()
        return PartitionFooter(stream.name, merchant_id, owns, Coverage(), tally, 0, now, tool)

    write_partition(path, stream, (), describe)


def _sweep(lake: Lake) -> None:
    """Remove what a killed run left: half-written files, and snapshots nobody reads."""
    hashes = (f"{IDS_FOLDER}/{name}" for name in STREAMS)
    for folder in (".", *snapshot_folders(), *hashes):
        for left in (lake.path / folder).glob(".*.writing"):
            if left.is_file() and not left.name.startswith(".analytics"):
                left.unlink(missing_ok=True)
    sweep_snapshots(lake.path)
