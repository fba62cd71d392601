"""Which objects below the URL are the lake's, and which files of the copy are objects."""

import re
from collections.abc import Mapping
from pathlib import Path

from svc_analytics.bucket.bundle import STATEMENTS, folder_of
from svc_analytics.bucket.store import Version

_NAME = r"[^/.][^/]*"
_SINGLE = r"lake\.json|secret|assertions\.csv|acknowledgements\.csv|sentences\.csv|rates\.csv"
_SAID = rf"{_NAME}-sentences\.csv"
_BOOKS = r"books\.toml|books/booked\.json"
_ROWS = rf"(?!{STATEMENTS}/|notebooks/)(?:{_NAME}/){{1,2}}{_NAME}\.parquet"
_FILE = re.compile(
    rf"(?:{_SINGLE}|{_BOOKS}|{_ROWS}|{STATEMENTS}/(?:seals\.csv|chain\.json(?:\.sig)?|{_SAID}))\Z"
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
