"""Backups in a bucket, and of a lake in one."""

import shutil
from pathlib import Path

import pytest

from svc_analytics.backups.archive import Archive
from svc_analytics.backups.backup import backup, verify_backup
from svc_analytics.backups.restore import restore
from svc_analytics.backups.targets import BucketTarget
from svc_analytics.errors import LakeBusy
from svc_analytics.lake.lake import Lake
from tests.support import buckets
from tests.support.altered import kept, restored
from tests.support.buckets import MemoryStore
from tests.support.publishing import after, before, read_all


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("backup") / "data"
    read_all(folder, before())
    for name in ("books.toml", "statements/2026-10@Asia-Tehran/a b é مهر #%41.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "secret").touch(0o600)
    return folder


def test_a_backup_in_a_bucket_is_restored_and_the_older_one_too(made, url, tmp_path):
    """Each object is a plain file of the lake; damage is found there too."""
    shutil.copytree(made, tmp_path / "data")
    lake, old = Lake(tmp_path / "data"), kept(made)
    first = backup(lake, url, progress=False)
    read_all(lake.path, after())
    (lake.path / "books.toml").unlink()
    second = backup(lake, url, progress=False)
    assert first.copied and 0 < len(second.copied) < len(old) and second.gone == ("books.toml",)
    assert restored(url, tmp_path / "new") == kept(lake.path)
    assert restored(url, tmp_path / "new", first.name) == old
    assert (tmp_path / "data" / "secret").stat().st_mode & 0o777 == 0o600
    assert verify_backup(url, progress=False).problems == ()
    bucket = url.split("/")[2]
    assert {f"lake/lake/{name}" for name in kept(lake.path)} <= buckets.keys_in(bucket)
    buckets.copy_object(bucket, "lake/lake/lake.json", "lake/lake/payments/2026-10.parquet")
    problems = verify_backup(url, progress=False).problems
    assert [path for _, path, _ in problems] == ["payments/2026-10.parquet"]


def test_a_lake_in_a_bucket_is_backed_up_and_restored_into_a_folder(made, url, tmp_path):
    """As its objects are now."""
    buckets.copy(made, url.split("/")[2], "lake")
    backup(Lake(url), tmp_path / "backups", progress=False)
    restore(tmp_path / "backups", tmp_path / "new", progress=False)
    found, wanted = kept(tmp_path / "new"), kept(made)
    assert found == {name: body for name, body in wanted.items() if name in found}
    assert wanted.keys() - found.keys() <= {"secret"}  # no object of a lake in a bucket


def test_two_backups_at_once_in_one_bucket_are_75():
    """Whoever was killed holds the lease for a minute; an error gives it back."""
    store = MemoryStore()
    one, other = (Archive(BucketTarget("s3://bucket/backups", store)) for _ in range(2))
    with one.writing(), pytest.raises(LakeBusy, match="try again later"), other.writing():
        pass
    with pytest.raises(ValueError, match="of the work"), one.writing():
        raise ValueError("of the work")
    with other.writing():
        pass
