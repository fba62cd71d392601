"""The close that a timer starts: its lake, its folder, its user, and its settings."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from svc_analytics.bucket.address import Address
from svc_analytics.config import Settings
from svc_analytics.environment import SETTINGS, SettingPlaces, command_of, why_unreadable
from svc_analytics.errors import ConfigError, NoLake
from svc_analytics.files import state_folder
from svc_analytics.lake.lake import Lake

if TYPE_CHECKING:
    import pwd

_PREFIX = "svc-analytics-"
_LONGEST = 80
_PUBLIC = {  # settings that hold no secret; any other becomes a credential
    *("SVC_BASE_URL", "SVC_PATIENCE", "SVC_MEMORY", "SVC_ENGINE_DATA", "SVC_RATES"),
    *("SVC_CA_FILE", "SVC_METRICS_FILE", "SVC_CACHE_DIR", "SVC_STATE_DIR", "SVC_TSA_URL"),
    *("SVC_LOG", "SVC_RATES_GAPS", "SVC_MATCH"),
}
_OF_STORES = ("AWS_", "AZURE_", "GOOGLE_")  # variables that may hold the key of a bucket


@dataclass
class JobSettings:
    """How the settings reach the job that `.env` does not hold."""

    variables: dict[str, str] = field(default_factory=dict)
    credentials: dict[str, Path] = field(default_factory=dict)  # the file of each, by the setting
    files: dict[Path, str] = field(default_factory=dict)  # files of what only the environment has
    store: Path | None = None  # of `files`, the file of variables by which a bucket is opened

    @property
    def stored_names(self) -> list[str]:
        """The settings whose secrets stand in files of ours."""
        return [name for name, path in self.credentials.items() if path in self.files]

    @property
    def texts(self) -> Iterator[str]:
        """All that a unit has of them."""
        yield from self.variables.values()
        yield from map(str, self.credentials.values())


@dataclass(frozen=True)
class ScheduledJob:
    """A close that a timer starts."""

    lake: str  # the whole path of its folder, or the URL of its bucket
    folder: Path  # in which it runs, and whose `.env` it reads each time
    user: str  # who runs it; empty where the timer is a person's own
    at: str  # of the day, such as 06:15
    settings: JobSettings
    writable: tuple[str, ...]
    has_cache: bool  # whether the settings name a folder for what can be made again
    state: str = ""  # where it remembers chains of seals; empty where systemd gives it a folder

    @property
    def name(self) -> str:
        """The name of its units."""
        return unit_name(self.lake)

    @property
    def words(self) -> list[str]:
        """The command, for the Python that runs now: it needs no search path."""
        start = [sys.executable, "-P", "-m", "svc_analytics"]  # -P: not from the working folder
        return [*start, "close", "--all-due", "--data-dir", self.lake]


def unit_name(lake: str) -> str:
    """Name the units of a lake by its place; those of two lakes never have one name.

    >>> unit_name("/srv/finance/data"), unit_name("/srv/finance-data")
    ('svc-analytics-srv-finance-data', 'svc-analytics-srv-finance-data-69c7dfb9')
    """
    words = re.sub(r"[^A-Za-z0-9_.]+", "-", lake).strip("-")[:_LONGEST]
    is_whole = "/" + words.replace("-", "/") == lake
    mark = "" if is_whole else f"-{sha256(lake.encode()).hexdigest()[:8]}"
    return f"{_PREFIX}{words}{mark}"


def secrets_folder(folder: Path, lake: str) -> Path:
    """Return where the secrets of a lake's job are kept, in the folder of all jobs."""
    return folder / unit_name(lake).removeprefix(_PREFIX)


def place_of(lake: Address, folder: Path) -> str:
    """Return the whole path of a lake's folder, or the URL of its bucket."""
    return lake if isinstance(lake, str) else os.path.normpath(folder / lake)


def read_job(
    settings: Settings, source: SettingPlaces, at: str, secrets: Path, is_own: bool
) -> ScheduledJob:
    """Return the job of these settings; `secrets` is the folder for what must be kept.

    Raises:
        ConfigError: for a setting that is missing, or that no unit can hold.
        NoLake: if nothing was read yet, so that nobody knows if the keys are right.
    """
    settings.require_service()
    lake = place_of(settings.data_dir, source.folder)
    is_folder = isinstance(settings.data_dir, Path)
    if is_folder and not Lake(Path(lake)).exists:
        raise NoLake(Path(lake))
    facts = _job_settings(source, secrets_folder(secrets, lake))
    if not is_folder:
        _add_store(facts, source, secrets_folder(secrets, lake))
    owner = "" if is_own else _owner(Path(lake) if is_folder else source.folder)
    state = _state_place(source, owner)
    writable = [lake] * is_folder + [*_other_folders(source), *filter(None, [state])]
    has_cache = bool(source.text("SVC_CACHE_DIR"))
    job = ScheduledJob(lake, source.folder, owner, at, facts, tuple(writable), has_cache, state)
    for text in (*job.words, str(job.folder), *job.writable, *facts.texts):
        _check(text)
    return job


def _job_settings(source: SettingPlaces, folder: Path) -> JobSettings:
    """Sort the settings of the environment, and the files that settings name."""
    facts = JobSettings()
    for name, option in sorted(source.environ.items()):
        if name == "SSL_CERT_FILE" or command_of(name) == "close":
            facts.variables[name] = option
    for name in [each for each in SETTINGS if each != "SVC_DATA_DIR"]:  # the command names the lake
        text, path = source.environ.get(name), _file_of(name, source)
        if name in _PUBLIC:
            facts.variables |= {name: text} if text else {f"{name}_FILE": path} if path else {}
        elif text:
            facts.credentials[name] = folder / credential(name)
            facts.files[facts.credentials[name]] = f"{text.strip()}\n"
        elif path:
            facts.credentials[name] = Path(path)
    return facts


def credential(name: str) -> str:
    """Name the credential of a setting, as systemd and its file have it.

    >>> credential("SVC_CHECKOUT_KEY")
    'checkout-key'
    """
    return name.removeprefix("SVC_").lower().replace("_", "-")


def _file_of(name: str, source: SettingPlaces) -> str:
    """Return the whole path of the file that a setting is read from, if it is."""
    path = source.environ.get(f"{name}_FILE", "")
    if not path and not source.dotenv.get(name):
        path = source.dotenv.get(f"{name}_FILE", "")
    return path and os.path.normpath(source.folder / path)


def _add_store(facts: JobSettings, source: SettingPlaces, folder: Path) -> None:
    """Keep the variables by which a bucket is opened."""
    texts = {name: text for name, text in source.environ.items() if name.startswith(_OF_STORES)}
    if texts:
        facts.store = folder / "environment"
        lines = [f'{name}="{_escaped(text)}"\n' for name, text in sorted(texts.items())]
        facts.files[facts.store] = "".join(lines)


def _escaped(text: str) -> str:
    return re.sub(r'(["\\$`])', r"\\\1", text)


def _other_folders(source: SettingPlaces) -> Iterator[str]:
    """Yield the folders, besides the lake, that the settings make a close write into."""
    if metrics := source.text("SVC_METRICS_FILE"):
        yield os.path.normpath((source.folder / metrics).parent)
    if cache := source.text("SVC_CACHE_DIR"):
        yield os.path.normpath(source.folder / cache)


def _state_place(source: SettingPlaces, owner: str) -> str:
    """Return where its user remembers chains of seals, at a terminal too; empty without a home."""
    if source.text("SVC_STATE_DIR") or not owner:
        return str(state_folder(source.environ))
    with suppress(KeyError):
        home = Path(_entry(owner).pw_dir)
        return str(home / ".local" / "state" / "svc-analytics") if home.is_dir() else ""
    return ""


def _entry(user: str) -> "pwd.struct_passwd":
    import pwd  # Windows has none

    return pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)


def _owner(path: Path) -> str:
    try:
        return path.owner()
    except KeyError:  # its number has no name on this machine
        return str(path.stat().st_uid)


def try_as_user(job: ScheduledJob) -> None:
    """Raise `ConfigError` if the user of a job cannot begin it, as where it may not read `.env`.

    Only root can try as another user. A bucket would be asked for its objects, so it is not tried.
    """
    if not job.user or "://" in job.lake or os.geteuid() != 0:
        return
    entry = _entry(job.user)
    facts = job.settings
    secrets = {
        name: facts.files.get(path) or _secret(path) for name, path in facts.credentials.items()
    }
    try:
        done = subprocess.run(  # noqa: S603  (our own Python)
            [*job.words, "--dry-run"],
            cwd=job.folder,
            env={"PATH": os.defpath, "HOME": entry.pw_dir, **facts.variables, **secrets},
            user=entry.pw_uid,
            group=entry.pw_gid,
            extra_groups=os.getgrouplist(entry.pw_name, entry.pw_gid),
            capture_output=True,
            text=True,
            check=False,
        )
        code, said = done.returncode, done.stderr.strip().rpartition("error: ")[2]
    except OSError as error:
        code, said = 1, str(error)
    if code in (1, 2):
        raise ConfigError(f"the lake belongs to {job.user}, who cannot begin a close: {said}")


def _secret(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {why_unreadable(error)}") from error


def _check(text: str) -> None:
    """Refuse a text that a line of a unit cannot hold as it is."""
    if not text.isprintable() or text != text.strip() or text.endswith("\\"):
        message = f"a unit of systemd cannot hold {text!a}"
        raise ConfigError(f"{message}: line breaks, and blanks or a backslash at an end, are lost")
