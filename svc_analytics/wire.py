"""A limit of time for one whole exchange, however slowly its bytes drip.

A read timeout begins anew with every byte, so a service that sends one every few
seconds, or notes of progress without end, would hold a worker for days. These two stand
between the connections of httpx and the system's own, by their public methods alone.
"""

from collections.abc import Callable
from time import monotonic
from typing import Any

_AT_ONCE = 256 * 1024  # bytes: a whole page, for each further read costs as much as ten records


class TimedBackend:
    """Opens connections as the backend underneath does, each with the limit."""

    def __init__(self, inner: Any, longest: float, overtime: Callable[[], Exception]) -> None:
        self._inner = inner
        self.longest = longest
        self.overtime = overtime

    def connect_tcp(self, *args: Any, **options: Any) -> "_TimedStream":
        return _TimedStream(self._inner.connect_tcp(*args, **options), self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _TimedStream:
    """A connection. Each write begins an exchange anew; a read too late in one fails."""

    def __init__(self, inner: Any, backend: TimedBackend) -> None:
        self._inner = inner
        self._backend = backend
        self._until = monotonic() + backend.longest

    def write(self, *args: Any, **options: Any) -> None:
        self._inner.write(*args, **options)
        self._until = monotonic() + self._backend.longest

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._until - monotonic()
        if left <= 0:
            raise self._backend.overtime()
        data: bytes = self._inner.read(max(max_bytes, _AT_ONCE), timeout=min(timeout or left, left))
        return data

    def start_tls(self, *args: Any, **options: Any) -> "_TimedStream":
        return _TimedStream(self._inner.start_tls(*args, **options), self._backend)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
