"""What a writer looks after first, where the one before it did not come to its end.

A writer leaves a mark while it writes, and takes it away when all it did is safe. A
mark that is found tells of a kill, a power cut or a disk that failed: names may stand
in folders that were never synced, and months may be on file that are torn.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pyarrow as pa

from svc_analytics.errors import LakeError
from svc_analytics.instants import BEGINNING, MINUTE
from svc_analytics.lake.control_totals import ControlTotals, control_totals
from svc_analytics.lake.files import damaged_file, sync_folder
from svc_analytics.lake.footer import read_footer
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.merge import read_rows
from svc_analytics.lake.partition import read_groups
from svc_analytics.lake.quarantine import open_quarantine, resolve_quarantine
from svc_analytics.lake.side_files import read_side_file
from svc_analytics.lake.snapshot import snapshot_folders
from svc_analytics.schema import STREAMS, Stream

_MARK = ".writer"
HELD_BACK = 10 * MINUTE  # how long a disk may have kept to itself what it said was written


@contextmanager
def dirty_marker(lake: Lake, now: int) -> Iterator[int | None]:
    """Mark the lake as being written; give the beginning of a run that did not end, if any.

    An error of the service leaves nothing to look after, and takes the mark away too.
    """
    unfinished = _read_mark(lake)
    since = now if unfinished is None else min(now, unfinished)
    (lake.path / _MARK).write_text(f"{os.getpid()} {since}\n")
    try:
        yield unfinished
    except (LakeError, OSError):
        raise
    except Exception:
        _take_away(lake)
        raise
    _take_away(lake)


def recover(lake: Lake, since: int, now: int) -> None:
    """Make safe what an unfinished run put in place, and read it all: it may be torn.

    Raises `LakeError` for the first file that does not hold what its footer says.
    """
    with suppress(PermissionError):  # a folder that is not ours to read, nor to sync
        sync_folder(lake.path.parent)
    for folder in sorted(_folders(lake)):
        sync_folder(folder)
    for name in sorted({*snapshot_folders()} - {*STREAMS}):
        for path in sorted((lake.path / name).glob("*.parquet")):
            read_side_file(path)
    for stream in STREAMS.values():
        written = _verify(lake, stream, since)
        _resolve(lake, stream, written, now)


def _verify(lake: Lake, stream: Stream, since: int) -> list[Path]:
    written = []
    for path in sorted(lake.folder(stream).glob("*.parquet")):
        footer = read_footer(path)
        if footer.written_at >= since - HELD_BACK:
            if (
                sum(map(partial(control_totals, stream), read_groups(path)), ControlTotals())
                != footer.tally
            ):
                raise damaged_file(path)
            written.append(path)
    return written


def _resolve(lake: Lake, stream: Stream, written: list[Path], now: int) -> None:
    """Note that records were read rightly where the run published them, and got no further."""
    seen_at = open_quarantine(lake.path, stream)
    ids = pa.chunked_array([list(seen_at)], pa.string())
    for path in written if seen_at else ():
        held = read_rows(stream, path, ids)
        moments = held["extracted_at"].cast(pa.int64()).to_pylist()
        pairs = zip(held["id"].to_pylist(), moments, strict=True)
        good = {record_id for record_id, at in pairs if at > seen_at[record_id]}
        resolve_quarantine(lake.path, stream, good, now)


def lock_holder(lake: Lake) -> str:
    """Say who writes to the lake now."""
    try:
        return f"process {int((lake.path / _MARK).read_text().split()[0])}"
    except (OSError, ValueError, IndexError):
        return "another process"


def _read_mark(lake: Lake) -> int | None:
    try:
        return int((lake.path / _MARK).read_text().split()[1])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, IndexError):
        return BEGINNING  # a mark that was torn itself: everything may be


def _take_away(lake: Lake) -> None:
    with suppress(OSError):  # a mark that stays costs the next writer a look, nothing else
        (lake.path / _MARK).unlink(missing_ok=True)


def _folders(lake: Lake) -> set[Path]:
    inner = [lake.path / name for name in snapshot_folders()]
    return {lake.path, *inner, *(folder.parent for folder in inner)}
