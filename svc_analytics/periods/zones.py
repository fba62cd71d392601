"""Time zones: what their clocks show, and when a local day begins.

All of it follows from one list, which Python and SQL both read: from which instant on clocks are
how many seconds ahead of UTC. It is made of the package `tzdata`, whatever database a machine has
beside it; of sealed time, it is that of the seal.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from itertools import pairwise
from zoneinfo import ZoneInfo

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.instants import DAY, EPOCH, SECOND, from_micros

_CLOSE = 0.8  # how alike the names of two places are at least
_PLACE = re.compile(r"(?!Etc/).+/.+")  # Etc/GMT+3 is three hours behind UTC: no one means it

Change = tuple[int, int]  # an instant, and how many seconds clocks are ahead of UTC from then on
Piece = tuple[int, int, int]  # the instants from and to which clocks are so many seconds ahead


class Zone(str):
    """The name of a zone, with the rules of what was sealed in it, by calendar.

    Of an instant in several pieces the first counts. `since` is the first instant of interest.
    """

    pieces: Mapping[str, Sequence[Piece]]
    since: int

    def __new__(
        cls, name: str, pieces: Mapping[str, Sequence[Piece]] | None = None, since: int = 0
    ) -> "Zone":
        """Give a name these rules; it is equal to the name alone."""
        zone = super().__new__(cls, name)
        zone.pieces, zone.since = pieces or {}, since
        return zone


@dataclass(frozen=True)
class ZoneClock:
    """The clocks of a zone. Their days follow each other, and none comes twice.

    Where clocks are put back over a midnight, they are taken to run on until it comes again.
    """

    zone: ZoneInfo
    pieces: Sequence[Piece] = ()

    def changes(self, start: int, end: int) -> list[Change]:
        """List how far clocks are ahead of UTC from an instant on, and from each change to the end.

        >>> october = clock_of("Europe/Lisbon").changes(1790809200_000_000, 1793491200_000_000)
        >>> [(str(from_micros(at)), ahead) for at, ahead in october]
        [('2026-09-30 23:00:00+00:00', 3600), ('2026-10-25 01:00:00+00:00', 0)]
        """
        if self.zone.key == "UTC":
            return [(start, 0)]
        changes = [(at, ahead) for at, ahead in self._in_order(start - DAY, end) if at < end]
        begun = [ahead for at, ahead in changes if at <= start]
        return [(start, begun[-1]), *changes[len(begun) :]]

    def local(self, micros: int) -> datetime:
        """Return the local time of an instant, without a zone."""
        [*_, (_, ahead)] = self.changes(micros, micros + 1)
        return from_micros(micros + ahead * SECOND).replace(tzinfo=None)

    def midnight(self, day: date) -> int:
        """Return the first instant of a local day, or of the next one where clocks skip the day."""
        start, end = utc_midnight(day), utc_midnight(day) + 2 * DAY
        spans = pairwise([*self.changes(start - DAY, end), (end, 0)])
        midnights = ((max(at, start - ahead * SECOND), until) for (at, ahead), (until, _) in spans)
        return next(at for at, until in midnights if at < until)

    @property
    def known(self) -> frozenset[int]:
        """How many seconds its clocks have been ahead of UTC since 1970, by the package alone."""
        return _known(self.zone)

    def _in_order(self, start: int, end: int) -> Iterator[Change]:
        """Yield the changes; one that would begin a day again comes when that day has begun."""
        before = self._ahead(start)
        yield start, before
        edges = {at for piece in self.pieces for at in piece[:2] if start < at < end}
        for low, high in pairwise(sorted({*range(start, end, DAY), *edges, end - 1})):
            if (ahead := self._ahead(high)) != before:
                span = range(low, high + 1)
                at = span[bisect_left(span, 1, key=lambda at: self._ahead(at) == ahead)]
                day = (at - 1 + before * SECOND) // DAY * DAY
                yield max(at, day - ahead * SECOND), ahead
                before = ahead

    def _ahead(self, micros: int) -> int:
        for start, end, ahead in self.pieces:
            if start <= micros < end:
                return ahead
        offset = from_micros(micros).astimezone(self.zone).utcoffset()
        return int(offset.total_seconds()) if offset else 0


def clock_of(zone: str, calendar: str = "") -> ZoneClock:
    """Return the clocks of a zone, as far as it is sealed by the seals of a calendar."""
    return ZoneClock(
        load_zone(zone), zone.pieces.get(calendar, ()) if isinstance(zone, Zone) else ()
    )


def utc_midnight(day: date) -> int:
    """Return the first instant of a day in UTC."""
    return (day - EPOCH.date()).days * DAY


def load_zone(name: str) -> ZoneInfo:
    """Return the IANA zone of that name from the package `tzdata`, or raise `ConfigError`."""
    check("zone", name, str, 'the name of a zone as text, such as "Asia/Tehran"')
    if name not in _names():
        raise ConfigError(f"no time zone {str(name)!r}: {_zone_meant(name)}")
    return _load(str(name))


@cache
def _load(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@cache
def _names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text("utf-8").split())


@cache
def _known(zone: ZoneInfo) -> frozenset[int]:
    weeks = range(0, utc_midnight(date(2038, 1, 1)), 7 * DAY)
    return frozenset(ZoneClock(zone).changes(at, at + 1)[0][1] for at in weeks)


def _zone_meant(name: str) -> str:
    """Say which zone has a place of nearly that name, or what a zone is called.

    >>> _zone_meant("Lisbon"), _zone_meant("Asia/Teheran")
    ('did you mean Europe/Lisbon?', 'did you mean Asia/Tehran?')
    """
    zones = sorted(zone for zone in _names() if _PLACE.fullmatch(zone))
    places = {_place(zone): zone for zone in zones}
    near = get_close_matches(_place(name), places, n=1, cutoff=_CLOSE)
    if near:
        return f"did you mean {places[near[0]]}?"
    return "use an IANA name such as UTC or Asia/Tehran"


def _place(zone: str) -> str:
    return zone.rpartition("/")[2].lower()
