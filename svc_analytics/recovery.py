"""What a writer looks after first, where the one before it did not come to its end.

A writer leaves a mark while it writes, and takes it away when all it did is safe. A
mark that is found tells of a kill, a power cut or a disk that failed: names may stand
in folders that were never synced, and months may be on file that are torn.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from svc_analytics.errors import LakeError
from svc_analytics.lake import Lake, snapshot_folders
from svc_analytics.monthfile import Counter, Tally, read_footer, read_groups, sync_folder, torn
from svc_analytics.periods import BEGINNING
from svc_analytics.schema import STREAMS, Stream

_MARK = ".writer"


@contextmanager
def marked(lake: Lake, now: int) -> Iterator[int | None]:
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


def recover(lake: Lake, since: int, counter: Counter) -> None:
    """Make safe what an unfinished run put in place, and read it all: it may be torn.

    Raises `LakeError` for the first file that does not hold what its footer says.
    """
    with suppress(PermissionError):  # a folder that is not ours to read, nor to sync
        sync_folder(lake.path.parent)
    for folder in sorted(_folders(lake)):
        sync_folder(folder)
    for stream in STREAMS.values():
        for path in sorted(lake.folder(stream).glob("*.parquet")):
            footer = read_footer(path)
            if footer.written_at >= since and _tally(path, stream, counter) != footer.tally:
                raise torn(path)


def holder(lake: Lake) -> str:
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


def _tally(path: Path, stream: Stream, counter: Counter) -> Tally:
    return sum((counter.count(stream, table) for table in read_groups(path)), Tally())


def _folders(lake: Lake) -> set[Path]:
    inner = [lake.path / name for name in snapshot_folders()]
    return {lake.path, *inner, *(folder.parent for folder in inner)}
