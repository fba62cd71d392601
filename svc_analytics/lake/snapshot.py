"""Snapshots: hard links to the lake's files, which stay as they are for a reader."""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from svc_analytics.bucket.book import FILE as BOOK
from svc_analytics.bucket.pins import FILE as PINS
from svc_analytics.lake.checksums import DAMAGE, damaged, read_signed_footer, require_whole
from svc_analytics.lake.footer import is_of_earlier_layout, read_footer
from svc_analytics.lake.layout import ORIGIN, data_folders
from svc_analytics.lake.partition import upgrade_partition
from svc_analytics.schema import STREAMS

_PREFIX = ".snapshot-"


@contextmanager
def open_snapshot(
    lake: Path,
    names: Collection[str] | None = None,
    *,
    checked_later: Collection[str] = (),
    still: AbstractContextManager[object] | None = None,
) -> Iterator[Path]:
    """Give a folder with links to the lake's Parquet files as they are now, each found whole.

    DuckDB opens a file twice by its path; a replacement in between would mix an old
    footer with new data. A hard link keeps the old file (design 4). `names` are the folders
    to be read, by default all. Month files of an earlier layout are not linked: what they hold
    is written here as files of today's. Raises `LakeError` naming a damaged file.

    Of the folders `checked_later` the caller checks the files that it reads, by
    `checked_files`: who reads one month need not read all bytes of ten years. Within `still`
    no file is replaced, where that can be had: of a bucket's copy all are of one listing, and
    the book that names their versions lies beside them.
    """
    folder, lock = _locked_folder(lake)
    chosen = data_folders() if names is None else names
    try:
        with still or nullcontext():
            for name in chosen:
                _link_files(lake / name, folder / name)
            with suppress(FileNotFoundError):
                link_file(lake / BOOK, folder / PINS)
        for name in chosen:
            if name not in checked_later:
                checked_files(lake, folder, name)
            if name in STREAMS:
                _upgrade_files(folder / name, lake / name)
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


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


def _upgrade_files(folder: Path, source: Path) -> None:
    for file in sorted(folder.iterdir()):
        if is_of_earlier_layout(file):
            require_whole(file, source / f"{file.stem}.parquet")
            upgrade_partition(file, read_footer(file))


def remove_abandoned_snapshots(lake: Path) -> None:
    """Remove the snapshots of readers that were killed: nobody holds their lock."""
    for folder in lake.glob(f"{_PREFIX}*"):
        with suppress(Timeout, OSError), FileLock(folder / "lock", timeout=0):
            shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(lake: Path) -> tuple[Path, BaseFileLock]:
    """Make a folder and lock it, so that a writer does not take it for abandoned."""
    while True:  # a writer may remove it before it is locked
        folder = _new_folder(lake)
        lock = FileLock(folder / "lock")
        with suppress(FileNotFoundError):
            lock.acquire()
            if (folder / "lock").exists():
                return folder, lock
            lock.release()


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
