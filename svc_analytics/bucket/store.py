"""The store of a bucket: four verbs, each with its condition, and its errors in our words.

A lake in a bucket is right only because of two of the many that replace an object one wins. Some
stores say so and let several win under load, or look at no condition at all: `probe` asks before
the first write, by racing.
"""

import os
import re
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from svc_analytics.bucket.address import AWS_ENDPOINTS, ENDPOINTS
from svc_analytics.errors import ConfigError, StoreError, StoreUnavailable, needs_extra

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined,unused-ignore]

_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_STATUS = re.compile(r"status code: (\d{3})")
_BAD_NAME = re.compile(r"invalid path: .*?Path (\".{1,200}\")")  # as //, which no listing skips
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "bucket does not exist")
_NO_CREDENTIALS = ("169.254.169.254", "metadata.google.internal", "IDENTITY_ENDPOINT")
_REFUSED = ("401", "403")
_AWAY = ("408", "429", "500", "502", "503", "504")
# How many bytes one PUT takes, by the scheme; Google's stores take more than a lake ever has.
LARGEST = {"s3": 5 * 1024**3, "az": 5000 * 1024**2}
_LOOPBACK = re.compile(r"http://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/|\Z)")


class Conflict(Exception):
    """An object is not the version that it had to be, or is there and was not to be."""


@dataclass(frozen=True)
class Version:
    """The mark of one content of an object: its ETag, and a number where kept.

    A listing says more, of when an object was put and how large it is: see `mirror.Pins`.
    """

    etag: str | None
    number: str | None = None
    size: int | None = field(default=None, compare=False)  # bytes
    put_at: datetime | None = field(default=None, compare=False)


def check_size(url: str, key: str, size: int) -> None:
    """Refuse an object that no PUT takes, before any of it is sent.

    Larger ones can be sent in parts, but obstore puts parts under no condition.
    """
    largest = LARGEST.get(url.partition(":")[0], size)
    if size > largest:
        message = f"{url}/{key} would have {size:,} bytes, and one PUT takes {largest:,}"
        next_step = "nothing was sent, and the bucket is as it was; keep this lake in a folder"
        raise StoreError(f"{message}: {next_step}")


class ObjectStore:
    """The objects of a bucket below a URL, by their keys: S3, Google Cloud Storage or Azure."""

    def __init__(self, url: str) -> None:
        self._url = url

    @cached_property
    def _objects(self) -> Any:
        with needs_extra("bucket"):
            from obstore.store import from_url  # an optional extra
        client: Any = {"timeout": timedelta(minutes=10), "connect_timeout": timedelta(seconds=5)}
        client |= {"allow_http": True} if _is_on_this_machine() else {}
        retries: Any = {"max_retries": 4, "retry_timeout": timedelta(seconds=60)}
        profile = read_profile(self._url)
        try:
            return from_url(self._url, client_options=client, retry_config=retries, **profile)
        except Exception as error:
            self._explain(error)

    def list(self) -> dict[str, Version]:
        """Return all objects as they are now."""
        sizes = {}
        try:
            for page in self._objects.list():
                sizes.update({each["path"]: _version(each) for each in page})
        except Exception as error:
            self._explain(error)
        return sizes

    def get(self, key: str, version: Version | None = None) -> "tuple[Buffer, Version]":
        """Return an object; raise `Conflict` unless it is there, and this version."""
        options = {"if_match": version.etag} if version and version.etag else {}
        try:
            got = self._objects.get(key, options=options)
            return got.bytes(), _version(got.meta)
        except FileNotFoundError:
            raise Conflict(key) from None
        except Exception as error:
            self._explain(error)

    def put(self, key: str, body: bytes, replaces: Version | None) -> Version:
        """Put an object that replaces this version, or none; raise `Conflict` otherwise."""
        mode = "create" if replaces is None else _known(replaces)
        try:
            return _version(self._objects.put(key, body, mode=mode, use_multipart=False))
        except Exception as error:
            self._explain(error)

    def delete(self, key: str) -> None:
        """Remove an object."""
        try:
            self._objects.delete(key)
        except Exception as error:
            self._explain(error)

    def _explain(self, error: Exception) -> NoReturn:
        """Raise the error in our words: what a store answers may hold the name of a key."""
        if isinstance(error, ConfigError):
            raise error
        if type(error).__name__ in ("AlreadyExistsError", "PreconditionError"):
            raise Conflict(str(error)) from None
        text = str(error)
        code, status = ("".join(each.findall(text)[:1]) for each in (_CODE, _STATUS))
        if any(word in text for word in _NO_BUCKET):
            raise ConfigError(f"{self._url}: there is no such bucket") from None
        if any(word in text for word in _NO_CREDENTIALS):
            message = f"{self._url}: no credentials were found in the environment"
            raise ConfigError(f"{message}: set those of your store, such as AWS_ACCESS_KEY_ID")
        if named := _BAD_NAME.search(text):
            message = f"{self._url}: the name of an object, {named[1]}, cannot be read"
            raise StoreError(f"{message}: move the object away, or rename it") from None
        reason = " ".join(filter(None, [status, code])) or type(error).__name__
        if status in _REFUSED or type(error).__name__.startswith(("Permission", "Unauth")):
            message = f"{self._url}: the store refuses these credentials ({reason})"
            raise StoreError(f"{message}: check them, and what they may do") from None
        if status in _AWAY or (not status and "HTTP error" in text):
            message = f"{self._url}: the store does not answer ({reason}): try again later"
            raise StoreUnavailable(message) from None
        raise StoreError(f"{self._url}: the store refused ({reason})") from None


def replace_object(store: ObjectStore, key: str, body: bytes, replaces: Version | None) -> Version:
    """Put an object as `ObjectStore.put` does, also where the answer to a first attempt was lost.

    Its second attempt then meets the first. The bucket holds what it was to hold.
    """
    try:
        return store.put(key, body, replaces)
    except Conflict:
        held, version = store.get(key)
        if bytes(held) == body:
            return version
        raise


def _is_on_this_machine() -> bool:
    """Tell whether the store is a server of this machine: only there plain http hides nothing."""
    endpoints = (os.environ.get(name, "") for name in ENDPOINTS)
    return any(_LOOPBACK.match(endpoint) for endpoint in endpoints)


def _version(about: Mapping[str, Any]) -> Version:
    etag = about["e_tag"]
    if etag and not etag.endswith('"'):
        etag = f'"{etag}"'  # as in answers and conditions: Azure's listing leaves the quotes out
    return Version(etag, about["version"], about.get("size"), about.get("last_modified"))


def _known(version: Version) -> dict[str, str]:
    """Return the known parts of a version: obstore takes no None."""
    known = {"e_tag": version.etag, "version": version.number}
    return {name: value for name, value in known.items() if value is not None}


# Credentials of S3 from a profile of `~/.aws`, where the environment holds none itself.
_OWN = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE")
_PROFILE = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")
_FILES = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}
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


RULES = "1"  # raised with what is asked: a store that was found sound is asked anew
_PROBES = ".probe"
RACERS = 16  # that put the same object at once, twice in each round
ROUNDS = 2


def probe(store: ObjectStore, name: str) -> None:
    """Raise `ConfigError` with the store's `name` unless it keeps all conditions."""
    for _ in range(ROUNDS):
        key = f"{_PROBES}/{secrets.token_hex(8)}"
        try:
            if broken := _find_broken(store, key):
                message = f"{name}: this store cannot hold a lake: {broken}"
                raise ConfigError(f"{message}; choose one that keeps conditional writes")
        finally:
            with suppress(Exception):  # what is wrong with the store was told
                store.delete(key)


def _find_broken(store: ObjectStore, key: str) -> str | None:
    """Find the first fault of a store; nothing where it has none."""
    first = _race(store, key, None)
    if isinstance(first, str):
        return first.format("a new object", "If-None-Match")
    if _is_put(store, key, b"another", None):
        return "it replaces an object that was to be new (If-None-Match is ignored)"
    second = _race(store, key, first)
    if isinstance(second, str):
        return second.format("one version", "If-Match")
    if _is_put(store, key, b"late", first):
        return "it replaces a version that is not the one named (If-Match is ignored)"
    if store.list().get(key, Version(None)).etag != second.etag:
        return "its listing does not show what was written last"
    return None


def _race(store: ObjectStore, key: str, replaces: Version | None) -> Version | str:
    """Let many replace one object at once; return the winner's version, or what went wrong."""
    bodies = [secrets.token_bytes(16) for _ in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:  # each is sent at once: the pool is as large
        versions = list(pool.map(lambda body: _put(store, key, body, replaces), bodies))
    won = [(version, body) for version, body in zip(versions, bodies, strict=True) if version]
    if len(won) != 1:
        return f"{len(won)} of {RACERS} that put {{}} at once won, and not one ({{}})"
    version, body = won[0]
    held, of = store.get(key)
    if bytes(held) != body or of.etag != version.etag:
        return "it reports that it put {} and holds another ({})"
    return of


def _put(store: ObjectStore, key: str, body: bytes, replaces: Version | None) -> Version | None:
    try:
        return store.put(key, body, replaces)
    except Conflict:
        return None


def _is_put(store: ObjectStore, key: str, body: bytes, replaces: Version | None) -> bool:
    """Tell whether a PUT was reported as done that must not be, or was done in silence."""
    before = bytes(store.get(key)[0])
    return bool(_put(store, key, body, replaces)) or bytes(store.get(key)[0]) != before
