"""One run of closing: what is to be closed, how it is read, and what is to be written."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from svc_analytics.arguments import AnyPath, PeriodOptions, as_names, check
from svc_analytics.bucket.address import local_path
from svc_analytics.closing import seals
from svc_analytics.closing.acceptances import ahead
from svc_analytics.closing.due import months_over
from svc_analytics.closing.month_states import LakeContents
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.verification.derived_forms import Sealed
from svc_analytics.config import Settings, read_rates_path, read_settings
from svc_analytics.external_rates import ExternalRates, read_rates
from svc_analytics.extraction import update
from svc_analytics.extraction.plan import ExtractionResult, OnPage, Request, ShortList
from svc_analytics.files import locked
from svc_analytics.instants import HOUR, format_instant
from svc_analytics.lake.coverage_footer import CLOCK_TOLERANCE
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message, translated
from svc_analytics.periods import GREGORIAN, Period, month_of
from svc_analytics.render.document import Reason
from svc_analytics.render.folder import TABLE_FORMATS, Note, Output, printed
from svc_analytics.statements.reading import check_names
from svc_analytics.statements.statement import Statement

Read = Callable[[Request], ExtractionResult]


class JobOptions(PeriodOptions, total=False):
    """How months are closed; `close` says what each option is."""

    formats: Collection[str]
    grace_hours: int
    metadata: Collection[str]
    settings: Settings | None
    read: Read | None
    lang: str
    digits: str
    sign: bool
    note: Note


@dataclass(frozen=True)
class Job:
    """One run of `close`: the lake, how it is read, and what is to be written."""

    lake: Lake
    read: Read
    settings: Settings | None
    output: Output
    metadata: tuple[str, ...]
    grace: int
    out: Path | None = None
    clock: int = 0  # up to when the lake was read, in UTC microseconds
    notes: tuple[Message, ...] = ()  # what bringing it up to date brought to light
    short_lists: tuple[ShortList, ...] = ()
    proven: set[str] = field(default_factory=set)  # the seals that this run has proven, or made
    rates: ExternalRates | None = None  # of another currency, where one was asked for
    # Sealed statements by their seals, until forms are written beside them.
    shown: dict[str, Sealed] = field(default_factory=dict)
    # What the lake held before each period was compared with its seal, or stated.
    contents: dict[str, LakeContents] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Report the step that begins now."""
        self.output.note(text)

    @property
    def statements(self) -> Path:
        """The lake's folder of statements."""
        return self.lake.path / seals.STATEMENTS

    def converted(self, statement: Statement) -> Statement:
        """Return a statement with the other currency beside USD, where one was asked for."""
        return statement.converted(self.rates) if self.rates else statement

    def folder(self, period: Period) -> Path:
        """Return the folder of a period's first version."""
        return (self.out or self.lake.path / seals.STATEMENTS / period.folder).absolute()

    def note_sealed(self, folder: Path, manifest: seals.Manifest, statement: Statement) -> None:
        """Note that this run sealed a statement, which forms can be made of as a proof gives it."""
        facts, seal = printed(manifest, is_sealed=True), manifest["seal"]
        self.proven.add(seal)
        self.shown[seal] = Sealed(
            folder, manifest, statement.as_version(manifest["version"]), facts
        )

    def waits_for(self, period: Period) -> list[Reason]:
        """Say why a period is not sealed while a list lacks many records of it, or of before."""
        return [Reason(each.text) for each in self.short_lists if each.since < period.end]

    def places(self, period: Period) -> list[Path]:
        """Return the folders beside which its neighbours are looked for: its own, the lake's."""
        return [self.folder(period), self.statements / period.folder]

    def started(self) -> "Job":
        """Bring the lake up to date; return the run with its clock."""
        done = self.read(Request())
        notes = (*done.retractions, *done.notes, *ahead(self.lake))
        lists = tuple(done.short_lists.values())
        return replace(self, clock=done.read_to, notes=notes, short_lists=lists)

    def with_rates(self, currency: str | None, rates: AnyPath | None) -> "Job":
        """Return the run with the rates of a currency, from a file or that of the lake."""
        if currency is None:
            return self
        return replace(self, rates=read_rates(read_rates_path(self.lake.path, rates), currency))

    def waiting_for_a_clock(
        self, months: Sequence[Period], zone: str, calendar: str | None
    ) -> list[CloseResult]:
        """Return the first month that is due by one clock and not by the other; nothing if none is.

        The clocks are the service's and this machine's, as the newest run found them; `months` are
        those that are due by what it judged of both.
        """
        clocks = self.lake.clocks
        service, machine = clocks.get("service"), clocks.get("machine")
        if service is None or machine is None or abs(service - machine) <= CLOCK_TOLERANCE:
            return []
        over = months_over(self.lake, max(service, machine), self.grace, zone, calendar)
        first = next((month for month in over if month not in months), None)
        if first is None:
            return []
        sides = [(service, "reason.service_clock"), (machine, "reason.machine_clock")]
        (early, behind), (late, ahead) = sorted(sides)
        values = {"late": format_instant(late), "early": format_instant(early)}
        names = {"ahead": translated(Message(ahead)), "behind": translated(Message(behind))}
        text = Message("reason.two_clocks", **names, **values)
        return [CloseResult(first.folder, "waiting", self.folder(first), 1, None, (Reason(text),))]

    def waiting_for_a_list(
        self, months: Sequence[Period], zone: str, calendar: str | None
    ) -> list[CloseResult]:
        """Return the month that runs if a list lacks many records and no month due waits for it."""
        running = month_of(self.clock, zone, calendar or GREGORIAN)
        reasons = tuple(self.waits_for(running))
        if not reasons or any(map(self.waits_for, months)):
            return []
        return [CloseResult(running.folder, "waiting", self.folder(running), 1, None, reasons)]


def read_for_close(
    lake: Lake, settings: Settings, request: Request, on_page: OnPage | None = None
) -> ExtractionResult:
    """Bring a lake up to date; a month that is read again leaves the views as they are."""
    read = update.read_again if request.rereads else update.extract
    return read(lake, settings, request, on_page=on_page)


def prepare_job(
    lake: Lake,
    output: Output,
    grace_hours: int,
    metadata: Collection[str],
    settings: Settings | None,
    read: Read | None,
    out: str | Path | None = None,
) -> Job:
    """Check the options; nothing is read yet, so the run has no clock."""
    check_lake(lake)
    check("grace_hours", grace_hours, (int, float), "a number of hours, such as 24")
    names = check_names(metadata)
    if read is None:
        settings = settings or read_settings(lake.path)
        read = partial(read_for_close, lake, settings)
    folder = None if out is None else local_path("out", out)
    return Job(lake, read, settings, output, names, grace_hours * HOUR, folder)


def chosen_output(formats: Collection[str], language: Language, note: Note) -> Output:
    """Return the forms to write, checked; a restatement is made from tables, so CSV is one."""
    formats = as_names("formats", formats, "csv")
    if formats and not {*TABLE_FORMATS} & {*formats}:
        formats = ("csv", *formats)
    output = Output(formats, language, note)
    output.check()
    return output


def one_at_a_time(lake: Lake) -> AbstractContextManager[None]:
    """Let one process close at a time: two would not see each other's versions."""
    doing = Message("busy.closing", place=lake.place)
    return locked(lake.path / ".close.lock", doing, patience=0)
