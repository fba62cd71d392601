"""Responses of the service: their JSON, their Date header, and errors by code and status."""

import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

import msgspec

from svc_analytics.errors import (
    ApiError,
    DataError,
    KeyRefused,
    NotFound,
    ProtocolError,
    WrongKeyClass,
)
from svc_analytics.formatting.texts import canonical_id
from svc_analytics.instants import SECOND, now as machine_clock, to_micros
from svc_analytics.messages import Message
from svc_analytics.records.raw_json import InvalidJson, plain_json
from svc_analytics.records.record_parser import CALENDAR
from svc_analytics.signing.secrets import hide_coded_keys

# Decided by code first, then by status (contract, Errors and Retry guidance).
_RETRYABLE = {
    "RATE_LIMITED",
    "PAY_LOOKUP_THROTTLED",
    "PAY_RATE_UNAVAILABLE",
    "INTERNAL_SERVER_ERROR",
    "SERVICE_UNAVAILABLE",
    "MAINTENANCE_MODE",
}
_CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}\Z", re.ASCII)
_MEDIA_TYPE = re.compile(r"[a-z]{1,20}/[a-z.+-]{1,40}", re.ASCII)
_REFUSALS: dict[str, type[ApiError]] = {
    "UNAUTHORIZED": KeyRefused,
    "PAY_WRONG_KEY_KIND": WrongKeyClass,
    "PAY_SESSION_NOT_FOUND": NotFound,
    "NOT_FOUND": NotFound,
    "MERCHANT_DISABLED": ApiError,
    "MERCHANT_NOT_FOUND": ApiError,
    "FORBIDDEN": ApiError,
    "VALIDATION_FAILED": ApiError,
}
_HINTS = {
    "UNAUTHORIZED": "service.no_key",
    "PAY_WRONG_KEY_KIND": "service.other_class",
    "MERCHANT_DISABLED": "service.disabled",
    "MERCHANT_NOT_FOUND": "service.no_business",
}


class Tally:
    """Counts over all threads of this process, by the status of an answer."""

    def __init__(self) -> None:
        self._lock, self.by_status = threading.Lock(), Counter[int]()

    def add(self, status: int) -> None:
        """Count one more."""
        with self._lock:
            self.by_status[status] += 1


REFUSED = Tally()  # calls that the service answered, but not with success


@dataclass(frozen=True)
class Response:
    """A successful response: its whole body, and the text of its Date header."""

    body: bytes
    date: str = ""

    @property
    def served_at(self) -> int | None:
        """The service's clock, in UTC microseconds; None without a Date header."""
        return _read_date(self.date)


class RetryableError(Exception):
    """A failure that a retry may mend; `is_throttle` if the service asked us to slow down.

    `advice` names the setting that may be wrong, if one may.
    """

    def __init__(
        self, reason: str, *, status: int = 0, codes: tuple[str, ...] = (), advice: str = ""
    ) -> None:
        super().__init__(reason)
        self.status, self.codes, self.advice = status, codes, advice
        self.is_throttle = False
        self.retry_after: float | None = None


def require_json(headers: Mapping[str, str], body: bytes) -> Response:
    """Return a successful response; raise `RetryableError` if it is not JSON, as a proxy's."""
    kind = headers.get("content-type", "application/json")
    if "json" not in kind.lower():
        shown = _MEDIA_TYPE.match(kind.lower())
        text = Message("service.not_json" if shown else "service.no_type", kind=shown and shown[0])
        raise RetryableError(text, advice=Message("service.check_address"))
    return Response(body, headers.get("date", ""))


def raise_api_error(
    status: int, headers: Mapping[str, str], body: bytes, path: str, key: str = ""
) -> NoReturn:
    """Raise the error that a response other than 200 means: by its codes, then its status.

    `key` is the key that was sent, as people may see it.
    """
    REFUSED.add(status)
    codes = _read_codes(body)
    shown = f"{status} {', '.join(codes)}".strip()
    code = next(filter(_REFUSALS.__contains__, codes), "")
    if not code and (_RETRYABLE.intersection(codes) or status == 429 or status >= 500):
        retryable = RetryableError(shown, status=status, codes=codes)
        retryable.is_throttle = status == 429 or "RATE_LIMITED" in codes
        retryable.retry_after = _read_retry_after(headers.get("retry-after"), headers.get("date"))
        raise retryable
    by_status = {401: KeyRefused, 404: NotFound, 410: NotFound}.get(status, ApiError)
    kind = _REFUSALS.get(code, by_status)
    hint = Message(_HINTS.get(code) or _hint(status, kind, path))
    # A refused key is said by what people may see of it, too.
    text = "service.refused_key" if key and kind is KeyRefused else "service.refused"
    message = Message(text, hint=hint, path=path, key=key, shown=shown)
    raise kind(message, status=status, codes=codes, path=path)


def _hint(status: int, kind: type[ApiError], path: str) -> str:
    """Return the code of what may be wrong, where the codes of the service do not say it."""
    if kind is KeyRefused:
        return _HINTS["UNAUTHORIZED"]
    if kind is NotFound and path == "/me":  # every business has one
        return "service.only_host"
    return "service.redirects" if 300 <= status < 400 else "service.not_accepted"


def _read_codes(body: bytes) -> tuple[str, ...]:
    """Return the machine codes of an error envelope; none if the body is anything else."""
    try:
        codes = msgspec.json.decode(hide_coded_keys(body))["errors"]["error"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError, KeyError):
        return ()
    known = codes if isinstance(codes, list) else []
    # Only what looks like a code: an echo of the request must not bring a key into a message.
    return tuple(code for code in known[:10] if isinstance(code, str) and _CODE.match(code))


def _read_retry_after(text: str | None, date: str | None) -> float | None:
    """Return the seconds a Retry-After asks for, by the service's clock; None if senseless."""
    if not text:
        return None
    if text.strip().isascii() and text.strip().isdigit():
        return float(text.strip()[:9])
    at, now = _read_date(text), _read_date(date)
    if at is None:
        return None
    return max(0.0, (at - (machine_clock() if now is None else now)) / SECOND)


def _read_date(text: str | None) -> int | None:
    """Parse an HTTP date into UTC microseconds; None if it is not one a lake can hold."""
    try:
        at = parsedate_to_datetime(text or "")
    except (TypeError, ValueError, OverflowError):
        return None
    micros = to_micros(at if at.tzinfo else at.replace(tzinfo=UTC))
    return micros if CALENDAR[0] <= micros < CALENDAR[1] else None


def read_object(response: Response) -> dict[str, Any]:
    """Return the JSON object that a response holds, as every reader of JSON takes it."""
    try:
        document = msgspec.json.decode(plain_json(hide_coded_keys(response.body)))
    except DataError as error:
        raise InvalidJson("the answer is not JSON") from error
    if not isinstance(document, dict):
        raise ProtocolError("the answer is not an object")
    return document


def read_profile(response: Response) -> tuple[dict[str, Any], int | None]:
    """Return the merchant profile, and the service's clock if the response has it."""
    profile = read_object(response)
    if not isinstance(profile.get("id"), str) or not profile["id"]:
        raise ProtocolError("the merchant profile has no id")
    return profile | {"id": canonical_id(profile["id"])}, response.served_at
