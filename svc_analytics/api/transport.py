"""Connections to the service, with a limit of time for one whole exchange.

httpx asks and answers, httpcore underneath speaks HTTP. What httpx's own transport puts
between the two takes a fifth of a page's time, and lets nothing stand between a
connection and the system's own, so that layer is ours.

A read timeout begins anew with every byte, so a service that sends one every few
seconds, or notes of progress without end, would hold a worker for days.
"""

import ssl
from collections.abc import Iterator
from time import monotonic
from typing import Any

import httpcore
import httpx

from svc_analytics.api.responses import RetryableError
from svc_analytics.api.routes import ROUTES
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, ProtocolError, TooLarge

_AT_ONCE = 256 * 1024  # bytes: a whole page, for each further read costs as much as ten records
_KEPT_OPEN = 5.0  # seconds without a call
_TROUBLES = (
    *(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError),
    *(httpcore.ProxyError, httpcore.UnsupportedProtocol),
)


class PooledTransport(httpx.BaseTransport):
    """At most so many connections to the service, kept open between calls.

    An exchange that takes longer than `longest` seconds fails as a timeout does. Raises
    `ValueError` or `httpx.InvalidURL` for what is no HTTP proxy's address. `trusted` is a
    seam for tests.
    """

    def __init__(
        self,
        base_url: str,
        most: int,
        longest: float,
        proxy: str = "",
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "max_connections": most,
            "max_keepalive_connections": most,
            "keepalive_expiry": _KEPT_OPEN,
            "ssl_context": trusted or _authorities(base_url),
            "network_backend": _DeadlineBackend(httpcore.SyncBackend(), longest),
        }
        self._pool = (
            _through(httpx.Proxy(proxy), options) if proxy else httpcore.ConnectionPool(**options)
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and wait for the head of its answer; errors are those of httpx."""
        asked = httpcore.Request(
            request.method,
            _address(request.url),
            headers=request.headers.raw,
            content=request.content or None,
            extensions=request.extensions,
        )
        try:
            reply = self._pool.handle_request(asked)
        except _TROUBLES as error:
            raise _as_of_httpx(error) from error
        return httpx.Response(reply.status, headers=reply.headers, stream=_Body(reply.stream))

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


def _through(proxy: httpx.Proxy, options: dict[str, Any]) -> httpcore.ConnectionPool:
    if proxy.url.scheme not in ("http", "https"):
        raise ValueError(proxy.url.scheme)
    return httpcore.HTTPProxy(
        _address(proxy.url),
        proxy_auth=proxy.raw_auth,
        proxy_headers=proxy.headers.raw,
        proxy_ssl_context=proxy.ssl_context,
        **options,
    )


def _address(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def _authorities(base_url: str) -> ssl.SSLContext:
    """Whom to trust: nobody where nothing is encrypted, for their list takes a while to load."""
    if base_url.lower().startswith("https:"):
        return httpx.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _as_of_httpx(error: Exception) -> httpx.TransportError:
    """Return the error of the same name."""
    kind: type[httpx.TransportError] = getattr(httpx, type(error).__name__, httpx.TransportError)
    return kind(str(error))


class _Body(httpx.SyncByteStream):
    """The body of an answer as it comes in."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._inner
        except _TROUBLES as error:
            raise _as_of_httpx(error) from error

    def close(self) -> None:
        self._inner.close()


class _DeadlineBackend(httpcore.NetworkBackend):
    """Opens connections as the backend underneath does, each with the limit."""

    def __init__(self, inner: httpcore.NetworkBackend, longest: float) -> None:
        self._inner = inner
        self.longest = longest

    def connect_tcp(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return _DeadlineStream(self._inner.connect_tcp(*args, **options), self.longest)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _DeadlineStream(httpcore.NetworkStream):
    """A connection. Each write begins an exchange anew; a read too late in one fails."""

    def __init__(self, inner: httpcore.NetworkStream, longest: float) -> None:
        self._inner = inner
        self._longest = longest
        self._until = monotonic() + longest

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)
        self._until = monotonic() + self._longest

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._until - monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the answer was not complete in time")
        return self._inner.read(max(max_bytes, _AT_ONCE), min(timeout or left, left))

    def start_tls(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return _DeadlineStream(self._inner.start_tls(*args, **options), self._longest)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def close(self) -> None:
        self._inner.close()


MAX_BODY = 64 * 1024 * 1024
LONGEST_ANSWER = 120.0  # seconds for one whole answer, however slowly it drips

_CODINGS = ("gzip", "identity", "")


def open_transport(settings: Settings, workers: int) -> httpx.BaseTransport:
    try:
        return PooledTransport(settings.base_url, workers, LONGEST_ANSWER, settings.proxy)
    except (ValueError, httpx.InvalidURL):
        message = "SVC_PROXY is not the address of a proxy: write http://host:port"
        raise ConfigError(message) from None  # its cause quotes the address, password and all


class ReadOnlyTransport(httpx.BaseTransport):
    """Lets only the calls of `ROUTES` through, whoever builds the request."""

    def __init__(self, inner: httpx.BaseTransport, base_url: str) -> None:
        self._inner = inner
        base = httpx.URL(base_url)
        self._place = (base.scheme, base.host, base.port)
        self._prefix = base.raw_path.decode("ascii").rstrip("/")
        self._is_closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self._is_closed:
            raise RuntimeError("the client is closed")
        if not self._is_allowed(request):
            message = f"{request.method} {request.url.path} is not a call this client makes"
            raise ConfigError(message)
        return self._inner.handle_request(request)

    def close(self) -> None:
        self._is_closed = True
        self._inner.close()

    def _is_allowed(self, request: httpx.Request) -> bool:
        url = request.url
        if (url.scheme, url.host, url.port) != self._place:
            return False
        path = url.raw_path.decode("ascii").partition("?")[0].removeprefix(self._prefix)
        return any(
            route.method == request.method and route.pattern.fullmatch(path)
            for route in ROUTES.values()
        )


def read_body(response: httpx.Response) -> bytes:
    coding = response.headers.get("content-encoding", "identity").lower()
    if coding not in _CODINGS:
        # Only gzip was asked for. Others, or two of them, unfold a millionfold within
        # one chunk and so before any cap.
        raise ProtocolError("an answer in a content coding that was not asked for was refused")
    if _declared_size(response) > MAX_BODY:
        raise TooLarge(f"an answer of more than {MAX_BODY >> 20} MiB was refused")
    chunks, size, until = [], 0, monotonic() + LONGEST_ANSWER
    # What is not coded needs no decoding: to ask for it takes as long as three records.
    plain = response.stream if coding != "gzip" else None
    for chunk in plain if isinstance(plain, httpx.SyncByteStream) else response.iter_bytes():
        size += len(chunk)
        if size > MAX_BODY:
            raise TooLarge(f"an answer of more than {MAX_BODY >> 20} MiB was refused")
        if monotonic() > until:
            raise RetryableError(f"the answer was not complete after {LONGEST_ANSWER:.0f} s")
        chunks.append(chunk)
    return b"".join(chunks)


def _declared_size(response: httpx.Response) -> int:
    text = response.headers.get("content-length", "")
    return int(text[:18]) if text.isascii() and text.isdigit() else 0


def describe_error(error: httpx.TransportError) -> str:
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    is_ours = isinstance(error, httpx.LocalProtocolError)  # it quotes the header it refuses
    shown = "" if is_ours else str(error)
    detail = shown.splitlines()[0][:120] if shown else type(error).__name__
    return f"no connection, or it broke ({detail})"
