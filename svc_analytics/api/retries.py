"""Retries of a call: when the next try begins, and when the patience is spent."""

from collections.abc import Callable
from typing import TypeVar

from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.api.responses import RetryableError
from svc_analytics.errors import Unavailable, text_of
from svc_analytics.log import LOG
from svc_analytics.messages import Message
from svc_analytics.records.raw_json import InvalidJson

T = TypeVar("T")


def retried(limiter: RateLimiter, path: str, call: Callable[[], T]) -> T:
    """Return the answer of a call, tried within the rate limit and at a growing distance.

    A try that fails may say how long to wait. Raises `Unavailable` when the patience is spent.
    """
    attempt, began_at = 0, limiter.now()
    while True:
        entered_at = limiter.acquire()
        try:
            answer = call()
        except (RetryableError, InvalidJson) as trouble:
            if isinstance(trouble, RetryableError) and trouble.is_throttle:
                limiter.on_throttle(entered_at, trouble.retry_after)
            limiter.backoff(attempt, _unavailable(path, trouble), since=began_at)
            LOG.debug("%s is called again: %s", path, trouble)
            attempt += 1
        else:
            limiter.on_success(entered_at)
            return answer


def _unavailable(path: str, trouble: Exception) -> Unavailable:
    status, codes = getattr(trouble, "status", 0), getattr(trouble, "codes", ())
    advice = getattr(trouble, "advice", "")
    values = {"path": path, "TROUBLE": text_of(trouble), "ADVICE": advice}
    message = Message("service.away_for" if advice else "service.away", **values)
    error = Unavailable(message, status=status, codes=codes, path=path)
    error.trouble, error.advice = text_of(trouble), advice
    return error
