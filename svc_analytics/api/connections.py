"""Connections to the service: each exchange has a deadline, and none outlives its client.

A read timeout begins anew with every byte: a service that sends one every few seconds would
hold a worker for days.
"""

from threading import Lock
from time import monotonic
from typing import Any
from weakref import WeakSet

import httpcore

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
