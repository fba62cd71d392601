"""What each notifier was told, in a small file of the lake: nothing is told twice."""

import json
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from svc_analytics.files import PRIVATE, atomic_write, locked, make_folder, write_json
from svc_analytics.instants import HOUR
from svc_analytics.lake.layout import TOLD_MARK
from svc_analytics.messages import Message
from svc_analytics.unattended.notices import Notice

_PATIENCE = 60  # seconds for another run to tell what it has
_FORMAT = 1
LEAST_GAP = 36 * HOUR  # between two runs: a day was missed
_TRIED_AGAIN = 12 * HOUR  # a shorter pause says nothing of a timer
_KNOWN, _FEWEST = 8, 2  # runs and pauses from which on a timer is known


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
            self.path.with_name(f"{TOLD_MARK}.{name}.lock"), Message("busy.running"), patience=0
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
    with locked(lake / f"{TOLD_MARK}.lock", doing, patience=_PATIENCE):
        yield read_notice_log(lake)


def read_notice_log(lake: Path) -> NoticeLog:
    """Read what was told; a file that cannot be read tells of nothing."""
    path = lake / TOLD_MARK
    try:
        return _parsed(path, json.loads(path.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return NoticeLog(path)


def _parsed(path: Path, facts: dict[str, Any]) -> NoticeLog:
    listeners = {key: Listener(**one) for key, one in facts["listeners"].items()}
    commands = {name: _command(one) for name, one in facts["commands"].items()}
    return NoticeLog(path, listeners, commands)


def _command(facts: dict[str, Any]) -> CommandState:
    """Read how a command was left; what another release keeps of it is left out."""
    known = {each.name: facts[each.name] for each in fields(CommandState) if each.name in facts}
    return CommandState(**known | {"states": [Notice.read(each) for each in known["states"]]})
