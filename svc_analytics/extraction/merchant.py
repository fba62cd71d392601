"""Whose the keys are: each key asks the service for its merchant, all at the same time."""

import threading
from typing import Any

from svc_analytics.api.client import Client
from svc_analytics.config import KeyClass, Settings
from svc_analytics.errors import ConfigError, NoService, Unavailable
from svc_analytics.extraction.clock import Answer, answer_now
from svc_analytics.lake.lake import Lake

Profile = tuple[dict[str, Any], Answer]


def read_merchant(
    client: Client, settings: Settings, lake: Lake
) -> tuple[dict[str, Any], list[Answer]]:
    """Return the merchant's profile, and what the service's clock was; refuse keys of two.

    Raises `NoService` where a wrong setting may keep the service away, and the lake was never
    read from its address.
    """
    try:
        answers = _ask_with_each(client, settings)
    except Unavailable as away:
        if away.advice and not _was_read_from(lake, settings.base_url):
            message = f"no service answers at {settings.base_url}: {away.trouble}; nothing was"
            message = f"{message} ever read from this address: {away.advice}"
            raise NoService(message, path=away.path) from away
        raise
    ids = sorted({profile["id"] for profile, _ in answers})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    return answers[0][0], [answer for _, answer in answers]


def _was_read_from(lake: Lake, address: str) -> bool:
    """Whether a lake was last read from an address; of one that does not say it, it may be."""
    return lake.exists and lake.service in (None, address)


def _ask_with_each(client: Client, settings: Settings) -> list[Profile]:
    """Ask with each key, all at the same time."""
    first, *others = [_Call(client, name) for name in settings.key_classes]
    for call in others:
        call.begin()
    try:
        return [first.ask(), *(call.end() for call in others)]
    except BaseException:
        client.limiter.stop()  # nor need the others be answered
        raise


class _Call:
    """One key's question: asked here, or in a thread of its own."""

    def __init__(self, client: Client, name: KeyClass) -> None:
        self._client = client
        self._name = name
        self._thread = threading.Thread(target=self._ask_aside, daemon=True)
        self._outcome: Profile | Exception = RuntimeError("nobody was asked")

    def ask(self) -> Profile:
        """Return the profile, and the service's clock; raise what keeps the key from them."""
        profile, at = self._client.me(self._name)
        return profile, answer_now(at)

    def begin(self) -> None:
        """Ask in a thread."""
        self._thread.start()

    def end(self) -> Profile:
        """Wait for the thread; return or raise what `ask` would."""
        self._thread.join()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def _ask_aside(self) -> None:
        try:
            self._outcome = self.ask()
        except Exception as error:
            self._outcome = error
