"""The buckets that this process works with, by the folders of their copies."""

import os
from pathlib import Path

from svc_analytics.bucket.address import copy_folder, is_address, read_address
from svc_analytics.bucket.book import Book
from svc_analytics.bucket.bundle import STATEMENTS
from svc_analytics.bucket.mirror import open_folder
from svc_analytics.bucket.store import ObjectStore, Store
from svc_analytics.bucket.writing import Bucket
from svc_analytics.errors import ConfigError
from svc_analytics.files import copy_of, register_copy


def mount(address: str) -> Path:
    """Return the folder of a bucket's copy, by its URL; nothing is read from the bucket yet.

    Raises `ConfigError` for a URL of no bucket, and where the copy cannot be kept.
    """
    url = read_address(address)
    folder = copy_folder(url)
    if bucket_at(folder) is None:
        open_folder(folder, url)
        register(folder, url, ObjectStore(url))
    return folder


def register(folder: Path, url: str, store: Store) -> Bucket:
    """Let a folder be the copy of a bucket."""
    bucket = Bucket(folder, url, store)
    register_copy(folder, bucket)
    return bucket


def bucket_at(folder: Path) -> Bucket | None:
    """Return the bucket whose copy a folder is, also in a process that knows but the folder."""
    known = copy_of(folder)
    if isinstance(known, Bucket):
        return known if known.folder == folder else None
    book = Book.read(folder)
    return register(folder, book.url, ObjectStore(book.url)) if book else None


def statement_folder(given: str | os.PathLike[str]) -> Path:
    """Return the path of a statement's folder; of one in a bucket, that of its copy.

    Raises `ConfigError` for a URL that is not one of a lake's statement.
    """
    if not is_address(given):
        return Path(given)
    lake, _, name = read_address(str(given)).rpartition(f"/{STATEMENTS}/")
    if not lake or "/" in name:
        message = "give a statement of a bucket as s3://bucket/lake/statements/2026-10"
        raise ConfigError(message)
    folder = mount(lake)
    if bucket := bucket_at(folder):
        bucket.refresh()
    return folder / STATEMENTS / name.removesuffix(".zip")
