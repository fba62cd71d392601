"""What a store refuses is told in one line, with the exit code of what a person should do."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from svc_analytics.bucket import store as stores
from svc_analytics.bucket.address import copy_folder, local_path, read_address
from svc_analytics.closing.stated import statement
from svc_analytics.errors import ConfigError, StoreError, StoreUnavailable, install
from svc_analytics.lake.lake import Lake
from tests.benchmarks.growth_lakes import END, NEWEST, Shape, make_lake
from tests.support import buckets
from tests.support.buckets import CREDENTIALS, App, MemoryStore, answers, keys_in


def test_a_put_names_the_version_that_it_replaces(url):
    """Create, replace, and refuse both what is there and what is not the same any more."""
    store = stores.ObjectStore(url)
    first = store.put("a", b"1", None)
    second = store.put("a", b"2", first)
    for replaces in (None, first, stores.Version('"0"')):
        with pytest.raises(stores.Conflict):
            store.put("a", b"3", replaces)
    with pytest.raises(stores.Conflict):
        store.get("a", first)
    assert bytes(store.get("a", second)[0]) == b"2" and store.list() == {"a": second}


def test_a_put_whose_answer_was_lost_is_found_done():
    """A client that tries again meets its own object: no conflict, and no second version."""
    store = MemoryStore()
    done = store.put("a", b"same", None)
    assert stores.replace_object(store, "a", b"same", None) == done
    with pytest.raises(stores.Conflict):
        stores.replace_object(store, "a", b"other", None)


@pytest.mark.parametrize(
    "code", ["InvalidAccessKeyId", "SignatureDoesNotMatch", "AuthorizationHeaderMalformed"]
)
def test_a_refusal_is_told_without_the_key(server, url, code):
    server.fault = answers("400 Bad Request" if "Malformed" in code else "403 Forbidden", code)
    with pytest.raises(StoreError) as refused:
        stores.ObjectStore(url).list()
    assert code in str(refused.value) and refused.value.exit_code == 1
    assert "AKIDEXAMPLE" not in repr(refused.value) and refused.value.__cause__ is None


def test_an_object_whose_name_nobody_can_read_is_named(url):
    """As a tool leaves it that joins two names by one stroke too many."""
    bucket = url.split("/")[2]
    boto3.client("s3").put_object(Bucket=bucket, Key="lake/a//b", Body=b"")
    with pytest.raises(StoreError, match='"lake/a//b", cannot be read: move the object away'):
        stores.ObjectStore(url).list()


def test_a_store_that_is_away_is_tried_later(url, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(StoreUnavailable, match="does not answer") as away:
        stores.ObjectStore(url).list()
    assert away.value.exit_code == 75


def test_without_the_extra_its_name_is_told(url, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(ConfigError, match=re.escape(install("bucket"))):
        stores.ObjectStore(url).list()


WITH_SECRETS = [
    "s3://key:secret@bucket/lake",
    "s3://bucket/lake?X-Amz-Signature=secret",
    "az://container/lake?sig=secret",
    "gs://bucket/lake#secret",
]


@pytest.mark.parametrize("text", WITH_SECRETS)
def test_a_url_that_may_hold_a_secret_is_refused_and_not_repeated(text):
    with pytest.raises(ConfigError, match="more than an address") as refused:
        read_address(text)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["http://host/lake", "s3://", "s3:///lake", "s3://b/../lake"])
def test_a_url_of_no_bucket_is_refused(text):
    with pytest.raises(ConfigError, match="not one of a bucket"):
        read_address(text)


def test_a_url_becomes_no_folder():
    with pytest.raises(ConfigError, match="out is a URL"):
        local_path("out", "s3://bucket/out")


def test_each_store_has_a_copy_of_its_own():
    """The same URL at another endpoint is another bucket."""
    here = {"SVC_CACHE_DIR": "/cache"}
    there = here | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9000"}
    folders = {copy_folder("s3://bucket/lake", each) for each in (here, there)}
    assert len(folders) == 2 and {folder.parent.as_posix() for folder in folders} == {"/cache"}


# ---------- a store that breaks the conditions of a PUT is found out before anything is written


BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "ignores If-None-Match": (lambda: buckets.ignores("If-None-Match"), "16 of 16"),
    "ignores If-Match": (lambda: buckets.ignores("If-Match"), "If-Match"),
    "lets two racers win": (buckets.lets_two_win, "2 of 16"),
    "keeps the old object": (buckets.keeps_the_old, "16 of 16"),
    "answers 200 for failures": (buckets.reports_success, "16 of 16"),
}


def test_a_store_that_keeps_its_conditions_is_taken(url):
    """moto, one request at a time: one of sixteen wins, each time."""
    stores.probe(stores.ObjectStore(url), url)
    assert stores.ObjectStore(url).list() == {}  # what was put to find out is gone


def test_a_store_in_memory_is_taken():
    stores.probe(MemoryStore(), "memory")


@pytest.mark.parametrize("name", BROKEN)
def test_a_store_that_breaks_conditions_is_refused_by_name(name, server, url):
    """Each says that it keeps them, and none is believed."""
    make, said = BROKEN[name]
    server.fault = make()
    with pytest.raises(ConfigError, match="cannot hold a lake") as refused:
        stores.probe(stores.ObjectStore(url), url)
    assert url in str(refused.value) and said in str(refused.value)


# ---------- an object that no PUT takes is refused before any of it is sent


@pytest.mark.parametrize(
    ("url", "most"), [("s3://b/lake", 5 * 1024**3), ("az://c/lake", 5000 * 1024**2)]
)
def test_the_largest_objects_are_those_of_the_stores(url, most):
    """5 GiB of S3, 5000 MiB of Azure; Google's 5 TiB are more than a month has."""
    stores.check_size(url, "payments/2026-10.parquet", most)
    with pytest.raises(StoreError, match=rf"{most + 1:,} bytes, and one PUT takes {most:,}: "):
        stores.check_size(url, "payments/2026-10.parquet", most + 1)
    stores.check_size("gs://b/lake", "payments/2026-10.parquet", most + 1)


def test_a_month_that_is_too_large_is_not_sent(url, server, monkeypatch):
    """September fits and is kept; October, ten times as large, is named with what to do."""
    monkeypatch.setitem(stores.LARGEST, "s3", 150_000)
    with pytest.raises(StoreError) as refused:
        make_lake(Lake(url), Shape(1_100, months=2, newest=0.9))
    said = str(refused.value)
    assert said.startswith(f"{url}/payments/2026-10.parquet would have ")
    assert said.endswith("the bucket is as it was; keep this lake in a folder")
    keys = keys_in(url.split("/")[2])
    assert "lake/payments/2026-09.parquet" in keys and "lake/payments/2026-10.parquet" not in keys
    assert max(size for method, _, size in server.requests if method == "PUT") < 150_000


@pytest.mark.thorough
def test_a_statement_that_is_too_large_is_not_sent(url, monkeypatch, tmp_path):
    """It is one object with all its files; in a folder of this machine it can be written."""
    make_lake(Lake(url), Shape(40, months=2, newest=0.5))
    made = statement(Lake(url), NEWEST.label, now=END)
    monkeypatch.setitem(stores.LARGEST, "s3", 1_000)
    with pytest.raises(StoreError, match=r"statements/2026-10\.zip would have [\d,]+ bytes"):
        made.save(Lake(url).path / "statements" / "2026-10")
    assert (made.save(tmp_path / "2026-10") / "manifest.json").is_file()


URL = "s3://finance/lake"
CONFIG = """
[profile finance]
region = eu-central-1
credential_process = echo '{"Version": 1, "AccessKeyId": "AKFINANCE", "SecretAccessKey": "s"}'
[profile broken]
credential_process = false a-secret-word
[profile over]
sso_session = desk
sso_account_id = 1
sso_role_name = reader
[sso-session desk]
sso_region = eu-west-1
sso_start_url = https://finance.example/start
[profile empty]
region = eu-west-3
"""


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """A home whose folder `.aws` has four profiles; the environment names no credential."""
    for name in CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "config").write_text(CONFIG)
    return tmp_path


def keys(found: dict[str, Any]) -> tuple[str, str]:
    now = found["credential_provider"]()
    return now["access_key_id"], now["secret_access_key"]


def test_a_profile_gives_keys_and_region(home, monkeypatch):
    """Those of a process here; the default profile's stand in another file."""
    monkeypatch.setenv("AWS_PROFILE", "finance")
    found = stores.read_profile(URL)
    assert keys(found) == ("AKFINANCE", "s") and found["region"] == "eu-central-1"
    monkeypatch.delenv("AWS_PROFILE")
    lines = "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key = t\n"
    (home / ".aws" / "credentials").write_text(lines)
    assert keys(stores.read_profile(URL)) == ("AKDEFAULT", "t")


def test_the_environment_goes_before_a_profile(home, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "finance")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert "region" not in stores.read_profile(URL)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKOWN")
    assert stores.read_profile(URL) == {}


def test_only_s3_has_profiles_and_files_about_something_else_are_no_error(home):
    assert stores.read_profile("gs://finance/lake") == stores.read_profile(URL) == {}


WITHOUT_CREDENTIALS = [
    ("empty", "it has none"),
    ("nobody", "ProfileNotFound"),
    ("broken", "CredentialRetrievalError"),
    ("over", "SSOTokenLoadError"),
]


@pytest.mark.parametrize(("profile", "reason"), WITHOUT_CREDENTIALS)
def test_a_profile_without_credentials_is_one_line(home, monkeypatch, profile, reason):
    """It names the profile and the next step, and quotes nothing of what a process said."""
    monkeypatch.setenv("AWS_PROFILE", profile)
    with pytest.raises(ConfigError) as refused:
        stores.ObjectStore(URL).list()
    assert str(refused.value) == (
        f"s3://finance/lake: the profile {profile} of ~/.aws gives no credentials ({reason}): "
        "log in again, choose another by AWS_PROFILE, or set AWS_ACCESS_KEY_ID"
    )


def test_a_store_is_asked_with_the_key_of_the_profile(server, url, home, monkeypatch):
    signed = []

    def note(app: App, environ: dict[str, Any], start: Any) -> Any:
        signed.append(environ["HTTP_AUTHORIZATION"])
        return app(environ, start)

    server.fault = note
    monkeypatch.setenv("AWS_PROFILE", "finance")
    assert stores.ObjectStore(url).list() == {}
    assert "Credential=AKFINANCE/" in signed[0] and "/eu-central-1/s3/" in signed[0]
