"""Where an engine finds the lake's files: by their paths, or a bucket's objects by their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from svc_analytics.bucket.address import check_place
from svc_analytics.bucket.mirror import Pins
from svc_analytics.errors import LakeError
from svc_analytics.lake.lake import Lake

Sizes = Callable[[Sequence[str]], Mapping[str, int]]  # the bytes of files as an engine sees them


@dataclass(frozen=True)
class Paths:
    """How the path of a file of a snapshot is said to an engine.

    A snapshot lies in the lake's folder, and its files never change. So whoever sees that folder
    reads exactly the files that were chosen here. `seen_as` is where the engine's machines see it.
    """

    lake: Path
    seen_as: str = ""

    def place(self, path: Path) -> str:
        """Return the path of a file as the engine reads it; raise `LakeError` if it cannot."""
        if not path.is_relative_to(self.lake):
            message = f"{self.lake} cannot be written, so its files were copied to this machine: "
            raise LakeError(f"{message}an engine reads only a lake in which it finds a snapshot")
        inside = path.relative_to(self.lake).as_posix()
        return f"{self.seen_as.rstrip('/') or self.lake.as_posix()}/{inside}"

    def require_seen(self, places: Sequence[str], sizes: Sizes) -> None:
        """Require nothing: files of a snapshot are there or are missed."""

    def require_unchanged(self) -> None:
        """Require nothing: files of a snapshot stand still."""


@dataclass(frozen=True)
class Objects:
    """How an engine reads the objects of a bucket where they lie.

    Nothing makes an object stand still. So what was counted is used only if every object that the
    engine was shown is listed behind the counting as it was listed before it.
    """

    pins: Pins
    snapshot: Path
    seen_as: str
    _keys: dict[str, str] = field(default_factory=dict)  # by the place that was shown

    def place(self, path: Path) -> str | None:
        """Return where the engine reads an object; None for a file that was made here."""
        key = path.relative_to(self.snapshot).with_suffix(".parquet").as_posix()
        if key not in self.pins.objects:
            return None
        place = f"{self.seen_as.rstrip('/')}/{key}"
        self._keys[place] = key
        return place

    def require_seen(self, places: Sequence[str], sizes: Sizes) -> None:
        """Raise `LakeError` unless the engine sees these objects in the size that was listed.

        An older copy of the bucket, or another lake, would give other figures and no error.
        """
        self.pins.require_listed([self._keys[place] for place in places])
        seen = sizes(places)
        for place in places:
            listed = self.pins.objects[self._keys[place]].stamp[1]
            if seen.get(PurePosixPath(place).name) != listed:
                message = f"{place} is not {self.pins.url}/{self._keys[place]} as it is listed"
                next_step = "tell the engine of the lake's own bucket, by --engine-data or"
                raise LakeError(f"{message}: {next_step} SVC_ENGINE_DATA")

    def require_unchanged(self) -> None:
        """Raise `LakeChanged` if an object that the engine was shown was replaced since."""
        self.pins.require_unchanged({*self._keys.values()})


Places = Paths | Objects  # how the file of a snapshot is said to an engine


def places_of(lake: Lake, snapshot: Path) -> Places:
    """Return how an engine finds the files of a snapshot.

    A bucket's objects are read where they lie if it is told where that is.
    """
    pins, seen_as = lake.storage.pins(snapshot), check_place("engine_data", lake.engine_data)
    if pins is None or not seen_as:
        return Paths(lake.path, seen_as)
    return Objects(pins, snapshot, seen_as)
