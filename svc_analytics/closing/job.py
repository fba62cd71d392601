"""One run of closing: what is to be closed, how it is read, and what is to be written."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from svc_analytics.arguments import as_names, check
from svc_analytics.bucket.address import local_path
from svc_analytics.closing import seals
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.files import locked
from svc_analytics.instants import HOUR
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.language.catalogue import Language
from svc_analytics.periods import Period
from svc_analytics.render.folder import Note, check_formats, remove_stale
from svc_analytics.statements.metadata import check_names

Read = Callable[[Request], ExtractionResult]


@dataclass(frozen=True)
class Job:
    """One run of `close`: the lake, how it is read, and what is to be written."""

    lake: Lake
    read: Read
    settings: Settings | None
    formats: tuple[str, ...]
    metadata: tuple[str, ...]
    grace: int
    out: Path | None
    clock: int  # up to when the lake was read, in UTC microseconds
    note: Note  # told what is being done now
    language: Language  # of html, xlsx and pdf
    notes: tuple[str, ...] = ()  # what bringing it up to date brought to light

    @property
    def statements(self) -> Path:
        """The lake's folder of statements."""
        return self.lake.path / seals.STATEMENTS

    def folder(self, period: Period) -> Path:
        """Return the folder of a period's first version."""
        return (self.out or self.lake.path / seals.STATEMENTS / period.folder).absolute()


def start(
    lake: Lake,
    formats: Collection[str],
    metadata: Collection[str],
    grace_hours: int,
    settings: Settings | None,
    read: Read | None,
    note: Note,
    words: tuple[str, str],
    out: str | Path | None = None,
) -> Job:
    """Check the options, bring the lake up to date, and take the run's clock."""
    check_lake(lake)
    check("grace_hours", grace_hours, (int, float), "a number of hours, such as 24")
    formats = as_names("formats", formats, "csv")
    language = Language(*words)
    check_formats(formats, language)
    if not {"csv", "parquet"} & set(formats):
        message = "csv or parquet must be among the formats: a restatement is made from them"
        raise ConfigError(message)
    names = check_names(metadata)
    if read is None:
        settings = settings or read_settings(lake.path)
        done = update.extract(lake, settings, Request())
        read = partial(update.read_again, lake, settings)
    else:
        done = read(Request())
    notes, grace = (*done.retractions, *done.notes), grace_hours * HOUR
    remove_stale(lake.path / seals.STATEMENTS)  # of months that are not written again, too
    folder = None if out is None else local_path("out", out)
    chosen = (lake, read, settings, formats, names, grace, folder)
    return Job(*chosen, done.read_to, note, language, notes)


def one_at_a_time(lake: Lake) -> AbstractContextManager[None]:
    """Let one process close at a time: two would not see each other's versions."""
    return locked(lake.path / ".close.lock", f"is closing a month of {lake.place}", patience=0)
