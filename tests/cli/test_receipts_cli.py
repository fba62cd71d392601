"""`receipts verify` and `verify_receipts` on a lake of the sandbox, as a person meets them."""

import csv
import io
import json
import os
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq
import pytest

import svc_analytics as svc
from svc_analytics.lake import checksums
from tests.support.receipt_material import FACTS, signed

LAKE_TOKENS = "select receipt from payments order by paid_at, payment_id limit 3"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def token_file(*more: str) -> Path:
    """Write a file of three tokens of the lake and of whatever else."""
    tokens = svc.open_lake("data").sql(LAKE_TOKENS)["receipt"]
    path = Path("box.csv")
    path.write_text("receipt\n" + "\n".join([*tokens, *more]) + "\n")
    return path


def test_the_lake_is_verified_and_remembered(filled, run):
    """All of the sandbox's receipts are good; a second run has nothing to do."""
    first, second = run("receipts", "verify"), run("receipts", "verify")
    assert (first.code, second.code) == (0, 0)
    assert rows(first.out) == [] and "0 kept from an earlier check" in first.err
    assert "svc-analytics: 0 receipts checked" in second.err
    document = json.loads(run("receipts", "verify", "--month", "2026-10", "--every", "--json").out)
    assert document["unproven"] == 0
    assert len(document["receipts"]) == sum(document["verdicts"].values()) > 100


def test_a_month_is_verified_without_reading_the_others(filled, run, monkeypatch):
    """Of all payments only those of October have their bytes checked, for nobody reads others."""
    read, checksum = set(), checksums._crc32

    def note(file: BinaryIO, size: int) -> int:
        path = Path(file.name)
        read.update({path.stem} if path.parent.name == "payments" else ())
        return checksum(file, size)

    monkeypatch.setattr(checksums, "_crc32", note)
    found = run("receipts", "verify", "--every", "--month", "2026-10")
    assert len(rows(found.out)) > 100 and read == {"2026-10", "0000-00"}


def test_files_get_a_verdict_a_line(filled, run):
    """In order, with the line; anything unproven is 3, and duplicates are pointed out."""
    stranger = signed(FACTS | {"paid_at": "2026-10-05T09:30:00Z"}, "someone else's secret")
    path = token_file("=1+1", stranger)
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    done = run("receipts", "verify", str(path))
    found = rows(done.out)
    assert done.code == 3 and [int(row["line_no"]) for row in found] == [2, 3, 4, 5, 6, 7]
    assert [row["verdict"] for row in found] == [
        *["valid_previous_secret"] * 3,
        *("malformed", "bad_signature", "valid_previous_secret"),
    ]
    assert "the same token is in box.csv line 2" in found[5]["reason"]
    assert "6 receipts, 4 of them proven" in done.err


def test_no_cell_begins_a_formula(filled, run):
    """Facts are the forger's own text; a spreadsheet must not run them."""
    forged = signed(FACTS | {"payment_id": "=cmd()", "receipt_no": "@x\x1b[2J"}, "forged")
    row = rows(run("receipts", "verify", str(token_file(forged))).out)[3]
    assert row["payment_id"] == "'=cmd()" and row["receipt_no"] == "'@x[U+001B][2J"


def test_the_service_decides_what_is_unsure(filled, run, monkeypatch):
    """It verifies what is in force, and its records prove nothing of a forged signature."""
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", "not the merchant's")
    newest = "select receipt from payments where paid_at > '2026-11-01' limit 1"
    token = svc.open_lake("data").sql(newest)["receipt"][0]
    path = token_file(token)
    offline = [row["verdict"] for row in rows(run("receipts", "verify", str(path)).out)]
    online = rows(run("receipts", "verify", str(path), "--online").out)
    assert offline == ["bad_signature"] * 4
    assert [row["verdict"] for row in online] == [*["bad_signature"] * 3, "valid"]
    assert "the record holds the same facts (the service does not" in online[0]["reason"]
    assert "SVC_RECEIPT_SECRETS lacks a secret that is in force" in online[3]["reason"]


def test_the_service_knows_payments_that_no_lake_covers(connected, filled, run):
    """Without a lake a right signature is not enough; online the record is fetched."""
    path = token_file()
    words = ("receipts", "verify", str(path), "--data-dir", "nowhere")
    offline, online = run(*words), run(*words, "--online")
    assert (offline.code, online.code) == (3, 0)
    assert {row["verdict"] for row in rows(offline.out)} == {"not_checked"}
    assert {row["verdict"] for row in rows(online.out)} == {"valid_previous_secret"}


def test_a_webhook_secret_in_the_wrong_place_is_called_a_settings_error(filled, run, monkeypatch):
    """The two secrets swapped: nothing is forged, the settings are wrong."""
    path = token_file()
    receipt, webhook = os.environ["SVC_RECEIPT_SECRETS"], os.environ["SVC_WEBHOOK_SECRETS"]
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", webhook)
    monkeypatch.setenv("SVC_WEBHOOK_SECRETS", receipt)
    done = run("receipts", "verify", str(path))
    assert done.code == 3
    assert "settings error: 3 receipts signed with a webhook secret" in done.err
    assert {row["verdict"] for row in rows(done.out)} == {"bad_signature"}
    assert "receipts signed with a webhook secret" in run("receipts", "verify").err


def test_where_no_receipt_is_signed_with_the_secret_the_secret_is_doubted(filled, run, monkeypatch):
    """Another merchant's secret forges nothing; one receipt of many that fails is no such case."""
    doubt = "no receipt is signed with a secret of SVC_RECEIPT_SECRETS: check whose it is"
    assert doubt not in run("receipts", "verify").err
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", "another merchant's secret")
    done = run("receipts", "verify")
    assert done.code == 3 and doubt in done.err


def test_without_a_secret_it_is_2(filled, run, monkeypatch):
    """One line that names the setting."""
    monkeypatch.setenv("SVC_RECEIPT_SECRETS", "")
    done = run("receipts", "verify")
    assert done.code == 2 and "SVC_RECEIPT_SECRETS" in done.err and len(done.lines) == 1


def test_python_takes_series_frames_lists_and_files(connected, filled):
    """For notebooks: one row of verdict a token, whatever holds the tokens."""
    frame = svc.open_lake("data").sql(LAKE_TOKENS)
    secrets = connected.environment["SVC_RECEIPT_SECRETS"].split(",")
    for tokens in (frame, frame["receipt"], list(frame["receipt"]), str(token_file())):
        found = svc.verify_receipts(tokens, secrets, lake="data", progress=False)
        assert list(found["verdict"]) == ["valid_previous_secret"] * 3
    assert len(svc.verify_receipts([], lake="data")) == 0
    with pytest.raises(svc.SvcError, match="SVC_RECEIPT_SECRETS"):
        svc.verify_receipts([], [])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "json"])
def test_the_tickets_columns_stand_in_the_answer(filled, run, suffix):
    """`--keep` alone keeps every column, with names only those; in each form of --out."""
    token = svc.open_lake("data").sql(LAKE_TOKENS)["receipt"][0]
    Path("box.csv").write_text(f"ticket;agent;receipt\n007;@Ana;{token}\n008;Bo;{token[:-9]}\n")
    done = run("receipts", "verify", "box.csv", "--out", f"out.{suffix}", "--keep", "ticket,agent")
    out = Path(f"out.{suffix}")
    read = {
        "csv": lambda: rows(out.read_text()),
        "parquet": lambda: pq.read_table(out).to_pylist(),
        "json": lambda: json.loads(out.read_text()),
    }
    found = read[suffix]()
    agent = "'@Ana" if suffix == "csv" else "@Ana"
    assert done.code == 3 and done.out == ""
    assert [*found[0]][:7] == [
        *("source", "line_no", "verdict", "reason", "payment_id", "receipt_no", "differences")
    ]
    assert [list(row)[7:] for row in found] == [["ticket", "agent"]] * 2
    assert [(row["ticket"], row["agent"]) for row in found] == [("007", agent), ("008", "Bo")]
    assert found[1]["reason"] == "the signature is cut short: 34 of 43 characters"
    every = rows(run("receipts", "verify", "box.csv", "--keep").out)
    assert [list(row)[7:] for row in every] == [["ticket", "agent", "receipt"]] * 2
