"""Closing from the command line, as a timer meets it: output, exit codes, one clear line."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from svc_analytics.instants import to_micros
from tests.support.closings import table
from tests.support.fake_service import payment
from tests.support.rings import sample

OCTOBER = Path("data/statements/2026-10")


def test_close_says_what_it_sealed_and_that_it_is_done(call):
    """0 both times: a sealed month is done."""
    first = call("close", "--month", "2026-10")
    assert first.code == 0 and first.out.startswith("2026-10 sealed as ")
    again = call("close", "--month", "2026-10")
    assert again.code == 0 and "was sealed before and is unchanged" in again.out
    verified = call("statement-verify", str(OCTOBER))
    assert verified.code == 0 and " holds: the files and the lake agree with seal " in verified.out
    assert [line.split(":")[0].strip() for line in verified.out.splitlines()[-4:]] == [
        "held  sealed",
        "not checked  signed",
        "not checked  stamped",
        "held  proven",
    ]


@pytest.mark.thorough
def test_a_restatement_is_3_and_shown_once(call, closer):
    """A person should look at it; after that the month is done again."""
    closer.sealed()
    closer.desk.service.payments.append(payment(99, "2026-10-20T10:00:00Z", "7", "0.5"))
    restated = call("close", "--month", "2026-10")
    assert restated.code == 3 and "restated as version 2" in restated.out
    assert "Gross sales" in restated.out
    assert call("close", "--month", "2026-10").code == 0
    verified = call("statement-verify", str(OCTOBER), "--json")
    assert verified.code == 3 and json.loads(verified.out)["restatement"][0]["cause"] == "late"
    shown = call("statement-diff", str(OCTOBER), f"{OCTOBER}-v2")
    assert shown.code == 0 and "Gross sales" in shown.out


def test_months_behind_one_that_cannot_be_sealed_are_named(call, closer):
    """They were not tried, and each seal names that of the month before."""
    closer.desk.service.payments[0]["status"] = "disputed"
    done = call("close", "--all-due")
    assert done.code == 3 and "2026-08 was not closed" in done.out
    said = "note: 2026-09 to 2026-10 were not tried: each seal names that of the month before"
    advice = ", and 2026-08 was not closed; settle 2026-08, then run close again"
    assert said + advice in done.out


@pytest.mark.thorough
@pytest.mark.parametrize("ahead", sample(["this machine's clock", "the service's clock"], 2))
def test_a_month_that_one_clock_alone_calls_over_is_3(call, closer, ahead):
    """It is not closed, and stderr names the month and both clocks; nor is it read as done."""
    early, late = (datetime(2026, *at, tzinfo=UTC) for at in ((11, 25), (12, 5)))
    clocks = (early, late) if ahead == "this machine's clock" else (late, early)
    closer.desk.service.now, machine = clocks
    closer.desk.machine = lambda: to_micros(machine)
    done = call("close", "--all-due")
    behind = {"this machine's clock": "the service's clock"}.get(ahead, "this machine's clock")
    assert done.code == 3 and "2026-10 sealed as" in done.out
    assert "2026-11 " not in done.out
    assert (
        f"2026-11 is not closed because {ahead} says 2026-12-05T00:00:00Z, when it is due, and "
        f"{behind} says 2026-11-25T00:00:00Z, when it is not: correct the clock that is wrong"
    ) in done.err
    last = json.loads(call("close", "--all-due", "--json").out)["months"][-1]
    assert (last["label"], last["state"]) == ("2026-11", "waiting")


@pytest.mark.thorough
def test_a_month_sealed_with_an_unknown_figure_is_3_once(call, closer):
    """The figures are named each time; only the close that seals them asks for a person."""
    closer.desk.service.payments.append(
        payment(95, "2026-09-20T10:00:00Z", "1e3", net_amount="1", currency="btc")
    )
    first, again = (call("close", "--month", "2026-10") for _ in range(2))
    assert (first.code, again.code) == (3, 0) and "2026-10 sealed as" in first.out
    for done in (first, again):
        assert "opening position, closing position" in done.out and " are unknown: " in done.out


@pytest.mark.thorough
def test_check_finds_sealed_months_that_do_not_meet(call, closer):
    """The coin, both figures, and which of the two the lake no longer gives; then verify too."""
    closer.closed("2026-09")
    closer.closed("2026-10")
    closer.desk.service.payments.append(late := payment(99, "2026-09-30T10:00:00Z", "7", "0"))
    closer.desk.extract(rereads=True)
    assert late["currency"] == "usdt" and call("check").code == 0
    call("close", "--month", "2026-09")
    done = call("check")
    sides = "September 2026 version 2 closes with 7, and October 2026 version 1 opens with 0"
    assert done.code == 3 and f"in usdt, {sides}; close October 2026 again" in done.out
    assert "1 sealed month does not open with" in done.out and "1 of them blocking" in done.err
    assert sides in call("statement-verify", str(OCTOBER)).out
    call("close", "--month", "2026-10")
    assert call("check").code == 0


@pytest.mark.thorough
def test_no_long_difference_is_cut(call, closer):
    """Whoever reads a timer's log gets every letter."""
    closer.sealed()
    names = ("reference_id", "receipt_no", "payer_id", "session_id", "usd_value")
    closer.desk.service.payments[2] |= dict.fromkeys(names, "7")
    closer.desk.extract(rereads=True)
    found = call("statement-verify", str(OCTOBER)).out
    assert "reference_id, session_id" in found and "implied_usd_rate, payer_ref" in found
    assert "…" not in found and "USD gross sales" in found


@pytest.mark.thorough
def test_a_provisional_month_is_3_until_its_finding_is_accepted(call, closer):
    """It is written, unsealed, and says what is in the way; then who accepted it, and why."""
    closer.desk.service.payments.pop(1)
    record_id = closer.desk.service.payouts[0]["id"]
    done = call("close", "--month", "2026-10")
    assert done.code == 3 and "was not closed" in done.out
    finding = "1 refund has no payment in the lake"
    assert f"because {finding}\n" in done.out and (OCTOBER / "summary.csv").exists()
    closer.accept("refund_has_its_payment", record_id, "made in the console")
    assert call("close", "--month", "2026-10").code == 0
    printed = call("statement", "--month", "2026-10", "--out", "other")
    [line] = [line.strip() for line in printed.out.splitlines() if "accepted: " in line]
    assert line.startswith(f"{finding}, {record_id}: no payment ") and printed.code == 0
    assert "(accepted: Mina, 2" in line and line.endswith(": made in the console)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("check,record_id,reason,at\n", "line 1: the column by is missing"),
        ("check,record_id,reason,by,at\n\nx,1,,Mina,2026-11-05\n", "line 3: reason is empty"),
        ("check,record_id,reason,by,at\nx,1,why,Mina,soon\n", "line 2: at: 'soon' is not a date"),
    ],
    ids=["columns", "no reason", "no date"],
)
def test_a_malformed_list_of_accepted_findings_is_2(call, closer, text, said):
    """The line is named; nothing is written."""
    closer.desk.extract()
    Path("data/acknowledgements.csv").write_text(text)
    done = call("statement", "--month", "2026-10")
    assert done.code == 2 and said in done.err and len(done.lines) == 1
    assert not OCTOBER.exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--month", "2026-11"), 1, "2026-11 is not over: it ends at 2026-12-01"),
        (("--month", "2026-10", "--grace-hours", "480"), 1, "from 2026-11-21T00:00:00Z on"),
        (("--month", "2027-01"), 2, "has not begun"),
        (("--month", "2026-10", "--all-due"), 2, "give exactly one of"),
        (("--all-due", "--out", "x"), 2, "takes no --out"),
    ],
)
def test_what_cannot_be_closed_is_one_line(call, words, code, said):
    """What, and from when on or how to say it."""
    done = call("close", *words)
    assert done.code == code and said in done.err and len(done.lines) == 1
    assert not Path("data/statements").exists()


def test_what_cannot_be_proven_is_3_and_said(call, closer):
    """A folder without its lake: it agrees with itself, and nothing proves its records."""
    shutil.copytree(closer.sealed(), "sent")
    shutil.rmtree("data")
    done = call("statement-verify", "sent")
    assert done.code == 3 and "agrees with seal" in done.out and "not all was proven" in done.out
    assert "not proven: no lake in " in done.out
    assert json.loads(call("statement-verify", "sent", "--json").out)["unproven"]
    assert call("statement-verify", "sent", "--data-dir", "data").code == 1


def test_a_comparison_with_an_altered_folder_is_3(call, closer):
    """Its figures are shown, with a note of what was altered."""
    path = closer.sealed() / "summary.csv"
    path.write_text(path.read_text().replace("usdt,1,", "usdt,2,"))
    done = call("statement-diff", str(OCTOBER), str(OCTOBER))
    assert done.code == 3 and "summary.csv differs from the seal" in done.err


def test_a_flipped_byte_is_3_and_named(call, closer):
    """The file that changed, and nothing about the lake."""
    closer.sealed()
    path = OCTOBER / "lines.csv"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    done = call("statement-verify", str(OCTOBER))
    assert done.code == 3 and "lines.csv differs from the seal" in done.out
    assert call("statement-verify", "data").code == 1


@pytest.mark.thorough
@pytest.mark.usefixtures("no_printer")
def test_a_sealed_month_is_packed_for_an_auditor(call, closer):
    """By its month or its folder, and the seal is said; what is not sealed is refused."""
    closer.desk.extract()
    refused = call("package", "2026-10")
    assert refused.code == 1 and "2026-10 is not sealed: close it" in refused.err
    assert len(refused.lines) == 1
    seal = json.loads((closer.sealed() / "manifest.json").read_text())["seal"]
    done = call("package", "2026-10")
    assert f"seal: {seal}" in done.out and Path("2026-10.zip").is_file()
    document = json.loads(call("package", str(OCTOBER), "--out", "b.zip", "--json").out)
    assert document["seal"] == seal
    assert Path("b.zip").read_bytes() == Path("2026-10.zip").read_bytes()


def test_one_line_of_a_sealed_month_is_proven(call, closer):
    """By its month or its folder; what cannot be proven is one line, and no file."""
    [record, *_] = [row["record_id"] for row in table(closer.sealed(), "lines")]
    done = call("prove", "2026-10", record)
    assert (
        done.code == 0
        and f"line 1 of {OCTOBER.absolute()} is proven in 2026-10-line-1.json" in done.out
    )
    document = json.loads(call("prove", str(OCTOBER), record, "--out", "p.json", "--json").out)
    assert document["line"].startswith(f"1,payment:{record},")
    assert Path("p.json").read_bytes() == Path("2026-10-line-1.json").read_bytes()
    unknown = call("prove", "2026-10", "SVC", "--out", "q.json")
    assert unknown.code == 2 and len(unknown.lines) == 1 and not Path("q.json").exists()
    away = shutil.copytree(OCTOBER, "away")
    assert "name the lake that did" in call("prove", str(away), record, "--data-dir", "none").err
