"""Connections to the service, each for one request at a time: sent first, its answer taken later.

httpcore does both in one call. What a connection of its does is taken apart here, so that the
service can answer while this machine does something else.
"""

from __future__ import annotations

from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import Any
from weakref import WeakSet

import httpcore

http11: Any = None
with suppress(ImportError):
    from httpcore._sync import http11

# What is taken apart: a version of httpcore that hides it elsewhere sends nothing ahead.
_PARTS = (
    *("_state", "_state_lock", "_request_count", "_expire_at", "_network_stream"),
    *("_send_request_headers", "_send_request_body"),
    *("_receive_response_headers", "_response_closed"),
)


class Wire:
    """One connection at a time, opened as its pool would: the pool itself takes a third longer."""

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool
        self._held: httpcore.ConnectionInterface | None = None
        self._sent: Any = None

    def send(self, request: httpcore.Request) -> None:
        """Send a request on the open connection; where there is none, `receive` does both."""
        if self._held is None or not self._held.is_available() or self._held.has_expired():
            self.close()
            self._held = self._pool.create_connection(request.url.origin)
        inner = getattr(self._held, "_connection", None)  # of a proxy it may be of another kind
        self._sent = inner if _has_parts(inner) else None
        if self._sent:
            _send(self._sent, request)

    def receive(self, request: httpcore.Request) -> httpcore.Response:
        """Wait for the head of the answer to the request that was sent."""
        if self._sent:
            return _receive(self._sent, request)
        assert self._held is not None  # noqa: S101 # `send` comes first
        return self._held.handle_request(request)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._held:
            self._held.close()


def _has_parts(connection: object) -> bool:
    is_known = http11 and isinstance(connection, http11.HTTP11Connection)
    return is_known and all(hasattr(connection, name) for name in _PARTS)


def _send(connection: Any, request: httpcore.Request) -> None:
    """Do what `handle_request` of the connection does first."""
    with connection._state_lock:
        connection._request_count += 1
        connection._state, connection._expire_at = http11.HTTPConnectionState.ACTIVE, None
    try:
        with suppress(httpcore.WriteError):  # who hangs up may have answered before
            connection._send_request_headers(request)
            connection._send_request_body(request)
    except BaseException:
        connection._response_closed()
        raise


def _receive(connection: Any, request: httpcore.Request) -> httpcore.Response:
    """Do what `handle_request` of the connection does then."""
    try:
        _, status, _, headers, _ = connection._receive_response_headers(request)
    except BaseException:
        connection._response_closed()
        raise
    body = http11.HTTP11ConnectionByteStream(connection, request)
    stream = {"network_stream": connection._network_stream}
    return httpcore.Response(status, headers=headers, content=body, extensions=stream)


# ---------- Deadlines
# Each exchange has one, and no connection outlives its client.
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
