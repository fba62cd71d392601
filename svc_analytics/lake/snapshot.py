"""Snapshots: hard links of the month files that a reader works on."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from svc_analytics.schema import SIDE_STREAMS, STREAMS

SNAPSHOT_PREFIX = ".snapshot-"


def snapshot_folders() -> list[str]:
    """The folders of Parquet files that views read, relative to the lake."""
    kinds = ("{}", "changes/{}", "quarantine/{}")
    return [
        *(kind.format(name) for kind in kinds for name in STREAMS),
        "receipt_verdicts",
        *SIDE_STREAMS,
    ]


def sweep_snapshots(path: Path) -> None:
    """Remove the snapshots of readers that are no more: nobody holds their lock."""
    for folder in path.glob(f"{SNAPSHOT_PREFIX}*"):
        with suppress(Timeout, OSError), FileLock(folder / "lock", timeout=0):
            shutil.rmtree(folder, ignore_errors=True)


def link_all(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for file in source.glob("*.parquet"):
        while True:
            try:
                _link(file, target / f"{file.stem}.pq")
                break
            except FileNotFoundError:
                # Replaced between the look-up and the link, so the name has a new
                # file now; or moved away by a person, then it is not ours to read.
                if not file.exists():
                    break


def _link(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, target)
