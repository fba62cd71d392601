"""Settings from options, environment, secret files and `.env`; secrets stay hidden.

Commands and public functions read them, once, and pass them down. A value comes from
the option, else the environment, else the file that the `…_FILE` variable names, else
`.env` in the working folder.
"""

import ipaddress
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from svc_analytics.arguments import PATH, AnyPath, check
from svc_analytics.bucket.address import Address, check_place, lake_address
from svc_analytics.environment import Text, here
from svc_analytics.errors import ConfigError
from svc_analytics.signing.secrets import Secret, SigningSecret, parse_secrets

KeyClass = Literal["checkout", "payout"]
KEY_PREFIXES: dict[KeyClass, str] = {"checkout": "svc_live_", "payout": "svc_payout_"}
_HEX64 = re.compile(r"[0-9a-fA-F]{64}\Z", re.ASCII)
UNPRINTABLE = re.compile(r"[\x00-\x20\x7f]")
_ENGINE = re.compile(r"sc://[^/\s]+(/.*)?\Z")
_MEMORY = re.compile(r"[1-9]\d{0,5}(\.\d{1,3})? ?[MGT]i?B\Z")
_SSH_KEY = re.compile(r"-----BEGIN |(ssh|ecdsa|sk-ssh|sk-ecdsa)-\S+ AAAA")
_API = "/api/pay/v1"  # where the contract's paths begin; each request adds it
DUCKDB = "duckdb"  # the engine that is here
DEFAULT_PATIENCE = 60
RATES_FILE = "rates.csv"  # in a lake's folder
RATES_RULE = "last published day before"  # whose rate a day without one has


@dataclass(frozen=True)
class Settings:
    """The settings of one run: addresses, keys, secrets. No repr shows a key.

    `read_settings` makes one. `data_dir` is the folder of the lake, or the URL of its bucket;
    `patience` is in seconds.

    Raises:
        ConfigError: by `require_service` and `require_receipt_secrets`, when one is missing.

    Examples:
        >>> Settings().patience
        60
    """

    base_url: str = ""
    checkout_key: Secret | None = None
    payout_key: Secret | None = None
    receipt_secrets: tuple[SigningSecret, ...] = ()
    webhook_secrets: tuple[SigningSecret, ...] = ()
    data_dir: Address = Path("data")
    patience: int = DEFAULT_PATIENCE  # seconds without any progress before giving up
    proxy: str = field(default="", repr=False)  # used only when asked for; it may hold a password
    ca_file: str = ""  # of authorities that are trusted besides the usual ones
    ssl_cert_file: str = ""  # of those that are trusted instead of the usual ones

    @property
    def key_classes(self) -> tuple[KeyClass, ...]:
        """Return the classes of the keys that are set, the one with fewer rights first."""
        return tuple(name for name in KEY_PREFIXES if self.key(name))

    def key(self, key_class: KeyClass) -> Secret | None:
        """Return the key of a class, `checkout` or `payout`; None where it is not set."""
        return self.checkout_key if key_class == "checkout" else self.payout_key

    def require_service(self) -> None:
        """Raise `ConfigError` without the service's address and at least one key."""
        if not self.base_url:
            raise ConfigError("SVC_BASE_URL is not set: give the service's address, https://host")
        if not self.key_classes:
            raise ConfigError("no key is set: give SVC_CHECKOUT_KEY, SVC_PAYOUT_KEY, or both")

    def require_receipt_secrets(self) -> None:
        """Raise `ConfigError` without a receipt secret."""
        if not self.receipt_secrets:
            message = "SVC_RECEIPT_SECRETS is not set: no receipt can be verified without it"
            raise ConfigError(message)


def read_settings(
    data_dir: AnyPath | None = None,
    *,
    patience: int | None = None,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Read the settings from the environment, secret files and `.env`.

    `data_dir` and `patience` (seconds) take the place of SVC_DATA_DIR and SVC_PATIENCE.
    `environ` and `folder` take the place of this process's environment and folder.

    Returns:
        The settings. Their repr shows no key and no secret.

    Raises:
        ConfigError: for a setting that is malformed; it names the variable, never its value.

    Examples:
        >>> read_settings("lake", environ={}).data_dir.name
        'lake'
    """
    check("patience", patience, (int, type(None)), "how many seconds")
    check("folder", folder, (*PATH, type(None)), 'a path, such as "/srv/finance"')
    source = here(environ, folder and Path(folder))
    return Settings(
        base_url=source.read("SVC_BASE_URL", check_base_url),
        checkout_key=source.read("SVC_CHECKOUT_KEY", partial(_key, "checkout")),
        payout_key=source.read("SVC_PAYOUT_KEY", partial(_key, "payout")),
        receipt_secrets=source.read("SVC_RECEIPT_SECRETS", parse_secrets),
        webhook_secrets=source.read("SVC_WEBHOOK_SECRETS", parse_secrets),
        data_dir=read_data_dir(data_dir, environ=source.environ, folder=source.folder),
        patience=patience or source.read("SVC_PATIENCE", _seconds),
        proxy=source.text("SVC_PROXY"),
        ca_file=source.text("SVC_CA_FILE"),
        ssl_cert_file=source.environ.get("SSL_CERT_FILE", ""),
    )


def read_data_dir(
    data_dir: AnyPath | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Address:
    """Read only where the lake is, for work that needs neither key nor secret."""
    check("data_dir", data_dir, (*PATH, type(None)), 'a path, such as "data"')
    source = here(environ, folder)
    return (
        lake_address(data_dir)
        if data_dir
        else source.read("SVC_DATA_DIR", lambda text: lake_address(text or "data"))
    )


def read_engine(
    engine: str | None = None,
    engine_data: Sequence[str] = (),
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> tuple[str, tuple[str, ...]]:
    """Read only the address of what counts records, and the lakes' folders as it sees them.

    The address is empty for DuckDB, which is here. Raises `ConfigError` for what is no address,
    or may hold a secret where none belongs; it names the option or the variable.
    """
    source = here(environ, folder)
    setting = Text(engine, "--engine") if engine else source.find("SVC_ENGINE")
    address = check_engine(setting.text, setting.origin)
    place = source.find("SVC_ENGINE_DATA")
    places = [Text(text, "--engine-data") for text in engine_data] or [place] * bool(place.text)
    for each in places if address else ():
        check_place(each.origin, each.text)
    return address, tuple(each.text for each in places)


def read_memory(*, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> str:
    """Read only how much memory a query may take; empty where nothing says it.

    >>> read_memory(environ={"SVC_MEMORY": "4 GiB"})
    '4 GiB'
    """
    return here(environ, folder).read("SVC_MEMORY", _memory)


def read_rates_path(lake: Path, rates: AnyPath | None = None) -> Path:
    """Read only where the rates of other currencies are: in the lake unless told otherwise."""
    check("rates", rates, (*PATH, type(None)), 'a path, such as "rates.csv"')
    return Path(rates or here().text("SVC_RATES") or lake / RATES_FILE)


def read_rates_gaps(
    *, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> bool:
    """Tell whether a day without a rate has that of the last day before; raise `ConfigError`.

    >>> read_rates_gaps(environ={"SVC_RATES_GAPS": "Last published day before"})
    True
    """
    text = here(environ, folder).text("SVC_RATES_GAPS").strip()
    if text and text.lower().replace("-", " ") != RATES_RULE:
        raise ConfigError(f"SVC_RATES_GAPS is {text!r:.40}: the only rule is {RATES_RULE!r}")
    return bool(text)


def read_signing_key(
    key: AnyPath | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Path | None:
    """Read only where the SSH key lies that signs; None where nothing says it.

    The file that SVC_SIGNING_KEY_FILE names may be the key itself. Raises `ConfigError` for a
    key in the place of its path.

    >>> read_signing_key(environ={"SVC_SIGNING_KEY": "/etc/shop/seal"}).as_posix()
    '/etc/shop/seal'
    """
    check("key", key, (*PATH, type(None)), 'a path, such as "~/.ssh/id_ed25519"')
    source, name = here(environ, folder), "SVC_SIGNING_KEY"
    setting = Text(os.fspath(key), "--key") if key else source.find(name)
    text = setting.text
    if _SSH_KEY.match(text):
        values = source.dotenv if setting.origin.endswith(".env") else source.environ
        if not setting.origin.startswith(f"{name}_FILE"):
            raise ConfigError(f"{setting.origin} is a key: give the path of its file instead")
        text = values[f"{name}_FILE"]
    return Path(text).expanduser() if text else None


def check_engine(address: str, name: str = "engine") -> str:
    """Return the address of an engine, empty for DuckDB; raise `ConfigError` for any other text.

    `name` is that of the setting.

    >>> check_engine("sc://spark.example:15002"), check_engine("duckdb")
    ('sc://spark.example:15002', '')
    """
    if address in ("", DUCKDB):
        return ""
    try:
        is_engine = bool(_ENGINE.match(address)) and urlsplit(address).port != 0
    except ValueError:
        is_engine = False
    if not is_engine:  # which may hold a token, so it is not shown
        message = f"{name} names no engine: write sc://host:15002 for Spark Connect, or duckdb"
        raise ConfigError(message)
    return address


def check_base_url(url: str) -> str:
    """Return the address as the contract's paths begin with it; plain http only on this machine.

    >>> check_base_url("https://pay.example/api/pay/v1/")
    'https://pay.example'
    """
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and parts.port != 0 and not UNPRINTABLE.search(url)
    except ValueError:
        is_address = False
    if not (is_address and parts.scheme in ("https", "http")):
        raise ConfigError("SVC_BASE_URL is not an address: write https://host")
    is_more = parts.username or parts.password or parts.query or parts.fragment
    if is_more or re.search("[,;]", parts.netloc):
        raise ConfigError("SVC_BASE_URL holds more than an address: write only https://host")
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise ConfigError("SVC_BASE_URL must be https: over plain http a key travels in the clear")
    return url.rstrip("/").removesuffix(_API)


def _key(key_class: KeyClass, text: str) -> Secret | None:
    if not text:
        return None
    name = f"SVC_{key_class.upper()}_KEY"
    for other, prefix in KEY_PREFIXES.items():
        if text.startswith(prefix) and _HEX64.match(text[len(prefix) :]):
            if other == key_class:
                return Secret(text)
            raise ConfigError(f"{name} holds a {other}-class key; it needs a {key_class}-class one")
    form = f"{KEY_PREFIXES[key_class]}<64 hex digits>"
    raise ConfigError(f"{name} is malformed: a {key_class}-class key looks like {form}")


def masked(key: Secret) -> str:
    """Name a key for people: its class, and the end by which the console lists it.

    >>> masked(Secret("svc_live_" + "0a" * 32))
    'checkout-class key svc_live_…0a0a'
    """
    for key_class, prefix in KEY_PREFIXES.items():
        if key.reveal().startswith(prefix):
            return f"{key_class}-class key {prefix}…{key.reveal()[-4:]}"
    return "key"


def _seconds(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ConfigError("SVC_PATIENCE is not a number of seconds")
    return int(text or DEFAULT_PATIENCE)


def _memory(text: str) -> str:
    if text and not _MEMORY.match(text):
        raise ConfigError(f"SVC_MEMORY is not an amount of memory: write 4GiB, not {text!a:.40}")
    return text


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
