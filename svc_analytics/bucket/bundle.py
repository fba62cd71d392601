"""A statement as one object: its whole folder in a zip file, so that it is there or is not.

A folder of objects could be half there, or be of two closers at once. One object is put once,
under a condition, and a bucket's own lock on objects (WORM) fits it.
"""

import re
import shutil
import zipfile
from io import BytesIO
from pathlib import Path

from svc_analytics.errors import LakeError

STATEMENTS, MANIFEST = "statements", "manifest.json"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever the same folder is packed
_BUNDLE = re.compile(rf"({STATEMENTS}/[^/.][^/]*)\.zip\Z")


def folder_of(key: str) -> str | None:
    """Return the folder that an object is, below the lake; none for an object that is a file.

    >>> folder_of("statements/2026-10-v2.zip"), folder_of("payments/2026-10.parquet")
    ('statements/2026-10-v2', None)
    """
    match = _BUNDLE.match(key)
    return match[1] if match else None


def key_of(folder: str) -> str:
    """Return the key of a statement's folder.

    >>> key_of("2026-10")
    'statements/2026-10.zip'
    """
    return f"{STATEMENTS}/{folder}.zip"


def pack(folder: Path) -> bytes:
    """Return the files of a folder as a zip file."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            entry = zipfile.ZipInfo(path.name, _EARLIEST)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as target, path.open("rb") as source:
                shutil.copyfileobj(source, target)
    return content.getvalue()


def unpack(file: Path, folder: Path, name: str) -> None:
    """Write the files of a zip file into a new folder; `name` is told where it is no good."""
    folder.mkdir()
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if Path(entry.filename).name != entry.filename or "\\" in entry.filename:
                    raise zipfile.BadZipFile(entry.filename)
                archive.extract(entry, folder)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        message = f"{name} cannot be unpacked ({type(error).__name__}): restore it from a copy"
        raise LakeError(message) from error
