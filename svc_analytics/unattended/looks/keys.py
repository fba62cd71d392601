"""For the doctor: memory and engine, and secrets and keys of ours: that they can be read."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from svc_analytics.config import (
    Settings,
    read_engine,
    read_memory,
    read_rates_gaps,
    read_signing_key,
)
from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import ConfigError
from svc_analytics.files import state_folder
from svc_analytics.proofs.signature import fingerprint_of
from svc_analytics.proofs.stamp import Authority
from svc_analytics.unattended.looks.point import Point
from svc_analytics.warehouse.connection import MOST_MEMORY

_NOT_OWNER = stat.S_IRWXG | stat.S_IRWXO


def memory(source: SettingPlaces) -> Iterator[Point]:
    """Yield how much memory queries take, and settings that only a run itself would read."""
    readers = (
        ("memory", read_memory),
        ("engine", read_engine),
        ("rates", read_rates_gaps),
    )
    for name, read in readers:
        try:
            setting = read(environ=source.environ, folder=source.folder)
        except ConfigError as error:
            yield Point(name, "wrong", str(error), "correct it: see the page Settings")
            continue
        if name == "memory":
            yield Point(name, "well", f"a query takes {setting or MOST_MEMORY} at most")


def secrets(settings: Settings) -> Iterator[Point]:
    """Yield how many secrets there are that receipts are checked with."""
    if settings.receipt_secrets:
        yield Point("receipt secrets", "well", f"{len(settings.receipt_secrets)} in the ring")
    else:
        text = "none: months are sealed without their receipts being checked"
        mend = "give SVC_RECEIPT_SECRETS or SVC_RECEIPT_SECRETS_FILE before the first seal"
        yield Point("receipt secrets", "wrong", text, mend)


def signing(source: SettingPlaces) -> Iterator[Point]:
    """Yield whether the key that signs months can be read, and `ssh-keygen` is there."""
    try:
        key = read_signing_key(environ=source.environ, folder=source.folder)
        shown = key and fingerprint_of(key)
    except ConfigError as error:
        mend = "correct it; until then months are sealed, and not signed"
        yield Point("signing key", "wrong", str(error), mend)
        return
    if shown:
        text = f"{key}, {shown}; what it signed is remembered in {state_folder(source.environ)}"
        yield Point("signing key", "well", text)
    elif key:
        mend = "give SVC_SIGNING_KEY the path of an SSH key; months are sealed, and not signed"
        yield Point("signing key", "wrong", f"ssh-keygen reads no key in {key}", mend)


def stamping(source: SettingPlaces) -> Iterator[Point]:
    """Yield whether the authority that stamps months has an address, and `openssl` is there."""
    authority = Authority.read(source.environ, source.folder)
    if not authority.url:
        return
    mend = "correct it; until then months are sealed, and not stamped"
    try:
        authority.require()
    except ConfigError as error:
        yield Point("stamps", "wrong", str(error), mend)
        return
    yield Point("stamps", "well", f"openssl is here; {authority.url} is asked at each close")


def files(source: SettingPlaces) -> Iterator[Point]:
    """Yield files of settings that others than their owner can read."""
    named = [path for name, path in source.environ.items() if _is_file_setting(name)]
    for path in [source.folder / ".env", *map(Path, named)]:
        if path.is_file() and path.stat().st_mode & _NOT_OWNER and os.name != "nt":
            text = f"{path} can be read by others than its owner"
            yield Point("permissions", "wrong", text, f"chmod 600 {path}")


def _is_file_setting(name: str) -> bool:
    return name.startswith("SVC_") and name.endswith(("_KEY_FILE", "_SECRETS_FILE", "NOTIFY_FILE"))
