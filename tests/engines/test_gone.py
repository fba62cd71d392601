"""A server that is gone: told within seconds, and the next connection is a new one."""

import socket
from contextlib import suppress
from threading import Thread

import pytest

from svc_analytics.engines import connect, spark
from svc_analytics.engines.probe import require_exact
from svc_analytics.engines.spark import SparkConnect
from svc_analytics.errors import EngineUnavailable
from tests.support.engines import DuckEngine, spark_place
from tests.support.loopback import Loopback, Web, serving


class Relay(Loopback):
    """Hands on what comes to a port of its own, both ways, until it is cut."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._ends: list[socket.socket] = []
        super().__init__(self._hand_on)

    def _hand_on(self, near: socket.socket) -> None:
        far = socket.create_connection(self._target)
        self._ends += near, far
        Thread(target=_pump, args=(far, near), daemon=True).start()
        _pump(near, far)

    def cut(self) -> None:
        """Close every connection, and refuse new ones."""
        self.close()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@pytest.fixture(autouse=True)
def impatient(monkeypatch) -> None:
    """The first try, and one more after 10 milliseconds."""
    monkeypatch.setattr(spark, "RETRIES", {"max_retries": 1, "initial_backoff": 10})


@pytest.mark.thorough
def test_a_spark_server_that_goes_is_told_at_once_and_forgets_silently():
    relay = Relay(*spark_place())
    engine = SparkConnect(f"sc://127.0.0.1:{relay.port}")
    assert engine.query("select 1 as one")["one"].to_pylist() == [1]
    relay.cut()
    with pytest.raises(EngineUnavailable, match=r"Spark at 127.0.0.1:\d+ does not answer: try ag"):
        engine.query("select 1 as one")
    engine.forget(["a_table"])
    assert engine.is_gone and EngineUnavailable.exit_code == 75


def test_a_web_server_at_the_address_is_told_at_once():
    with serving(Web) as port, pytest.raises(EngineUnavailable, match="does not answer"):
        SparkConnect(f"sc://127.0.0.1:{port}")


def test_an_engine_that_goes_while_it_is_probed_is_not_refused():
    """To be refused would say that its sums cannot be trusted."""

    class Going(DuckEngine):
        def query(self, sql):  # type: ignore[no-untyped-def]
            raise EngineUnavailable("gone")

    with pytest.raises(EngineUnavailable):
        require_exact(Going())


def test_a_lost_engine_is_connected_to_anew(monkeypatch):
    """One that is there is asked again without a second probe."""
    made = [DuckEngine(), DuckEngine()]
    monkeypatch.setattr(connect, "_require_listener", lambda address: None)
    monkeypatch.setattr(connect, "SparkConnect", lambda address: made.pop(0))
    connect._connected.cache_clear()
    first, second = made
    assert connect.connect("sc://engine.example").engine is first
    assert connect.connect("sc://engine.example").engine is first
    first.is_gone = True
    assert connect.connect("sc://engine.example").engine is second
    connect._connected.cache_clear()
