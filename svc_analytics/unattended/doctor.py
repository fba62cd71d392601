"""The doctor: what must be right for runs that nobody looks at, point by point, and what to do."""

import os
import platform
import shutil
import socket
import ssl
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from svc_analytics.config import KeyClass, Settings
from svc_analytics.environment import SettingPlaces
from svc_analytics.errors import (
    ApiError,
    KeyRefused,
    LakeError,
    NoService,
    SvcError,
    WrongKeyClass,
    text_of,
)
from svc_analytics.files import cache_folder, state_folder
from svc_analytics.formatting.display import names_of
from svc_analytics.instants import DAY, SECOND, ago, duration, now
from svc_analytics.lake.coverage_footer import CLOCK_TOLERANCE
from svc_analytics.lake.lake import Lake
from svc_analytics.lake.status import lake_status
from svc_analytics.unattended import doctor_points
from svc_analytics.unattended.doctor_points import Point
from svc_analytics.unattended.notices import scheduled_months, without
from svc_analytics.unattended.notifiers import Watching
from svc_analytics.unattended.scheduled_job import place_of

LEAST_DISK = 1 << 30  # bytes that should be free
_SOON = 14 * DAY  # a certificate that ends within it is told
_STALE = 2 * DAY
_PATIENCE = 10  # seconds for the service
_LISTS: dict[KeyClass, str] = {"checkout": "payments", "payout": "payouts"}
_AUTHORITY = "if your company has an authority of its own, give its certificate by SVC_CA_FILE"
_OTHERS = stat.S_IRWXO
_NO_CLOCK = Point(
    "clock",
    "note",
    "the service told no time, so this machine's clock was not compared",
    "keep it right by NTP: timedatectl set-ntp true",
)


def look(source: SettingPlaces, read: Callable[[], tuple[Settings, Watching]]) -> Iterator[Point]:
    """Yield each point of a machine, its lake and the service as it was found.

    It alters nothing, and no text holds a secret. `read` reads the settings, which may be wrong.
    """
    text = f"svc-analytics {version('svc-analytics')}, Python {platform.python_version()}"
    yield Point("version", "well", text)
    try:
        settings, watching = read()
    except SvcError as error:
        yield Point("settings", "wrong", str(error), "correct it: see the page Settings")
        return
    yield (first := _settings(settings))
    errors = {first.text} if first.state == "wrong" else set[str]()
    for name, yield_points in _looks(source, settings, watching).items():
        for point in _looked(name, yield_points, errors):
            if any(each in point.text for each in errors if point.name == "close"):
                continue  # what keeps it from beginning was said
            yield replace(point, text=without(point.text, watching.secrets))


def _looks(
    source: SettingPlaces, settings: Settings, watching: Watching
) -> dict[str, Callable[[], Iterator[Point]]]:
    """Return the looks, each by the name under which it is told that it failed."""
    lake = Lake(settings.data_dir)
    place = place_of(settings.data_dir, source.folder)
    scheduled = partial(scheduled_months, lake, source)
    return {
        "memory": lambda: doctor_points.memory(source),
        "schedule": lambda: doctor_points.schedule(place),
        "authorities": lambda: _authorities(settings),
        "service": lambda: _service(settings),
        "receipt secrets": lambda: doctor_points.secrets(settings),
        "signing key": lambda: doctor_points.signing(source),
        "stamps": lambda: doctor_points.stamping(source),
        "notices": lambda: doctor_points.notices(watching),
        "ping": lambda: doctor_points.ping(watching),
        "metrics": lambda: doctor_points.metrics(watching),
        "lists": lambda: doctor_points.lists(source, scheduled()),
        "permissions": lambda: doctor_points.files(source),
        "runs": lambda: doctor_points.runs(lake, watching),
        "folders": lambda: _folders(lake, source),
        "lake": lambda: _lake(lake),
        "records": lambda: doctor_points.records(lake) if lake.exists else iter(()),
        "months": lambda: doctor_points.months(lake, scheduled()) if lake.exists else iter(()),
        "close": lambda: doctor_points.close(place, source.folder, source.environ),
        "not looked at": _not_looked_at,
    }


def _looked(name: str, look: Callable[[], Iterator[Point]], errors: set[str]) -> Iterator[Point]:
    """Yield points; what keeps one from being looked at is wrong itself, and said once."""
    try:
        yield from look()
    except (SvcError, OSError, subprocess.SubprocessError) as error:
        text = text_of(error)
        if text not in errors:
            errors.add(text)
            place = "lake" if isinstance(error, LakeError) else name
            yield Point(place, "wrong", text, "mend that, then run doctor again")


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
    merchants, clocks, is_reached = {}, [], False
    with Client(replace(settings, patience=min(settings.patience, _PATIENCE))) as client:
        for name in settings.key_classes:
            try:
                profile, at = client.me(name)
                client.page(_LISTS[name], {"limit": "1"})
            except ApiError as error:
                is_refused = isinstance(error, KeyRefused | WrongKeyClass)
                if not (is_refused or error.status in (401, 403)):  # the service did not answer
                    yield _unreached(error)
                    break
                newest = f"see whether SVC_{name.upper()}_KEY is the newest of the console"
                yield Point(f"{name} key", "wrong", str(error), f"{newest}, and its allowlist")
                is_reached = True
                continue
            is_reached, merchants[profile["id"]] = True, names_of(profile)
            clocks += [] if at is None else [at - now()]
            text = f"a {name}-class key of {names_of(profile)}; it reads {_LISTS[name]}"
            yield Point(f"{name} key", "well", text)
    yield from _merchants(settings, merchants)
    if is_reached:
        yield _clock(clocks[0]) if clocks else _NO_CLOCK
        yield from _certificate(settings)


def _authorities(settings: Settings) -> Iterator[Point]:
    """Yield whether the certificates can be read that settings name, which notices need too."""
    from svc_analytics.api.transport import trusted_by

    if names := ", ".join(filter(None, [settings.ssl_cert_file, settings.ca_file])):
        trusted_by(settings.ssl_cert_file, settings.ca_file)
        yield Point("authorities", "well", f"certificates of {names} are trusted")


def _unreached(error: ApiError) -> Point:
    """Say that the service was not reached, which tells nothing of a key."""
    mend = "see SVC_BASE_URL, SVC_PROXY and the network; keys were not looked at"
    if isinstance(error, NoService):
        mend = f"see SVC_BASE_URL and SVC_PROXY; {_AUTHORITY}"
    return Point("service", "wrong", str(error), mend)


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
    if settings.proxy:
        text = "how long the service's certificate holds is not looked at behind SVC_PROXY"
        yield Point("TLS", "note", text, "see it once without the proxy, or ask who runs that")
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
        yield Point("TLS", "wrong", f"{parts.hostname}: {error}", _AUTHORITY)
        return
    ends = int(ssl.cert_time_to_seconds(str(certificate["notAfter"]))) * SECOND
    text = f"the certificate of {parts.hostname} is trusted for {duration(ends - now())} more"
    is_soon = ends - now() < _SOON
    mend = "tell whoever runs the service" if is_soon else ""
    yield Point("TLS", "note" if is_soon else "well", text, mend)


def _not_looked_at() -> Iterator[Point]:
    text = "whether a webhook or ping takes a message, what the stamps' authority answers"
    text += ", what other machines and users have set, what the service lists"
    text += ", and seals of quarters, years and months before the last twelve"
    yield Point("not looked at", "note", text, "run extract, check and statement-verify to see")


def _folders(lake: Lake, source: SettingPlaces) -> Iterator[Point]:
    """Yield whether what a run writes can be written, and how much is free there."""
    disks = set[int]()
    for folder in (lake.path, cache_folder(source.environ), state_folder(source.environ)):
        path = _nearest(folder)
        if not (path.is_dir() and os.access(path, os.W_OK | os.X_OK)):
            mend = "give it to who runs the close, or name another one by its setting"
            yield Point("folders", "wrong", f"{path} cannot be written to", mend)
        if path.stat().st_dev not in disks:
            disks.add(path.stat().st_dev)
            yield _disk(path)


def _nearest(path: Path) -> Path:
    """Return a folder, or the one that is there in which it would be made."""
    return next(each for each in (path.absolute(), *path.absolute().parents) if each.exists())


def _lake(lake: Lake) -> Iterator[Point]:
    """Yield permissions and age of the data."""
    if not lake.exists:
        mend = "run svc-analytics extract"
        yield Point("lake", "note", f"nothing was read into {lake.place} yet", mend)
        return
    if lake.path.stat().st_mode & _OTHERS and os.name != "nt":
        text = f"{lake.path} can be read by every user of this machine"
        yield Point("permissions", "wrong", text, f"chmod o-rwx {lake.path}")
    for stream in lake_status(lake).streams:
        yield _age(stream.name, stream.coverage.read[-1][1] if stream.coverage.read else None)


def _disk(path: Path) -> Point:
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
