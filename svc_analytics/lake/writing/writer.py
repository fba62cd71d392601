"""The lake's writer: one process at a time may change a lake."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from svc_analytics import files
from svc_analytics.bucket.objects import STATEMENTS
from svc_analytics.bucket.writing import Inherited
from svc_analytics.coverage import Coverage, Span, Spans
from svc_analytics.errors import ConfigError, LakeError, system_refusals
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.instants import BEGINNING, MINUTE, format_instant
from svc_analytics.lake import coverage_footer, layout, month_file, side_files
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.coverage_footer import CLOCK_TOLERANCE, MonthFileFooter
from svc_analytics.lake.index.parents import refresh_parents
from svc_analytics.lake.lake import Lake, remove_abandoned_snapshots, write_description
from svc_analytics.lake.writing.month_files import MonthFiles, PublishStats
from svc_analytics.lake.writing.publisher import StreamPublisher
from svc_analytics.lake.writing.spill import Hold, Terms, WriteBuffer
from svc_analytics.messages import Message
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.storage import mended, merge_into

Clocks = Mapping[str, int | None]  # in UTC microseconds, by whose each is


class LakeWriter:
    """Buffers what workers read, and publishes it. Made by `open_writer`."""

    def __init__(self, lake: Lake, merchant_id: str, now: int) -> None:
        self.lake = lake
        self.published = PublishStats()  # by this writer so far, of all streams
        self.notes: list[Message] = []  # of what an earlier writer left
        self._publishers = {
            name: StreamPublisher(MonthFiles(lake, stream, merchant_id, now, self.published))
            for name, stream in STREAMS.items()
        }
        # Months whose quarantine file is gone are read again: otherwise nobody would know
        # which records were rejected.
        self._buffers = {
            name: WriteBuffer(STREAMS[name], retracted=publisher.files.lost_quarantine())
            for name, publisher in self._publishers.items()
        }

    def has_early_claims(self, now: int) -> bool:
        """Whether files cover time that has not come, or had not when they were written."""
        footers = (publisher.files.footers for publisher in self._publishers.values())
        return any(coverage_footer.early_claims(each.values(), now) for each in footers)

    def retract_early_claims(self, now: int) -> dict[str, Spans]:
        """Retract such time, to be read again; return it by stream."""
        claims = {}
        for name, publisher in self._publishers.items():
            if spans := coverage_footer.early_claims(publisher.files.footers.values(), now):
                # Just before, late records could still have appeared.
                buffer = self._buffers[name]
                buffer.retract((start - CLOCK_TOLERANCE, end) for start, end in spans)
                claims[name] = spans
        return claims

    def begin_run(
        self,
        *,
        watermark: int,
        is_open_ended: bool,
        lookback: int = 0,
        judged_at: int | None = None,
    ) -> None:
        """Set the watermark, before which covered time is complete.

        `lookback`, in microseconds, is how much of the newest time is read again for late
        records; a run that `is_open_ended` has no lower bound. `judged_at` is how far time
        has come.
        """
        for name, publisher in self._publishers.items():
            publisher.begin(Terms(watermark, not is_open_ended, judged_at))
            publisher.set_lookback(self.coverage(STREAMS[name]).complete, lookback)

    def coverage(self, stream: Stream) -> Coverage:
        """Return the published coverage of a stream that is not retracted."""
        published = self._publishers[stream.name].files.coverage
        return published.remove(self._buffers[stream.name].retracted)

    @property
    def buffered_bytes(self) -> int:
        """The memory of the rows that wait to be published."""
        return sum(buffer.size for buffer in self._buffers.values())

    @property
    def has_finished_month(self) -> bool:
        """Whether the buffers hold a month read from its start to its end: it need not wait."""
        return bool(self._with_finished_months())

    def files(self, stream: Stream) -> MonthFiles:
        """Return the month files of a stream, as they are published."""
        return self._publishers[stream.name].files

    def buffer(self, stream: Stream) -> WriteBuffer:
        """Return where what was read of a stream waits; `publish` begins another one."""
        return self._buffers[stream.name]

    def confirm(self, streams: Iterable[Stream], span: Span) -> None:
        """Note in the month files that this time was read twice, and alike."""
        for stream in streams:
            self._publishers[stream.name].files.confirm(span)

    def publish(self, *, holds_back: bool = False) -> None:
        """Publish all that is buffered, or let months that are still being read wait."""
        self._publish_each(Hold.SPILLED_IF_MUCH if holds_back else Hold.NOTHING)
        if not holds_back:  # else the same memory is wanted again at once
            pa.default_memory_pool().release_unused()

    def publish_finished(self) -> None:
        """Publish the months that were read from start to end; the others wait in memory."""
        for name in self._with_finished_months():
            publisher = self._publishers[name]
            self._buffers[name] = publisher.publish(self._buffers[name], Hold.IN_MEMORY)

    def save(self) -> None:
        """Make safe all that is buffered: publish it, or spill it where a large month waits."""
        self._publish_each(Hold.SPILLED)
        pa.default_memory_pool().release_unused()

    def publish_found(self) -> None:
        """Publish what a writer that was killed left waiting on disk, in this release's columns."""
        for publisher in self._publishers.values():
            publisher.files.renew()
            self.notes += publisher.publish_found()

    def _with_finished_months(self) -> list[str]:
        publishers = self._publishers.items()
        return [name for name, each in publishers if each.has_finished_month(self._buffers[name])]

    def _publish_each(self, hold: Hold) -> None:
        for name, publisher in self._publishers.items():
            self._buffers[name] = publisher.publish(self._buffers[name], hold)


@contextmanager
def open_writer(
    lake: Lake,
    profile: dict[str, Any],
    now: int,
    clocks: Clocks | None = None,
    service: str | None = None,
) -> Iterator[LakeWriter]:
    """Lock the lake and give its writer; a lake is begun if there is none.

    `clocks` are what the clocks of the run told, and `service` is the address that it reads from,
    to be noted in `lake.json`.

    Raises `ConfigError` when the lake is another merchant's, `LakeBusy` when another
    process writes, `LakeError` when the folder cannot be written or a file is torn.
    """
    check_merchant(lake, profile)
    doing, holder = Message("busy.writing", place=lake.place), partial(lock_holder, lake)
    advice = "the records written before are untouched"
    with system_refusals(LakeError, f"cannot write to {lake.place}", advice):
        files.make_folder(lake.path, files.PRIVATE)
        with (
            files.locked(lake.path / ".lock", doing, holder=holder),
            lake.storage.writing(now) as inherited,
            mended(lake.storage),
        ):
            check_merchant(lake, profile)  # again: another process may have begun it meanwhile
            _require_restored(lake)
            with dirty_marker(lake, now, inherited.since) as unfinished:
                _take_over(lake, inherited, profile["id"], now)
                writer = _begin_writing(lake, profile["id"], now, unfinished)
                _describe(lake, profile, now, clocks or {}, service)
                yield writer
                refresh_parents(lake)


def check_merchant(lake: Lake, profile: dict[str, Any]) -> None:
    """Raise `ConfigError` if the lake holds another merchant's records."""
    if lake.exists and canonical_id(lake.merchant_id) != canonical_id(profile["id"]):
        message = (
            f"{lake.place} holds the records of merchant {lake.merchant_id}, and the keys belong "
            f"to merchant {profile['id']}: give another --data-dir"
        )
        raise ConfigError(message)


def _require_restored(lake: Lake) -> None:
    """Refuse half a lake, which an interrupted restore left: nobody would see what it lacks."""
    if (lake.path / layout.RESTORING_FOLDER).exists() and not lake.exists:
        message = f"restoring a backup into {lake.place} was interrupted"
        raise LakeError(f"{message}: run svc-analytics restore again, or empty the folder")


def _take_over(lake: Lake, inherited: Inherited, merchant_id: str, now: int) -> None:
    """Let no other machine's late PUT arrive, and use nothing that was read before it wrote."""
    fence(lake, inherited.intents, merchant_id, now)
    if not inherited.is_own:
        shutil.rmtree(lake.path / layout.RUNS_FOLDER, ignore_errors=True)


def _begin_writing(lake: Lake, merchant_id: str, now: int, unfinished: int | None) -> LakeWriter:
    _remove_leftovers(lake)
    _begin(lake, merchant_id, now)
    # It reads all footers: a torn file is found before anything is changed.
    writer = LakeWriter(lake, merchant_id, now)
    if unfinished is not None:
        recover(lake, unfinished, now)
    writer.publish_found()
    return writer


def _describe(
    lake: Lake, profile: dict[str, Any], now: int, clocks: Clocks, service: str | None
) -> None:
    merchant = profile | {"read_at": format_instant(now)}
    texts = {name: None if at is None else format_instant(at) for name, at in clocks.items()}
    document: dict[str, Any] = {"layout": layout.LAYOUT, "tool_version": layout.tool_version()}
    document |= {"merchant": merchant, "clocks": texts}
    if service := service or (lake.service if lake.exists else None):
        document["service"] = service
    if earlier := _earlier_profiles(lake, profile):
        document["earlier_profiles"] = earlier
    write_description(lake.storage, document)


def _earlier_profiles(lake: Lake, profile: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the profiles that a lake had: sealed statements carry the name of their day."""
    if not lake.exists:
        return []
    earlier, last = lake.earlier_profiles, lake.merchant
    is_changed = {name: last[name] for name in last if name != "read_at"} != profile
    return [*earlier, last] if is_changed else earlier


def _begin(lake: Lake, merchant_id: str, now: int) -> None:
    """Make the folders and the files without rows, where they are missing."""
    for stream in STREAMS.values():
        files.make_folder(lake.folder(stream))
        side_files.begin_side_folders(lake.storage, stream)
        path = lake.month_path(stream, layout.ORIGIN)
        if not path.exists():
            _put_anew(lake, path, merchant_id, now)


def _remove_leftovers(lake: Lake) -> None:
    """Remove what killed runs left: half-written files and folders, abandoned snapshots."""
    own = (
        f"{folder}/{name}" for folder in (layout.IDS_FOLDER, layout.RUNS_FOLDER) for name in STREAMS
    )
    for folder in (".", *layout.data_folders(), *own, layout.PARENTS_FOLDER):
        for file in (lake.path / folder).glob(".*.writing"):
            # `analytics.duckdb` is written under a lock of its own.
            if file.is_file() and not file.name.startswith(".analytics"):
                file.unlink(missing_ok=True)
    remove_abandoned_snapshots(lake.path)
    files.restore_folders(lake.path / STATEMENTS)


# ---------- Recovery after a kill, a power cut or a disk error, by the next writer
# While a writer is at work there is a file `.writer` in the lake, removed when all it wrote
# is durable. If the next writer finds one, folders may not be synced and files may be torn.


WRITE_DELAY = 10 * MINUTE  # how long a disk may delay writes that it has reported as done


@contextmanager
def dirty_marker(lake: Lake, now: int, elsewhere: int | None = None) -> Iterator[int | None]:
    """Mark the lake as being written; give when an unfinished run began, if any.

    One of another machine is known from the bucket: it began at `elsewhere`.
    """
    known = [at for at in (_read_marker(lake), elsewhere) if at is not None]
    unfinished = min(known, default=None)
    since = now if unfinished is None else min(now, unfinished)
    (lake.path / layout.WRITER_MARK).write_text(f"{os.getpid()} {since}\n")
    try:
        yield unfinished
    except (LakeError, OSError):
        raise
    except Exception:  # of the service: all that was written is whole
        _remove_marker(lake)
        raise
    _remove_marker(lake)


def fence(lake: Lake, keys: Iterable[str], merchant_id: str, now: int) -> None:
    """Put the months anew that an unfinished run may still be putting from elsewhere.

    What it sends then names another version than the bucket has, and is refused. A month that
    has no file gets one that claims nothing.
    """
    for key in keys:
        merge_into(lake.storage, partial(_put_anew, lake, lake.path / key, merchant_id, now))


def _put_anew(lake: Lake, path: Path, merchant_id: str, now: int) -> None:
    """Write a month's file with the same rows, or one without any that claims nothing."""
    if path.exists():
        month_file.rewrite_month_file(lake.storage, path, coverage_footer.read_footer(path))
        return
    stream = STREAMS[path.parent.name]
    owns = coverage_footer.owned_span(path.stem, (), now)
    footer = MonthFileFooter(stream.name, merchant_id, owns, Coverage(), 0, now)
    files.make_folder(path.parent)
    month_file.write_month_file(lake.storage, path, stream, (), footer)


def recover(lake: Lake, since: int, now: int) -> None:
    """Make durable what an unfinished run wrote; raise `LakeError` for a damaged file."""
    with suppress(PermissionError):  # the folder above is another user's: nothing to sync
        files.sync_folder(lake.path.parent)
    folders = [lake.path / name for name in layout.data_folders()]
    for folder in sorted({lake.path, *folders, *(folder.parent for folder in folders)}):
        files.sync_folder(folder)
    for name in sorted({*layout.data_folders()} - {*STREAMS}):
        for path in sorted((lake.path / name).glob("*.parquet")):
            side_files.read_side_file(path)
    for stream in STREAMS.values():
        written = _verify(lake, stream, since)
        _resolve(lake, stream, written, since, now)


def _verify(lake: Lake, stream: Stream, since: int) -> list[Path]:
    """Verify the month files written since then, or just before; return them."""
    written = []
    for path in sorted(lake.folder(stream).glob("*.parquet")):
        footer = coverage_footer.read_footer(path)
        if footer.written_at >= since - WRITE_DELAY:
            totals = map(partial(control_totals, stream), month_file.read_groups(path))
            if not sum(totals, ControlTotals()).is_same(footer.totals):
                raise files.damaged_file(path)
            written.append(path)
    return written


def _resolve(lake: Lake, stream: Stream, written: list[Path], since: int, now: int) -> None:
    """Resolve rejected records that the unfinished run published good versions of.

    One that the same run rejected stays open: it listed both.
    """
    rejected = side_files.open_quarantine(lake.path, stream).items()
    seen_at = {record_id: at for record_id, at in rejected if at < since}
    ids = pa.chunked_array([list(seen_at)], pa.string())
    for path in written if seen_at else ():
        held = month_file.read_rows(stream, path, ids)
        moments = held["extracted_at"].cast(pa.int64()).to_pylist()
        pairs = zip(held["id"].to_pylist(), moments, strict=True)
        good = {record_id for record_id, at in pairs if at > seen_at[record_id]}
        side_files.resolve_quarantine(lake.storage, stream, good, now)


def lock_holder(lake: Lake) -> Message:
    """Return which process writes to the lake, by its number if it is known."""
    try:
        number = int((lake.path / layout.WRITER_MARK).read_text().split()[0])
        return Message("busy.process", number=number)
    except (OSError, ValueError, IndexError):
        return Message("busy.another")


def _read_marker(lake: Lake) -> int | None:
    try:
        return int((lake.path / layout.WRITER_MARK).read_text().split()[1])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, IndexError):
        return BEGINNING  # the marker itself is torn, so any file may be


def _remove_marker(lake: Lake) -> None:
    with suppress(OSError):  # if it stays, the next writer verifies files without need
        (lake.path / layout.WRITER_MARK).unlink(missing_ok=True)
