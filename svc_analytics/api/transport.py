"""The HTTP transport: pooled connections, a deadline for each exchange, read-only routes.

httpx builds requests and httpcore speaks HTTP. The layer between the two is ours: httpx's
own takes a fifth of a page's time, and knows no deadline.
"""

from __future__ import annotations

import errno
import socket
import ssl
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import LifoQueue
from threading import Lock
from time import monotonic
from typing import Any, cast
from urllib.parse import urlsplit
from weakref import WeakSet

import httpcore
import httpx

from svc_analytics.api.responses import RetryableError
from svc_analytics.api.routes import ROUTES
from svc_analytics.config import Settings
from svc_analytics.errors import ConfigError, ProtocolError, TooLarge
from svc_analytics.messages import Message

_IDLE = 5.0  # seconds without a call
MAX_BODY = 64 * 1024 * 1024
LONGEST_ANSWER = 120.0  # seconds for one whole answer, however slowly it drips
_CODINGS = ("gzip", "identity", "")
# How h11's refusals of a head begin that tells the body's length twice, or in no known way.
_LENGTH_FAULTS = (
    *("conflicting Content-Length", "bad Content-Length"),
    *("multiple Transfer-Encoding", "Only Transfer-Encoding"),
)
_AMBIGUOUS = (
    "an answer that does not say clearly where it ends was refused ({}): something between "
    "this machine and the service alters answers"
)
_TROUBLES = (
    *(httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError),
    *(httpcore.ProxyError, httpcore.UnsupportedProtocol),
)


class PooledTransport(httpx.BaseTransport):
    """At most `most` connections to the service, kept open between calls.

    An exchange that takes longer than `longest` seconds times out. Raises `ValueError` or
    `httpx.InvalidURL` for a wrong `proxy`. `trusted` are the authorities to trust, by default
    the usual ones.
    """

    def __init__(
        self,
        most: int,
        longest: float,
        proxy: str = "",
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._backend = DeadlineBackend(longest)
        tls, backend = trusted or _usual(), self._backend
        options = {"keepalive_expiry": _IDLE, "ssl_context": tls, "network_backend": backend}
        self._wires = [_Wire(_make_pool(proxy, options)) for _ in range(most)]
        self._free: LifoQueue[_Wire] = LifoQueue()  # the one used last first
        for wire in self._wires:
            self._free.put(wire)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and wait for the head of its response; raises httpx's errors."""
        inner = httpcore.Request(
            request.method,
            _address(request.url),
            headers=request.headers.raw,
            content=request.content or None,
            extensions=request.extensions,
        )
        wire = self._free.get()
        try:
            response = wire.handle_request(inner)
        except BaseException as error:
            self._free.put(wire)
            if isinstance(error, _TROUBLES):
                raise _to_httpx_error(error) from error
            raise
        release = partial(self._free.put, wire)
        stream = _Body(response.stream, response.extensions["network_stream"], release)
        return httpx.Response(response.status, headers=response.headers, stream=stream)

    def close(self) -> None:
        """Close the connections."""
        for wire in self._wires:
            wire.close()
        self._backend.close()


class _Wire:
    """One connection at a time, opened as its pool would: the pool itself takes a third longer."""

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool
        self._held: httpcore.ConnectionInterface | None = None

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        if self._held is None or not self._held.is_available() or self._held.has_expired():
            self.close()
            self._held = self._pool.create_connection(request.url.origin)
        return self._held.handle_request(request)

    def close(self) -> None:
        if self._held:
            self._held.close()


def _make_pool(address: str, options: dict[str, Any]) -> httpcore.ConnectionPool:
    if not address:
        return httpcore.ConnectionPool(**options)
    proxy = httpx.Proxy(address)
    if proxy.url.scheme not in ("http", "https"):
        raise ValueError(proxy.url.scheme)
    return httpcore.HTTPProxy(
        _address(proxy.url),
        proxy_auth=proxy.raw_auth,
        proxy_headers=proxy.headers.raw,
        proxy_ssl_context=options["ssl_context"] if proxy.url.scheme == "https" else None,
        **options,
    )


def _address(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def _trusted(settings: Settings) -> ssl.SSLContext:
    """Return whom to trust: nobody without https, for the list of authorities loads slowly."""
    addresses = (settings.base_url, settings.proxy)
    if not any(address.lower().startswith("https:") for address in addresses):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return trusted_by(settings.ssl_cert_file, settings.ca_file)


def trusted_by(usual: str, further: str) -> ssl.SSLContext:
    """Return whom to trust by files of authorities: in place of the usual ones, and besides.

    Raises `ConfigError` for a file that cannot be read; it names its setting.
    """
    with _readable("SSL_CERT_FILE"):
        context = ssl.create_default_context(cafile=usual) if usual else _usual()
    with _readable("SVC_CA_FILE"):
        if further:
            context.load_verify_locations(cafile=further)
    return context


def _usual() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Raise `ConfigError` for a file of authorities, named by a setting, that cannot be read."""
    try:
        yield
    except OSError as error:
        why = "it holds no certificate" if isinstance(error, ssl.SSLError) else error.strerror
        message = f"{name} names no file of certificates in PEM form: {why or 'it cannot be read'}"
        raise ConfigError(message) from error


def _to_httpx_error(error: Exception) -> httpx.TransportError:
    kind: type[httpx.TransportError] = getattr(httpx, type(error).__name__, httpx.TransportError)
    return kind(str(error))


class _Body(httpx.SyncByteStream):
    """The body of a response as it comes in, with httpx's errors; its end calls `release`."""

    def __init__(
        self, inner: Any, connection: httpcore.NetworkStream, release: Callable[[], None]
    ) -> None:
        self._inner = inner
        self._connection = connection
        self._release: Callable[[], None] | None = release

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._inner
        except _TROUBLES as error:
            raise _to_httpx_error(error) from error

    def close(self) -> None:
        try:
            if _is_followed(self._inner):
                self._connection.close()  # it is found closed, and another is opened
            self._inner.close()
        finally:
            release, self._release = self._release, None  # once, however often it is closed
            if release:
                release()


def _is_followed(stream: Any) -> bool:
    """Tell whether more came in than one answer: it would be taken for the next one's.

    What is sent later is found before the connection is used again.
    """
    try:
        return bool(stream._connection._h11_state.trailing_data[0])
    except AttributeError:
        return True  # a version of httpcore that hides it elsewhere: use no connection twice


def open_transport(settings: Settings, workers: int) -> httpx.BaseTransport:
    """Open one connection for each worker, through the proxy if one is set."""
    try:
        return PooledTransport(workers, LONGEST_ANSWER, settings.proxy, _trusted(settings))
    except (ValueError, httpx.InvalidURL):
        message = "SVC_PROXY is not the address of a proxy: write http://host:port"
        raise ConfigError(message) from None  # its cause quotes the address, password and all


class ReadOnlyTransport(httpx.BaseTransport):
    """Refuses every request that is not a call of `ROUTES`, whoever builds it."""

    def __init__(self, inner: httpx.BaseTransport, base_url: str) -> None:
        self._inner = inner
        base = httpx.URL(base_url)
        self._origin = (base.scheme, base.host, base.port)
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
        if (url.scheme, url.host, url.port) != self._origin:
            return False
        path = url.raw_path.decode("ascii").partition("?")[0].removeprefix(self._prefix)
        return any(
            route.method == request.method and route.pattern.fullmatch(path)
            for route in ROUTES.values()
        )


def read_body(response: httpx.Response, most: int) -> bytes:
    """Return the whole body of a response, of at most so many bytes, within a bound of time."""
    most = min(most, MAX_BODY)
    if "content-length" in response.headers and "transfer-encoding" in response.headers:
        # RFC 9112, 6.3: it may be an attempt to have one answer taken for two.
        raise ProtocolError(_AMBIGUOUS.format("both Content-Length and Transfer-Encoding"))
    coding = response.headers.get("content-encoding", "identity").lower()
    if coding not in _CODINGS:  # others can inflate one chunk a millionfold, before any check
        raise ProtocolError("an answer in a content coding that was not asked for was refused")
    declared = response.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > most:
        raise TooLarge(f"an answer of more than {most >> 20} MiB was refused")
    chunks, size, until = [], 0, monotonic() + LONGEST_ANSWER
    # Not by httpx's decoder: of plain bodies it takes about three records' time per page.
    raw = cast("httpx.SyncByteStream", response.stream)
    for chunk in inflate(raw) if coding == "gzip" else raw:
        size += len(chunk)
        if size > most:
            raise TooLarge(f"an answer of more than {most >> 20} MiB was refused")
        if monotonic() > until:
            seconds = f"{LONGEST_ANSWER:.0f}"
            raise RetryableError(Message("service.incomplete", seconds=seconds))
        chunks.append(chunk)
    return b"".join(chunks)


def require_clear_length(error: httpx.TransportError) -> None:
    """Raise `ProtocolError` if an answer was damaged in saying where its body ends."""
    if isinstance(error, httpx.RemoteProtocolError) and str(error).startswith(_LENGTH_FAULTS):
        raise ProtocolError(_AMBIGUOUS.format(error)) from error


def describe_error(error: httpx.TransportError, settings: Settings) -> Trouble:
    """Describe the failure of a connection, without the request's own headers."""
    if isinstance(error, httpx.TimeoutException):
        return Trouble(Message("service.late"))
    if isinstance(error, httpx.ProxyError):
        return proxy_trouble(str(error), settings)
    if known := system_trouble(error, settings):
        return known
    text = "" if isinstance(error, httpx.LocalProtocolError) else str(error)  # it quotes a header
    detail = text.splitlines()[0][:120] if text else type(error).__name__
    return Trouble(Message("service.broke", detail=detail))


# ---------- Connections to the service
# Each exchange has a deadline, and none outlives its client.
#
# A read timeout begins anew with every byte: a service that sends one every few seconds would
# hold a worker for days.


_READ_SIZE = 256 * 1024  # bytes: a whole page, for each read costs as much as ten records


class DeadlineBackend(httpcore.SyncBackend):
    """Opens connections, each with a deadline, until it is closed.

    One that a thread was opening at that moment is closed too: its pool, which was closed before
    it was there, does not know it.
    """

    def __init__(self, longest: float) -> None:
        self.longest = longest
        self._opened: WeakSet[_DeadlineStream] = WeakSet()
        self._is_closed = False
        self._lock = Lock()

    def connect_tcp(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return self.watched(super().connect_tcp(*args, **options))

    def watched(self, inner: httpcore.NetworkStream) -> httpcore.NetworkStream:
        """Return a connection with a deadline, or close it if no more are opened."""
        stream = _DeadlineStream(inner, self)
        with self._lock:
            if not self._is_closed:
                self._opened.add(stream)
                return stream
        stream.close()
        raise httpcore.ConnectError("the client is closed")

    def close(self) -> None:
        """Close what was opened, and open nothing more."""
        with self._lock:
            self._is_closed = True
            opened = list(self._opened)
        for stream in opened:
            stream.close()


class _DeadlineStream(httpcore.NetworkStream):
    """A connection with a deadline: each write sets it anew, a read after it fails."""

    def __init__(self, inner: httpcore.NetworkStream, backend: DeadlineBackend) -> None:
        self._inner = inner
        self._backend = backend
        self._longest = backend.longest
        self._deadline = monotonic() + self._longest

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)
        self._deadline = monotonic() + self._longest

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        remaining = self._deadline - monotonic()
        if remaining <= 0:
            raise httpcore.ReadTimeout("the answer was not complete in time")
        return self._inner.read(max(max_bytes, _READ_SIZE), min(timeout or remaining, remaining))

    def start_tls(self, *args: Any, **options: Any) -> httpcore.NetworkStream:
        return self._backend.watched(self._inner.start_tls(*args, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)

    def close(self) -> None:
        self._inner.close()


# ---------- Unfold gzipped answers a piece at a time
# A few kilobytes may unfold to gigabytes.


PIECE = 256 * 1024  # bytes at most that are unfolded before their size is looked at
_GZIP = 16 + zlib.MAX_WBITS


def inflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Unzip the pieces of a body, of one member or several.

    Raises `RetryableError` if it is damaged, or its end is missing.
    """
    member = None
    try:
        for piece in pieces:
            rest, output = piece, b""
            while rest or len(output) == PIECE:  # more of what was taken in may wait
                member = member or zlib.decompressobj(_GZIP)
                output = member.decompress(rest, PIECE)
                yield output
                rest = member.unconsumed_tail
                if member.eof:
                    rest, output, member = member.unused_data, b"", None
    except zlib.error as error:
        raise RetryableError(Message("service.damaged")) from error
    if member:
        raise RetryableError(Message("service.cut_off"))


# ---------- Why a call reached no service
# What the system, TLS or a proxy said, and what to look at.
#
# Some of it passes by itself. Some never does. And some is a wrong setting, or passes: a host that
# nobody knows, a port at which nothing listens; then the advice names the setting.


_BASE_URL, _PROXY = "SVC_BASE_URL", "SVC_PROXY"
_UNKNOWN_HOST = {getattr(socket, name, None) for name in ("EAI_NONAME", "EAI_NODATA")} - {None}
# What OpenSSL calls an answer that is no TLS; its releases differ.
_IN_THE_CLEAR = {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"}
_NOT_YET, _EXPIRED, _OTHER_NAMES = 9, 10, (62, 63, 64)  # OpenSSL: X509_V_ERR_…
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Trouble:
    """A reason why a call does not reach the service; `advice` names what may be wrong here.

    One that `is_lasting` is not mended by waiting.
    """

    text: Message
    advice: str = ""
    is_lasting: bool = False


def system_trouble(error: BaseException, settings: Settings) -> Trouble | None:
    """Return the trouble that the system or TLS told; None for one of no known kind."""
    cause = next((each for each in _causes(error) if isinstance(each, OSError)), None)
    name, address = (_PROXY, settings.proxy) if settings.proxy else (_BASE_URL, settings.base_url)
    host, place = _host(address), _place(address)
    if isinstance(cause, ssl.SSLError):
        return _tls_trouble(cause, settings.base_url)
    if isinstance(cause, socket.gaierror):
        if cause.errno in _UNKNOWN_HOST:
            text = Message("service.no_host", host=host)
            return Trouble(text, Message("service.check", name=name))
        values = {"host": host, "reason": cause.strerror}
        return Trouble(Message("service.not_looked_up", **values))
    if cause is not None and cause.errno == errno.ECONNREFUSED:
        text = Message("service.no_listener", place=place)
        return Trouble(text, Message("service.check_port", name=name))
    return None


def proxy_trouble(answer: str, settings: Settings) -> Trouble:
    """Return the trouble of a proxy that opens no way; its answer begins with the status."""
    status = answer.partition(" ")[0]
    values = {"proxy": _PROXY, "address": _BASE_URL, "place": _place(settings.base_url)}
    proxy = _place(settings.proxy)
    text = Message("service.proxy" if status else "service.no_proxy", place=proxy, status=status)
    if status == "407":
        return Trouble(text, Message("service.proxy_login", **values), is_lasting=True)
    if status.startswith("4"):
        return Trouble(text, Message("service.proxy_forbids", **values), is_lasting=True)
    return Trouble(text, Message("service.proxy_fails", **values))


def _tls_trouble(error: ssl.SSLError, address: str) -> Trouble | None:
    if isinstance(error, ssl.SSLCertVerificationError):
        values = {"host": _host(address), "reason": error.verify_message}
        advice = _certificate_advice(error.verify_code)
        return Trouble(Message("service.no_trust", **values), advice, is_lasting=True)
    if error.reason in _IN_THE_CLEAR:
        text = Message("service.no_tls", place=_place(address))
        return Trouble(text, Message("service.check_port", name=_BASE_URL))
    return None


def _certificate_advice(code: int) -> Message:
    if code in _OTHER_NAMES:
        return Message("service.check_host", name=_BASE_URL)
    return Message("service.clock" if code in (_NOT_YET, _EXPIRED) else "service.authority")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _place(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 443)}"
