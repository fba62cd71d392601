"""Ctrl-C, or a stop, during a query: it ends at once, and other errors stay what they are."""

import signal
import threading
import weakref
from collections.abc import Iterator
from queue import SimpleQueue

import duckdb
import pytest

from svc_analytics.interrupts import QueryThread, check_stop, interruptible, stopped_by

ENDLESS = (
    "select count(*) from range(10000000) a, range(10000000) b where a.range * b.range % 7 = 3"
)


def test_an_interrupted_query_is_an_interruption():
    """Ctrl-C stops what is running, as it would in plain Python."""
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise RuntimeError("Query interrupted")


def test_another_error_stays_what_it_is():
    """Only this one text means that somebody pressed a key."""
    with pytest.raises(RuntimeError, match="out of memory"), interruptible():
        raise RuntimeError("out of memory")


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C reaches Python, also where the tests were started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_a_query_without_end_stops_when_asked():
    """In the main thread, DuckDB would go on joining for days."""
    connection, main = duckdb.connect(), threading.main_thread().ident
    threading.Timer(0.2, signal.pthread_kill, [main, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        QueryThread(connection).run(lambda: connection.sql(ENDLESS).fetchall())
    assert connection.sql("select 1").fetchall() == [(1,)]


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_query_interrupted_as_it_starts_leaves_its_connection_free(monkeypatch, has_begun):
    """Ctrl-C may come while the query is handed to its thread."""

    class Interrupted(SimpleQueue[object]):
        def put(self, item: object) -> None:
            if has_begun or item is None:
                super().put(item)
            if item is not None:
                raise KeyboardInterrupt

    monkeypatch.setattr("svc_analytics.interrupts.SimpleQueue", Interrupted)
    connection = duckdb.connect()
    with pytest.raises(KeyboardInterrupt):
        QueryThread(connection).run(lambda: connection.sql(ENDLESS).fetchall())
    assert connection.sql("select 1").fetchall() == [(1,)]


def test_a_stopped_thread_leaves_its_query_and_tidies_up_undisturbed():
    """A stop is heard once, and only by the thread that is to stop."""
    connection, stop = duckdb.connect(), threading.Event()
    threading.Timer(0.1, stop.set).start()
    with stopped_by(stop):
        with pytest.raises(KeyboardInterrupt):
            QueryThread(connection).run(lambda: connection.sql(ENDLESS).fetchall())
        assert QueryThread(connection).run(lambda: connection.sql("select 1").fetchall()) == [(1,)]
    stop.set()
    check_stop()  # outside of the block it says nothing


def test_its_thread_runs_the_next_query_and_keeps_no_answer():
    """An answer may be large: once it is handed over, its memory is its receiver's to free."""
    thread = QueryThread(duckdb.connect())
    answer = weakref.ref(thread.run(set))
    assert (answer(), thread.run(lambda: "next")) == (None, "next")


def test_an_error_of_the_engine_comes_through_as_it_is():
    connection = duckdb.connect()
    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        QueryThread(connection).run(lambda: connection.sql("select * from nowhere").fetchall())
