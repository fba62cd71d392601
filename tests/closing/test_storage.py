"""A lake's storage writes all that others read of it, and removes only what it can get again."""

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from svc_analytics.bucket.mirror import open_folder
from svc_analytics.bucket.objects import STATEMENTS, key_of_file
from svc_analytics.bucket.writing import BucketStorage
from svc_analytics.errors import LakeError
from svc_analytics.files import DamagedFile
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.statements.wallet_balance import assert_balance
from svc_analytics.storage import LocalStorage, mended
from tests.support.buckets import MemoryStore
from tests.support.receipt_material import RING


class Recording(LocalStorage):
    """A folder that notes what is written there through it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.written: set[Path] = set()

    @contextmanager
    def write(self, path: Path, **how: Any) -> Iterator[Path]:
        with super().write(path, **how) as temporary:
            yield temporary
        self.written.add(path)

    @contextmanager
    def write_folder(self, path: Path) -> Iterator[Path]:
        with super().write_folder(path) as folder:
            yield folder
        self.written.update(path.iterdir())


def test_all_that_others_read_is_written_by_the_storage(closer):
    """Records, verdicts, seals, statements and what people typed; nothing goes past it."""
    lake = closer.desk.lake
    lake.storage = storage = Recording(lake.path)
    assert closer.close().seal
    verify_lake(lake, replace(closer.desk.settings, receipt_secrets=RING))
    assert_balance(lake, 0, "btc", "1")
    files = {path for path in lake.path.rglob("*") if path.is_file()}
    sealed = {*(lake.path / STATEMENTS / "2026-10").iterdir()}
    shared = {path for path in files if key_of_file(lake.path, path)} | sealed
    assert shared <= storage.written
    folders = {path.relative_to(lake.path).parts[0] for path in shared}
    assert folders >= {"payments", "receipt_verdicts", "statements", "lake.json", "assertions.csv"}


@pytest.fixture
def bucket(tmp_path) -> BucketStorage:
    """A copy of a bucket in which one month lies."""
    open_folder(tmp_path / "copy", "s3://bucket/lake")
    storage = BucketStorage(tmp_path / "copy", "s3://bucket/lake", MemoryStore())
    with storage.merging():
        month = storage.folder / "payments" / "2026-10.parquet"
        month.parent.mkdir()
        with storage.write(month) as temporary:
            temporary.write_text("rows")
    return storage


def test_a_damaged_copy_of_an_object_is_removed_and_got_again(bucket):
    path = bucket.folder / "payments" / "2026-10.parquet"
    told = r"2026-10\.parquet is torn or altered: .* is removed: run the command again; if .*: mend"
    with pytest.raises(LakeError, match=told), mended(bucket):
        raise DamagedFile(path, "mend it")
    assert not path.exists()
    bucket.refresh()
    assert path.read_text() == "rows"


@pytest.mark.parametrize("place", ["copy/.ids/2026-10.hashes", "2026-10.parquet"])
def test_a_damaged_file_that_is_no_object_stays(bucket, tmp_path, place):
    """Nor is one of a folder without a bucket removed."""
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    path.touch()
    for storage in (bucket, LocalStorage(bucket.folder)):
        with pytest.raises(DamagedFile, match="torn or altered: mend it"), mended(storage):
            raise DamagedFile(path, "mend it")
    assert path.exists()


def test_a_helper_process_names_a_damaged_file_as_this_one_does():
    error = DamagedFile(Path("2026-10.parquet"), "mend it")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
