"""Watch one run of a command: ping that it began, and tell at its end what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from svc_analytics.closing import seals
from svc_analytics.closing.due import Reckoning, lake_months, reckonings
from svc_analytics.closing.result import CloseResult
from svc_analytics.errors import EXIT_ATTENTION, LakeBusy, SvcError, text_of
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.instants import format_instant, now
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.unattended import notices
from svc_analytics.unattended.notices import CommandState, Notice, NoticeLog, open_notice_log
from svc_analytics.unattended.notifiers import Watching

if TYPE_CHECKING:
    from svc_analytics.unattended.run_notices import RunNotices

LATER = 75  # try again later
DONE = (0, EXIT_ATTENTION)


@dataclass
class Watch:
    """One run of a command, in `with`; it changes neither its result nor its exit code.

    `place` opens the lake; `months` is the zone and the calendar whose months are to be sealed,
    None where no month is; `warn` hears of what could not be told. A run of the one `period` is
    no run of the timer's: it changes the states of that period alone, and sends no ping.
    """

    command: str
    place: Callable[[], Lake]
    watching: Watching
    warn: Callable[[str], None]
    months: Reckoning | None = None
    period: str = ""  # the folder's name of the one that was named
    language: Language = ENGLISH
    states: list[Notice] = field(default_factory=list)
    results: list[CloseResult] = field(default_factory=list)
    began_at: int = 0
    _place: ExitStack = field(default_factory=ExitStack, repr=False)
    _refused_before: Counter[int] = field(default_factory=Counter, repr=False)

    def closed(self, result: CloseResult) -> None:
        """Note what became of a month."""
        self.results.append(result)
        self.states += notices.states_of_close(result)

    def extracted(self, done: ExtractionResult) -> None:
        """Note what an extraction found."""
        self.states += notices.states_of_extraction(done)

    @cached_property
    def lake(self) -> Lake:
        """The lake, opened when it is first needed."""
        return self.place()

    def __enter__(self) -> Self:
        if self.watching.is_on:
            self.began_at, self._refused_before = now(), _refused_calls()
            self._ping("/start")
            self._trying(self._begin)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.watching.is_on or isinstance(error, GeneratorExit):
            return
        if isinstance(error, KeyboardInterrupt):  # by whoever sits there
            self._trying(self._forget)
            return
        code = exit_code(error)
        self._trying(lambda: self._tell(code, error))
        if code != LATER:  # whoever waits for the success behind a start counts the time
            self._ping("" if code == 0 else "/fail")

    def _trying(self, work: Callable[[], None], what: str = "not all was told of this run") -> None:
        """Do work whose failure is a warning: the run itself is another thing."""
        try:
            work()
        except Exception as error:  # whatever it is, the run keeps its own result
            self._warn(what, error)

    def _warn(self, what: str, error: Exception) -> None:
        name = "" if isinstance(error, SvcError | OSError) else f"{type(error).__name__}: "
        self.warn(notices.without(f"{what}: {name}{text_of(error)}", self.watching.secrets))

    def _ping(self, ending: str) -> None:
        url = self.watching.ping_url
        if not url or self.period:
            return
        from svc_analytics.unattended.delivery import call  # loads the client of the library

        parts = urlsplit(url)
        path = parts.path.rstrip("/") + ending
        try:
            call(parts._replace(path=path).geturl(), self.watching)
        except SvcError as error:
            self._warn("SVC_PING_URL was not reached", error)

    def _begin(self) -> None:
        """Count as told to a new notifier what is sealed now; a killed run leaves its own to tell.

        Of a lake that cannot be reached now, the end of the run counts.
        """
        if not self._is_kept:
            return
        known = dict(seals_of(self.lake)).keys()
        with open_notice_log(self.lake.path) as log:
            if self.watching.notifiers:
                log.begin([one.key for one in self.watching.receivers], known)
            if self.period:
                return
            with suppress(LakeBusy):  # the run that lives tells of itself
                self._place.enter_context(log.running(self.command))
                self._note_begin(log.command(self.command))
                log.save()
                if self.watching.notifiers:
                    self._notices(log, None).send_states(self.command, None)

    def _note_begin(self, command: CommandState) -> None:
        """Note that a run begins, whether the one before it ended, and whether one was missed."""
        states, before = [*command.states], command.began_at or self.began_at
        if command.is_missed(self.began_at):
            states.append(notices.missed(before, self.began_at))
        if command.is_running:
            states.append(notices.killed(before))
        command.states = [*{one.key: one for one in states}.values()]
        command.begin(self.began_at)

    def _forget(self) -> None:
        """Count a run that a person stopped as ended."""
        if self._is_kept:
            with open_notice_log(self.lake.path) as log:
                self._end(log.command(self.command))
                log.save()

    def _end(self, command: CommandState) -> None:
        """Leave the place of the run, if it has it."""
        if command.began_at == self.began_at:
            command.is_running = False
        self._place.close()

    @property
    def _is_kept(self) -> bool:
        """Whether it is kept how this run ends."""
        return bool(self.watching.notifiers or self.watching.metrics_file)

    def _tell(self, code: int, error: BaseException | None) -> None:
        """Keep how the run ended; tell each notifier what it was not told, and write metrics."""
        if not self._is_kept:
            return
        with open_notice_log(self.lake.path) as log:
            command = log.command(self.command)
            self._end(command)
            if not self.period:
                self._keep_run(command, code)
            self._update(command, code, error)
            log.save()
            if self.watching.notifiers:
                self._trying(lambda: self._tell_notifiers(log, code))
            if path := self.watching.metrics_file:
                self._trying(
                    lambda: self._measure(Path(path), log), "SVC_METRICS_FILE was not written"
                )

    def _notices(self, log: NoticeLog, code: int | None) -> RunNotices:
        from svc_analytics.unattended.run_notices import RunNotices  # loads what sends mail

        facts = {"command": self.command, "exit_code": code, "at": format_instant(now())}
        facts["lake"] = self.lake.place
        return RunNotices(log, facts, self.watching, self._warn)

    def _tell_notifiers(self, log: NoticeLog, code: int) -> None:
        sealed = seals_of(self.lake, self.results)
        seals_made = {one.seal for one in self.results if one.state in ("sealed", "restated")}
        log.begin([one.key for one in self.watching.receivers], sealed.keys() - seals_made)
        run = self._notices(log, code)
        run.send_seals(sealed, self.lake, self.language)
        run.send_states(self.command, self._well(log) if code in DONE else None)

    def _well(self, log: NoticeLog) -> Notice | None:
        """Return the notice that no state is left; None of one period, which does not know it."""
        waiting = [name for name, one in log.commands.items() if one.states]
        if self.period:
            return None
        return notices.well(self.command, self.months is not None, waiting, self._elsewhere())

    def _elsewhere(self) -> list[str]:
        """Return the months that are over and not sealed by zones and calendars of other seals."""
        if self.months is None or not self.lake.exists:
            return []
        others = reckonings(self.lake, self.months)[1:]
        months = (notices.months_unsealed(self.lake, now(), 0, *each) for each in others)
        return [name for each in months for name in each]

    def _measure(self, path: Path, log: NoticeLog) -> None:
        from svc_analytics.unattended.metrics import write_metrics  # loads the views

        months = self.months or notices.scheduled_months(self.lake)
        write_metrics(path, self.lake, log.commands, months)

    def _keep_run(self, command: CommandState, code: int) -> None:
        """Keep what is measured of a run."""
        refused = _refused_calls() - self._refused_before
        command.ended_at, command.exit_code = now(), code
        command.duration = now() - self.began_at
        command.refused = {str(status): number for status, number in refused.items()}
        command.months = [*self.months] if self.months else []
        if code in DONE:
            command.succeeded_at = command.ended_at

    def _update(self, command: CommandState, code: int, error: BaseException | None) -> None:
        """Bring the states of the command up to date with how this run ended."""
        states = self._left(command) if code in DONE else [*command.states]
        states += self.states
        if self.period:
            if error and code not in (*DONE, LATER):
                states.append(notices.failure(error, self.period))
        elif code == LATER:
            command.away_since = command.away_since or now()
            if now() - command.away_since >= notices.AWAY:
                states.append(notices.away(command.away_since, error))
        else:
            command.away_since = None
            states += [] if error is None or code in DONE else [notices.failure(error)]
        states += self._overdue()
        command.states = [*{one.key: one for one in states}.values()]

    def _left(self, command: CommandState) -> list[Notice]:
        """Return the states on which this run says nothing: those of periods it did not look at."""
        if self.period:
            return [
                one
                for one in command.states
                if one.event == "overdue" or one.period != self.period  # others are overdue too
            ]
        others = [one for one in command.states if one.period]
        if self.months is None or not others or not self.lake.exists:
            return []
        periods = {one.label for one in self.results}
        periods |= {each.folder for each in lake_months(self.lake, now(), *self.months)}
        places = self.lake.path / seals.STATEMENTS
        waiting = [one for one in others if one.period not in periods]
        return [one for one in waiting if not seals.versions(places / one.period)]

    def _overdue(self) -> list[Notice]:
        if self.months is None or not self.lake.exists:
            return []
        with suppress(SvcError):  # which of the lake's files is torn was said by the run
            return notices.overdue(self.lake, now(), *self.months)
        return []


def seals_of(lake: Lake, results: Iterable[CloseResult] = ()) -> dict[str, seals.Sealed]:
    """Return the sealed statements of a lake, and what these results sealed elsewhere, by seal."""
    sealed = seals.all_sealed(lake.path / seals.STATEMENTS) if lake.exists else []
    places = {folder for folder, _ in sealed}
    others = [one.folder for one in results if one.seal and one.folder not in places]
    sealed += [(folder, seals.read_manifest(folder)) for folder in others]
    return {str(manifest["seal"]): (folder, manifest) for folder, manifest in sealed}


def exit_code(error: BaseException | None) -> int:
    """Return the exit code of a command that ended with an error, or with none."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0
    return 0 if error is None else int(getattr(error, "exit_code", 1))


def _refused_calls() -> Counter[int]:
    """Count the calls that the service refused in this process so far, by status."""
    from svc_analytics.api.responses import REFUSED  # loads the client of the service

    return REFUSED.by_status.copy()
