"""A package that is verified as it came: its sealed folder, unpacked for as long as that takes."""

import shutil
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from svc_analytics.errors import LakeError
from svc_analytics.render.folder import MANIFEST


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield the sealed folder of a package; raise `LakeError` where a file is none."""
    with TemporaryDirectory() as place:
        try:
            with zipfile.ZipFile(path) as archive:
                name = _sealed_folder(path, archive, shutil.disk_usage(place).free)
                archive.extractall(place)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError) as error:
            raise LakeError(_refusal(path, str(error))) from error
        yield Path(place) / name


def _sealed_folder(path: Path, archive: zipfile.ZipFile, room: int) -> str:
    """Tell which folder is the statement; refuse what two programs may unpack differently."""
    entries = archive.infolist()
    names = [PurePosixPath(entry.filename) for entry in entries]
    folders = [name.parts[0] for name in names if name.parts[1:] == (MANIFEST,)]
    if len(folders) != 1:
        raise LakeError(_refusal(path, f"it holds {len(folders)} statements"))
    plain = {entry.filename for entry in entries}
    if len(plain) < len(entries) or any(".." in name.parts or name.is_absolute() for name in names):
        raise LakeError(_refusal(path, "it names a file twice, or one outside of its folder"))
    if sum(entry.file_size for entry in entries) > room:
        raise LakeError(f"there is no room to unpack {path}: unpack it elsewhere, name its folder")
    return folders[0]


def _refusal(path: Path, reason: str) -> str:
    advice = "ask for it again, or unzip it and run python verify.py in its folder"
    return f"{path} is no package of a statement ({reason}): {advice}"
