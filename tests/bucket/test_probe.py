"""A store that breaks the conditions of a PUT is found out before anything is written."""

from collections.abc import Callable
from typing import Any

import pytest

from svc_analytics.bucket.probe import probe
from svc_analytics.bucket.store import ObjectStore
from svc_analytics.errors import ConfigError
from tests.support import buckets
from tests.support.buckets import MemoryStore, Server

BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "ignores If-None-Match": (lambda: buckets.ignores("If-None-Match"), "16 of 16"),
    "ignores If-Match": (lambda: buckets.ignores("If-Match"), "If-Match"),
    "lets two racers win": (buckets.lets_two_win, "2 of 16"),
    "keeps the old object": (buckets.keeps_the_old, "16 of 16"),
    "answers 200 for failures": (buckets.reports_success, "16 of 16"),
}


def test_a_store_that_keeps_its_conditions_is_taken(url: str) -> None:
    """moto, one request at a time: one of sixteen wins, each time."""
    probe(ObjectStore(url), url)
    assert ObjectStore(url).list() == {}  # what was put to find out is gone


def test_a_store_in_memory_is_taken() -> None:
    probe(MemoryStore(), "memory")


@pytest.mark.parametrize("name", BROKEN)
def test_a_store_that_breaks_conditions_is_refused_by_name(
    name: str, server: Server, url: str
) -> None:
    """Each says that it keeps them, and none is believed."""
    make, said = BROKEN[name]
    server.fault = make()
    with pytest.raises(ConfigError, match="cannot hold a lake") as refused:
        probe(ObjectStore(url), url)
    assert url in str(refused.value) and said in str(refused.value)
