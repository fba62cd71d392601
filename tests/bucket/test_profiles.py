"""Credentials of S3 from the files of `~/.aws`, as the tools of AWS read them."""

from pathlib import Path
from typing import Any

import pytest

from svc_analytics.bucket.store import ObjectStore, read_profile
from svc_analytics.errors import ConfigError
from tests.support.buckets import CREDENTIALS, App

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
    found = read_profile(URL)
    assert keys(found) == ("AKFINANCE", "s") and found["region"] == "eu-central-1"
    monkeypatch.delenv("AWS_PROFILE")
    lines = "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key = t\n"
    (home / ".aws" / "credentials").write_text(lines)
    assert keys(read_profile(URL)) == ("AKDEFAULT", "t")


def test_the_environment_goes_before_a_profile(home, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "finance")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    assert "region" not in read_profile(URL)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKOWN")
    assert read_profile(URL) == {}


def test_only_s3_has_profiles_and_files_about_something_else_are_no_error(home):
    assert read_profile("gs://finance/lake") == read_profile(URL) == {}


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        ("empty", "it has none"),
        ("nobody", "ProfileNotFound"),
        ("broken", "CredentialRetrievalError"),
        ("over", "SSOTokenLoadError"),
    ],
)
def test_a_profile_without_credentials_is_one_line(home, monkeypatch, profile, reason):
    """It names the profile and the next step, and quotes nothing of what a process said."""
    monkeypatch.setenv("AWS_PROFILE", profile)
    with pytest.raises(ConfigError) as refused:
        ObjectStore(URL).list()
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
    assert ObjectStore(url).list() == {}
    assert "Credential=AKFINANCE/" in signed[0] and "/eu-central-1/s3/" in signed[0]
