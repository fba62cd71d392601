"""The zones of sealed months: a seal keeps the rules by which its bounds and days were made.

Countries change the rules of their clocks, also for time that was sealed. What is sealed stays as
it was; the month behind it begins where it ended, and what lies between counts as its first day.
"""

import hashlib
import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from svc_analytics.bucket.objects import MANIFEST, STATEMENTS
from svc_analytics.errors import ConfigError
from svc_analytics.files import UNREADABLE
from svc_analytics.instants import DAY, SECOND, format_instant, parse_bound
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.messages import Message
from svc_analytics.periods import Period, Zone, load_zone, month, read_label
from svc_analytics.periods.zones import Change, Piece, utc_midnight
from svc_analytics.schema import STREAMS

OFFSETS = "offsets"  # of a manifest: from when on clocks were how many seconds ahead of UTC
_FOREVER = 1 << 62
Manifest = dict[str, Any]


def seal_of(manifest: Manifest) -> str:
    """Return the hash of a manifest's canonical JSON, its own seal left out.

    >>> seal_of({"b": 1, "a": "é", "seal": "x"}) == seal_of({"a": "é", "b": 1})
    True
    """
    bare = {name: value for name, value in manifest.items() if name != "seal"}
    canonical = json.dumps(bare, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def offsets_of(period: Period) -> dict[str, dict[str, int]]:
    """Return the fact of a manifest that fixes the zone of its period; UTC needs none."""
    changes = {format_instant(at): ahead for at, ahead in period.changes}
    return {} if period.zone == "UTC" else {OFFSETS: changes}


def sealed_period(manifest: Manifest) -> Period:
    """Return the period of a manifest, by the rules that it was sealed by.

    Earlier releases sealed its bounds alone: they hold where the zone's clocks have ever been so.
    Raises `ConfigError` where the manifest names no period.
    """
    ours = read_label(
        manifest["label"].partition("@")[0], str(manifest["zone"]), manifest["calendar"]
    )
    if ours.zone == "UTC":
        return ours
    if OFFSETS in manifest:
        first, *others = _read(manifest[OFFSETS])
        return _by(ours, _spans([(0, first[1]), *others], _FOREVER), first[0])
    bounds = [manifest.get(name) for name in ("start", "end")]
    start, end = (parse_bound(each) if isinstance(each, str) else 0 for each in bounds)
    edges = _edges(ours, start, end)
    return _by(ours, (each for each in edges if each[2] in ours.clock.known))


def by_its_lines(period: Period, lines: Sequence[tuple[int, int]]) -> Period:
    """Return a period that an earlier release sealed, by the clock that its lines show.

    `lines` are the instant of each, and what a clock showed then, in microseconds. Where that is
    not by our rules it holds, if each day lies in the period, and the clocks have ever been so.
    """
    (first, behind), ours = map(utc_midnight, period.days), period.clock.changes(0, period.end)
    ahead = {at: (shown - at) // SECOND for at, shown in lines if first <= shown < behind}
    if len(ahead) < len({at for at, _ in lines}) or not period.clock.known >= {*ahead.values()}:
        return period
    pieces: list[Piece] = []
    for other, run in groupby(ahead, lambda at: None if _at(ours, at) == ahead[at] else ahead[at]):
        instants = [*run]
        pieces += [] if other is None else [(instants[0], instants[-1] + 1, other)]
    return _by(ours_of(period), (*pieces, *period.clock.pieces))


def ours_of(period: Period) -> Period:
    """Return the same period by this machine's rules alone."""
    return read_label(period.label, str(period.zone), period.calendar)


def has_other_rules(period: Period) -> bool:
    """Whether a period has other bounds or days than by this machine's rules of its zone."""
    ours, since = ours_of(period), period.changes[0][0]
    is_same = (period.start, period.end) == (ours.start, ours.end)
    return not is_same or period.changes != ours.clock.changes(since, period.end + 1)


def has_known_offsets(period: Period) -> bool:
    """Whether clocks of its zone have ever been so far ahead of UTC, by this machine's rules."""
    return {ahead for _, ahead in period.changes} <= period.clock.known


def lake_zone(lake: Lake, name: str, *places: Path) -> str:
    """Return a zone with the rules of the months that a lake has sealed, here or in `places`."""
    check_lake(lake)
    if not lake.exists or (isinstance(name, str) and name == "UTC"):
        return name
    load_zone(name)
    newest: dict[tuple[str, str], Period] = {}
    manifests = _sealed(lake.merchant_id, name, {lake.path / STATEMENTS, *places})
    for manifest in sorted(manifests, key=lambda one: one["version"]):
        with suppress(ConfigError):
            period = sealed_period(manifest)
            if not period.is_longer and has_known_offsets(period):
                newest[period.calendar, period.label] = period
    pieces = defaultdict[str, list[Piece]](list)
    for of in (_own, _between):
        for (calendar, _), period in newest.items():
            pieces[calendar] += of(period)
    first = min((label for stream in STREAMS.values() for label in lake.months(stream)), default="")
    return Zone(name, pieces, month(first).start if first else 0)


def bound_notes(period: Period) -> Iterator[Message]:
    """Say where a period begins or ends by the seal of a neighbour, not by our rules."""
    ours = ours_of(period)
    values = {"label": period.folder, "zone": period.zone}
    sides = (("seal.begins", period.start, ours.start), ("seal.ends", period.end, ours.end))
    for code, at, own in sides:
        if at != own:
            yield Message(code, **values, instant=format_instant(at), own=format_instant(own))


def _by(ours: Period, pieces: Iterable[Piece], since: int = 0) -> Period:
    """Return a period by the rules of these pieces of time."""
    zone = Zone(ours.zone, {ours.calendar: tuple(pieces)}, since)
    return read_label(ours.label, zone, ours.calendar)


def _read(offsets: Any) -> list[Change]:
    """Read the offsets of a manifest, or raise `ConfigError` where they are none."""
    if isinstance(offsets, dict):
        changes = [(parse_bound(at), ahead) for at, ahead in offsets.items()]
        is_whole = all(type(ahead) is int and abs(ahead) * SECOND < DAY for _, ahead in changes)
        if changes and is_whole and changes == sorted(changes):
            return changes
    raise ConfigError(Message("seal.no_offsets", fact=OFFSETS))


def _at(changes: list[Change], at: int) -> int:
    """Return how far clocks are ahead at an instant."""
    return changes[bisect_right(changes, (at, DAY)) - 1][1]


def _spans(changes: list[Change], end: int) -> Iterator[Piece]:
    """Yield the time between changes as pieces."""
    for (start, ahead), (until, _) in pairwise([*changes, (end, 0)]):
        yield start, until, ahead


def _own(period: Period) -> Iterator[Piece]:
    """Yield the clock of a sealed month where it is not ours."""
    own = period.clock.changes(period.start, period.end)
    if own != ours_of(period).clock.changes(period.start, period.end):
        yield from _spans(own, period.end)


def _between(period: Period) -> Iterator[Piece]:
    """Yield the spans between the bounds of a sealed month and ours."""
    return _edges(ours_of(period), period.start, period.end)


def _edges(ours: Period, start: int, end: int) -> Iterator[Piece]:
    """Yield the spans between our bounds and those of a seal, where it is midnight."""
    for at, own, day in zip((start, end), (ours.start, ours.end), ours.days, strict=True):
        if at != own:
            yield min(at, own), max(at, own), (utc_midnight(day) - at) // SECOND


def _sealed(merchant: str, zone: str, folders: Iterable[Path]) -> Iterator[Manifest]:
    """Yield the manifests of a merchant and a zone that fit their seal."""
    for path in (path for folder in folders for path in folder.glob(f"*/{MANIFEST}")):
        with suppress(*UNREADABLE):
            manifest = json.loads(path.read_bytes())
            facts = manifest["merchant"]["id"], manifest["zone"], type(manifest["version"])
            if facts == (merchant, zone, int) and manifest["seal"] == seal_of(manifest):
                yield manifest
