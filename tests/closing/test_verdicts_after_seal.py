"""Verdicts that come after a month was sealed are notes on its seal, and no restatement.

A seal keeps what was accepted when it was made: a clock that is set right alters no month.
"""

import csv
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

import svc_analytics as svc
from svc_analytics import accept, statement, verify_statement
from svc_analytics.closing.month_states import LakeContents, judged, state_of
from svc_analytics.closing.rederive import balance_notes
from svc_analytics.closing.result import CloseResult, unchecked
from svc_analytics.closing.seals import read_manifest
from svc_analytics.instants import now
from svc_analytics.language.catalogue import Language
from svc_analytics.periods import month
from svc_analytics.receipts.verify_lake import verify_lake
from svc_analytics.signing.secrets import parse_secrets
from tests.closing.test_releases import WITH_A_FINDING
from tests.receipts.test_verify_lake import receipted
from tests.support.closings import Closer, figure, table
from tests.support.fake_service import Record, payment
from tests.support.receipt_material import SECRET
from tests.support.rings import sample

GOOD = [receipted(1, "2026-10-02T08:00:00Z"), receipted(2, "2026-10-03T08:00:00Z")]
FORGED = receipted(3, "2026-10-04T08:00:00Z", "forged")
LATE = receipted(4, "2026-10-05T08:00:00Z")


@pytest.fixture
def sealed(closer) -> Callable[..., Path]:
    """Seal October with these payments, before any receipt was verified."""

    def seal(*payments: Record) -> Path:
        closer.desk.service.payments, closer.desk.service.payouts = [*payments], []
        return closer.sealed()

    return seal


def check_receipts(closer: Closer, secret: str = SECRET) -> None:
    verify_lake(
        closer.desk.lake, replace(closer.desk.settings, receipt_secrets=parse_secrets(secret))
    )


@pytest.mark.thorough
def test_a_run_says_once_that_receipts_are_not_checked(closer):
    payments = [receipted(n, f"2026-{n:02}-05T08:00:00Z") for n in (9, 10)]
    closer.desk.service.payments, closer.desk.service.payouts = payments, []
    results = closer.close_all_due()
    told = ["SVC_RECEIPT_SECRETS" in (each.note or "") for each in results]
    assert told == [True, False]
    assert [each.receipts for each in results] == ["not_checked"] * 2
    assert all("  receipts not checked" in each.describe() for each in results)
    assert not [each for each in results if each.needs_attention]


@pytest.mark.thorough
def test_verdicts_that_come_later_restate_nothing(closer, sealed):
    """That they were not checked is said then, in manifest and status; later, how many were."""
    folder = sealed(*GOOD)
    made = svc.statement(closer.desk.lake, "2026-10")
    assert json.loads((folder / "manifest.json").read_text())["receipts"] == "not_checked"
    assert made.receipts_state == "not_checked"
    assert "Its receipts were not checked." in "\n".join(made._display().lines)
    check_receipts(closer)
    again, checked = closer.close(), verify_statement(folder, closer.desk.lake)
    assert (again.state, again.version, again.needs_attention) == ("unchanged", 1, False)
    assert again.receipts == "checked" and "2 receipts were checked after" in (again.note or "")
    assert checked.holds and "2 receipts were checked after the sealing" in checked.notes
    lake, contents = closer.desk.lake, LakeContents.read(closer.desk.lake)
    october = state_of(lake, month("2026-10"), now(), contents)
    assert judged(lake, october, now(), contents).kind == "sealed"


def test_a_receipt_that_contradicts_its_payment_is_a_reason_and_no_restatement(closer, sealed):
    """A person has to look at it; no figure of the month moved."""
    folder = sealed(*GOOD, FORGED)
    check_receipts(closer)
    again, checked = closer.close(), verify_statement(folder, closer.desk.lake)
    assert (again.state, again.version, again.needs_attention) == ("unchanged", 1, True)
    assert not checked.holds and not checked.broken and not checked.unproven
    assert "does not prove its payment" in checked.reasons[0].text and not checked.table.num_rows
    more = "the lake now has what checks does not: 1 receipt does not prove its payment"
    assert more in checked.notes


def test_a_verdict_that_changed_or_is_gone_restates_nothing(closer):
    """What was sealed as valid and cannot be made again now is not proven."""
    closer.desk.service.payments, closer.desk.service.payouts = GOOD, []
    closer.desk.extract()
    check_receipts(closer)
    folder = closer.close().folder
    check_receipts(closer, f"another,{SECRET}")
    changed = verify_statement(folder, closer.desk.lake)
    assert changed.holds and "2 receipts were judged otherwise at the sealing" in changed.notes
    shutil.rmtree(closer.desk.lake.path / "receipt_verdicts")
    assert closer.close().state == "unchanged"
    gone = verify_statement(folder, closer.desk.lake)
    assert not (gone.broken or gone.table.num_rows)
    assert "run svc-analytics receipts verify" in " ".join(gone.unproven)


@pytest.mark.thorough
def test_a_restatement_says_which_figures_moved_by_verdicts_alone(closer, sealed):
    """A late record restates the month; the verdicts come along, under a cause of their own."""
    folder = sealed(*GOOD)
    closer.desk.service.payments.append(LATE)
    closer.desk.extract()
    check_receipts(closer)
    rows = table(closer.close().folder, "restatement")
    assert folder.name == "2026-10" and figure(rows, "gross_sales")[3] == "late"
    assert figure(rows, "receipts_checked")[3] == "late, verified"


def test_a_month_with_receipts_that_were_checked_needs_no_note():
    """Nor does one that is unchanged, or has no receipts."""
    states = ("sealed", "checked"), ("unchanged", "not_checked"), ("sealed", "none")
    results = [CloseResult("2026-10", a, Path(), 1, "s", receipts=b) for a, b in states]
    assert not [note for each in results for note in unchecked(None, each)]
    assert unchecked(None, replace(results[0], receipts="partly_checked"))


# ---------- a balance that is written down after its month was sealed is a note on it


HEAD = "at,currency,balance,note\n"
OPENING, SEALED = "2026-10-02T00:00:00Z,btc,5", "2026-10-31T00:00:00Z,usdt,49"
# What the file has when the month is sealed, what it has later, and what the note says of it.
CHANGED = {
    "written": ([], [OPENING], "was asserted after the sealing"),
    "corrected": ([OPENING], [OPENING, f"{OPENING}.5"], "5.5 btc"),
    "removed": ([OPENING, SEALED], [OPENING], "assertions.csv no longer has it"),
}


def write(closer: Closer, lines: list[str]) -> None:
    closer.desk.lake.path.mkdir(exist_ok=True)
    path: Path = closer.desk.lake.path / "assertions.csv"
    path.write_text(HEAD + "".join(f"{line},\n" for line in lines))


@pytest.mark.parametrize(
    ("before", "after", "said"), sample(CHANGED.values(), 3), ids=CHANGED.keys()
)
def test_a_sealed_month_keeps_the_balances_that_it_names(closer, before, after, said):
    if before:
        write(closer, before)
    folder = closer.sealed()
    assert not verify_statement(folder, closer.desk.lake).notes
    write(closer, after)
    checked, again = verify_statement(folder, closer.desk.lake), closer.close()
    assert checked.holds and any(said in note for note in checked.notes)
    assert (again.state, again.version, again.needs_attention) == ("unchanged", 1, False)
    assert said in (again.note or "") and "compares what assertions.csv has now" in again.note


def test_a_note_on_a_balance_is_persian_with_its_command_whole(closer):
    """Its instant and the word before it are translated; a command is one isolated value."""
    sealed = read_manifest(closer.sealed())
    write(closer, [OPENING])
    notes = balance_notes(closer.desk.lake, sealed, month("2026-10"))
    shown = [Language("fa", "fa").text(note) for note in notes]
    assert " at " not in shown[0] and "۲۰۲۶-۱۰-۰۲" in shown[0]
    assert "\u2066svc-analytics statement --month 2026-10\u2069" in shown[1]


ODD = payment(9, "2026-10-15T12:00:00Z", "5", "0")
NEXT_YEAR = 1_827_360_000  # 28 November 2027
HELD = "record_could_be_held"


def lines(closer: Closer) -> Path:
    path: Path = closer.desk.lake.path / "acknowledgements.csv"
    return path


def test_a_month_sealed_by_a_clock_that_was_ahead_stays_as_it_was_sealed(closer):
    """What that clock dated 2027 counts for this month; a later content of the record does not."""
    closer.desk.service.payments.append(ODD | {"amount": "9.x"})
    closer.desk.extract()
    with patch.object(time, "time_ns", lambda: NEXT_YEAR * 10**9):
        accept(closer.desk.lake, HELD, ODD["id"], reason="a test of 9", by="Mina")
        sealed = closer.close()
    assert (sealed.state, ",2027-11-28T" in lines(closer).read_text()) == ("sealed", True)
    assert closer.close().state == "unchanged"
    verified = verify_statement(sealed.folder)
    assert (verified.holds, verified.unproven) == (True, ())
    closer.desk.service.payments[-1] = ODD | {"amount": "9000000.x"}
    assert closer.close().state == "provisional"


def test_what_is_accepted_after_a_seal_alters_nothing(closer):
    """A note of a sealed month, by whoever reads it later."""
    closer.serve(WITH_A_FINDING)
    sealed = closer.close()
    [note] = table(sealed.folder, "checks")
    accept(closer.desk.lake, note["check_name"], note["record_id"], reason="so it is", by="Ali")
    verified = verify_statement(sealed.folder)
    assert (verified.holds, verified.unproven, verified.table.num_rows) == (True, (), 0)
    assert closer.close().state == "unchanged"


def test_what_was_accepted_at_a_sealing_must_still_be(closer):
    """Its line was taken away: the lake no longer says that anybody accepted it."""
    closer.serve(WITH_A_FINDING)
    closer.desk.extract()
    [note] = statement(closer.desk.lake, "2026-10").tables["checks"].to_pylist()
    accept(closer.desk.lake, note["check_name"], note["record_id"], reason="so it is", by="Ali")
    sealed = closer.close()
    assert table(sealed.folder, "checks")[0]["acknowledged_by"] == "Ali"
    with lines(closer).open() as file:
        [head, _] = csv.reader(file)
    lines(closer).write_text(",".join(head) + "\n")
    [unproven] = verify_statement(sealed.folder).unproven
    assert "checks has what the lake does not give: 1 " in str(unproven)
