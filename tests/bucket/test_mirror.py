"""A copy holds what one listing named; what replaces a file names the version it was made of."""

import json
import time
from pathlib import Path

import pytest

from svc_analytics.bucket import writing
from svc_analytics.bucket.mirror import BOOK_FILE
from svc_analytics.bucket.store import Version
from svc_analytics.bucket.writing import BucketStorage
from svc_analytics.errors import LakeBusy, LakeChanged, StoreError
from svc_analytics.files import write_json
from svc_analytics.lake.typed_files import append_rows
from svc_analytics.storage import merge_into, replacing_files
from tests.support.buckets import MemoryStore, copy_of

MONTH = "payments/2026-10.parquet"
COLUMNS = ("check", "by")


class Machines:
    """Machines with a copy each of one bucket."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryStore()

    def open(self, name: str, store: MemoryStore | None = None) -> BucketStorage:
        bucket = copy_of(store or self.store, self.folder / name)
        bucket.refresh()
        return bucket


@pytest.fixture
def machines(tmp_path) -> Machines:
    return Machines(tmp_path)


def put(bucket: BucketStorage, text: str, key: str = MONTH) -> None:
    path = bucket.folder / key
    path.parent.mkdir(exist_ok=True)
    with bucket.write(path) as temporary:
        temporary.write_text(text)


def test_a_month_that_another_machine_made_first_is_not_overwritten(machines):
    """The loser is told, and its copy has the winner's."""
    ann, bob = machines.open("ann"), machines.open("bob")
    put(ann, "of ann")
    with pytest.raises(LakeChanged, match="nothing was overwritten"):
        put(bob, "of bob")
    assert machines.store.objects[MONTH] == b"of ann"
    assert (bob.folder / MONTH).read_text() == "of ann"


def test_who_loses_reads_again_and_merges_again(machines):
    """Two people accept a finding at once: both lines stay."""
    ann, bob = machines.open("ann"), machines.open("bob")
    paths = [each.folder / "acknowledgements.csv" for each in (ann, bob)]
    raced = []

    def add() -> None:
        before = paths[1].read_text() if paths[1].exists() else "check,by\n"
        if not raced:
            raced.append(append_rows(ann, paths[0].name, COLUMNS, [{"check": "a", "by": "Ann"}]))
        with bob.write(paths[1]) as temporary:
            temporary.write_text(f"{before}b,Bob\n")

    merge_into(bob, add)
    assert machines.store.objects["acknowledgements.csv"] == b"check,by\na,Ann\nb,Bob\n"


def test_an_object_replaced_while_it_is_read_means_a_new_listing(machines):
    """Never one file of before, and one of after."""
    ann = machines.open("ann")
    put(ann, "old")
    put(ann, "old", "lake.json")

    class Replaced(MemoryStore):
        objects = machines.store.objects
        gets = 0

        def get(self, key: str, version: Version | None = None) -> tuple[bytes, Version]:
            self.gets += 1
            if self.gets == 2:
                put(ann, "new")
                put(ann, "new", "lake.json")
            return machines.store.get(key, version)

        def list(self) -> dict[str, Version]:
            return machines.store.list()

    bob = machines.open("bob", Replaced())
    assert [(bob.folder / key).read_text() for key in (MONTH, "lake.json")] == ["new", "new"]


def test_a_copy_gets_only_what_changed(machines):
    ann, bob = machines.open("ann"), machines.open("bob")
    put(ann, "1")
    put(ann, "2", "payments/2026-11.parquet")
    bob.refresh()
    before = (bob.folder / MONTH).stat().st_mtime_ns
    put(ann, "3", "payments/2026-11.parquet")
    bob.refresh()
    assert (bob.folder / MONTH).stat().st_mtime_ns == before
    assert (bob.folder / "payments/2026-11.parquet").read_text() == "3"


def test_a_file_of_the_copy_that_was_changed_or_lost_is_read_again(machines):
    """So is one of which the torn book of the copy does not tell."""
    ann = machines.open("ann")
    put(ann, "whole")
    for book in ("whole", "torn"):
        for damage in (lambda path: path.write_text("torn"), Path.unlink):
            damage(ann.folder / MONTH)
            if book == "torn":
                (ann.folder / BOOK_FILE).write_text("{")
            ann.refresh()
            assert (ann.folder / MONTH).read_text() == "whole"


@pytest.mark.parametrize(
    ("key", "is_left"),
    [(MONTH, False), ("acknowledgements.csv", True), ("changes/payments/2026-10.parquet", True)],
)
def test_a_copy_forgets_nothing_that_cannot_be_read_again(machines, key, is_left):
    """What the bucket lost lies aside, out of sight of the lake; a newer one takes its place."""
    ann, bob = machines.open("ann"), machines.open("bob")
    for text in ("one", "two"):
        (ann.folder / key).parent.mkdir(parents=True, exist_ok=True)
        put(ann, text, key)
        bob.refresh()
        machines.store.delete(key)
        for each in (ann, bob):
            each.refresh()
            aside = each.folder / ".gone" / key
            assert not (each.folder / key).exists() and aside.exists() == is_left
            assert not is_left or aside.read_text() == text


def test_what_is_of_this_machine_alone_stays_here(machines):
    """Indexes, runs and views are made again; nobody else needs them."""
    ann = machines.open("ann")
    for key in (".ids/payments.hashes", ".views.json", "analytics.duckdb"):
        (ann.folder / key).parent.mkdir(exist_ok=True)
        write_json(ann.write(ann.folder / key), {})
    assert machines.store.objects == {}


def state(bucket: BucketStorage, text: str) -> None:
    """Write a statement of October, as a folder with one file."""
    with bucket.write_folder(bucket.folder / "statements" / "2026-10") as folder:
        (folder / "manifest.json").write_text(text)


def test_a_statement_is_one_object_that_the_first_closer_puts(machines):
    """The other one gets it, whole, and overwrites nothing."""
    ann, bob = machines.open("ann"), machines.open("bob")
    state(ann, "of ann")
    put_once = machines.store.objects["statements/2026-10.zip"]
    with pytest.raises(LakeChanged, match=r"2026-10\.zip was replaced by another machine"):
        state(bob, "of bob")
    assert machines.store.objects == {"statements/2026-10.zip": put_once}
    assert (bob.folder / "statements/2026-10/manifest.json").read_text() == "of ann"


def test_a_lake_made_in_the_copy_is_put_whole_and_its_description_last(machines):
    """Until it is all there, nobody takes it for a lake."""
    ann = machines.open("ann")
    for key in ("lake.json", MONTH, "statements/2026-10/manifest.json", ".ids/hashes"):
        (ann.folder / key).parent.mkdir(parents=True, exist_ok=True)
        (ann.folder / key).write_text(key)
    ann.put_new()
    assert [*machines.store.objects] == ["statements/2026-10.zip", MONTH, "lake.json"]
    ann.put_new()  # once: what is there is put no second time


def test_one_machine_writes_at_a_time(machines):
    ann, bob = machines.open("ann"), machines.open("bob")
    told = "is writing to s3://bucket/lake"
    with ann.writing(0), pytest.raises(LakeBusy, match=told), bob.writing(0):
        raise AssertionError
    with bob.writing(0) as inherited:
        assert not inherited.is_own and inherited.since is None and inherited.intents == ()


def test_who_takes_over_learns_what_may_be_on_its_way(machines, monkeypatch):
    """A machine that died holds the lease until it is over; its months are then put anew."""
    ann, bob = machines.open("ann"), machines.open("bob")
    monkeypatch.setattr(writing, "LEASE_LENGTH", -1)
    with pytest.raises(OSError, match="a disk"), ann.writing(17):
        put(ann, "of ann")
        raise OSError("a disk")
    with bob.writing(20) as inherited:
        assert (inherited.since, inherited.intents) == (17, (MONTH,))


def lease_of_bob(**changed: object) -> bytes:
    """A lease that another machine holds, and has not given back."""
    lease = {"copy": "bob's", "who": "Bob", "since": 17, "is_free": False, "intents": [MONTH]}
    return json.dumps(lease | {"until": time.time() + 60} | changed).encode()


UNREADABLE = [b"{", *(lease_of_bob(**{name: "x"}) for name in ("since", "until", "intents"))]


@pytest.mark.parametrize("lease", [*UNREADABLE, lease_of_bob(intents=["payments/../../x"])])
def test_a_lease_that_cannot_be_read_stops_every_writer(machines, lease):
    """It may have named months that are still on their way."""
    machines.store.put(".writer.json", lease, None)
    with pytest.raises(StoreError, match=r"\.writer\.json cannot be read"):
        machines.open("ann").writing(0).__enter__()


def test_a_machine_that_died_with_its_clock_years_ahead_holds_the_lease_no_longer(machines):
    machines.store.put(".writer.json", lease_of_bob(until=time.time() + 10**8), None)
    with machines.open("ann").writing(20) as inherited:
        assert (inherited.since, inherited.intents) == (17, (MONTH,))


def test_a_match_that_is_saved_again_is_that_of_every_machine(machines):
    """File by file: one that the new match lacks is gone, and what names the others came last."""
    ann, bob = machines.open("ann"), machines.open("bob")
    place = "matches/2026-10/orders"
    for names in (["match.json", "rows.csv"], ["match.json", "rows.parquet"]):
        with replacing_files(ann, ann.folder / place) as new:
            for name in names:
                (new / name).write_text(str(names))
        bob.refresh()
        assert [*machines.store.objects] == [f"{place}/{name}" for name in reversed(names)]
        texts = {path.name: path.read_text() for path in (bob.folder / place).iterdir()}
        assert texts == dict.fromkeys(names, str(names))
