"""Two machines write to one bucket at once: a record that moved is never in two months."""

from functools import partial
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from svc_analytics import ExtractionResult, LakeChanged, LakeError, StoreUnavailable
from svc_analytics.bucket import writing
from svc_analytics.bucket.store import Conflict, Version
from svc_analytics.lake.lake import Lake
from svc_analytics.schema import PAYMENTS
from svc_analytics.storage import add_file, merge_into
from tests.support.buckets import MemoryStore, copy_of
from tests.support.fake_service import FakeService, payment
from tests.support.publishing import after, before, read_again

OCTOBER = "payments/2026-10.parquet"
MOVED = "2026-11-01T00:00:00Z"  # from 2026-10-31, the oldest record there is


class Losing(MemoryStore):
    """A store to which one PUT comes late: its sender has given up by then."""

    late: tuple[str, bytes, Version | None] | None = None

    def put(self, key: str, body: bytes, replaces: Version | None) -> Version:
        if key == OCTOBER and self.late is None:
            self.late = (key, body, replaces)
            raise StoreUnavailable("no answer came")
        return super().put(key, body, replaces)


@pytest.fixture(autouse=True)
def leases_are_over_at_once(monkeypatch) -> None:
    """So that nothing but the conditions keeps two writers apart."""
    monkeypatch.setattr(writing, "LEASE_LENGTH", -1)


def machine(folder: Path, store: MemoryStore) -> Lake:
    return Lake(folder, storage=copy_of(store, folder))


def extract(
    lake: Lake, service: FakeService, transport: httpx.BaseTransport | None = None
) -> ExtractionResult:
    return read_again(lake, transport or service.transport)


def held(lake: Lake) -> dict[str, int]:
    """Return how many payments each month holds."""
    lake.refresh()
    return {
        month: pq.read_metadata(lake.month_path(PAYMENTS, month)).num_rows
        for month in lake.months(PAYMENTS)
    }


def check_moved(lake: Lake) -> None:
    """All that the service lists is held once, the record that moved in its new month."""
    lake.refresh()
    files = sorted(lake.folder(PAYMENTS).glob("*.parquet"))
    ids = {file.stem: pq.read_table(file)["id"].to_pylist() for file in files}
    held = [each for found in ids.values() for each in found]
    assert len(held) == len(set(held)) == 26
    assert len(ids["2026-09"]) == 1


def test_who_was_overtaken_while_reading_writes_nothing(tmp_path):
    """Ann reads what was; Bob reads what is, and writes it; then Ann comes to write."""
    store = MemoryStore()
    ann, bob = machine(tmp_path / "ann", store), machine(tmp_path / "bob", store)
    old, overtaken = before().transport, []

    def answer(request: httpx.Request) -> httpx.Response:
        if ".writer.json" in store.objects and not overtaken:
            overtaken.append(extract(bob, after()))
        return old.handle_request(request)

    told = "nothing was overwritten|took over writing"  # by the month, or first by the lease
    with pytest.raises(LakeChanged, match=told):
        extract(ann, before(), httpx.MockTransport(answer))
    check_moved(bob)


def test_a_month_that_arrives_after_its_sender_died_is_refused(tmp_path):
    """To Bob that month is empty, so he has no file of it but the one that keeps Ann's out."""
    store, service = Losing(), FakeService([payment(1, "2026-10-31T23:59:59Z")])
    ann, bob = machine(tmp_path / "ann", store), machine(tmp_path / "bob", store)
    with pytest.raises(StoreUnavailable):
        extract(ann, service)
    service.payments[0]["paid_at"] = MOVED
    extract(bob, service)
    with pytest.raises(Conflict):
        MemoryStore.put(store, *store.late)
    assert held(bob) == {"2026-10": 0, "2026-11": 1}


def test_who_lost_the_lease_puts_no_month_that_nobody_else_has(tmp_path):
    """The condition of the month alone would let Ann: it is new to her and to the bucket."""
    store, service = MemoryStore(), FakeService([payment(1, "2026-10-31T23:59:59Z")])
    ann, bob = machine(tmp_path / "ann", store), machine(tmp_path / "bob", store)
    extract(bob, FakeService([]))
    stale = FakeService([payment(1, "2026-10-31T23:59:59Z")])
    overtaken, free = [], store.objects[".writer.json"]

    def answer(request: httpx.Request) -> httpx.Response:
        response = stale.transport.handle_request(request)
        has_begun = store.objects[".writer.json"] != free
        if has_begun and b"2026-10" in response.read() and not overtaken:
            service.payments[0]["paid_at"] = MOVED
            overtaken.append(extract(bob, service))
        return response

    with pytest.raises(LakeChanged, match="took over writing"):
        extract(ann, service, httpx.MockTransport(answer))
    assert held(bob) == {"2026-11": 1}


def test_what_a_dead_machine_had_spilled_is_not_published_after_another_wrote(tmp_path):
    """Its rows were read before the other's: their time is read again."""
    store = MemoryStore()
    ann, bob = machine(tmp_path / "ann", store), machine(tmp_path / "bob", store)
    extract(ann, before())
    extract(bob, after())
    left = ann.path / ".runs" / "payments" / "1.run"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"rows of before")
    assert not any("interrupted" in note for note in extract(ann, after()).notes)
    check_moved(ann)


def test_a_file_beside_a_statement_reaches_each_machine_with_the_others(tmp_path):
    """Two machines add one each, the second to what it had not seen: neither is lost."""
    store, name = MemoryStore(), Path("statements") / "2026-10"
    one, other = (machine(tmp_path / each, store).storage for each in ("one", "other"))
    with one.merging(), one.write_folder(one.folder / name) as folder:
        (folder / "manifest.json").write_text("{}")
    other.refresh()
    for storage, added in ((one, "checkpoint.sig"), (other, "checkpoint.tsr")):
        path = storage.folder / name / added
        merge_into(storage, partial(add_file, storage, path, b"by one key"))
    one.refresh()
    for storage in (one, other):
        held = {path.name: path.read_bytes() for path in (storage.folder / name).iterdir()}
        signed = dict.fromkeys(["checkpoint.sig", "checkpoint.tsr"], b"by one key")
        assert held == {"manifest.json": b"{}", **signed}


def test_a_file_that_one_machine_removed_is_gone_for_each_and_may_be_written_anew(tmp_path):
    """The signature of a chain that has grown since; one that is not there is no error."""
    store, name = MemoryStore(), Path("statements") / "chain.json.sig"
    one, other = (machine(tmp_path / each, store).storage for each in ("one", "other"))
    (one.folder / name.parent).mkdir()
    for content in (b"of one text", b"of another"):
        with one.merging(), one.write(one.folder / name) as temporary:
            temporary.write_bytes(content)
        other.refresh()
        assert (other.folder / name).read_bytes() == content
        for storage in (one, other):
            with storage.merging():
                storage.remove(storage.folder / name)
        assert not (one.folder / name).exists() and not (other.folder / name).exists()
    assert str(name) not in store.objects


SWAPPED = {OCTOBER: "it is the file of another month", "lake.json": "move it away and run extract"}


@pytest.mark.parametrize("key", SWAPPED)
def test_an_object_in_the_place_of_another_is_named_as_the_buckets(key, tmp_path):
    """Whoever mended the copy alone would meet it again at the next command."""
    store = MemoryStore()
    ann = machine(tmp_path / "ann", store)
    extract(ann, after())
    store.objects[key] = store.objects["payments/2026-09.parquet"]
    ann.refresh()
    told = rf"{key} .* in s3://bucket/lake was removed: .* the object itself is damaged: "
    with pytest.raises(LakeError, match=told + SWAPPED[key]):
        ann.footers(PAYMENTS)
