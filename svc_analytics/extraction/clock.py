"""The clock of a run: how far time has come, as three witnesses say.

They are the service's clock (`Date`), this machine's, and the instant of the newest record.
None proves anything alone: what lies ahead of the service's clock is never covered, and
nothing that lies ahead of both others.

    the service's clock       read up to                     complete before
    is not told               this machine's clock           20 minutes before it
    agrees within 15 minutes  the earlier of the two clocks  5 minutes before it
    is behind this machine's  the service's clock            5 minutes before it
    is ahead of this machine's: the later of
                              this machine's clock           20 minutes before it
                              the newest record              5 minutes before it

Clocks that do not agree are not believed at once: the service is asked again, and the
median of five answers counts. So one answer moves nothing, whichever way it is wrong, and
the answers behind the first ones of a run move nothing either.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from svc_analytics import instants
from svc_analytics.api.client import Client
from svc_analytics.instants import MINUTE, SECOND, duration, format_instant, to_micros
from svc_analytics.lake.coverage_footer import CLOCK_TOLERANCE
from svc_analytics.messages import Message, translated
from svc_analytics.records.bulk_parser import scan_page
from svc_analytics.schema import Stream

SETTLE_LAG = 5 * MINUTE  # nothing newer than this is called complete
ANSWERS = 5  # of the service, where its first ones do not agree with this machine
_OUTLIER = "{count} answer of the service had a clock that is off by {OFF}: not counted"
_OUTLIERS = "{count} answers of the service had a clock that is off by {OFF}: not counted"
_AHEAD = (
    "the service's clock is {OFF} ahead of this machine's: time counts as read only up to {until}; "
    "check both"
)
_BEHIND = (
    "the service's clock is {OFF} behind this machine's: time counts as read only up to {until}; "
    "check both"
)
_FARTHEST = to_micros(datetime(9000, 1, 1, tzinfo=UTC))  # a date beyond it is none, as before 1970

Answer = tuple[int | None, float]  # a service's clock, and the moment at which it was told


@dataclass(frozen=True)
class RunClock:
    """How far time has come for one run, in UTC microseconds; `service` None if not told."""

    now: int  # read up to here
    watermark: int  # complete before it
    machine: int
    service: int | None
    notes: tuple[Message, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Whether the two clocks do not agree."""
        return self.service is not None and abs(self.service - self.machine) > CLOCK_TOLERANCE


def machine_clock() -> int:
    """Return this machine's clock."""
    return instants.now()


def judge_clock(client: Client, answers: Sequence[Answer], streams: Iterable[Stream]) -> RunClock:
    """Judge how far time has come, from the first answers of a run and what else it takes.

    Clocks that agree cost no request. `streams` are those whose newest record may be asked for.
    """
    machine, service = machine_clock(), _median(answers)
    if service is None:
        return RunClock(machine, machine - CLOCK_TOLERANCE - SETTLE_LAG, machine, None)
    if abs(service - machine) > CLOCK_TOLERANCE:
        more = [answer_now(client.me()[1]) for _ in range(ANSWERS - len(answers))]
        answers, machine = [*answers, *more], machine_clock()
        service = _median(answers) or service
    notes = _note_outliers(answers, service)
    if service - machine <= CLOCK_TOLERANCE:
        now = min(service, machine)
        clock = RunClock(now, now - SETTLE_LAG, machine, service)
    else:
        shown = newest_record(client, streams, service)
        now, settled = max(machine, shown), max(machine - CLOCK_TOLERANCE, shown)
        clock = RunClock(now, settled - SETTLE_LAG, machine, service)
    return replace(clock, notes=(*notes, *_note_doubt(clock)))


def newest_record(client: Client, streams: Iterable[Stream], until: int) -> int:
    """Return the instant just after the newest record that is not later than `until`."""
    newest = [0]
    for stream in streams:
        bound = format_instant(-(-until // SECOND) * SECOND)
        page = client.page(stream.route, {"limit": "1", "to": bound})
        instants = scan_page(stream, page, until).instants
        newest += [int(at) + 1 for at in instants if at < until]
    return max(newest)


def answer_now(at: int | None) -> Answer:
    """Date an answer that has just come: the service's clock, and ours."""
    return at, time.monotonic()


def _median(answers: Iterable[Answer]) -> int | None:
    """Return the service's clock now by most answers; of two the earlier; None if not told."""
    clocks = sorted(_advance(answers))
    return clocks[(len(clocks) - 1) // 2] if clocks else None


def _advance(answers: Iterable[Answer]) -> list[int]:
    """Reckon the service's clock now, from each answer."""
    now = time.monotonic()
    return [
        at + int(now - moment) * SECOND  # a Date has no finer unit
        for at, moment in answers
        if at is not None and 0 < at < _FARTHEST
    ]


def _note_outliers(answers: Iterable[Answer], service: int) -> list[Message]:
    """Note the answers whose clock is not that of most."""
    wrong = [at for at in _advance(answers) if abs(at - service) > CLOCK_TOLERANCE]
    if not wrong:
        return []
    off = max(wrong, key=lambda at: abs(at - service)) - service
    text = _OUTLIER if len(wrong) == 1 else _OUTLIERS
    return [Message(text, count=len(wrong), off=translated(duration(off)))]


def _note_doubt(clock: RunClock) -> list[Message]:
    """Note that the clocks do not agree, and what becomes of that."""
    if not clock.is_doubtful or clock.service is None:
        return []
    off = clock.service - clock.machine
    text = _AHEAD if off > 0 else _BEHIND
    return [Message(text, off=translated(duration(off)), until=format_instant(clock.now))]
