"""Google Cloud Storage and Azure: the same conditions, asked for in the words of each."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from svc_analytics.bucket.store import Conflict, ObjectStore, probe
from svc_analytics.errors import LakeChanged
from svc_analytics.lake.lake import Lake
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.buckets import Azure, Google, serve_other
from tests.support.fake_service import FakeService
from tests.support.publishing import after, before, read_again

STORES = {"gs://finance/lake": Google, "az://finance/lake": Azure}


@pytest.fixture(params=STORES)
def url(request, monkeypatch, tmp_path) -> Iterator[str]:
    """The URL of a lake that is not there yet."""
    with serve_other(STORES[request.param]) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "cache"))
        yield request.param


def test_a_lake_is_written_and_changed_there_and_read_by_another_machine(
    url, monkeypatch, tmp_path
):
    """The listing shows the same ETag that the putting told, whatever quotes it leaves out.

    The second run moves one record to another month, and so replaces two objects.
    """
    store = ObjectStore(url)
    probe(store, url)
    assert store.list() == {}
    first = store.put("a", b"1", None)
    second = store.put("a", b"2", first)
    with pytest.raises(Conflict):
        store.get("a", first)
    assert bytes(store.get("a", second)[0]) == b"2"
    assert store.list()["a"].etag == second.etag
    store.delete("a")
    for service in (before(), after()):
        extract(url, service)
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "another machine"))
    assert counted(url) == {"n": 26, "ids": 26}


@pytest.mark.thorough
def test_an_object_put_again_with_the_same_bytes_stops_no_writer(url):
    """As another class of storage does it: the copy knows the ETag, but not the generation."""
    extract(url, before())
    store = ObjectStore(url)
    [*months] = (key for key in store.list() if key.startswith("payments/2026"))
    body, version = store.get(months[-1])
    store.put(months[-1], bytes(body), version)
    with suppress(LakeChanged):
        extract(url, after())
    extract(url, after())
    assert counted(url) == {"n": 26, "ids": 26}


def extract(url: str, service: FakeService) -> None:
    read_again(Lake(url), service.transport)


def counted(url: str) -> dict[str, int]:
    with open_warehouse(Lake(url)) as warehouse:
        found = warehouse.query(
            "select count(*) as n, count(distinct payment_id) as ids from payments"
        )
    [row] = found.to_pylist()
    return row
