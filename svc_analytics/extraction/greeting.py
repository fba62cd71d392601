"""The first calls of a run: each key asks whose it is, all at the same time."""

import threading
from typing import Any

from svc_analytics.api.client import Client
from svc_analytics.config import KeyClass, Settings
from svc_analytics.errors import ConfigError
from svc_analytics.extraction.clock import Answer, answer_now


def read_merchant(client: Client, settings: Settings) -> tuple[dict[str, Any], list[Answer]]:
    """Return the merchant's profile, and what the service's clock was; refuse keys of two."""
    questions = [_Question(client, name) for name in settings.key_classes]
    others = [threading.Thread(target=each.ask, daemon=True) for each in questions[1:]]
    for thread in others:
        thread.start()
    questions[0].ask()  # in this thread, where an interruption arrives
    if questions[0].has_failed:
        client.limiter.stop()  # nor need the others be answered
    for thread in others:
        thread.join()
    answers = [each.answer() for each in questions]
    ids = sorted({profile["id"] for profile, _ in answers})
    if len(ids) > 1:
        message = f"the two keys belong to two merchants, {' and '.join(ids)}: use keys of one"
        raise ConfigError(message)
    return answers[0][0], [told for _, told in answers]


class _Question:
    """What one key is answered."""

    def __init__(self, client: Client, name: KeyClass) -> None:
        self._client = client
        self._name = name
        self._found: tuple[dict[str, Any], Answer] | None = None
        self._error: Exception | None = None

    def ask(self) -> None:
        try:
            profile, at = self._client.me(self._name)
            self._found = profile, answer_now(at)
        except Exception as error:
            self._error = error

    @property
    def has_failed(self) -> bool:
        return self._error is not None

    def answer(self) -> tuple[dict[str, Any], Answer]:
        """Return the profile, and the service's clock; raise what kept the key from it."""
        if self._found is None:
            raise self._error or RuntimeError(self._name)
        return self._found
