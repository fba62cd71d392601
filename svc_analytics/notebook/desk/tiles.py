"""The months of a lake and what became of each: running, due, blocked, sealed or restated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from svc_analytics.closing import seals
from svc_analytics.closing.due import closes_at, lake_months
from svc_analytics.errors import LakeError
from svc_analytics.instants import from_micros, readable_instant
from svc_analytics.lake.lake import Lake, known_months
from svc_analytics.periods import GREGORIAN, Period, read_label

State = Literal["running", "due", "blocked", "sealed", "restated"]
Reasons = tuple[str, ...]
# Not by colour alone: each state has a sign too.
SIGNS: dict[State, str] = {
    "running": "\N{HORIZONTAL ELLIPSIS}",
    "due": "\N{WHITE CIRCLE}",
    "blocked": "\N{WARNING SIGN}",
    "sealed": "\N{CHECK MARK}",
    "restated": "\N{CLOCKWISE OPEN CIRCLE ARROW}",
}


@dataclass(frozen=True)
class Tile:
    """One month: what became of it, and in a line why."""

    period: Period
    state: State
    note: str
    versions: tuple[Path, ...] = ()  # the folders of its sealed versions, oldest first

    @property
    def label(self) -> str:
        """The month's label, such as `2026-10`."""
        return self.period.label

    @property
    def text(self) -> str:
        """Its label, a sign and its state."""
        return f"{self.label} {SIGNS[self.state]} {self.state}"

    @property
    def can_be_closed(self) -> bool:
        """Whether it is over and past the grace hours."""
        return self.state != "running"


def read_tiles(
    lake: Lake, zone: str, calendar: str, clock: int, judged: Mapping[str, Reasons]
) -> list[Tile]:
    """Return the months of a lake, newest first, up to the one that the clock is in.

    `judged` says of months, by label, what keeps a statement of the lake as it is now from
    being final; of others it is what their last close said.
    """
    # Refuses a lake into which nothing was read, and bounds the months that people look through.
    oldest = read_label(known_months(lake, zone, calendar)[-1], zone, calendar)
    months = lake_months(lake, clock, zone, calendar)
    periods = [month for month in months if month.start >= oldest.start]
    return [_tile(lake, period, clock, judged.get(period.label)) for period in reversed(periods)]


def first_to_close(tiles: list[Tile]) -> Tile:
    """Return the month that a person came for: the first to close after the newest sealed one.

    Where there is none, it is the newest sealed month.
    """
    newest = next((place for place, tile in enumerate(tiles) if tile.versions), len(tiles))
    later = [tile for tile in tiles[:newest] if tile.can_be_closed]
    return (later[-1:] or tiles[newest : newest + 1] or tiles[:1])[0]


def _tile(lake: Lake, period: Period, clock: int, judged: Reasons | None) -> Tile:
    first = (lake.path / seals.STATEMENTS / period.folder).absolute()
    versions = tuple(seals.versions(first))
    if not versions and closes_at(period) > clock:
        text = f"to close from {readable_instant(from_micros(closes_at(period)))} on"
        return Tile(period, "running", text)
    reasons = _last_reasons(seals.version_folder(first, len(versions) + 1), judged)
    if reasons:
        return Tile(period, "blocked", reasons[0], versions)
    if versions:
        return _sealed(period, versions)
    return Tile(period, "due", "not closed yet")


def _sealed(period: Period, versions: tuple[Path, ...]) -> Tile:
    seal = str(seals.read_manifest(versions[-1])["seal"])
    state: State = "restated" if len(versions) > 1 else "sealed"
    return Tile(period, state, f"version {len(versions)}, seal {seal[:12]}", versions)


def _last_reasons(folder: Path, judged: Reasons | None) -> Reasons:
    """Return the reasons against sealing a month, as judged now or by its last close."""
    if judged is not None:
        return judged
    try:
        manifest = seals.read_manifest(folder)
    except LakeError:  # it was never closed
        return ()
    return tuple(map(str, manifest.get("reasons", ())))


def calendar_of(calendar: str | None) -> str:
    """Return a calendar's name; without one it is the Gregorian."""
    return calendar or GREGORIAN
