"""The address of a bucket: `s3://bucket/lake`, and where its copy lies on this machine."""

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from svc_analytics.arguments import AnyPath
from svc_analytics.errors import ConfigError
from svc_analytics.files import cache_folder

SCHEMES = ("s3", "gs", "az")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PLAIN = re.compile(r"[A-Za-z0-9._/-]*\Z")
AWS_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
ENDPOINTS = (*AWS_ENDPOINTS, "AZURE_STORAGE_ENDPOINT", "GOOGLE_BASE_URL")
# Where they are set, the same URL names another store.
_STORES = (*AWS_ENDPOINTS, "AZURE_STORAGE_ACCOUNT_NAME", *ENDPOINTS[len(AWS_ENDPOINTS) :])
Address = Path | str  # of a lake: a folder of this machine, or the URL of a bucket
_EXAMPLE = "write s3://bucket/lake, gs://bucket/lake or az://container/lake"


def is_address(text: object) -> bool:
    """Tell whether a text is a URL, and so no path.

    >>> is_address("s3://bucket/lake"), is_address("data")
    (True, False)
    """
    return isinstance(text, str) and bool(_URL.match(text))


def read_address(text: str) -> str:
    """Return the URL of a bucket without a slash at its end; refuse one that holds a secret.

    >>> read_address("s3://bucket/lake/")
    's3://bucket/lake'
    >>> read_address("s3://key:secret@bucket/lake")
    Traceback (most recent call last):
    svc_analytics.errors.ConfigError: the URL of the lake holds more than an address: write \
s3://bucket/lake, gs://bucket/lake or az://container/lake; credentials come from the environment
    """
    try:
        parts = urlsplit(text)
        name = parts.netloc
    except ValueError:
        name, parts = "", urlsplit("")
    if "@" in name or parts.query or parts.fragment:
        message = f"the URL of the lake holds more than an address: {_EXAMPLE}"
        raise ConfigError(f"{message}; credentials come from the environment")
    if parts.scheme.lower() not in SCHEMES or not name or not _PLAIN.match(name + parts.path):
        raise ConfigError(f"the URL of the lake is not one of a bucket: {_EXAMPLE}")
    inside = "/".join(part for part in parts.path.split("/") if part)
    if {".", ".."} & {*inside.split("/")}:
        raise ConfigError(f"the URL of the lake is not one of a bucket: {_EXAMPLE}")
    return f"{parts.scheme.lower()}://{name}" + (f"/{inside}" if inside else "")


def lake_address(text: AnyPath) -> Address:
    """Return where a lake is, its folder or the URL of its bucket; nothing is opened.

    >>> lake_address("s3://bucket/lake/"), lake_address("data").name
    ('s3://bucket/lake', 'data')
    """
    return read_address(str(text)) if is_address(text) else Path(text)


def check_place(name: str, place: str) -> str:
    """Return where an engine finds a lake; refuse an address that may hold a secret.

    `name` is that of the setting. An engine has credentials of its own.

    >>> check_place("--engine-data", "abfss://lake@account.dfs.core.windows.net/lake")
    'abfss://lake@account.dfs.core.windows.net/lake'
    """
    if not is_address(place):
        return place
    try:
        parts = urlsplit(place)
        is_plain = not (":" in parts.netloc.rpartition("@")[0] or parts.query or parts.fragment)
    except ValueError:
        is_plain = False
    if not is_plain:
        message = f"{name} holds more than an address: write s3a://bucket/lake"
        raise ConfigError(f"{message}; give the credentials to the engine itself")
    return place


def local_path(name: str, path: AnyPath) -> Path:
    """Return a path of this machine; refuse a URL, which would become a folder named `s3:`."""
    if is_address(path):
        raise ConfigError(f"{name} is a URL: give a folder or file of this machine")
    return Path(path)


def copy_folder(url: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of this machine's copy: below SVC_CACHE_DIR, else the user's cache."""
    place = [url, *(environ.get(name, "") for name in _STORES)]
    mark = sha256("\n".join(place).encode()).hexdigest()[:8]
    words = re.sub(r"[^A-Za-z0-9.-]+", "-", url)
    return cache_folder(environ) / f"{words[:80]}-{mark}"
