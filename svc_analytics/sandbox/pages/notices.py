"""Notices: what an action did, kept for the one page that its redirect leads to."""

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from svc_analytics.signing.secrets import Secret

_MOST = 20  # a notice that nobody fetches makes room for the next


@dataclass(frozen=True)
class ConsoleNotice:
    """Say what was done; a key or secret is shown with it."""

    text: str
    secret: Secret | None = None


class Notices:
    """Keep notices in memory; each is shown once, so a reload shows no key again."""

    def __init__(self) -> None:
        self._notices: OrderedDict[str, ConsoleNotice] = OrderedDict()

    def keep(self, notice: ConsoleNotice) -> str:
        """Keep a notice and return the name under which it can be taken."""
        name = secrets.token_urlsafe(16)
        self._notices[name] = notice
        if len(self._notices) > _MOST:
            self._notices.popitem(last=False)
        return name

    def take(self, name: str) -> ConsoleNotice | None:
        """Take a notice away, if it is still there."""
        return self._notices.pop(name, None)
