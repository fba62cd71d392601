"""Notices: what a person is told of a run, and the states that need one."""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.due import Reckoning, closes_at, is_known, lake_months
from svc_analytics.closing.result import CloseResult
from svc_analytics.environment import SettingPlaces, here, variable
from svc_analytics.errors import ApiError, SvcError, class_name
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.files import PRIVATE, UNREADABLE, atomic_write, locked, make_folder, write_json
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import DAY, HOUR, duration, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import NOTIFIED_MARK
from svc_analytics.messages import Message
from svc_analytics.periods import GREGORIAN
from svc_analytics.signing.secrets import hide_keys_in

OVERDUE = 3 * DAY  # behind the instant from which on a month can be closed
AWAY = DAY  # how long a service may be away before a person is told
_NEXT = {
    "failed": "it does not mend itself: see the next step above, then run the command again",
    "away": "it is tried again; see whether the network, or the service itself, is down",
    "overdue": "svc-analytics status says why each is not sealed",
    "attention": "svc-analytics status and svc-analytics check say more",
    "killed": "the log of the machine says why; this run does what that one left",
    "open": "svc-analytics match says more, and takes a sentence beside a row: --known KEY",
    "unmatched": "mend that: the next run matches it again, and the month is closed all the same",
    "missed": "see whether the machine was on, and whether its timer is; this run catches up",
}
OPEN = "open"  # the event of an open row of a match
_PATIENCE = 60  # seconds for another run to tell what it has
_FORMAT = 1
RECORDS = "records"  # begins the key of a state that no later run settles: a person looks at them
LEAST_GAP = 36 * HOUR  # between two runs: a day was missed
_TRIED_AGAIN = 12 * HOUR  # a shorter pause says nothing of a timer
_KNOWN, _FEWEST = 8, 2  # runs and pauses from which on a timer is known


@dataclass(frozen=True)
class Notice:
    """One thing that a person is told, once by each notifier.

    `key` tells it from others, `event` is its kind: sealed, restated, attention, failed, away,
    overdue, killed, missed, open, unmatched or well. `period` is the folder's name of the one that
    it is of.
    """

    key: str
    event: str
    subject: str
    lines: tuple[str, ...] = ()
    period: str = ""

    @classmethod
    def read(cls, facts: dict[str, Any]) -> "Notice":
        """Read what `asdict` made of one."""
        texts = (facts["key"], facts["event"], facts["subject"])
        return cls(*texts, tuple(facts["lines"]), facts.get("period", ""))

    def hiding(self, secrets: Collection[str]) -> "Notice":
        """Return it without any of these secrets, and without a key."""
        lines = tuple(without(line, secrets) for line in self.lines)
        return replace(self, subject=without(self.subject, secrets), lines=lines)

    def to_json(self) -> dict[str, Any]:
        """Return it as a webhook gets it."""
        return {"event": self.event, "subject": self.subject, "lines": self.lines}


def without(text: str, secrets: Collection[str]) -> str:
    """Return a text in one line with a mark in place of each secret, the longest first.

    >>> without("no proxy at http://joe:tiger@proxy", ["tiger"])
    'no proxy at http://joe:***@proxy'
    """
    hidden = hide_keys_in(single_line(text))
    for secret in sorted({*secrets} - {""}, key=len, reverse=True):
        hidden = re.sub(re.escape(secret), "***", hidden)
    return hidden


def sealed_notice(folder: Path, manifest: seals.Manifest) -> Notice:
    """Return the notice of a seal: its month, its version, and where it is."""
    label, version = manifest["label"], manifest["version"]
    is_first = version == 1
    event = "sealed" if is_first else "restated"
    title = f"{label} is sealed" if is_first else f"{label} is restated, as version {version}"
    merchant = names_of(manifest["merchant"])
    lines = [f"merchant: {merchant}", f"seal: {manifest['seal']}", f"folder: {folder}"]
    if not is_first:
        lines.append(f"what differs from version {version - 1} is in its table restatement")
    return Notice(str(manifest["seal"]), event, f"{merchant}: {title}", tuple(lines))


def states_of_close(result: CloseResult) -> list[Notice]:
    """Return the state of a month that a person should look at; a new seal alone is none."""
    texts = [*(reason.text for reason in result.reasons), *filter(None, [result.doubt])]
    if not texts and not result.is_sealed_anew:
        return []
    codes = {getattr(text, "code", "") for text in texts}
    key = ":".join(["attention", result.label, result.state, *sorted(codes)])
    return [state(key, "attention", result.describe(), result.label)]


def states_of_extraction(done: ExtractionResult) -> list[Notice]:
    """Return the state that an extraction leaves: of records once, of a stream until it is read."""
    if not done.needs_attention:
        return []
    has_records = done.published.quarantined or done.published.changed
    is_event = bool(has_records or done.retracted or any(done.unlisted.values()))
    at = f":{done.read_to}" * is_event  # the records of the next run are others
    lists = [f"short {name}" for name in done.short_lists]
    kind = RECORDS if is_event else "attention"
    key = ":".join([kind, "extract", *sorted([*done.not_extracted, *lists])]) + at
    return [state(key, "attention", done.findings)]


def failure(error: BaseException, period: str = "") -> Notice:
    """Return the state of a command that failed, by its class and the service's codes.

    `period` is the one whose close failed, where it is of one alone.
    """
    name = class_name(error) if isinstance(error, SvcError) else type(error).__name__
    codes = error.codes if isinstance(error, ApiError) else ()
    text = str(error) if isinstance(error, SvcError) else f"{name}: {error}"
    key = ":".join(["failed", *filter(None, [period]), name, *codes])
    return state(key, "failed", [text], period)


def away(since: int, error: BaseException | None) -> Notice:
    """Return the state of a command that can only try again later, for longer than a day."""
    line = f"since {format_instant(since)} every run ended with: try again later"
    return state("away", "away", [line, str(error)])


def killed(since: int) -> Notice:
    """Return the state of a command whose run came to no end."""
    began = format_instant(since)
    line = f"the run that began at {began} has no end: it was killed, or its machine stopped"
    return state("killed", "killed", [line])


def missed(since: int, clock: int) -> Notice:
    """Return the state of a command that was not run for longer than is usual."""
    began = format_instant(since)
    line = f"nothing ran for {duration(clock - since)}, since {began}"
    return state(f"missed:{began}", "missed", [line])


def overdue(lake: Lake, clock: int, zone: str, calendar: str) -> list[Notice]:
    """Return the state of months that were to be sealed days ago and are not; [] where none is.

    A further month makes another state.
    """
    months = months_unsealed(lake, clock, OVERDUE, zone, calendar)
    if not months:
        return []
    line = f"over for more than {OVERDUE // DAY} days, and not sealed: {', '.join(months)}"
    return [state(f"overdue:{months[-1]}", "overdue", [line], months[-1])]


def months_unsealed(lake: Lake, clock: int, behind: int, zone: str, calendar: str) -> list[str]:
    """Return the months without a seal that could be closed so long ago, oldest first."""
    statements = lake.path / seals.STATEMENTS
    return [
        month.folder
        for month in lake_months(lake, clock, zone, calendar)
        if closes_at(month) + behind <= clock
        and not seals.versions((statements / month.folder).absolute())
    ]


def well(
    command: str, is_whole: bool, waiting: Iterable[str], elsewhere: Collection[str]
) -> Notice:
    """Return the notice that nothing is left of what was told of a command.

    Whether nothing waits for a person is known where the run `is_whole`, which looked at all
    months, no other command is `waiting` for one, and no month `elsewhere`, by other zones and
    calendars.
    """
    lines = [f"what was reported of {name} still waits for a person" for name in waiting]
    if elsewhere:
        lines.append(f"not sealed, and not closed by this run: {', '.join(elsewhere)}")
    if not lines:
        ended = f"{command} ended well; whether a record waits for a person, close --all-due says"
        lines = ["nothing waits for a person now" if is_whole else ended]
    return Notice("well", "well", "it is well again", tuple(lines))


def bundled(states: Iterable[Notice]) -> Iterator[tuple[Notice, list[str]]]:
    """Yield the notices of states with their keys: the open rows of a match are told in one."""
    groups: dict[str, list[Notice]] = {}
    for each in states:
        groups.setdefault(each.subject if each.event == OPEN else each.key, []).append(each)
    for same in groups.values():
        *_, last = same[0].lines
        lines = [line for each in same for line in each.lines[:-1]]
        yield replace(same[0], lines=(*lines, last)), [each.key for each in same]


def state(key: str, event: str, lines: Iterable[str], period: str = "") -> Notice:
    """Return the state of a command that a person is told of: a subject, lines, and what to do."""
    texts = [line.strip() for line in lines]
    return Notice(key, event, texts[0], (*texts[1:], f"next: {_NEXT[event]}"), period)


@dataclass
class Listener:
    """The memory of one notifier: the seals that it was told, and the states of each command."""

    seals: list[str]
    states: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class CommandState:
    """How a command was left: its states, since when it could only be tried again, its last run.

    `pauses` are the last ones between its runs, but those between two tries. Instants, `pauses`
    and `duration` are in microseconds.
    """

    began_at: int | None = None
    is_running: bool = False
    runs: int = 0
    pauses: list[int] = field(default_factory=list)
    away_since: int | None = None
    states: list[Notice] = field(default_factory=list)
    succeeded_at: int | None = None
    ended_at: int | None = None
    duration: int | None = None
    exit_code: int | None = None
    refused: dict[str, int] = field(default_factory=dict)  # calls of the last run, by status
    months: list[str] = field(default_factory=list)  # the zone and calendar that it closes

    def begin(self, at: int) -> None:
        """Note that a run begins."""
        pause = 0 if self.began_at is None else at - self.began_at
        if pause >= _TRIED_AGAIN:
            self.pauses = [*self.pauses, pause][-_KNOWN:]
        self.began_at, self.is_running, self.runs = at, True, self.runs + 1

    def is_missed(self, at: int) -> bool:
        """Tell whether no run began for much longer than is usual.

        The pauses say what is usual, so that a timer of once a month is not missed each month.

        >>> CommandState(0, runs=3, pauses=[24 * HOUR] * 2).is_missed(48 * HOUR)
        True
        """
        if self.began_at is None or (len(self.pauses) < _FEWEST and self.runs < _KNOWN):
            return False
        return at - self.began_at > max(LEAST_GAP, max(self.pauses, default=0) * 3 // 2)


@dataclass
class NoticeLog:
    """The file as it is read and written."""

    path: Path
    listeners: dict[str, Listener] = field(default_factory=dict)
    commands: dict[str, CommandState] = field(default_factory=dict)

    def begin(self, keys: Collection[str], seals: Collection[str]) -> None:
        """Hold a listener for each of these notifiers; a new one counts as told of these seals."""
        if self.listeners.keys() != {*keys}:
            self.listeners = {key: self.listeners.get(key, Listener([*seals])) for key in keys}
            self.save()

    def running(self, name: str) -> AbstractContextManager[None]:
        """Hold the place of a command's run; raise `LakeBusy` while another run of it lives."""
        return locked(
            self.path.with_name(f"{NOTIFIED_MARK}.{name}.lock"), Message("busy.running"), patience=0
        )

    def command(self, name: str) -> CommandState:
        """Return how a command was left."""
        return self.commands.setdefault(name, CommandState())

    def save(self) -> None:
        """Replace the file."""
        commands = {name: asdict(one) for name, one in self.commands.items()}
        listeners = {key: asdict(one) for key, one in self.listeners.items()}
        facts = {"format": _FORMAT, "commands": commands, "listeners": listeners}
        write_json(atomic_write(self.path, suffix=".telling"), facts)


@contextmanager
def open_notice_log(lake: Path) -> Iterator[NoticeLog]:
    """Give what was told, to one run at a time; a file that cannot be read is begun anew."""
    make_folder(lake, PRIVATE)
    doing = Message("busy.telling")
    with locked(lake / f"{NOTIFIED_MARK}.lock", doing, patience=_PATIENCE):
        yield read_notice_log(lake)


def read_notice_log(lake: Path) -> NoticeLog:
    """Read what was told; a file that cannot be read tells of nothing."""
    path = lake / NOTIFIED_MARK
    try:
        facts = json.loads(path.read_bytes())
        listeners = {key: Listener(**one) for key, one in facts["listeners"].items()}
        return NoticeLog(path, listeners, {n: _command(o) for n, o in facts["commands"].items()})
    except UNREADABLE:
        return NoticeLog(path)


def _command(facts: dict[str, Any]) -> CommandState:
    """Read how a command was left; what another release keeps of it is left out."""
    known = {each.name: facts[each.name] for each in fields(CommandState) if each.name in facts}
    return CommandState(**known | {"states": [Notice.read(each) for each in known["states"]]})


def scheduled_months(lake: Lake, source: SettingPlaces | None = None) -> Reckoning | None:
    """Return the zone and the calendar of `close --all-due`; None where nothing says them.

    They are those of its settings, else those of its last run, which is kept where somebody is
    told of it. Settings that name none are said by `close` itself, and by `doctor`.
    """
    source = source or here()
    zone, calendar = (source.text(variable("close", name)) for name in ("zone", "calendar"))
    if zone or calendar:
        months = (zone or "UTC", calendar or GREGORIAN)
    elif ran := read_notice_log(lake.path).command("close").months:
        months = (ran[0], ran[1])
    else:
        return None
    return months if is_known(*months) else None
