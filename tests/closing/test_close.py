"""Closing months: sealed once, restated beside, refused while open.

A lake's storage writes all that others read of it, and removes only what it can get again.
"""

import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from svc_analytics import LakeBusy, LakeError, Unavailable, statement, verify_statement
from svc_analytics.bucket.objects import STATEMENTS, key_of_file
from svc_analytics.bucket.writing import BucketStorage
from svc_analytics.closing.seals import read_manifest, read_register
from svc_analytics.files import DamagedFile, restore_folders
from svc_analytics.proofs.tree import require_secret
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.statements.balance_assertions import assert_balance
from svc_analytics.storage import LocalStorage, mended
from tests.support.buckets import MemoryStore, copy_of
from tests.support.closings import Closer, figure, row_causes, table
from tests.support.fake_service import payment, refusal
from tests.support.receipt_material import RING

MISSING = "refund_has_its_payment"


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_month_is_read_twice_before_it_is_sealed(closer):
    """After the normal run, the month again and again; the second finds nothing new."""
    assert closer.closed("2026-10")[0].state == "sealed"
    read = [(request.rereads, request.end is None) for request in closer.asked]
    assert read == [(False, True), (True, False), (True, False)]


def test_the_same_lake_closes_to_the_same_bytes(closer, tmp_path):
    """Two copies of a lake with its secret, closed apart: every file and the seal are one."""
    closer.desk.extract()
    require_secret(closer.desk.lake.storage)
    twin = tmp_path / "twin"
    shutil.copytree(closer.desk.lake.path, twin)
    here = closer.close().folder
    closer.desk.lake = type(closer.desk.lake)(twin)
    assert content(closer.close().folder) == content(here)


@pytest.mark.thorough
def test_a_changed_note_is_a_changed_row_without_a_figure(closer):
    """Metadata is no money: the record is named, no figure moves, nothing blocks."""
    closer.sealed()
    closer.desk.service.payments[2]["metadata"] = {"cart": "other"}
    restated = closer.close()
    rows = table(restated.folder, "restatement")
    assert restated.state == "restated"
    assert row_causes(rows) == [(closer.desk.service.payments[2]["id"], "changed", "changed")]
    assert {row["subject"] for row in rows} == {"row"}


@pytest.mark.thorough
def test_a_changed_amount_waits_for_a_person(closer):
    """Restated money blocks; once accepted, version 2 is sealed with the finding printed."""
    closer.sealed()
    record = closer.desk.service.payments[2]
    record |= {"amount": "110", "charged_amount": "110", "net_amount": "109"}
    waiting = closer.close()
    assert (waiting.state, waiting.seal, waiting.version) == ("provisional", None, 2)
    assert read_manifest(waiting.folder)["version"] == 2
    assert "changed in money or identity" in waiting.reasons[0].text
    closer.accept("record_was_not_restated", record["id"])
    restated = closer.close()
    rows = table(restated.folder, "restatement")
    assert restated.state == "restated" and restated.folder == waiting.folder
    assert (record["id"], "changed", "changed") in row_causes(rows)
    assert figure(rows, "gross_sales") == ("100", "110", "10", "changed")


@pytest.mark.thorough
def test_a_refund_whose_payment_turns_up_is_reclassified(closer):
    """The refund is the same; what it is counted as is not."""
    september = closer.desk.service.payments.pop(1)
    refund = closer.desk.service.payouts[0]
    closer.accept(MISSING, refund["id"], "the payment was made in the console")
    assert closer.close().state == "sealed"
    closer.desk.service.payments.append(september)
    closer.desk.extract(rereads=True)
    rows = table(closer.close().folder, "restatement")
    assert row_causes(rows) == [(refund["id"], "changed", "reclassified")]
    assert figure(rows, "refunds_unresolved") == ("0.5", "0", "-0.5", "reclassified")
    assert figure(rows, "refunds_prior_period") == ("0", "0.5", "0.5", "reclassified")


def test_a_blocking_finding_keeps_a_month_unsealed_until_it_is_accepted(closer):
    """Provisional, in no register, and nothing that holds; what came since is shown.

    Then it is sealed in the same place, with who accepted it.
    """
    closer.desk.service.payments.pop(1)
    [waiting] = closer.closed("2026-10")
    assert (waiting.state, waiting.seal) == ("provisional", None) and waiting.needs_attention
    assert read_register(waiting.folder.parent).rows == ()
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    closer.accept(MISSING, closer.desk.service.payouts[0]["id"], "made in the console")
    closer.confirm("2026-10")
    provisional = verify_statement(waiting.folder)
    assert provisional.unproven[0].startswith("never sealed") and provisional.table.num_rows
    sealed = closer.close()
    assert (sealed.state, sealed.folder) == ("sealed", waiting.folder)
    [finding] = table(sealed.folder, "checks")
    assert finding["acknowledged_reason"] == "made in the console"
    assert finding["acknowledged_by"] == "Mina"


def test_what_is_beyond_the_contract_may_change_at_each_reading(closer):
    """Clients must ignore it (contract, Conventions): it holds up no close; the newest is kept."""
    closer.desk.extract()

    def read(request: Any) -> Any:
        for each in closer.desk.service.payments:
            each["served_at"] = len(closer.asked)
        return Closer.read(closer, request)

    closer.read = read  # type: ignore[method-assign]
    assert closer.close().state == "sealed" and len(closer.asked) == 3
    assert set(
        closer.desk.lake.sql("select extra from payments where month = '2026-10'")["extra"]
    ) == {'{"served_at":2}'}


@pytest.mark.thorough
def test_one_late_record_while_reading_costs_a_third_pass(closer):
    """The third agrees with the second: sealed."""
    closer.desk.extract()

    def read(request: Any) -> Any:
        if len(closer.asked) == 2:
            closer.desk.service.payments.append(payment(97, "2026-10-21T10:00:00Z"))
        return Closer.read(closer, request)

    closer.read = read  # type: ignore[method-assign]
    assert closer.close().state == "sealed" and len(closer.asked) == 4


@pytest.mark.thorough
def test_grace_is_counted_to_the_instant(closer):
    """A day after its end, by the service's clock, a month may be closed."""
    closer.desk.service.now = datetime(2026, 11, 2, tzinfo=UTC)
    assert closer.close().state == "sealed"


def test_a_service_that_is_away_leaves_the_month_alone(closer):
    """Trying later may help; nothing was written."""
    closer.desk.service.intercept = lambda request: refusal(503, "MAINTENANCE")
    with pytest.raises(Unavailable):
        closer.close()
    assert not (closer.desk.lake.path / "statements").exists()


def test_all_due_of_an_empty_history_is_done(closer):
    """No record, no month."""
    closer.desk.service.payments, closer.desk.service.payouts = [], []
    assert closer.close_all_due() == []


def test_a_note_laid_into_a_sealed_folder_stops_no_timer(closer):
    """Only what was sealed can be altered; verification names the note."""
    folder = closer.sealed()
    (folder / "note.txt").write_text("paid to the accountant")
    assert closer.close().state == "unchanged"
    assert verify_statement(folder).broken == ("note.txt does not belong to the statement",)


def test_two_do_not_close_at_once(closer):
    """The second says so and may try later."""

    def read(request: Any) -> Any:
        if request.rereads:
            closer.close()
        return closer.desk.extract()

    with pytest.raises(LakeBusy):
        Closer.close(type("Other", (), {"desk": closer.desk, "read": staticmethod(read)})())


KILLED = """
import os, sys
from pathlib import Path
from svc_analytics import open_lake, statement

rename, moves = Path.rename, iter(range(1, 9))

def killed(path, target):
    return os._exit(9) if next(moves) == int(sys.argv[1]) else rename(path, target)

Path.rename = killed
statement(open_lake("data"), "2026-10").save("data/statements/2026-10")
"""


@pytest.mark.thorough
@pytest.mark.parametrize("move", ["1", "2"], ids=["before the swap", "within the swap"])
def test_a_kill_leaves_the_old_folder_or_the_new(closer, move):
    """Dead between write and swap, or between its two moves: the next run finds the old."""
    closer.desk.service.payments.pop(1)
    folder = closer.sealed()
    before = content(folder)
    assert subprocess.run([sys.executable, "-c", KILLED, move]).returncode == 9
    assert folder.exists() == (move == "1")
    restore_folders(folder.parent)
    assert content(folder) == before
    assert closer.close().folder == folder


# ---------- what closing a month tells while it works, for a person who waits


def test_closing_a_month_tells_what_it_is_doing(closer):
    """In the order of the work: a workbook and a page take seconds each, tables none.

    So does a statement that is saved.
    """
    told: list[str] = []
    closer.close(formats=["csv", "json", "journal"], note=told.append)
    assert told[:2] == ["reading 2026-10 again", "stating 2026-10"]
    assert told[2:] == ["writing json", "writing journal"]
    statement(closer.desk.lake, "2026-10").save("out", ["csv", "json"], note=told.append)
    assert told[4:] == ["writing json"]


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
    storage = copy_of(MemoryStore(), tmp_path / "copy")
    with storage.merging():
        month = storage.folder / "payments" / "2026-10.parquet"
        month.parent.mkdir()
        with storage.write(month) as temporary:
            temporary.write_text("rows")
    return storage


def test_a_damaged_copy_of_an_object_is_removed_and_got_again(bucket):
    path = bucket.folder / "payments" / "2026-10.parquet"
    told = (
        r"2026-10\.parquet is torn or altered: .* was removed: run the command again; if .*: mend"
    )
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
