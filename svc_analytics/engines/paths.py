"""Where an engine finds the lake's files: by the same paths, or below a folder of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from svc_analytics.errors import LakeError


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
