"""Lakes for backups: small, in memory, and what of them a backup must bring back."""

import shutil
from pathlib import Path

from svc_analytics.backups.backup import DERIVED, backup
from svc_analytics.backups.restore import restore
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.layout import MARKS

Contents = dict[str, bytes]


def kept(lake: Path) -> Contents:
    """Every file of a lake that nobody can make again, with the mark of a run that writes."""
    found = {}
    for path in lake.rglob("*"):
        name = path.relative_to(lake).as_posix()
        is_hidden = any(part.startswith(".") for part in name.split("/")) and name not in MARKS
        if path.is_file() and not is_hidden and name not in DERIVED:
            found[name] = path.read_bytes()
    return found


def back_up(lake: Path, target: Path) -> str:
    """Make a backup; return its name."""
    return backup(Lake(lake), target, progress=False).name


def restored(target: Path | str, folder: Path, at: str | None = None) -> Contents:
    """What a backup brings back into an empty folder, which is removed afterwards."""
    restore(target, folder, at=at, progress=False)
    found = kept(folder)
    shutil.rmtree(folder)
    return found
