"""Recovery after a kill, a power cut or a disk error, by the next writer.

While a writer is at work there is a file `.writer` in the lake, removed when all it wrote
is durable. If the next writer finds one, folders may not be synced and files may be torn.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pyarrow as pa

from svc_analytics.coverage import Coverage
from svc_analytics.errors import LakeError
from svc_analytics.files import damaged_file, make_folder, sync_folder
from svc_analytics.instants import BEGINNING, MINUTE
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.footer import MonthFileFooter, read_footer
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import WRITER_MARK, data_folders
from svc_analytics.lake.merge import read_rows
from svc_analytics.lake.month_coverage import owned_span
from svc_analytics.lake.month_file import read_groups, rewrite_month_file, write_month_file
from svc_analytics.lake.quarantine import open_quarantine, resolve_quarantine
from svc_analytics.lake.side_files import read_side_file
from svc_analytics.messages import Message
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.storage import merge_into

WRITE_DELAY = 10 * MINUTE  # how long a disk may delay writes that it has reported as done


@contextmanager
def dirty_marker(lake: Lake, now: int, elsewhere: int | None = None) -> Iterator[int | None]:
    """Mark the lake as being written; give when an unfinished run began, if any.

    One of another machine is known from the bucket: it began at `elsewhere`.
    """
    known = [at for at in (_read_marker(lake), elsewhere) if at is not None]
    unfinished = min(known, default=None)
    since = now if unfinished is None else min(now, unfinished)
    (lake.path / WRITER_MARK).write_text(f"{os.getpid()} {since}\n")
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
    if path.exists():
        rewrite_month_file(lake.storage, path, read_footer(path))
        return
    stream = STREAMS[path.parent.name]
    owns = owned_span(path.stem, (), now)
    footer = MonthFileFooter(stream.name, merchant_id, owns, Coverage(), 0, now)
    make_folder(path.parent)
    write_month_file(lake.storage, path, stream, (), footer)


def recover(lake: Lake, since: int, now: int) -> None:
    """Make durable what an unfinished run wrote; raise `LakeError` for a damaged file."""
    with suppress(PermissionError):  # the folder above is another user's: nothing to sync
        sync_folder(lake.path.parent)
    folders = [lake.path / name for name in data_folders()]
    for folder in sorted({lake.path, *folders, *(folder.parent for folder in folders)}):
        sync_folder(folder)
    for name in sorted({*data_folders()} - {*STREAMS}):
        for path in sorted((lake.path / name).glob("*.parquet")):
            read_side_file(path)
    for stream in STREAMS.values():
        written = _verify(lake, stream, since)
        _resolve(lake, stream, written, since, now)


def _verify(lake: Lake, stream: Stream, since: int) -> list[Path]:
    """Verify the month files written since then, or just before; return them."""
    written = []
    for path in sorted(lake.folder(stream).glob("*.parquet")):
        footer = read_footer(path)
        if footer.written_at >= since - WRITE_DELAY:
            totals = map(partial(control_totals, stream), read_groups(path))
            if not sum(totals, ControlTotals()).is_same(footer.totals):
                raise damaged_file(path)
            written.append(path)
    return written


def _resolve(lake: Lake, stream: Stream, written: list[Path], since: int, now: int) -> None:
    """Resolve rejected records that the unfinished run published good versions of.

    One that the same run rejected stays open: it listed both.
    """
    rejected = open_quarantine(lake.path, stream).items()
    seen_at = {record_id: at for record_id, at in rejected if at < since}
    ids = pa.chunked_array([list(seen_at)], pa.string())
    for path in written if seen_at else ():
        held = read_rows(stream, path, ids)
        moments = held["extracted_at"].cast(pa.int64()).to_pylist()
        pairs = zip(held["id"].to_pylist(), moments, strict=True)
        good = {record_id for record_id, at in pairs if at > seen_at[record_id]}
        resolve_quarantine(lake.storage, stream, good, now)


def lock_holder(lake: Lake) -> Message:
    """Return which process writes to the lake, by its number if it is known."""
    try:
        number = int((lake.path / WRITER_MARK).read_text().split()[0])
        return Message("busy.process", number=number)
    except (OSError, ValueError, IndexError):
        return Message("busy.another")


def _read_marker(lake: Lake) -> int | None:
    try:
        return int((lake.path / WRITER_MARK).read_text().split()[1])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, IndexError):
        return BEGINNING  # the marker itself is torn, so any file may be


def _remove_marker(lake: Lake) -> None:
    with suppress(OSError):  # if it stays, the next writer verifies files without need
        (lake.path / WRITER_MARK).unlink(missing_ok=True)
