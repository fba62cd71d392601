"""What a store refuses is told in one line, with the exit code of what a person should do."""

import sys

import pytest

from svc_analytics.bucket.address import copy_folder, local_path, read_address
from svc_analytics.bucket.store import Conflict, ObjectStore, Version, replace_object
from svc_analytics.errors import ConfigError, StoreError, StoreUnavailable
from tests.support.buckets import MemoryStore, Server, answers


def test_a_put_names_the_version_that_it_replaces(url: str) -> None:
    """Create, replace, and refuse both what is there and what is not the same any more."""
    store = ObjectStore(url)
    first = store.put("a", b"1", None)
    second = store.put("a", b"2", first)
    for replaces in (None, first, Version('"0"')):
        with pytest.raises(Conflict):
            store.put("a", b"3", replaces)
    assert bytes(store.get("a", second)[0]) == b"2" and store.list() == {"a": second}


def test_a_version_that_was_replaced_is_not_got(url: str) -> None:
    store = ObjectStore(url)
    first = store.put("a", b"1", None)
    store.put("a", b"2", first)
    with pytest.raises(Conflict):
        store.get("a", first)


def test_a_put_whose_answer_was_lost_is_found_done() -> None:
    """A client that tries again meets its own object: no conflict, and no second version."""
    store = MemoryStore()
    done = store.put("a", b"same", None)
    assert replace_object(store, "a", b"same", None) == done
    with pytest.raises(Conflict):
        replace_object(store, "a", b"other", None)


def test_a_bucket_that_is_not_there_is_a_wrong_setting(server: Server) -> None:
    for act in (lambda store: store.list(), lambda store: store.put("a", b"", None)):
        with pytest.raises(ConfigError, match="s3://nowhere/lake: there is no such bucket"):
            act(ObjectStore("s3://nowhere/lake"))


@pytest.mark.parametrize(
    ("status", "code", "kind", "exit_code"),
    [
        ("403 Forbidden", "InvalidAccessKeyId", StoreError, 1),
        ("403 Forbidden", "SignatureDoesNotMatch", StoreError, 1),
        ("400 Bad Request", "AuthorizationHeaderMalformed", StoreError, 1),
    ],
)
def test_a_refusal_is_told_without_the_key(
    server: Server, url: str, status: str, code: str, kind: type[StoreError], exit_code: int
) -> None:
    server.fault = answers(status, code)
    with pytest.raises(kind) as refused:
        ObjectStore(url).list()
    assert code in str(refused.value) and refused.value.exit_code == exit_code
    assert "AKIDEXAMPLE" not in repr(refused.value) and refused.value.__cause__ is None


def test_a_store_that_is_away_is_tried_later(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreUnavailable, match="does not answer") as away:
        ObjectStore(url).list()
    assert away.value.exit_code == 75


def test_without_the_extra_its_name_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(ConfigError, match=r'pip install "svc-analytics\[bucket\]"'):
        ObjectStore(url).list()


@pytest.mark.parametrize(
    "text",
    [
        "s3://key:secret@bucket/lake",
        "s3://bucket/lake?X-Amz-Signature=secret",
        "az://container/lake?sig=secret",
        "gs://bucket/lake#secret",
    ],
)
def test_a_url_that_may_hold_a_secret_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError, match="more than an address") as refused:
        read_address(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["http://host/lake", "s3://", "s3:///lake", "s3://b/../lake"])
def test_a_url_of_no_bucket_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not one of a bucket"):
        read_address(text)


def test_a_url_becomes_no_folder() -> None:
    with pytest.raises(ConfigError, match="out is a URL"):
        local_path("out", "s3://bucket/out")


def test_each_store_has_a_copy_of_its_own() -> None:
    """The same URL at another endpoint is another bucket."""
    here = {"SVC_CACHE_DIR": "/cache"}
    there = here | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}
    folders = {copy_folder("s3://bucket/lake", each) for each in (here, there)}
    assert len(folders) == 2 and {folder.parent.as_posix() for folder in folders} == {"/cache"}
