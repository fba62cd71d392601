"""The doctor: what must be right for runs that nobody looks at, point by point, and what to do."""

import os
import platform
import shutil
import socket
import ssl
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from svc_analytics.closing.reckonings import Reckoning, reckonings
from svc_analytics.config import KeyClass, Settings, read_signing_key
from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import ApiError, ConfigError, SvcError
from svc_analytics.files import state_folder
from svc_analytics.formatting.display import names_of
from svc_analytics.instants import DAY, SECOND, ago, duration, now
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.month_coverage import CLOCK_TOLERANCE
from svc_analytics.lake.status import lake_status
from svc_analytics.proofs.signature import fingerprint_of
from svc_analytics.proofs.stamp import Authority
from svc_analytics.unattended.notice_log import read_notice_log
from svc_analytics.unattended.notices import months_unsealed, without
from svc_analytics.unattended.schedule_months import scheduled_months
from svc_analytics.unattended.settings import Watching

State = Literal["well", "note", "wrong"]
LEAST_DISK = 1 << 30  # bytes that should be free
_SOON = 14 * DAY  # a certificate that ends within it is told
_STALE = 2 * DAY
_PATIENCE = 10  # seconds for the service
_LISTS: dict[KeyClass, str] = {"checkout": "payments", "payout": "payouts"}
_LOOK = "see what it printed, in the log of its timer"
_OTHERS, _NOT_OWNER = stat.S_IRWXO, stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class Point:
    """One thing that was looked at: well, a note, or wrong, with the next step."""

    name: str
    state: State
    text: str
    next_step: str = ""


@dataclass
class Doctor:
    """Looks at the settings of a machine, at its lake and at the service; it writes nothing."""

    source: SettingPlaces
    read: Callable[[], Settings]
    watch: Callable[[], Watching]

    def points(self) -> Iterator[Point]:
        """Yield each point as it was found; no text holds a secret."""
        yield _version()
        try:
            settings, watching = self.read(), self.watch()
        except SvcError as error:
            yield Point("settings", "wrong", str(error), "correct it: see the page Settings")
            return
        yield _settings(settings)
        looks: list[Callable[[], Iterator[Point]]] = [
            lambda: _service(settings),
            lambda: _certificate(settings),
            lambda: _secrets(settings),
            lambda: _signing(self.source),
            lambda: _stamping(self.source),
            lambda: _notifiers(watching),
            lambda: _files(self.source),
            lambda: _runs(Lake(settings.data_dir), watching),
            lambda: _lake(Lake(settings.data_dir), self.source),
        ]
        for look in looks:
            for point in _looked(look):
                text = without(point.text, watching.secrets)
                yield Point(point.name, point.state, text, point.next_step)


def _looked(look: Callable[[], Iterator[Point]]) -> Iterator[Point]:
    """Yield points; what keeps one from being looked at is wrong itself."""
    try:
        yield from look()
    except (SvcError, OSError) as error:
        yield Point("lake", "wrong", str(error), "mend that, then run doctor again")


def _version() -> Point:
    text = f"svc-analytics {version('svc-analytics')}, Python {platform.python_version()}"
    return Point("version", "well", text)


def _settings(settings: Settings) -> Point:
    try:
        settings.require_service()
    except SvcError as error:
        return Point("settings", "wrong", str(error), "give it: see the page Settings")
    return Point("settings", "well", f"{settings.base_url}, the lake in {settings.data_dir}")


def _service(settings: Settings) -> Iterator[Point]:
    """Yield whose each key is, the list that it reaches, and how far the clocks differ."""
    from svc_analytics.api.client import Client  # loads httpx

    if not (settings.base_url and settings.key_classes):
        return
    merchants, clocks = {}, []
    with Client(replace(settings, patience=min(settings.patience, _PATIENCE))) as client:
        for name in settings.key_classes:
            try:
                profile, at = client.me(name)
                client.page(_LISTS[name], {"limit": "1"})
            except ApiError as error:
                yield Point(f"{name} key", "wrong", str(error), _mend_key(name))
                continue
            merchants[profile["id"]] = names_of(profile)
            clocks += [] if at is None else [at - now()]
            text = f"a {name}-class key of {names_of(profile)}; it reads {_LISTS[name]}"
            yield Point(f"{name} key", "well", text)
    yield from _merchants(settings, merchants)
    yield from map(_clock, clocks[:1])


def _mend_key(name: KeyClass) -> str:
    return f"see the address, and whether SVC_{name.upper()}_KEY is the newest of the console"


def _merchants(settings: Settings, merchants: dict[str, str]) -> Iterator[Point]:
    """Yield whether all is of one merchant, the lake too, and which key is missing."""
    lake = Lake(settings.data_dir)
    ids = {*merchants} | ({lake.merchant_id} if merchants and lake.exists else set())
    if len(ids) > 1:
        text = f"keys and lake are of {len(ids)} merchants: {', '.join(sorted(ids))}"
        yield Point("merchant", "wrong", text, "use the keys of one, and a lake of its own")
    if settings.payout_key is None:
        text = "no payout-class key: payouts and refunds stay unknown, and no month is final"
        yield Point("payout key", "wrong", text, "give SVC_PAYOUT_KEY or SVC_PAYOUT_KEY_FILE")


def _clock(ahead: int) -> Point:
    side = "ahead of" if ahead > 0 else "behind"
    text = f"the service's is {duration(abs(ahead))} {side} this machine's"
    if abs(ahead) <= CLOCK_TOLERANCE:
        return Point("clock", "well", text)
    return Point(
        "clock", "wrong", text, "set this machine's clock by NTP: timedatectl set-ntp true"
    )


def _certificate(settings: Settings) -> Iterator[Point]:
    """Yield until when the service's certificate holds; through a proxy it is not looked at."""
    from svc_analytics.api.transport import trusted_by

    parts = urlsplit(settings.base_url)
    if parts.scheme != "https" or settings.proxy:
        return
    context = trusted_by(settings.ssl_cert_file, settings.ca_file)
    place = (parts.hostname or "", parts.port or 443)
    try:
        with (
            socket.create_connection(place, _PATIENCE) as line,
            context.wrap_socket(line, server_hostname=place[0]) as tls,
        ):
            certificate = tls.getpeercert() or {}
    except OSError as error:
        mend = "if your company has an authority of its own, give its certificate by SVC_CA_FILE"
        yield Point("TLS", "wrong", f"{parts.netloc}: {error}", mend)
        return
    ends = int(ssl.cert_time_to_seconds(str(certificate["notAfter"]))) * SECOND
    text = f"the certificate of {parts.hostname} is trusted for {duration(ends - now())} more"
    is_soon = ends - now() < _SOON
    mend = "tell whoever runs the service" if is_soon else ""
    yield Point("TLS", "note" if is_soon else "well", text, mend)


def _secrets(settings: Settings) -> Iterator[Point]:
    if settings.receipt_secrets:
        yield Point("receipt secrets", "well", f"{len(settings.receipt_secrets)} in the ring")
    else:
        text = "none: months are sealed without their receipts being checked"
        mend = "give SVC_RECEIPT_SECRETS or SVC_RECEIPT_SECRETS_FILE before the first seal"
        yield Point("receipt secrets", "wrong", text, mend)


def _signing(source: SettingPlaces) -> Iterator[Point]:
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


def _stamping(source: SettingPlaces) -> Iterator[Point]:
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


def _notifiers(watching: Watching) -> Iterator[Point]:
    """Yield who is told, and commands that are not there."""
    names = ", ".join(one.name for one in watching.notifiers)
    if names:
        yield Point("notices", "well", f"to {names}")
    else:
        mend = "give SVC_NOTIFY, such as smtps://mail.example?from=…&to=…"
        yield Point("notices", "note", "nobody is told what became of a run", mend)
    for one in watching.notifiers:
        if one.scheme == "exec" and not os.access(one.command, os.X_OK):
            yield Point("notices", "wrong", f"{one.name} cannot be run", "chmod +x, or correct it")


def _files(source: SettingPlaces) -> Iterator[Point]:
    """Yield files of settings that others than their owner can read."""
    named = [path for name, path in source.environ.items() if _is_file_setting(name)]
    for path in [source.folder / ".env", *map(Path, named)]:
        if path.is_file() and path.stat().st_mode & _NOT_OWNER and os.name != "nt":
            text = f"{path} can be read by others than its owner"
            yield Point("permissions", "wrong", text, f"chmod 600 {path}")


def _is_file_setting(name: str) -> bool:
    return name.startswith("SVC_") and name.endswith(("_KEY_FILE", "_SECRETS_FILE", "NOTIFY_FILE"))


def _runs(lake: Lake, watching: Watching) -> Iterator[Point]:
    """Yield how the last run of each command ended, as it is kept where somebody is told of it."""
    if not (watching.notifiers or watching.metrics_file):
        return
    commands = read_notice_log(lake.path).commands
    for name, one in sorted(commands.items()):
        if one.ended_at is not None:
            is_well = one.exit_code == 0
            text = f"last ended with {one.exit_code}, {ago(one.ended_at)}"
            yield Point(
                f"{name} run", "well" if is_well else "note", text, "" if is_well else _LOOK
            )
        if one.is_running and one.began_at is not None:
            text = f"one began {ago(one.began_at)} and has not ended: it runs, or was killed"
            yield Point(f"{name} run", "note", text, _LOOK)
    if not commands:
        text = "none is known yet: no timer has started close or extract"
        yield Point("runs", "note", text, "see the page Schedule the close")


def _lake(lake: Lake, source: SettingPlaces) -> Iterator[Point]:
    """Yield disk, permissions, age of the data, and months that are due."""
    yield _disk(lake.path)
    if not lake.exists:
        mend = "run svc-analytics extract"
        yield Point("lake", "note", f"nothing was read into {lake.place} yet", mend)
        return
    if lake.path.stat().st_mode & _OTHERS and os.name != "nt":
        text = f"{lake.path} can be read by every user of this machine"
        yield Point("permissions", "wrong", text, f"chmod o-rwx {lake.path}")
    for stream in lake_status(lake).streams:
        yield _age(stream.name, stream.coverage.read[-1][1] if stream.coverage.read else None)
    yield from _months(lake, source)


def _months(lake: Lake, source: SettingPlaces) -> Iterator[Point]:
    """Yield the months that are due: wrong are those that the schedule closes, others a note."""
    first, *others = reckonings(lake, scheduled_months(lake, source))
    due = months_unsealed(lake, now(), 0, *first)
    if due:
        mend = "run svc-analytics close --all-due; svc-analytics status says why each waits"
        yield Point("months", "wrong", f"over and not sealed: {', '.join(due)}", mend)
    else:
        yield Point("months", "well", f"every month that is over is sealed{_by(first, others)}")
    for each in others:
        if due := months_unsealed(lake, now(), 0, *each):
            text = f"over and not sealed{_by(each, others)}: {', '.join(due)}"
            mend = (
                f"svc-analytics close --all-due --zone {each[0]} --calendar {each[1]}, if need be"
            )
            yield Point("months", "note", text, mend)


def _by(each: Reckoning, others: Collection[Reckoning]) -> str:
    """Name a zone and a calendar, where there are several."""
    return f" by the {each[1]} calendar of {each[0]}" if others else ""


def _disk(path: Path) -> Point:
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free
    text = f"{free / (1 << 30):,.1f} GiB are free at {path}"
    if free >= LEAST_DISK:
        return Point("disk", "well", text)
    return Point("disk", "wrong", text, "free some space before the next run")


def _age(name: str, end: int | None) -> Point:
    if end is None:
        return Point(name, "note", "never read", "run svc-analytics extract")
    text = f"read up to {ago(end)}"
    if now() - end < _STALE:
        return Point(name, "well", text)
    return Point(name, "wrong", text, "run svc-analytics extract, and schedule it")
