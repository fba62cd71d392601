"""The settings by which a run is watched: notifiers, address of pings, file of metrics."""

import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from svc_analytics.environment import SettingPlaces, here
from svc_analytics.unattended.notifiers import Notifier, check_ping_url, read_notifiers

_SECRETS = ("CHECKOUT_KEY", "PAYOUT_KEY", "RECEIPT_SECRETS", "WEBHOOK_SECRETS", "PROXY", "PING_URL")
_BORDER = re.compile(r"[,\r\n]+")
_SHORTEST = 4  # letters of what is hidden: a shorter text stands in every sentence


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
    parts = [part.strip(" \"'") for text in texts for part in _BORDER.split(text)]
    bare = [part.rpartition("@")[0].strip(" \"'") for part in parts if "@" in part]
    logins = [part.rpartition("@")[0].rpartition(":")[2] for part in parts if "://" in part]
    own = [text for one in notifiers for text in one.secrets]
    secrets = dict.fromkeys([*texts, *parts, *bare, *logins, *own])
    return tuple(text for text in secrets if len(text) >= _SHORTEST)
