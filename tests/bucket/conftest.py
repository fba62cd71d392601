"""A real S3 server of this machine, and an empty bucket in it for each test."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.support.buckets import Server, serve_bucket

_numbers = count()


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    with serve_bucket() as server:
        yield server


@pytest.fixture
def server(running, monkeypatch, tmp_path) -> Iterator[Server]:
    """The server, with the environment of a user whose credentials it takes."""
    for name, value in running.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
    running.fault = None
    running.requests.clear()
    yield running
    running.fault = None


@pytest.fixture
def url(server) -> str:
    """The URL of a lake that is not there yet."""
    name = f"bucket-{next(_numbers)}"
    server.make_bucket(name)
    return f"s3://{name}/lake"
