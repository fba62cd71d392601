"""What the close desk knows: the months, the one that is shown, and the close that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, RLock, Thread
from time import monotonic
from typing import Any

from svc_analytics.arguments import PeriodOptions
from svc_analytics.books.export import Books
from svc_analytics.books.presets.preset import Preset
from svc_analytics.closing import seals
from svc_analytics.closing.acceptances import Finding, acknowledge, findings_in
from svc_analytics.closing.close import close, close_all_due
from svc_analytics.closing.handover.books import books_of
from svc_analytics.closing.handover.readable import readable_file
from svc_analytics.closing.job import JobOptions, read_for_close
from svc_analytics.closing.month_states import (
    LakeContents,
    is_judged,
    judge_open,
    judged,
    keep_open,
    month_states,
)
from svc_analytics.closing.rederive import balance_notes, read_until
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.stated import statement
from svc_analytics.closing.statement_diff import StatementDiff, diff_statements
from svc_analytics.config import Settings, read_settings
from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.extraction.plan import ExtractionResult, Request
from svc_analytics.formatting.display import names_of
from svc_analytics.instants import BEGINNING, format_instant, now
from svc_analytics.interrupts import Stopped, check_stop, stopped_by
from svc_analytics.lake.lake import Lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.matching.match import Match, match
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.notebook.desk.controls import CLOSE_AGAIN, Looks
from svc_analytics.notebook.desk.records import MonthRecords
from svc_analytics.notebook.picked import Claim, compared
from svc_analytics.periods import Period, calendar_name, read_label
from svc_analytics.render.document import RECEIPTS, UNCHECKED
from svc_analytics.render.month_state import MonthState
from svc_analytics.schema import Stream
from svc_analytics.statements.statement import Statement

WARNING = "\N{WARNING SIGN}"
STOPPED = "Stopped. What the lake holds is sound: close again to go on."
_PAGE = "read {count} records in {pages} page: {STREAM}"
_PAGES = "read {count} records in {pages} pages: {STREAM}"
PAUSE = 0.1  # seconds between two words on pages: a person reads no faster
# `note` and a text, `closed` and a result, or `failed` and an error.
Tell = Callable[[str, Any], None]


_RUNS: dict[Path, CloseRun] = {}  # by lake: a desk that is opened meanwhile follows them


class DeskMonths:
    """The months of a lake. Each is read anew after whatever is done: others close months too."""

    def __init__(
        self,
        lake: Lakehouse,
        zone: str,
        calendar: str | None,
        settings: Settings | None,
        language: Language = ENGLISH,
    ) -> None:
        self.looks = Looks(language)
        self.lake, self.zone, self.calendar = lake, zone, calendar_name(calendar)
        self._settings = settings
        self._lock = RLock()  # who holds it reads the lake: a person, or the thread that compares
        self._is_asked, self._is_free = Event(), Event()  # whether a person waits for the lake
        self._is_free.set()
        self._is_closing = False  # then nothing is compared: the lake changes
        self._judged: set[str] = set()  # months that were compared with the lake as it is
        self._records: MonthRecords | None = None
        self.statement: Statement | None = None
        self.problem = ""  # why there is no statement
        self._claims: dict[str, Claim] = {}
        self.agreement = ""  # whether the figures are what their claims say
        self.chosen_later = ""  # the month to show once a close is over
        self._contents: LakeContents | None = None  # what the lake held when it was read
        self._answers: dict[str, dict[str, Any]] = {}  # what is known until it is judged, by month
        self.tiles = self._read_tiles()
        self.tile = _first_to_close(self.tiles)
        self.choose_next()

    def choose(self, label: str) -> None:
        """Show a month: make its statement from the lake as it is now, and judge it."""
        with self._at_once():
            self._choose(label)

    def _choose(self, label: str) -> None:
        self._close_records()
        self.statement, self.problem, self.agreement = None, "", ""
        try:
            before = self._contents = LakeContents.read(self.lake)
            chosen = statement(self.lake, label, zone=self.zone, calendar=self.calendar)
        except SvcError as error:
            self.problem = self.looks.sentence(error)
        else:
            self.statement = chosen
            self.agreement = self._agreement(chosen)
            keep_open(self.lake, before, chosen)
        self.tiles = self._read_tiles()
        self.tile = next(tile for tile in self.tiles if tile.label == label)
        if self.statement and self.statement.state:
            self._place(self.statement.state)

    def choose_next(self) -> None:
        """Show the month that a person comes for, or the one that is to be closed before it."""
        self.choose(_first_to_close(self._read_tiles()).label)
        if before := self.to_close_again:
            self.choose(before.label)

    @property
    def to_close_again(self) -> MonthState | None:
        """The sealed month before the one that is shown, where it no longer leads up to it."""
        reasons = () if self.tile.is_sealed else self.tile.reasons
        if not any(isinstance(each, Message) and CLOSE_AGAIN in each.codes() for each in reasons):
            return None
        label = self.tile.period.shift(-1).label
        return next((tile for tile in self.tiles if tile.label == label), None)

    @property
    def is_outdated(self) -> bool:
        """Whether the lake holds something else than when it was read."""
        with self._at_once():
            return LakeContents.read(self.lake) != self._contents

    def choose_later(self, label: str) -> None:
        """Choose a month that is shown once a close, which reads the lake, is over."""
        self.chosen_later = "" if label == self.tile.label else label

    def refresh(self, *, is_next: bool = False) -> None:
        """Read everything anew, when a close is over or when somebody asks for it.

        After a close of all months that are due it `is_next` that is shown, unless one is chosen.
        """
        self._is_closing = False
        label, self.chosen_later = self.chosen_later, ""
        if is_next and not label:
            self.choose_next()
        else:
            self.choose(label or self.tile.label)

    def close(self, label: str | None, tell: Tell) -> CloseRun:
        """Return a run that closes a month, or every month that is due; start it.

        Raises `ConfigError` where the address of the service or a key is missing.
        """
        settings = self._settings or read_settings(self.lake.path)
        settings.require_service()
        with self._at_once():
            self._close_records()
            self._is_closing = True
        run = CloseRun(self.lake, label, self.zone, self.calendar, settings, tell)
        _RUNS[self.lake.path] = run
        return run

    def running(self, tell: Tell) -> CloseRun | None:
        """Follow the close that runs over the lake, begun at a desk that was left since."""
        run = _RUNS.get(self.lake.path)
        if run is None or not run.is_running:
            return None
        self._is_closing = True
        run.tellers.append(tell)
        return run

    def check(self, claims: dict[str, Claim]) -> str:
        """Compare figures with what the tables add up to, now and for each month from now on.

        Raises `AssertionError` that names the first figure that differs.
        """
        self._claims = claims
        if self.statement is None:
            return self.problem
        self.agreement = self._agreement(self.statement)
        return compared(self.statement, claims)

    def _agreement(self, chosen: Statement) -> str:
        if not self._claims:
            return ""
        try:
            return compared(chosen, self._claims)
        except AssertionError as error:
            return Message(
                "{MARK} {COLUMN}", mark=translated(WARNING), column=translated(error.args[0])
            )

    @property
    def findings(self) -> list[Finding]:
        """The findings of the month that is shown."""
        return [] if self.statement is None else findings_in(self.statement.tables["checks"])

    @property
    def unverified(self) -> int:
        """How many receipts of the month that is shown have no verdict yet."""
        if self.statement is None:
            return 0
        verdicts = self.statement.tables[RECEIPTS]["verdict"].to_pylist()
        return sum(each == UNCHECKED for each in verdicts)

    @property
    def other_reasons(self) -> list[str]:
        """What keeps the month that is shown from a seal beside its findings.

        A reason that is the only one stands beside the month's name.
        """
        reasons = self.tile.reasons if self.tile.is_open and len(self.tile.reasons) > 1 else ()
        return [each for each in reasons if getattr(each, "code", "") != "reason.finding"]

    def accept(self, findings: Sequence[Finding], reason: str, by: str) -> None:
        """Accept findings of the month that is shown, which is then judged again."""
        acknowledge(self.lake, findings, reason, by)
        self.choose(self.tile.label)

    @contextmanager
    def records(self) -> Iterator[MonthRecords]:
        """Give the records of the month that is shown, which no close takes away meanwhile."""
        with self._at_once():
            if self.statement is None:
                raise ConfigError(self.problem)
            if self._records is None:
                self._records = MonthRecords(self.lake, self.statement.period)
            yield self._records

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Read the lake for a person: a month that is being compared is left for later."""
        self._is_free.clear()
        self._is_asked.set()
        try:
            with self._lock:
                self._is_asked.clear()
                yield
        finally:
            self._is_free.set()

    def judge_next(self) -> bool:
        """Compare one more month with the lake, the newest first; False when all of them are.

        Those that are over and have no seal come first, all of them together.

        It waits while a person reads the lake, gives way to one who wants to, and ends at a close.
        """
        self._is_free.wait()
        try:
            with self._lock, stopped_by(self._is_asked):
                check_stop()
                return not self._is_closing and self._judge_one()
        except Stopped:
            return True

    def _judge_one(self) -> bool:
        left = [tile for tile in self.tiles if tile.label not in self._judged]
        contents, clock = LakeContents.read(self.lake), now()
        if together := judge_open(self.lake, left, clock, contents):
            for each in together:
                self._place(each)
            return True
        state = next((tile for tile in left if not is_judged(contents, tile)), None)
        if state is not None:
            self._place(judged(self.lake, state, clock, contents))
        return state is not None

    def _place(self, state: MonthState) -> None:
        """Put a month that was judged in the place of the same month."""
        self._judged.add(state.label)
        blocked = {"kind": state.kind, "reasons": state.reasons} if state.kind == "blocked" else {}
        self._answers[state.label] = blocked  # a block that is known stands until it is judged anew
        self.tiles = [state if tile.label == state.label else tile for tile in self.tiles]
        self.tile = state if self.tile.label == state.label else self.tile

    def hand_over(self, form: str) -> Path:
        """Return a form of the newest sealed version of the month, made where it lacks."""
        with self._at_once():
            return readable_file(self.lake, self.tile.versions[-1], form, self.looks.language)

    def books(self, preset: Preset) -> Books:
        """Return the entries of the month that is shown for a system, by the chart of its lake."""
        with self._at_once():
            at = PeriodOptions(zone=self.zone, calendar=self.calendar)
            return books_of(self.lake, self.tile.label, at, preset)

    def match(self, path: Path, kind: str, ledger: str | None) -> Match:
        """Match the month that is shown with a list of somebody else's."""
        with self._at_once():
            at = PeriodOptions(zone=self.zone, calendar=self.calendar)
            return match(self.lake, kind, path, month=self.tile.label, preset=ledger, **at)

    def month(self, label: str) -> Period:
        """Return the month of a label, in the desk's zone and calendar."""
        return read_label(label, self.zone, self.calendar)

    @property
    def read_to(self) -> str:
        """Up to when the lake was read, for people."""
        read = read_until(self.lake)
        if read is None:
            return ""
        return Message("read up to {MOMENT}", moment=translated(self.tile.period.moment(read)))

    @property
    def names(self) -> str:
        """The merchant's names, that in the language of the desk first."""
        return names_of(self.lake.merchant, own=self.looks.language.code)

    @property
    def first_open(self) -> MonthState | None:
        """The oldest month before the one that is shown that is not sealed and could be."""
        start = self.tile.period.start
        older = (each for each in reversed(self.tiles) if each.period.start < start)
        return next((each for each in older if each.is_open), None)

    @property
    def left_between(self) -> MonthState | None:
        """That month, where one before it is sealed: to seal the shown one leaves it out."""
        first = self.first_open
        starts = [each.period.start for each in self.tiles if each.versions]
        return (
            first if first and min(starts, default=first.period.end) < first.period.start else None
        )

    @property
    def notes(self) -> str:
        """The balances of assertions.csv that were not sealed with their month."""
        if self.statement is None or not self.tile.versions:
            return ""
        manifest = seals.read_manifest(self.tile.versions[-1])
        texts = balance_notes(self.lake, manifest, self.tile.period)
        return Message("Note: {NOTES}.", notes=clauses(*texts)) if texts else ""

    @property
    def changes(self) -> StatementDiff | None:
        """The differences between the two newest versions of the month that is shown.

        Of a month that changed since its seal, they are those from its newest version to now.
        """
        if self.tile.kind == "changed" and self.statement:
            with TemporaryDirectory() as folder:
                now = self.statement.save(Path(folder, "now"), ("csv",))
                return diff_statements(self.tile.versions[-1], now)
        if len(self.tile.versions) < 2:
            return None
        before, newest = self.tile.versions[-2:]
        return diff_statements(before, newest)

    def take(self, result: CloseResult) -> None:
        """Show at once what a close answered of a month, before it is compared with the lake."""
        if result.state == "waiting":  # it was not tried, so it is as it was
            return
        reasons = tuple(each.text for each in result.reasons)
        answer = (
            {"kind": "sealed", "version": result.version} if result.seal else {"kind": "blocked"}
        )
        self._answers[result.label.partition("@")[0]] = answer | {"reasons": reasons}
        self.tiles = [*map(self._as_answered, self.tiles)]

    def _as_answered(self, tile: MonthState) -> MonthState:
        is_known = tile.is_sealed or tile.label not in self._answers
        return tile if is_known else replace(tile, **self._answers[tile.label])

    def _read_tiles(self) -> list[MonthState]:
        self._judged.clear()
        states = month_states(self.lake, now(), self.zone, self.calendar)
        return [*map(self._as_answered, states)]

    def _close_records(self) -> None:
        if self._records is not None:
            self._records.close()
            self._records = None


def _first_to_close(tiles: list[MonthState]) -> MonthState:
    """Return the month that a person came for: the first to close after the newest sealed one.

    Where there is none, it is the newest sealed month.
    """
    newest = next((place for place, tile in enumerate(tiles) if tile.versions), len(tiles))
    later = [tile for tile in tiles[:newest] if tile.can_be_closed]
    return (later[-1:] or tiles[newest : newest + 1] or tiles[:1])[0]


class CloseRun:
    """Closes a month, or every month that is due, and tells what it does.

    `tell` is called in a thread with `note` and a text, `closed` and a result, `failed` and an
    error; and once, at the end, with `over` and None.
    """

    def __init__(
        self,
        lake: Lake,
        label: str | None,
        zone: str,
        calendar: str,
        settings: Settings,
        tell: Tell,
    ) -> None:
        self._lake, self._label, self._settings = lake, label, settings
        self.tellers = [tell]
        self._options: JobOptions = {"zone": zone, "calendar": calendar, "settings": settings}
        self._stop = Event()
        # A stopped notebook server need not wait for it: a killed close leaves a sound lake.
        self._thread = Thread(target=self._work, daemon=True)

    def start(self) -> None:
        """Begin to close."""
        self._thread.start()

    def stop(self) -> None:
        """Let its thread end before its next step, or in the query that it waits for."""
        self._stop.set()

    @property
    def is_running(self) -> bool:
        """Whether it is not over."""
        return self._thread.is_alive()

    def _tell(self, kind: str, message: Any) -> None:
        for tell in self.tellers:
            tell(kind, message)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it is over and all was told."""
        self._thread.join(seconds)

    def _work(self) -> None:
        try:
            with stopped_by(self._stop):
                self._close()
        except KeyboardInterrupt:
            self._tell("failed", SvcError(Message(STOPPED)))
        except Exception as error:  # a thread has nobody else to tell it to
            self._tell("failed", error)
        finally:
            self._tell("over", None)

    def _close(self) -> None:
        closed = partial(self._tell, "closed")
        read = partial(_read, self._lake, self._settings, _Pages(self._note))
        options: JobOptions = {**self._options, "read": read, "note": self._note}
        if self._label is None:
            close_all_due(self._lake, on_closed=closed, **options)
        else:
            closed(close(self._lake, self._label, **options))

    def _note(self, text: str) -> None:
        check_stop()
        self._tell("note", text)


def _read(lake: Lake, settings: Settings, pages: _Pages, request: Request) -> ExtractionResult:
    """Read as `close` does by itself, and tell of every page."""
    if not request.rereads:
        pages.say("bringing the lake up to date")
    return read_for_close(lake, settings, request, pages.count)


class _Pages:
    """Counts what was read, and says so a few times a second."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self._rows = self._pages = 0
        self._said_at = 0.0

    def count(self, stream: Stream, rows: int, reached: int | None) -> None:
        """Count one page; `reached` is the instant down to which its stream was read."""
        self._rows, self._pages = self._rows + rows, self._pages + 1
        if monotonic() - self._said_at < PAUSE:
            return
        self._said_at = monotonic()
        is_known = reached is not None and reached > BEGINNING
        text = _PAGE if self._pages == 1 else _PAGES
        counts = {"count": f"{self._rows:,}", "pages": f"{self._pages:,}"}
        message = Message(text, **counts, stream=translated(stream.words))
        if is_known and reached:
            message = Message(
                "{READ}, back to {day}", read=translated(message), day=format_instant(reached)[:10]
            )
        self.say(message)
