"""Connections end with their client, also those that were being opened when it was closed."""

import socket
from collections.abc import Iterator

import httpcore
import pytest

from svc_analytics.api.connections import DeadlineBackend


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def connect(backend: DeadlineBackend, listener: socket.socket) -> httpcore.NetworkStream:
    return backend.connect_tcp("127.0.0.1", listener.getsockname()[1])


def test_an_open_connection_is_closed_with_its_client(listener: socket.socket) -> None:
    """Its pool may not know it yet."""
    backend = DeadlineBackend(10)
    opened = connect(backend, listener)
    backend.close()
    assert opened.get_extra_info("socket").fileno() == -1


def test_a_connection_that_comes_too_late_is_closed(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client was closed while a thread waited for it."""
    backend, opened = DeadlineBackend(10), []
    real = socket.create_connection

    def slowly(*args: object, **options: object) -> socket.socket:
        opened.append(real(*args, **options))
        backend.close()
        return opened[0]

    monkeypatch.setattr(socket, "create_connection", slowly)
    with pytest.raises(httpcore.ConnectError, match="the client is closed"):
        connect(backend, listener)
    assert opened[0].fileno() == -1
