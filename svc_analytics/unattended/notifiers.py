"""Notifiers: the addresses that notices are sent to, as SVC_NOTIFY names them.

With the address of pings and the file of metrics they are all by which a run is watched.
"""

import hashlib
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parseaddr
from pathlib import Path, PurePosixPath
from urllib.parse import SplitResult, unquote, urlsplit

from svc_analytics.config import UNPRINTABLE, is_loopback
from svc_analytics.environment import SettingPlaces, here
from svc_analytics.errors import ConfigError, SvcError

_FORMS = "smtp://host:port?from=…&to=…, smtps://…, https://…, slack+https://… or exec:/path/command"
_SCHEMES = ("smtps", "smtp", "slack+https", "slack+http", "https", "http", "exec")
_BORDER = re.compile(rf"[,\s]+(?=(?:{'|'.join(map(re.escape, _SCHEMES))}):)")
_BETWEEN = re.compile(r'[,;](?=(?:[^"]*"[^"]*")*[^"]*\Z)')  # of addresses, not within quotes
_MAILBOX = re.compile(r"[^\s@<>,;]+(@[^\s@<>,;]+)?\Z")
_SECRETS = ("CHECKOUT_KEY", "PAYOUT_KEY", "RECEIPT_SECRETS", "WEBHOOK_SECRETS", "PROXY", "PING_URL")
_BETWEEN_SECRETS = re.compile(r"[,\r\n]+")
_SHORTEST = 4  # letters of what is hidden: a shorter text stands in every sentence


class Undelivered(SvcError):
    """A notifier or an address of pings did not take what it was sent."""


class TooMuch(Undelivered):
    """A notice was not taken as it is, for its size or its content: a smaller form may be."""


class Late(Undelivered):
    """It gave no whole answer in time."""


@dataclass(frozen=True)
class Notifier:
    """One address that notices are sent to; its repr shows no part that may be a secret.

    A mail server may be one for several receivers: `each` has one notifier for each of them.
    """

    scheme: str
    address: str = field(repr=False)
    receiver: str = ""  # of mail

    @property
    def each(self) -> list["Notifier"]:
        """A notifier for each receiver of mail: one who was not reached is told again alone."""
        people = self.people("to", "cc", "bcc") if self.is_mail else []
        return [replace(self, receiver=one) for one in dict.fromkeys(people)] or [self]

    @property
    def key(self) -> str:
        """A hash that tells it from others, and nothing of what it holds."""
        is_one = len(self.each) == 1
        text = self.address if is_one else f"{self.address} {self.receiver}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def carries_files(self) -> bool:
        """Whether the forms of a statement go with a notice."""
        return self.is_mail or self.scheme == "exec"

    @property
    def is_mail(self) -> bool:
        """Whether it is a mail server."""
        return self.scheme in ("smtp", "smtps")

    @property
    def parts(self) -> SplitResult:
        """The parts of its address, that of Slack's form without `slack+`."""
        return urlsplit(self.address.removeprefix("slack+"))

    @property
    def command(self) -> str:
        """The path of the command that `exec:` names."""
        return self.address.removeprefix("exec:")

    @property
    def login(self) -> tuple[str, str] | None:
        """The name and the password for a mail server, if it asks for them."""
        parts = self.parts
        return None if not parts.username else (unquote(parts.username), _password(parts))

    def mailboxes(self, *sides: str) -> list[tuple[str, str]]:
        """Return the names and addresses of mail after `from`, `to` and so on.

        What people write stays: no `+` is a blank, and names stand before addresses in `<>`.

        >>> [one] = read_notifiers("smtp://m.example?from=a@x&to=Sara <sara+close@x>")
        >>> one.mailboxes("to")
        [('Sara', 'sara+close@x')]
        """
        named = [part.partition("=") for part in self.address.partition("?")[2].split("&")]
        texts = [unquote(text) for name, _, text in named if name in sides]
        parts = [part for text in texts for part in _BETWEEN.split(text) if part.strip()]
        return [parseaddr(part) for part in parts]

    def people(self, *sides: str) -> list[str]:
        """Return the addresses of mail after `from`, `to` and so on.

        >>> read_notifiers("smtp://mail.example?from=a@x.example&to=b@x.example")[0].people("to")
        ['b@x.example']
        """
        return [address for _, address in self.mailboxes(*sides)]

    @property
    def name(self) -> str:
        """Where notices go, for a warning: without path, name and password."""
        if self.scheme == "exec":
            return f"exec:{PurePosixPath(self.command).name}"
        place = f"{self.scheme}://{self.parts.hostname}"
        return f"{self.receiver} ({place})" if self.receiver else place

    @property
    def secrets(self) -> list[str]:
        """The parts of its address that no message may hold."""
        if self.scheme == "exec":
            return []
        parts = self.parts
        own = [parts.password or "", _password(parts), self.address]
        return own if self.is_mail else [*own, parts.path.strip("/"), parts.query]


def read_notifiers(text: str) -> tuple[Notifier, ...]:
    """Read the text of SVC_NOTIFY; commas or line breaks part its addresses.

    Raises `ConfigError` for what is no notifier; it does not show the text, which may hold a
    password.

    >>> [one.name for one in read_notifiers("https://a.example/x,exec:/usr/bin/tell")]
    ['https://a.example', 'exec:tell']
    """
    return tuple(_read_one(part.strip()) for part in _BORDER.split(text.strip()) if part.strip())


def _read_one(text: str) -> Notifier:
    scheme, _, rest = text.partition(":")
    is_mail = scheme in ("smtp", "smtps")
    if scheme not in _SCHEMES or UNPRINTABLE.search(text.replace(" ", "") if is_mail else text):
        raise ConfigError(f"SVC_NOTIFY names no notifier: write {_FORMS}")
    notifier = Notifier(scheme, text)
    if scheme == "exec":
        if not rest.startswith("/"):
            raise ConfigError("SVC_NOTIFY: after exec: comes the whole path of a command")
        return notifier
    _check_address(notifier, f"SVC_NOTIFY: {scheme}://")
    return notifier


def _check_address(notifier: Notifier, name: str) -> None:
    """Refuse an address without a host, mail without people, and what travels in the clear."""
    try:
        host = notifier.parts.hostname if notifier.parts.port != 0 else None
    except ValueError:
        host = None
    if not host:
        raise ConfigError(f"{name} names no host and port")
    if notifier.is_mail:
        _check_people(notifier, name)
    if notifier.scheme.endswith("http") and not is_loopback(host):
        raise ConfigError(f"{name} must be https: a notice would travel in the clear")


def _check_people(notifier: Notifier, name: str) -> None:
    """Refuse mail without a sender or a receiver, and what is no address of one."""
    sender, people = notifier.people("from"), notifier.people("to", "cc", "bcc")
    if len(sender) != 1 or not people:
        raise ConfigError(f"{name} needs one sender and whom it is for: ?from=…&to=…")
    for place, one in enumerate([*sender, *people]):
        if not _MAILBOX.match(one):
            whose = f"the receiver {place}" if place else "the sender"
            raise ConfigError(f"{name}: {whose} is no address of mail: write a@b.example")


def check_ping_url(text: str) -> str:
    """Return the address of pings; raise `ConfigError` for what is none.

    >>> check_ping_url("https://hc-ping.example/1234")
    'https://hc-ping.example/1234'
    """
    if text and not text.startswith(("https://", "http://")):
        raise ConfigError("SVC_PING_URL is not an address: write https://host/path")
    if text:
        _check_address(Notifier(text.partition(":")[0], text), "SVC_PING_URL")
    return text


def _password(parts: SplitResult) -> str:
    return unquote(parts.password or "")


@dataclass(frozen=True)
class Watching:
    """Who is told of a run, and where it is measured; `secrets` is what none of them may see."""

    notifiers: tuple[Notifier, ...] = ()
    ping_url: str = field(default="", repr=False)
    metrics_file: str = ""
    proxy: str = field(default="", repr=False)
    authorities: tuple[str, str] = ("", "")  # files, as SSL_CERT_FILE and SVC_CA_FILE name them
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def receivers(self) -> list[Notifier]:
        """The notifiers, one for each receiver of mail."""
        return [each for one in self.notifiers for each in one.each]

    def trusted(self) -> ssl.SSLContext:
        """Whom to trust, as for the service itself."""
        from svc_analytics.api.transport import trusted_by  # loads the client of the service

        return trusted_by(*self.authorities)

    @property
    def is_on(self) -> bool:
        """Whether anything is to be done at all."""
        return bool(self.notifiers or self.ping_url or self.metrics_file)


def read_watching(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Watching:
    """Read SVC_NOTIFY, SVC_PING_URL and SVC_METRICS_FILE; raise `ConfigError` for a wrong one.

    >>> read_watching({"SVC_NOTIFY": "exec:/usr/bin/tell"}).notifiers[0].name
    'exec:tell'
    """
    source = here(environ, folder)
    notifiers = source.read("SVC_NOTIFY", read_notifiers)
    return Watching(
        notifiers,
        source.read("SVC_PING_URL", check_ping_url),
        source.text("SVC_METRICS_FILE"),
        source.text("SVC_PROXY"),
        (source.environ.get("SSL_CERT_FILE", ""), source.text("SVC_CA_FILE")),
        _secrets(source, notifiers),
    )


def _secrets(source: SettingPlaces, notifiers: Iterable[Notifier]) -> tuple[str, ...]:
    """Return the texts of all secrets as the settings have them, each alone too."""
    texts = [source.text(f"SVC_{name}") for name in _SECRETS]
    parts = [part.strip(" \"'") for text in texts for part in _BETWEEN_SECRETS.split(text)]
    bare = [part.rpartition("@")[0].strip(" \"'") for part in parts if "@" in part]
    logins = [part.rpartition("@")[0].rpartition(":")[2] for part in parts if "://" in part]
    own = [text for one in notifiers for text in one.secrets]
    secrets = dict.fromkeys([*texts, *parts, *bare, *logins, *own])
    return tuple(text for text in secrets if len(text) >= _SHORTEST)
