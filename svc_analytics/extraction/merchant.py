"""Whose the keys are: each key asks the service for its merchant, all at the same time."""

import threading
from typing import Any

from svc_analytics.api.client import Client
from svc_analytics.config import KeyClass, Settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction.clock import Answer, answer_now

Profile = tuple[dict[str, Any], Answer]


def read_merchant(client: Client, settings: Settings) -> tuple[dict[str, Any], list[Answer]]:
    """Return the merchant's profile, and what the service's clock was; refuse keys of two."""
    first, *others = [_Call(client, name) for name in settings.key_classes]
    for call in others:
        call.begin()
    try:
        answers = [first.ask(), *(call.end() for call in others)]
    except BaseException:
        client.limiter.stop()  # nor need the others be answered
        raise
    ids = sorted({profile["id"] for profile, _ in answers})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    return answers[0][0], [answer for _, answer in answers]


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
