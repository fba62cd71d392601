"""EVIDENCE.txt: another lake, another sentence."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from svc_analytics.closing.handover.evidence import evidence_text
from svc_analytics.closing.register import lake_around
from svc_analytics.closing.seals import read_manifest
from svc_analytics.closing.verification.proof import prove
from svc_analytics.instants import to_micros
from svc_analytics.statements.wallet_balance import assert_balance
from tests.support.closings import LEDGER, Closer
from tests.support.fake_service import payment
from tests.support.prepared import once
from tests.support.rings import sample

MISSING = "refund_has_its_payment"


def evidence(folder: Path) -> str:
    """The text of a folder, as a package would have it, its lines joined."""
    return " ".join(
        evidence_text(prove(folder, read_manifest(folder), lake_around(folder))).split()
    )


def plain(closer: Closer) -> str:
    return once("evidence of a plain month", lambda: evidence(closer.sealed()))


def test_a_plain_month_says_where_its_records_came_from(closer):
    """Over which calls, with which key, how completely, and what nobody proved."""
    said = plain(closer)
    assert "Payments were received by GET /api/pay/v1/payments, with a key of the class" in said
    assert "Payouts and refunds: 2 records of the period were read, and 2 of them count." in said
    assert "Two readings in a row saw the same records." in said
    assert "No record of the period was set aside." in said
    assert "made again from the records of the lake, with no difference" in said
    assert "Nobody signed it." in said and "No authority stamped it" in said
    assert "Nothing was accepted by a person." in said


def accepted(closer: Closer) -> Path:
    closer.desk.service.payments.pop(1)
    closer.accept(MISSING, closer.desk.service.payouts[0]["id"], "made in the console")
    return closer.close().folder


def restated(closer: Closer) -> Path:
    closer.sealed()
    closer.desk.service.payments.append(payment(96, "2026-10-15T10:00:00Z"))
    return closer.close().folder


def elsewhere(closer: Closer) -> Path:
    folder = closer.sealed()
    return Path(shutil.copytree(folder, closer.desk.lake.path.parent / "audit" / folder.name))


def empty(closer: Closer) -> Path:
    closer.serve(LEDGER.replace("2026-10", "2026-08"))
    return closer.sealed()


def balanced(closer: Closer) -> Path:
    closer.desk.extract()
    assert_balance(closer.desk.lake, to_micros(datetime(2026, 10, 20, tzinfo=UTC)), "btc", "4.45")
    return closer.close().folder


def set_aside(closer: Closer) -> Path:
    record = payment(95, "2026-10-06T10:00:00Z", "1e3", net_amount="1", currency="btc")
    closer.desk.service.payments.append(record)
    closer.accept("record_could_be_held", record["id"])
    return closer.close().folder


def set_aside_before(closer: Closer) -> Path:
    record = payment(95, "2026-09-20T10:00:00Z", "1e3", net_amount="1", currency="btc")
    closer.desk.service.payments.append(record)
    return closer.close().folder


def quarter(closer: Closer) -> Path:
    return closer.closed("2026-07", "2026-08", "2026-09", "2026-Q3")[-1].folder


ODD = {
    "a finding that a person accepted": (
        accepted,
        "accepted by Mina, because: made in the console.",
    ),
    "a restated month": (restated, "This is version 2. It replaces the one sealed as"),
    "no lake": (elsewhere, "It was not compared with the records: no lake was there."),
    "an empty month": (empty, "Payments: 0 records of the period were read"),
    "a balance": (balanced, "A person saw a balance of 4.45 btc at 2026-10-20T00:00:00Z."),
    "a quarter": (quarter, "It names the seals of its 3 months."),
    "a record set aside": (set_aside, "Payments: 1 record could not be held exactly, and is in no"),
    "an earlier one": (set_aside_before, "opening position, closing position, implied rate"),
}


@pytest.mark.parametrize("kind", sample(ODD, 12))
def test_another_lake_has_another_sentence(closer, kind):
    """Which no plain month has: each says what became of its own records."""
    make, sentence = ODD[kind]
    assert sentence in evidence(make(closer))


def test_no_sentence_of_another_lake_stands_in_a_plain_month(closer):
    """Nothing is said by habit."""
    assert not [kind for kind, (_, sentence) in ODD.items() if sentence in plain(closer)]
