"""The read-only HTTP client: a fixed table of calls, retried within one rate limit.

The payout-class key can move money, so the transport refuses all but `ROUTES`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeVar
from urllib.parse import urlencode

import httpx

from svc_analytics import errors
from svc_analytics.api import responses
from svc_analytics.api.rate_limiter import RateLimiter
from svc_analytics.api.routes import PREFIX, ROUTES, Route, quote_id
from svc_analytics.api.transport import (
    MAX_BODY,
    ReadOnlyTransport,
    describe_error,
    open_transport,
    read_body,
    require_clear_length,
)
from svc_analytics.arguments import check
from svc_analytics.config import KeyClass, Settings, masked
from svc_analytics.log import LOG
from svc_analytics.messages import Message, translated
from svc_analytics.records.bulk_parser import parse_list
from svc_analytics.records.page import Page
from svc_analytics.records.raw_json import InvalidJson
from svc_analytics.schema import STREAMS, Stream
from svc_analytics.signing.secrets import Secret, hide_keys, hide_keys_in, hide_keys_of

URI_TOO_LONG = 414
TIMEOUT = httpx.Timeout(30.0, connect=10.0, pool=None)
_EXTENSIONS = {"timeout": TIMEOUT.as_dict()}
_LISTS = {stream.route: stream for stream in STREAMS.values()}
_HEADERS = {"accept": "application/json", "accept-encoding": "gzip", "user-agent": "svc-analytics"}

T = TypeVar("T")


class Client:
    """The eight calls of `ROUTES`; safe to share between threads, usable under a running loop.

    It reads, and checks receipts; it cannot move money. Amounts in its answers are contract
    text, exact, in the coin of the record; instants are RFC 3339 text. `limiter` and
    `transport` are seams for tests. Use it in `with`, or call `close`.

    Raises:
        ConfigError: when the settings lack the address or every key.
        KeyRefused: when the service refuses a key, at any call.
        NoService: when the service's certificate, or a proxy, cannot be used, at any call.
        Unavailable: when the service does not answer within the patience, at any call.

    Examples:
        >>> with svc.Client(settings) as client:  # doctest: +SKIP
        ...     client.payment("RCP-000123")["charged_amount"]
    """

    def __init__(
        self,
        settings: Settings,
        *,
        workers: int = 8,
        limiter: RateLimiter | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        check("settings", settings, Settings, "what svc.read_settings returns")
        settings.require_service()
        self._settings = settings
        self._proven: set[tuple[str, KeyClass]] = set()  # routes that took a key of that class
        self.limiter = limiter or RateLimiter(settings.patience)
        inner = transport or open_transport(settings, workers)
        # No httpx.Client on top: redirects, cookies and the environment's proxies must not
        # happen here, and it takes a third of a page's time.
        self._transport = ReadOnlyTransport(inner, settings.base_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._settings.base_url})"

    def close(self) -> None:
        """Close the connections; further calls fail. Returns nothing."""
        self._transport.close()

    def me(self, key_class: KeyClass | None = None) -> tuple[dict[str, Any], int | None]:
        """Return the merchant profile, and the service's clock in UTC microseconds if given."""
        return self._call("me", responses.read_profile, key_class=key_class)

    def page(self, name: str, params: Mapping[str, str], most: int = MAX_BODY) -> Page:
        """Return one page of the list `payments` or `payouts`, of at most so many bytes."""
        stream = _LISTS.get(name)
        if stream is None:
            raise ValueError(name)
        return self._call(
            name, lambda answer: parse_list(stream, answer.body), data=params, most=most
        )

    def record(self, stream: Stream, record_id: str) -> Page:
        """Return the authoritative record of a list's id as a page of it alone, text as received.

        Raises:
            NotFound: when there is no such record under this account.
        """

        def read(answer: responses.Response) -> Page:
            responses.read_object(answer)  # it must be one
            return parse_list(stream, b'{"data":[%b],"next_cursor":null}' % answer.body)

        return self._call(stream.route.removesuffix("s"), read, of=record_id)

    def payment(self, payment_id: str) -> dict[str, Any]:
        """Return the authoritative payment of a UUID or receipt number.

        Raises:
            NotFound: when there is no such payment under this account.
        """
        return self._call("payment", responses.read_object, of=payment_id)

    def payout(self, payout_id: str) -> dict[str, Any]:
        """Return the authoritative payout record of a UUID or reference id.

        Raises:
            NotFound: when there is no such record under this account.
        """
        return self._call("payout", responses.read_object, of=payout_id)

    def session(self, session_id: str) -> dict[str, Any]:
        """Return the authoritative session of a UUID or reference id.

        Raises:
            NotFound: when there is no such session under this account.
        """
        return self._call("session", responses.read_object, of=session_id)

    def binding(self, customer_id: str) -> dict[str, Any]:
        """Return the binding of one of the merchant's own customer ids.

        Raises:
            NotFound: when there is no such binding under this account.
        """
        try:
            return self._call("binding", responses.read_object, of=customer_id)
        except errors.WrongKeyClass:  # the contract does not say which key class reaches this route
            if len(self._settings.key_classes) < 2:
                raise
            return self._call("binding", responses.read_object, of=customer_id, key_class="payout")

    def verify_receipt(self, token: str) -> dict[str, Any]:
        """Return the service's answer about a receipt token.

        Raises:
            ApiError: for a token that the service does not accept; `.codes` say why.
        """
        return self._call("receipt", responses.read_object, data={"receipt": token})

    def _call(
        self,
        name: str,
        read: Callable[[responses.Response], T],
        *,
        of: str | None = None,
        data: Mapping[str, str] | None = None,
        key_class: KeyClass | None = None,
        most: int = MAX_BODY,
    ) -> T:
        """Make one call of the table, retrying while that may help.

        `data` is the query of a GET, and the JSON of a POST.
        """
        route = ROUTES[name]
        request = self._request(route, of, data)
        key_class, key = self._key(route, key_class)
        try:
            answer = retried(
                self.limiter,
                route.path,
                lambda: read(self._send(request, key, route.path, most)),
            )
        except errors.WrongKeyClass as refusal:
            raise self._refusal(refusal, name, key_class) from refusal
        self._proven.add((name, key_class))
        return answer

    def _refusal(
        self, error: errors.WrongKeyClass, name: str, key_class: KeyClass
    ) -> errors.ApiError:
        """Return a wrong key class as it is; where the same key worked before, a refused key."""
        if (name, key_class) not in self._proven:
            return error
        shown = f"{error.status} {', '.join(error.codes)}"
        values = {"path": error.path, "shown": shown, "key_class": key_class}
        message = Message("service.refused_now", **values)
        return errors.KeyRefused(message, status=error.status, codes=error.codes, path=error.path)

    def _send(
        self, request: httpx.Request, key: Secret, path: str, most: int
    ) -> responses.Response:
        # Added at the last moment, so that no variable of ours holds it for long.
        request.headers["authorization"] = f"Bearer {key.reveal()}"
        try:
            response = self._transport.handle_request(request)
            try:
                self.limiter.mark_reachable()
                body = hide_keys(read_body(response, most))
            finally:
                response.close()
        except httpx.TransportError as error:
            hide_keys_of(error)
            require_clear_length(error)
            trouble = describe_error(error, self._settings)
            # Without its cause, whose text may hold a header of ours.
            if trouble.is_lasting:
                message = Message("text.why", first=trouble.text, rest=translated(trouble.advice))
                raise errors.NoService(message, path=path) from None
            raise responses.RetryableError(trouble.text, advice=trouble.advice) from None
        except (httpx.DecodingError, httpx.StreamError) as error:
            raise responses.RetryableError(Message("service.damaged")) from error
        headers = {name: hide_keys_in(value) for name, value in response.headers.items()}
        if not response.is_success:
            responses.raise_api_error(response.status_code, headers, body, path, masked(key))
        return responses.require_json(headers, body)

    def _request(
        self, route: Route, of: str | None, data: Mapping[str, str] | None
    ) -> httpx.Request:
        path = PREFIX + route.path.replace("{id}", quote_id(of) if of is not None else "")
        body = data if route.method == "POST" else None
        query = f"?{urlencode(data)}" if data and body is None else ""
        url = f"{self._settings.base_url.rstrip('/')}{path}{query}"
        try:
            return httpx.Request(
                route.method, url, json=body, headers=_HEADERS, extensions=_EXTENSIONS
            )
        except httpx.InvalidURL as error:  # ids are short, so it is the cursor
            cursor = (data or {}).get("cursor", "")
            message = f"a cursor of {len(cursor):,} characters does not fit an address"
            raise errors.ProtocolError(message, status=URI_TOO_LONG, path=path) from error

    def _key(self, route: Route, key_class: KeyClass | None) -> tuple[KeyClass, Secret]:
        wanted = (key_class,) if key_class else route.key_classes
        for name in wanted:
            if key := self._settings.key(name):
                return name, key
        need = f"a {wanted[0]}-class key: set SVC_{wanted[0].upper()}_KEY"
        raise errors.ConfigError(f"{route.path} needs {need}")


@contextmanager
def open_client(settings: Settings, workers: int, own: Client | None = None) -> Iterator[Client]:
    """Give the client that the caller brought, or open one and close it afterwards."""
    if own is not None:
        yield own
        return
    with Client(settings, workers=workers) as client:
        yield client


# ---------- Retries of a call
# When the next try begins, and when the patience is spent.


def retried(limiter: RateLimiter, path: str, call: Callable[[], T]) -> T:
    """Return the answer of a call, tried within the rate limit and at a growing distance.

    A try that fails may say how long to wait. Raises `Unavailable` when the patience is spent.
    """
    attempt, began_at = 0, limiter.now()
    while True:
        entered_at = limiter.acquire()
        try:
            answer = call()
        except (responses.RetryableError, InvalidJson) as trouble:
            if isinstance(trouble, responses.RetryableError) and trouble.is_throttle:
                limiter.on_throttle(entered_at, trouble.retry_after)
            limiter.backoff(attempt, _unavailable(path, trouble), since=began_at)
            LOG.debug("%s is called again: %s", path, trouble)
            attempt += 1
        else:
            limiter.on_success(entered_at)
            return answer


def _unavailable(path: str, trouble: Exception) -> errors.Unavailable:
    status, codes = getattr(trouble, "status", 0), getattr(trouble, "codes", ())
    advice = getattr(trouble, "advice", "")
    values = {
        "path": path,
        "trouble": translated(errors.text_of(trouble)),
        "advice": translated(advice),
    }
    message = Message("service.away_for" if advice else "service.away", **values)
    error = errors.Unavailable(message, status=status, codes=codes, path=path)
    error.trouble, error.advice = errors.text_of(trouble), advice
    return error
