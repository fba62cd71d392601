"""The lake: a folder of month files that any Parquet tool reads correctly.

All state is in the files themselves, so no second copy of it can be lost or disagree. A snapshot
is a folder of hard links to them, which stay as they are for a reader.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from svc_analytics.arguments import check, check_path
from svc_analytics.bucket.mirror import BOOK_FILE, PINS_FILE
from svc_analytics.coverage import Coverage, Span, gaps
from svc_analytics.errors import ConfigError, NoLake
from svc_analytics.files import (
    UNREADABLE,
    DamagedFile,
    damaged_file,
    hold_folder,
    leave_folder,
    remove_abandoned,
    write_json,
)
from svc_analytics.instants import parse_instant
from svc_analytics.lake.checksums import DAMAGE, damaged, read_signed_footer, require_whole
from svc_analytics.lake.coverage_footer import MonthFileFooter, read_footer
from svc_analytics.lake.layout import ORIGIN, data_folders, require_layout
from svc_analytics.messages import Message
from svc_analytics.periods import GREGORIAN, calendar_name, month, month_of
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.storage import Storage, mended, open_storage

MOST_MONTHS = 1200  # to look through, or to choose from
_A_STREAM = 'one of svc_analytics.schema.STREAMS; lake.sql("from coverage") is for people'


class LakeEngine(Protocol):
    """What counts the records of lakes in the place of DuckDB."""

    def open_views(
        self, lakes: Sequence["Lake"], names: frozenset[str] | None, *, period: Span | None = None
    ) -> AbstractContextManager[Any]:
        """Open the views of a lake, or of several together, as a `Warehouse`."""
        ...


class Lake:
    """A merchant's records in a folder of Parquet files. Opening it reads none of them.

    The folder may be this machine's copy of a bucket, whose URL is then given: all that is
    read is of one listing of the bucket, and all that is written is put there first. That is
    up to its `storage`, by which everything below the folder is written.
    """

    engine = ""  # the address of what counts its records; without one they are counted here
    engine_data = ""  # where that engine's machines find the lake, if elsewhere than this one

    def __init__(self, path: str | os.PathLike[str], *, storage: Storage | None = None) -> None:
        check_path("the folder of the lake", path, "data")
        self.storage = storage or open_storage(path)
        self.path = self.storage.folder
        self._is_read = False  # whether the folder was brought up to date once
        marks = "[]*?" if os.name == "nt" else "[]*?\\"
        if set(marks) & set(str(self.path)):
            shown = " ".join(marks)
            message = f"{self.path} cannot be a lake: DuckDB reads {shown} in a path as a pattern"
            raise ConfigError(message)
        if str(self.path) != str(self.path).encode("utf-8", "replace").decode():
            message = f"{str(self.path)!a} cannot be a lake: DuckDB needs a path in UTF-8"
            raise ConfigError(f"{message}; in the locale C, set PYTHONUTF8=1")

    def __repr__(self) -> str:
        return f"Lake({self.place!r})"

    def connect(self) -> LakeEngine | None:
        """Return the engine that counts the lake's records; None for DuckDB, which is here."""
        return None

    @property
    def place(self) -> str:
        """Where the lake is, for people: its folder, or the URL of its bucket."""
        return self.storage.place

    @property
    def exists(self) -> bool:
        """Whether the folder holds a lake."""
        if not self._is_read:
            self.refresh()
        return (self.path / "lake.json").is_file()

    def refresh(self) -> None:
        """Bring the copy of a bucket up to date; a folder of this machine is."""
        self.storage.refresh()
        self._is_read = True

    def require(self) -> None:
        """Raise `LakeError` if the folder holds no lake."""
        if not self.exists:
            raise NoLake(self.path, self.place)

    @property
    def merchant(self) -> dict[str, Any]:
        """The merchant profile as last read from the service, with `read_at`."""
        return dict(self._description["merchant"])

    @property
    def earlier_profiles(self) -> list[dict[str, Any]]:
        """The merchant's profiles before `merchant`, such as one of another name, oldest first."""
        return [dict(each) for each in self._description.get("earlier_profiles") or ()]

    @property
    def clocks(self) -> dict[str, int]:
        """The clocks of the newest run: `service`, `machine`, and the one that was judged right."""
        clocks = self._description.get("clocks") or {}
        return {name: parse_instant(at)[0] for name, at in clocks.items() if at}

    @property
    def service(self) -> str | None:
        """The address that the lake was last read from; None where an earlier release wrote it."""
        return self._description.get("service")

    @property
    def _description(self) -> dict[str, Any]:
        """The content of `lake.json`; raises `LakeError` when a byte of it was altered."""
        self.require()
        try:
            document = json.loads((self.path / "lake.json").read_text(encoding="utf-8"))
            layout, _ = document["layout"], dict(document["merchant"])
            if document.pop("sha256", None) != digest_of(document):
                raise ValueError("it is not the one that was written")
        except UNREADABLE as error:
            with mended(self.storage):
                raise damaged_file(self.path / "lake.json", error, "file.make_again") from error
        require_layout(layout, f"{self.place} was ", document.get("tool_version", ""))
        return dict(document)

    @property
    def merchant_id(self) -> str:
        """The one merchant whose records this lake holds."""
        return str(self.merchant["id"])

    def folder(self, stream: Stream) -> Path:
        """The folder of a stream's month files."""
        check("stream", stream, Stream, _A_STREAM)
        return self.path / stream.name

    def month_path(self, stream: Stream, month: str) -> Path:
        """The path of a month's file, whether it exists or not."""
        return self.folder(stream) / f"{month}.parquet"

    def months(self, stream: Stream) -> list[str]:
        """The months that have a file, oldest first."""
        labels = (file.stem for file in self.folder(stream).glob("*.parquet"))
        return sorted(label for label in labels if label != ORIGIN)

    def footers(
        self, stream: Stream, merchant_id: str | None = None, *, folder: Path | None = None
    ) -> dict[str, MonthFileFooter]:
        """The footers of a stream's files by month, the origin's included.

        With the `folder` of a snapshot they are those of its links.
        """
        merchant_id = merchant_id or self.merchant_id
        footers = {}
        files = folder.glob("*.pq") if folder else self.folder(stream).glob("*.parquet")
        for file in sorted(files):
            with mended(self.storage):
                footer = read_footer(file)
                if (footer.merchant_id, footer.stream) != (merchant_id, stream.name):
                    raise DamagedFile(file, Message("file.other_stream"))
                if file.stem not in (ORIGIN, month_of(footer.owns[0]).label):
                    raise DamagedFile(file, Message("file.other_month"))
            footers[file.stem] = footer
        return footers

    def coverage(self, stream: Stream) -> Coverage:
        """The time that was read of a stream, in all its files."""
        return whole_coverage(self.footers(stream))

    @contextmanager
    def snapshot(
        self, names: Collection[str] | None = None, *, checked_later: Collection[str] = ()
    ) -> Iterator[Path]:
        """Give a folder with links to the lake's Parquet files as they are now, each found whole.

        DuckDB opens a file twice by its path; a replacement in between would mix an old
        footer with new data. A hard link keeps the old file. `names` are the folders
        to be read, by default all. Raises `LakeError` naming a damaged file.

        Of the folders `checked_later` the caller checks the files that it reads, by
        `checked_files`: who reads one month need not read all bytes of ten years. While they are
        linked no file is replaced, where that can be had: of a bucket's copy all are of one
        listing, and the book that names their versions lies beside them.
        """
        self.refresh()
        self.require()
        chosen = data_folders() if names is None else names
        with mended(self.storage), snapshot_folder(self.path) as folder:
            with self.storage.still():
                for name in chosen:
                    _link_files(self.path / name, folder / name)
                with suppress(FileNotFoundError):
                    link_file(self.path / BOOK_FILE, folder / PINS_FILE)
            for name in chosen:
                if name not in checked_later:
                    checked_files(self.path, folder, name)
            yield folder


def check_lake(lake: object) -> None:
    """Raise `ConfigError` for what is no lake, such as its folder's name."""
    check("lake", lake, Lake, 'an open lake, such as svc.open_lake("data")')


def write_description(storage: Storage, description: dict[str, Any]) -> None:
    """Write `lake.json`, which says whose records the lake holds, and vouches for itself."""
    document = description | {"sha256": digest_of(description)}
    write_json(storage.write(storage.folder / "lake.json"), document)


def digest_of(document: dict[str, Any]) -> str:
    """Return the hash by which a JSON document vouches for itself."""
    return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def whole_coverage(footers: dict[str, MonthFileFooter]) -> Coverage:
    """Return the union of what all files of a stream cover."""
    coverage = Coverage()
    for footer in footers.values():
        coverage = coverage.add(footer.coverage)
    return coverage


def last_full_month(lake: Lake, zone: str = "UTC", calendar: str | None = None) -> str:
    """Return the newest month that is over and was read whole, such as `2026-10`.

    Only streams that are read at all count. Months begin and end at midnight in `zone`; the
    `calendar` is gregorian unless given.

    Returns:
        The month as text, as `statement` and `close` take it.

    Raises:
        ConfigError: when there is none, or nothing was read yet.
        LakeError: when there is no lake.

    Examples:
        >>> svc.last_full_month(lake)  # doctest: +SKIP
        '2026-10'
    """
    check_lake(lake)
    coverages = [lake.coverage(stream) for stream in STREAMS.values()]
    read = [coverage for coverage in coverages if coverage.read]
    newest = min((coverage.read[-1][1] for coverage in read), default=None)
    if newest is None:
        raise ConfigError(f"nothing was read into {lake.place} yet: run svc-analytics extract")
    oldest = min(coverage.read[0][0] for coverage in read)
    period = month_of(newest, zone, calendar_name(calendar)).shift(-1)
    for _ in range(MOST_MONTHS):
        if period.end <= oldest:
            break
        if not any(gaps(coverage, period.start, period.end) for coverage in read):
            return period.label
        period = period.shift(-1)
    raise ConfigError(f"{lake.place} holds no full month yet: name one with MONTH or --month")


def known_months(lake: Lake, zone: str = "UTC", calendar: str = GREGORIAN) -> list[str]:
    """Return the months from the first record to the newest reading, newest first."""
    spans = [span for stream in STREAMS.values() for span in lake.coverage(stream).read]
    newest = max((end for _, end in spans), default=None)
    if newest is None:
        raise ConfigError(f"nothing was read into {lake.place} yet: run svc-analytics extract")
    first = min((label for stream in STREAMS.values() for label in lake.months(stream)), default="")
    period = month_of(newest - 1, zone, calendar)
    oldest = month(first).start if first else period.start
    labels = [period.label]
    while len(labels) < MOST_MONTHS and period.start > oldest:
        period = period.shift(-1)
        labels.append(period.label)
    return labels


_PREFIX = ".snapshot-"


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
    """Give a file another name; copy it where that cannot be done.

    A link that a person put in the place of a file is followed: nothing outside of a snapshot
    may be read by a query.
    """
    try:
        os.link(file.resolve(), target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(file, target)
