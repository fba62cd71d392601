"""The verdicts the lake keeps: complete, renewed only where something changed, secret-free."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from svc_analytics.api.client import Client
from svc_analytics.config import Settings
from svc_analytics.errors import (
    ApiError,
    ConfigError,
    KeyRefused,
    LakeBusy,
    LakeError,
    NotFound,
    Unavailable,
)
from svc_analytics.lake.month_file import read_groups
from svc_analytics.lake.side_files import read_about, read_side_file, replace_file
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import month
from svc_analytics.receipts import verify_lake as module
from svc_analytics.receipts.bulk import OnlineVerifier
from svc_analytics.receipts.helper_processes import map_shared
from svc_analytics.receipts.lake_months import count_codes
from svc_analytics.receipts.verify_lake import ring_fingerprint, verify_lake, verify_month
from svc_analytics.schema import PAYMENTS
from svc_analytics.signing.receipt_tokens import FACTS, Verdict
from svc_analytics.signing.secrets import parse_secrets
from svc_analytics.warehouse.warehouse import open_warehouse
from tests.support.altered import flip
from tests.support.closings import findings_of
from tests.support.fake_service import MERCHANT_ID, payment
from tests.support.prepared import extracted
from tests.support.receipt_material import FACTS as STATED, RING, SECRET, signed

SETTINGS = Settings(receipt_secrets=parse_secrets(SECRET))
Record = dict[str, Any]


def receipted(number: int, paid_at: str, secret: str = SECRET, **changes: str) -> Record:
    """Make a payment with its receipt; `changes` are facts that only the receipt states."""
    made = payment(number, paid_at)
    stated = made | {"payment_id": made["id"], "merchant_id": MERCHANT_ID} | changes
    return made | {"receipt": signed({name: stated[name] for name in FACTS}, secret)}


BY_VERDICT = {
    "valid": receipted(1, "2026-09-30T23:59:59Z"),
    "facts_mismatch": receipted(2, "2026-10-02T08:00:00Z", amount="11"),
    "bad_signature": receipted(3, "2026-10-03T08:00:00Z", "forged"),
    "malformed": payment(4, "2026-10-04T08:00:00Z", receipt="v1.junk"),
    "missing": payment(5, "2026-10-05T08:00:00Z"),
}


@pytest.fixture
def held(desk) -> Lakehouse:
    desk.service.payments = list(BY_VERDICT.values())
    return extracted(desk).lake


def statuses(lake: Lakehouse) -> dict[str, str]:
    found = lake.sql("select payment_id, verdict from receipt_status")
    return dict(zip(found["payment_id"], found["verdict"], strict=True))


def test_every_payment_has_a_status(held):
    """Before: missing or not checked. After: what its receipt proves."""
    assert sorted(statuses(held).values()) == ["missing", *["not_checked"] * 4]
    assert verify_lake(held, SETTINGS).checked == 4
    assert statuses(held) == {record["id"]: verdict for verdict, record in BY_VERDICT.items()}


def test_a_status_shows_both_values_of_a_differing_fact(held):
    """What a person needs to act: the fact, what the receipt says, what the record says."""
    verify_lake(held, SETTINGS)
    row = held.sql("from receipt_status where verdict = 'facts_mismatch'").iloc[0]
    assert row["differences"] == '{"amount": {"receipt": "11", "record": "10"}}'
    assert row["month"] == "2026-10" and row["checked_at"].year >= 2026


def test_wrong_receipts_block_and_others_do_not(held):
    """The check names the three wrong ones, and nothing before they were checked."""
    rule = "receipt_proves_its_payment"
    assert findings_of(held, rule).empty
    verify_lake(held, SETTINGS)
    wrong = ("facts_mismatch", "bad_signature", "malformed")
    found = set(findings_of(held, rule)["record_id"])
    assert found == {BY_VERDICT[verdict]["id"] for verdict in wrong}


def test_a_second_run_checks_nothing(held):
    """And leaves the files as they are."""
    verify_lake(held, SETTINGS)
    folder = held.path / "receipt_verdicts"
    before = {path.name: path.stat().st_ino for path in folder.iterdir()}
    assert (verify_lake(held, SETTINGS).checked, verify_lake(held, SETTINGS).unchanged) == (0, 4)
    assert {path.name: path.stat().st_ino for path in folder.iterdir()} == before


def test_only_new_and_changed_rows_are_checked_again(held, desk):
    """A new payment, and one whose receipt was mended: two checks, no more."""
    verify_lake(held, SETTINGS)
    desk.service.payments[2] = receipted(3, "2026-10-03T08:00:00Z")
    desk.service.payments.append(receipted(6, "2026-10-06T08:00:00Z"))
    desk.extract(rereads=True)
    assert statuses(held)[BY_VERDICT["bad_signature"]["id"]] == "not_checked"
    done = verify_lake(held, SETTINGS)
    assert (done.checked, done.unchanged) == (2, 3)
    assert statuses(held)[BY_VERDICT["bad_signature"]["id"]] == "valid"


@pytest.mark.parametrize("secrets", [f"new,{SECRET}", f"{SECRET}@2026-01-01"])
def test_other_secrets_or_dates_check_everything_again(held, secrets):
    """A verdict is only as good as the ring it rests on."""
    verify_lake(held, SETTINGS)
    assert verify_lake(held, Settings(receipt_secrets=parse_secrets(secrets))).checked == 4


def test_verdicts_by_earlier_rules_are_found_anew(held, monkeypatch):
    """An earlier release did not see each difference: what it found is not relied on."""
    monkeypatch.setattr(module, "RULES", module.RULES - 1)
    verify_lake(held, SETTINGS)
    monkeypatch.undo()
    assert (verify_lake(held, SETTINGS).checked, verify_lake(held, SETTINGS).checked) == (4, 0)


def test_what_the_service_proved_stays_proven_where_a_file_has_no_messages(held):
    """An earlier release kept none: only what was not proven is verified again, for its code."""
    verify_lake(held, SETTINGS)
    path = held.path / "receipt_verdicts" / "2026-10.parquet"
    table, about = read_side_file(path).drop_columns("message"), read_about(path)
    wrong = pc.equal(table["verdict"], "bad_signature")
    verdicts = pc.if_else(wrong, "valid", table["verdict"])
    online = table.set_column(table.column_names.index("verdict"), "verdict", verdicts)
    replace_file(held.storage.write(path), online.schema, [online], about=about)
    assert verify_lake(held, SETTINGS).checked == 2  # facts_mismatch and malformed
    assert statuses(held)[BY_VERDICT["bad_signature"]["id"]] == "valid"
    assert count_codes([path])["receipt.amount_differs"] == 1


def test_a_torn_file_of_verdicts_is_made_anew(held):
    """Verdicts can always be had again; nothing is lost with them."""
    verify_lake(held, SETTINGS)
    (held.path / "receipt_verdicts" / "2026-10.parquet").write_bytes(b"PAR1 torn PAR1")
    assert verify_lake(held, SETTINGS).checked == 3


def test_a_flipped_bit_under_a_whole_footer_is_noticed_and_mended(held):
    """The footer still says what the verdicts rest on; the pages no longer say the verdicts."""
    verify_lake(held, SETTINGS)
    path = held.path / "receipt_verdicts" / "2026-10.parquet"
    flip(path, 60)
    assert pq.read_metadata(path).num_rows == 3
    with pytest.raises(LakeError, match="run receipts verify"), open_warehouse(held):
        pass
    assert (verify_lake(held, SETTINGS).checked, verify_lake(held, SETTINGS).checked) == (3, 0)
    assert statuses(held) == {record["id"]: verdict for verdict, record in BY_VERDICT.items()}


def test_what_a_killed_run_left_is_swept(held):
    """A half-written file is never read and does not stay."""
    left = held.path / "receipt_verdicts" / ".2026-10.checking"
    left.write_bytes(b"half")
    verify_lake(held, SETTINGS)
    assert not left.exists()


def test_one_month_is_verified_alone(held):
    """What closing a month needs: its UTC months, whatever its zone."""
    september, october = month("2026-09"), month("2026-10", "Asia/Tehran")
    assert verify_month(held, SETTINGS, september.start, september.end).checked == 1
    done = verify_month(held, SETTINGS, october.start, october.end)
    assert (done.checked, done.unchanged) == (3, 1)  # Tehran's October begins in September


def test_who_verifies_one_month_reads_no_other(held):
    """A flipped bit of October is none of September's; who verifies October is told of it."""
    flip(held.path / "payments" / "2026-10.parquet", 200)
    september, october = month("2026-09"), month("2026-10")
    assert verify_month(held, SETTINGS, september.start, september.end).checked == 1
    with pytest.raises(LakeError, match=r"payments/2026-10\.parquet"):
        verify_month(held, SETTINGS, october.start, october.end)


def test_no_secret_is_kept(held):
    """Not in any file; the fingerprint changes with a secret and does not tell it."""
    verify_lake(held, SETTINGS)
    files = b"".join(path.read_bytes() for path in held.path.rglob("*") if path.is_file())
    assert SECRET.encode() not in files
    assert ring_fingerprint(parse_secrets("a")) != ring_fingerprint(parse_secrets("b"))
    rows = pq.read_table(held.path / "receipt_verdicts" / "2026-10.parquet")
    assert set(rows["ring"].to_pylist()) == {ring_fingerprint(SETTINGS.receipt_secrets)}


def test_without_a_secret_or_beside_another_run_nothing_is_verified(held, monkeypatch):
    """One clear error each, and no verdict."""
    monkeypatch.setattr("svc_analytics.files.LOCK_PATIENCE", 0)
    with pytest.raises(ConfigError, match="SVC_RECEIPT_SECRETS"):
        verify_lake(held, Settings())
    with FileLock(held.path / ".receipts.lock"), pytest.raises(LakeBusy):
        verify_lake(held, SETTINGS)
    assert sorted(statuses(held).values()) == ["missing", *["not_checked"] * 4]


UNSURE = Verdict("bad_signature", "unsure")
RECORD = STATED | {"id": STATED["payment_id"], "status": "completed"}


def opinion(token: str, verified: Any, payment: Any = None) -> tuple[Verdict, list[str]]:
    """Ask a service that answers so; return the verdict, and what it was asked for."""
    client = create_autospec(Client, instance=True)
    client.me.return_value = [{"id": STATED["merchant_id"]}]
    client.verify_receipt.side_effect = [verified]
    client.payment.side_effect = [payment or NotFound("gone")]
    found = OnlineVerifier(client, RING).verify(token, UNSURE)
    return found, [call.args[0] for call in client.method_calls[1:]]


FORGED = signed(STATED, "forged")
REFUSALS: dict[str, Any] = {
    "invalid": ApiError("no", status=422, codes=("PAY_RECEIPT_INVALID",)),
    "valid is false": {"valid": False, "payment": RECORD},
    "too large": ApiError("no", status=413),
    "validation": ApiError("no", status=400, codes=("VALIDATION_FAILED",)),
}


@pytest.mark.parametrize("answer", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_token_is_held_against_the_payment(answer):
    """The durable proof is the record (contract, Events 8); no refusal stops the run."""
    found, asked = opinion(FORGED, answer, RECORD)
    assert asked == [FORGED, STATED["payment_id"]]
    assert found.verdict == "bad_signature"
    assert "the record holds the same facts (the service does not verify it)" in found.reason


def test_a_verified_token_is_valid_though_no_secret_of_ours_signed_it():
    """Then the ring lacks a secret, and the reason says so."""
    found, _ = opinion(FORGED, {"valid": True, "payment": RECORD})
    assert found.verdict == "valid" and "lacks a secret that is in force" in found.reason


def test_verified_facts_are_still_compared():
    """The service's word for a token is no word for facts that its record does not hold."""
    found, _ = opinion(signed(STATED), {"valid": True, "payment": RECORD | {"amount": "1"}})
    assert found.verdict == "facts_mismatch"


def test_a_payment_that_the_service_does_not_have_is_unknown():
    """Rightly signed, refused, and not found."""
    assert opinion(signed(STATED), REFUSALS["invalid"])[0].verdict == "unknown_payment"


def test_no_other_than_an_id_of_the_service_is_asked_for():
    """The id in a token is whatever its maker wrote."""
    token = signed(STATED | {"payment_id": "../payouts"})
    found, asked = opinion(token, REFUSALS["invalid"], RECORD)
    assert found.verdict == "unknown_payment" and asked == [token]


@pytest.mark.parametrize("error", [KeyRefused("401", status=401), Unavailable("away", status=503)])
def test_a_refused_key_or_an_absent_service_is_no_verdict(error):
    """401 and 503 say nothing of a token: the command ends with them."""
    with pytest.raises(type(error)):
        opinion(FORGED, error)


# ---------- months in parts: shared among processes, and written as one would


@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_month_is_shared_by_its_row_groups(desk, monkeypatch, workers):
    """Here of one row each: verdicts stand in the order of the payments, whoever made them."""
    monkeypatch.setattr("svc_analytics.lake.month_file.ROW_GROUP", 1)
    desk.service.payments = [receipted(n, f"2026-10-{n:02}T08:00:00Z") for n in range(1, 8)]
    desk.extract()
    assert verify_lake(desk.lake, SETTINGS, workers=workers).checked == 7
    desk.service.payments[3] = receipted(4, "2026-10-04T08:00:00Z", amount="11")
    desk.service.payments.append(receipted(8, "2026-10-08T08:00:00Z"))
    desk.extract(rereads=True)
    done = verify_lake(desk.lake, SETTINGS, workers=workers)
    rows = pq.read_table(desk.lake.path / "receipt_verdicts" / "2026-10.parquet")
    assert (done.checked, done.unchanged) == (2, 6)
    assert rows["payment_id"].to_pylist() == [record["id"] for record in desk.service.payments]
    assert rows["verdict"].to_pylist() == [*["valid"] * 3, "facts_mismatch", *["valid"] * 4]


@pytest.mark.parametrize(
    ("altered", "readable"), [(0.25, ["second"]), (0.75, ["first"]), ("the footer", [])]
)
def test_some_row_groups_vouch_for_their_own_pages_and_the_footer(
    desk, monkeypatch, altered, readable
):
    """Of two groups of one row, one byte is altered: one of another group is not read at all."""
    monkeypatch.setattr("svc_analytics.lake.month_file.ROW_GROUP", 1)
    desk.service.payments = [receipted(n, f"2026-10-{n:02}T08:00:00Z") for n in (1, 2)]
    desk.extract()
    path = desk.lake.month_path(PAYMENTS, "2026-10")
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little")
    rows = len(data) - 8 - footer
    flip(path, int(rows * altered) if isinstance(altered, float) else rows + footer // 2)
    groups = {"first": range(1), "second": range(1, 2)}
    assert [name for name, each in groups.items() if is_read(path, each)] == readable
    assert not is_read(path, None)


def is_read(path: Path, groups: range | None) -> bool:
    """Tell whether these row groups of a file can be read, each being one row."""
    try:
        return len([*read_groups(path, groups=groups)]) > 0
    except LakeError:
        return False


# ---------- work shared with helpers


def test_every_job_is_done_once_and_both_sides_work():
    """Whoever is free takes the next; here, each waits until the other has taken one.

    Results come in the order of the jobs, whoever was first.
    """
    here, there = threading.Event(), threading.Event()

    def work(mine: threading.Event, others: threading.Event, job: int) -> int:
        mine.set()
        assert others.wait(30)
        return job * 10

    with ThreadPoolExecutor() as pool:
        begin = partial(pool.submit, partial(work, there, here))
        done = list(map_shared(range(50), partial(work, here, there), begin, 1))
    assert done == [(job, job * 10) for job in range(50)]


@pytest.mark.parametrize("side", ["here", "there"])
def test_an_error_on_either_side_is_raised_and_ends_the_work(side):
    """The disk is full: no helper goes on through a year of months."""
    begun: list[int] = []
    failing = threading.Event()

    def fail(job: int) -> int:
        failing.set()
        raise OSError("disk full")

    def work(job: int) -> int:
        failing.wait(30)
        begun.append(job)
        return job

    here, there = (fail, work) if side == "here" else (work, fail)
    with ThreadPoolExecutor() as pool, pytest.raises(OSError, match="disk full"):
        list(map_shared(range(300_000), here, partial(pool.submit, there), helpers=1))
    assert len(begun) < 300_000


def test_a_job_that_cannot_be_made_ends_the_work():
    """A month that cannot be read is told, whoever came to it."""

    def jobs() -> Iterator[int]:
        yield 1
        raise OSError("cannot read")

    with ThreadPoolExecutor() as pool, pytest.raises(OSError, match="cannot read"):
        list(map_shared(jobs(), abs, partial(pool.submit, abs), helpers=1))


KILLED = """
import os, signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from svc_analytics.receipts.helper_processes import begin_helper
if __name__ == "__main__":
    pool = ProcessPoolExecutor(1, get_context("spawn"), begin_helper, ((), ()))
    print(pool.submit(os.getpid).result(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_helper_does_not_outlive_a_run_that_is_killed(tmp_path):
    """It holds the receipt secrets, and may write where the next run writes."""
    (tmp_path / "killed.py").write_text(KILLED)
    with (tmp_path / "said").open("w") as said:  # not a pipe, which the helper would hold open
        subprocess.run([sys.executable, tmp_path / "killed.py"], stdout=said)
    helper = int((tmp_path / "said").read_text())
    until = time.monotonic() + 20
    while is_alive(helper) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_alive(helper)


def is_alive(process: int) -> bool:
    """Tell whether a process does anything yet: one that nobody waits for has ended too."""
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
