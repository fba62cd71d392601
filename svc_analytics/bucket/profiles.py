"""Credentials of S3 from a profile of `~/.aws`, where the environment holds none itself."""

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from svc_analytics.bucket.address import AWS_ENDPOINTS
from svc_analytics.errors import ConfigError, needs_extra

_OWN = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE")
_PROFILE = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
}
_SETTINGS = {  # by obstore's name: the variables of the environment that go before a profile
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "endpoint": AWS_ENDPOINTS,
}
_VALID = timedelta(minutes=5)  # then they are asked for again; botocore renews what is over


def read_profile(url: str) -> dict[str, Any]:
    """Return the options of obstore from an AWS profile; none where no profile is to be read.

    A profile may hold keys, or name a role, a process or a login by SSO: botocore reads it as the
    tools of AWS do. Raises `ConfigError` when it gives no credentials.
    """
    if not url.startswith("s3://") or _first_set(_OWN):
        return {}
    named = _first_set(_PROFILE)
    files = [Path(os.environ.get(name) or path).expanduser() for name, path in _FILES.items()]
    return _options(url, named) if named or any(file.is_file() for file in files) else {}


def _options(url: str, named: str) -> dict[str, Any]:
    with needs_extra("bucket"):
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session
    reason = "it has none"
    try:
        session = Session(profile=named or None)
        credentials, about = session.get_credentials(), session.get_scoped_config()
        if credentials is None and not named:
            return {}  # these files are about something else
        if credentials is not None:
            credentials.get_frozen_credentials()
            return {"credential_provider": partial(_credential, credentials), **_settings(about)}
    except BotoCoreError as error:  # its text may quote a process's
        reason = type(error).__name__
    which = f"the profile {named}" if named else "the default profile"
    advice = "log in again, choose another by AWS_PROFILE, or set AWS_ACCESS_KEY_ID"
    raise ConfigError(f"{url}: {which} of ~/.aws gives no credentials ({reason}): {advice}")


def _settings(about: dict[str, Any]) -> dict[str, str]:
    """Return the region and the endpoint of a profile, where the environment names none."""
    said = {"region": about.get("region", ""), "endpoint": about.get("endpoint_url", "")}
    return {
        name: value for name, value in said.items() if value and not _first_set(_SETTINGS[name])
    }


def _credential(credentials: Any) -> dict[str, Any]:
    """Return the keys as they are now, and until when they may be used."""
    now = credentials.get_frozen_credentials()
    return {
        "access_key_id": now.access_key,
        "secret_access_key": now.secret_key,
        "token": now.token,
        "expires_at": datetime.now(UTC) + _VALID,
    }


def _first_set(names: tuple[str, ...]) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")
