"""Notifiers: the addresses that notices are sent to, as SVC_NOTIFY names them."""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from svc_analytics.config import is_loopback
from svc_analytics.errors import ConfigError, SvcError

_FORMS = "smtp://host:port?from=…&to=…, smtps://…, https://…, slack+https://… or exec:/path/command"
_SCHEMES = ("smtps", "smtp", "slack+https", "slack+http", "https", "http", "exec")
_BORDER = re.compile(rf"[,\s]+(?=(?:{'|'.join(map(re.escape, _SCHEMES))}):)")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f]")


class Undelivered(SvcError):
    """A notifier or an address of pings did not take what it was sent."""


@dataclass(frozen=True)
class Notifier:
    """One address that notices are sent to; its repr shows no part that may be a secret."""

    scheme: str
    address: str = field(repr=False)

    @property
    def key(self) -> str:
        """A hash that tells it from others, and nothing of what it holds."""
        return hashlib.sha256(self.address.encode()).hexdigest()[:16]

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

    def people(self, side: str) -> list[str]:
        """Return the addresses of mail after `from` or `to`.

        >>> read_notifiers("smtp://mail.example?from=a@x.example&to=b@x.example")[0].people("to")
        ['b@x.example']
        """
        named = parse_qs(self.parts.query).get(side, [])
        return [one.strip() for text in named for one in text.split(",") if one.strip()]

    @property
    def name(self) -> str:
        """Where notices go, for a warning: without path, name and password."""
        if self.scheme == "exec":
            return f"exec:{PurePosixPath(self.command).name}"
        return f"{self.scheme}://{self.parts.hostname}"

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
    if scheme not in _SCHEMES or _UNPRINTABLE.search(text):
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
    if notifier.is_mail and not (len(notifier.people("from")) == 1 and notifier.people("to")):
        raise ConfigError(f"{name} needs one sender and whom it is for: ?from=…&to=…")
    if notifier.scheme.endswith("http") and not is_loopback(host):
        raise ConfigError(f"{name} must be https: a notice would travel in the clear")


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
