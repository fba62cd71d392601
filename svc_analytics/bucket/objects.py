"""The objects of a lake in a bucket: which keys are its own, and a statement as one object.

A statement is a zip file of its whole folder, so that it is there or is not: a folder of objects
could be half there, or be of two closers at once. One object is put once, under a condition, and
a bucket's own lock on objects (WORM) fits it.
"""

import re
import shutil
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from svc_analytics.bucket.store import Version
from svc_analytics.errors import LakeError
from svc_analytics.files import zip_entry

STATEMENTS, MANIFEST = "statements", "manifest.json"


_BUNDLE = re.compile(rf"({STATEMENTS}/[^/.][^/]*)\.zip\Z")
_NAME = r"[^/.][^/]*"
_SINGLE = r"lake\.json|secret|assertions\.csv|acknowledgements\.csv|sentences\.csv|rates\.csv"
_SAID = rf"{_NAME}-sentences\.csv"
_BOOKS = r"books\.toml|books/booked\.json"
_MATCHES = rf"match\.toml|matches\.csv|matches/{_NAME}/{_NAME}/{_NAME}\.(?:json|csv|parquet)"
_ROWS = rf"(?!{STATEMENTS}/|notebooks/)(?:{_NAME}/){{1,2}}{_NAME}\.parquet"
_FILE = re.compile(
    rf"(?:{_SINGLE}|{_BOOKS}|{_MATCHES}|{_ROWS}"
    rf"|{STATEMENTS}/(?:seals\.csv|chain\.json(?:\.sig)?|{_SAID}))\Z"
)
# Statements that a person copied there as folders; today's are one object each.
_COPIED = re.compile(rf"({STATEMENTS}/{_NAME})/{_NAME}\Z")
_MONTH = re.compile(r"(?:payments|payout_records)/[^/]+\.parquet\Z")


def keys_of_lake(listed: Mapping[str, Version]) -> dict[str, Version]:
    """Return those of the listed objects that are the lake's.

    >>> sorted(keys_of_lake(dict.fromkeys(["lake.json", ".writer.json", "a/b.csv"], Version("1"))))
    ['lake.json']
    """
    bundled = {folder_of(key) for key in listed}
    keys = {}
    for key, version in listed.items():
        copied = _COPIED.match(key)
        is_ours = _FILE.match(key) or folder_of(key) or (copied and copied[1] not in bundled)
        if is_ours:
            keys[key] = version
    return keys


def key_of_file(folder: Path, path: Path) -> str | None:
    """Return the key of a file of a copy; none for one that is of this machine alone.

    >>> key_of_file(Path("/copy"), Path("/copy/payments/2026-10.parquet"))
    'payments/2026-10.parquet'
    >>> key_of_file(Path("/copy"), Path("/copy/matches/2026-10/orders/match.json"))
    'matches/2026-10/orders/match.json'
    >>> key_of_file(Path("/copy"), Path("/copy/.ids/payments/2026-10.hashes"))
    """
    key = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else ""
    return key if _FILE.match(key) else None


def is_month(key: str) -> bool:
    """Tell whether an object is a month file, which a writer puts under its lease.

    >>> is_month("payments/2026-10.parquet"), is_month("changes/payments/0000-00.parquet")
    (True, False)
    """
    return bool(_MONTH.match(key))


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
            with archive.open(zip_entry(path.name), "w") as target, path.open("rb") as source:
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
