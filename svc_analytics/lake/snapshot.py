"""Snapshots: hard links to the lake's files, which stay as they are for a reader."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

from svc_analytics.bucket.mirror import BOOK_FILE, PINS_FILE
from svc_analytics.lake.checksums import DAMAGE, damaged, read_signed_footer, require_whole
from svc_analytics.lake.layout import ORIGIN, data_folders
from svc_analytics.working_folders import hold_folder, leave_folder, remove_abandoned

_PREFIX = ".snapshot-"


@contextmanager
def open_snapshot(
    lake: Path,
    names: Collection[str] | None = None,
    *,
    checked_later: Collection[str],
    still: AbstractContextManager[object],
) -> Iterator[Path]:
    """Give a folder with links to the lake's Parquet files as they are now, each found whole.

    DuckDB opens a file twice by its path; a replacement in between would mix an old
    footer with new data. A hard link keeps the old file. `names` are the folders
    to be read, by default all. Raises `LakeError` naming a damaged file.

    Of the folders `checked_later` the caller checks the files that it reads, by
    `checked_files`: who reads one month need not read all bytes of ten years. Within `still`
    no file is replaced, where that can be had: of a bucket's copy all are of one listing, and
    the book that names their versions lies beside them.
    """
    chosen = data_folders() if names is None else names
    with snapshot_folder(lake) as folder:
        with still:
            for name in chosen:
                _link_files(lake / name, folder / name)
            with suppress(FileNotFoundError):
                link_file(lake / BOOK_FILE, folder / PINS_FILE)
        for name in chosen:
            if name not in checked_later:
                checked_files(lake, folder, name)
        yield folder


@contextmanager
def snapshot_folder(lake: Path) -> Iterator[Path]:
    """Give an empty folder for links to the lake's files; it is removed afterwards."""
    remove_abandoned_snapshots(lake)
    folder, lock = hold_folder(partial(_new_folder, lake))
    try:
        yield folder
    finally:
        leave_folder(folder, lock)


def checked_files(
    lake: Path, snapshot: Path, name: str, labels: Collection[str] | None = None
) -> list[Path]:
    """Check files of a snapshot's folder by their checksums, by default all; return the paths.

    The one without rows comes last: from the first of them DuckDB guesses how many rows all have,
    and so which side of a join it holds in memory.
    """
    files = sorted((snapshot / name).iterdir(), key=lambda file: (file.stem == ORIGIN, file))
    chosen = [file for file in files if labels is None or file.stem in labels]
    for file in chosen:
        require_whole(file, lake / name / f"{file.stem}.parquet")
    return chosen


def checked_footers(lake: Path, snapshot: Path, name: str) -> list[Path]:
    """Check what the files of a folder say about themselves by its checksums; return the paths."""
    files = sorted((snapshot / name).iterdir())
    for file in files:
        try:
            read_signed_footer(file)
        except DAMAGE as error:
            raise damaged(lake / name / f"{file.stem}.parquet", error) from error
    return files


def remove_abandoned_snapshots(lake: Path) -> None:
    """Remove the snapshots of readers that were killed."""
    remove_abandoned(lake.glob(f"{_PREFIX}*"))


def _new_folder(lake: Path) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=lake))
    except OSError:  # a read-only lake: its files are copied instead
        return Path(tempfile.mkdtemp(prefix="svc-analytics-"))


def _link_files(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.glob("*.parquet"):
        while True:
            try:
                link_file(file, target / f"{file.stem}.pq")
                break
            except FileNotFoundError:
                # A writer replaced it between the listing and the link: link its
                # successor. Or a person moved it away: then it is not read.
                if not file.exists():
                    break


def link_file(file: Path, target: Path) -> None:
    """Give a file another name; copy it where that cannot be done."""
    try:
        os.link(file, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, target)
