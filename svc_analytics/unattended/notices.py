"""Notices: what a person is told of a run, and the states that need one."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.due import closes_at, lake_months
from svc_analytics.closing.result import CloseResult
from svc_analytics.errors import ApiError, SvcError, class_name
from svc_analytics.extraction.plan import ExtractionResult
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.instants import DAY, duration, format_instant
from svc_analytics.lake.lake import Lake
from svc_analytics.signing.secrets import hide_keys_in

OVERDUE = 3 * DAY  # behind the instant from which on a month can be closed
AWAY = DAY  # how long a service may be away before a person is told
_NEXT = {
    "failed": "it does not mend itself: see the next step above, then run the command again",
    "away": "it is tried again; see whether the network, or the service itself, is down",
    "overdue": "svc-analytics status says why each is not sealed",
    "attention": "svc-analytics status and svc-analytics check say more",
    "killed": "the log of the machine says why; this run does what that one left",
    "missed": "see whether the machine was on, and whether its timer is; this run catches up",
}


@dataclass(frozen=True)
class Notice:
    """One thing that a person is told, once by each notifier.

    `key` tells it from others, `event` is its kind: sealed, restated, attention, failed, away,
    overdue, killed, missed or well. `period` is the folder's name of the one that it is of.
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
    if not texts:
        return []
    codes = {getattr(text, "code", "") for text in texts}
    key = ":".join(["attention", result.label, result.state, *sorted(codes)])
    return [_state(key, "attention", result.describe(), result.label)]


def states_of_extraction(done: ExtractionResult) -> list[Notice]:
    """Return the state that an extraction leaves: of records once, of a stream until it is read."""
    if not done.needs_attention:
        return []
    has_records = done.published.quarantined or done.published.changed
    is_event = bool(has_records or done.retracted or any(done.unlisted.values()))
    at = f":{done.read_to}" * is_event  # the records of the next run are others
    lists = [f"short {name}" for name in done.short_lists]
    key = ":".join(["attention", "extract", *sorted([*done.not_extracted, *lists])]) + at
    return [_state(key, "attention", done.findings)]


def failure(error: BaseException, period: str = "") -> Notice:
    """Return the state of a command that failed, by its class and the service's codes.

    `period` is the one whose close failed, where it is of one alone.
    """
    name = class_name(error) if isinstance(error, SvcError) else type(error).__name__
    codes = error.codes if isinstance(error, ApiError) else ()
    text = str(error) if isinstance(error, SvcError) else f"{name}: {error}"
    key = ":".join(["failed", *filter(None, [period]), name, *codes])
    return _state(key, "failed", [text], period)


def away(since: int, error: BaseException | None) -> Notice:
    """Return the state of a command that can only try again later, for longer than a day."""
    line = f"since {format_instant(since)} every run ended with: try again later"
    return _state("away", "away", [line, str(error)])


def killed(since: int) -> Notice:
    """Return the state of a command whose run came to no end."""
    began = format_instant(since)
    line = f"the run that began at {began} has no end: it was killed, or its machine stopped"
    return _state("killed", "killed", [line])


def missed(since: int, clock: int) -> Notice:
    """Return the state of a command that was not run for longer than is usual."""
    began = format_instant(since)
    line = f"nothing ran for {duration(clock - since)}, since {began}"
    return _state(f"missed:{began}", "missed", [line])


def overdue(lake: Lake, clock: int, zone: str, calendar: str) -> list[Notice]:
    """Return the state of months that were to be sealed days ago and are not; [] where none is.

    A further month makes another state.
    """
    months = months_unsealed(lake, clock, OVERDUE, zone, calendar)
    if not months:
        return []
    line = f"over for more than {OVERDUE // DAY} days, and not sealed: {', '.join(months)}"
    return [_state(f"overdue:{months[-1]}", "overdue", [line], months[-1])]


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
    lines = [f"what was told of {name} waits for a person still" for name in waiting]
    if elsewhere:
        lines.append(f"not sealed, and not closed by this run: {', '.join(elsewhere)}")
    if not lines:
        of = "" if is_whole else f"of what was told of {command}, "
        lines = [f"{of}nothing waits for a person now"]
    return Notice("well", "well", "it is well again", tuple(lines))


def _state(key: str, event: str, lines: Iterable[str], period: str = "") -> Notice:
    texts = [line.strip() for line in lines]
    return Notice(key, event, texts[0], (*texts[1:], f"next: {_NEXT[event]}"), period)
