"""The lake: a folder of month files that any Parquet tool reads correctly.

`Lake` reads; `LakeWriter`, of which there is one at a time, changes. Nothing here is
remembered outside the month files, so there is no state to lose or to disagree.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock

from svc_analytics.coverage import Coverage
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.lake.files import damaged_file, is_refused
from svc_analytics.lake.footer import PartitionFooter, read_footer
from svc_analytics.lake.layout import LAYOUT, ORIGIN
from svc_analytics.lake.snapshot import SNAPSHOT_PREFIX, link_all, snapshot_folders
from svc_analytics.periods import month_of
from svc_analytics.schema import Stream


class Lake:
    """A merchant's records in a folder. Opening reads nothing but `lake.json`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        marks = "[]*?" if os.name == "nt" else "[]*?\\"
        if set(marks) & set(str(self.path)):
            shown = " ".join(marks)
            message = f"{self.path} cannot be a lake: DuckDB reads {shown} in a path as a pattern"
            raise ConfigError(message)

    def __repr__(self) -> str:
        return f"Lake({str(self.path)!r})"

    @property
    def exists(self) -> bool:
        """Whether a lake was ever begun here."""
        return (self.path / "lake.json").is_file()

    def require(self) -> None:
        """Refuse to go on where no lake is."""
        if not self.exists:
            message = f"no lake in {self.path}: run svc-analytics extract, or svc-analytics demo"
            raise LakeError(message)

    @property
    def merchant(self) -> dict[str, Any]:
        """The merchant profile as last read from the service, with `read_at`."""
        self.require()
        try:
            document = json.loads((self.path / "lake.json").read_text(encoding="utf-8"))
            layout, merchant = document["layout"], document["merchant"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            if is_refused(error):
                raise damaged_file(self.path / "lake.json", error) from error
            message = f"{self.path / 'lake.json'} is torn: move it away and run extract"
            raise LakeError(message) from error
        if layout > LAYOUT:
            message = f"{self.path} was written by a newer svc-analytics; update this one"
            raise LakeError(message)
        return dict(merchant)

    @property
    def merchant_id(self) -> str:
        """The one merchant whose records this lake holds."""
        return str(self.merchant["id"])

    def folder(self, stream: Stream) -> Path:
        """The folder of a stream's month files."""
        return self.path / stream.name

    def month_path(self, stream: Stream, month: str) -> Path:
        """The path of a month's file, whether it exists or not."""
        return self.folder(stream) / f"{month}.parquet"

    def months(self, stream: Stream) -> list[str]:
        """The months that have a file, oldest first."""
        found = (file.stem for file in self.folder(stream).glob("*.parquet"))
        return sorted(month for month in found if month != ORIGIN)

    def footers(self, stream: Stream, merchant_id: str | None = None) -> dict[str, PartitionFooter]:
        """The footers of a stream's files by month, the origin's included."""
        merchant_id = merchant_id or self.merchant_id
        found = {}
        for file in sorted(self.folder(stream).glob("*.parquet")):
            footer = read_footer(file)
            if (footer.merchant_id, footer.stream) != (merchant_id, stream.name):
                raise LakeError(f"{file} is of another merchant or stream: move it out of the lake")
            if file.stem not in (ORIGIN, month_of(footer.owns[0]).label):
                raise LakeError(f"{file} is the file of another month: move it out of the lake")
            found[file.stem] = footer
        return found

    def coverage(self, stream: Stream) -> Coverage:
        """The time that was read of a stream."""
        return whole_coverage(self.footers(stream))

    @contextmanager
    def snapshot(self) -> Iterator[Path]:
        """Give a folder in which the month files stand still while they are being read.

        DuckDB opens a file twice by its path; a replacement in between would mix an
        old footer with new data. Hard links keep what they name (design 4).
        """
        self.require()
        folder, lock = self._begin_snapshot()
        try:
            for name in snapshot_folders():
                link_all(self.path / name, folder / name)
            yield folder
        finally:
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)

    def _begin_snapshot(self) -> tuple[Path, BaseFileLock]:
        """Make a folder and hold its lock, by which a writer knows that it is in use.

        A writer's sweep may come between the two; then there is another folder.
        """
        while True:
            folder = self._snapshot_folder()
            lock = FileLock(folder / "lock")
            with suppress(FileNotFoundError):
                lock.acquire()
                if (folder / "lock").exists():
                    return folder, lock
                lock.release()

    def _snapshot_folder(self) -> Path:
        try:
            return Path(tempfile.mkdtemp(prefix=SNAPSHOT_PREFIX, dir=self.path))
        except OSError:  # a read-only lake: its files are copied instead
            return Path(tempfile.mkdtemp(prefix="svc-analytics-"))


def whole_coverage(footers: dict[str, PartitionFooter]) -> Coverage:
    """Return the union of what all files of a stream cover."""
    found = Coverage()
    for footer in footers.values():
        found = found.add(footer.coverage)
    return found
