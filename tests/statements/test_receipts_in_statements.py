"""What a statement says of receipts: shares, verdicts line by line, and what stands in its way."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from svc_analytics import Statement, statement
from svc_analytics.instants import format_instant, now
from svc_analytics.receipts.verify_lake import verify_lake
from tests.receipts.test_verify_lake import BY_VERDICT, SETTINGS, receipted
from tests.support.closings import write_accepted
from tests.support.prepared import prepared

# October: six payments of 10 usdt, of which the receipts of two hold.
OCTOBER = [
    *[record for name, record in BY_VERDICT.items() if name != "valid"],
    receipted(6, "2026-10-06T08:00:00Z"),
    receipted(7, "2026-10-07T08:00:00Z"),
]


@pytest.fixture
def made(desk) -> Statement:
    """The statement of October, and its lake in the desk."""

    def make() -> Statement:
        desk.extract()
        verify_lake(desk.lake, SETTINGS)
        return statement(desk.lake, "2026-10")

    desk.service.payments = OCTOBER
    return replace(prepared(desk, "with receipts verified", make))


def row(table: Any, **where: str) -> dict[str, Any]:
    return next(r for r in table.to_pylist() if where.items() <= r.items())


def test_the_share_that_receipts_attest_by_count_and_by_value(made):
    """Six payments of 10: all six have a verdict, two are proven."""
    summary = row(made.tables["summary"], currency="usdt")
    assert (summary["receipts_checked"], summary["receipts_valid"]) == (6, 2)
    assert summary["attested_ratio"] == Decimal("0.33333333")
    names = ("attested_count", "attested_count_ratio", "attested_amount")
    values = [row(made.tables["figures"], name=name)["value"] for name in names]
    assert values == [2, Decimal("0.33333333"), 20]


def test_every_line_says_how_far_it_is_proven(made):
    """Beside the record, and in a table of its own with the reason."""
    verdicts = {r["record_id"]: r["receipt_verdict"] for r in made.tables["lines"].to_pylist()}
    wrong = {record["id"]: name for name, record in BY_VERDICT.items() if name != "valid"}
    assert verdicts == wrong | {record["id"]: "valid" for record in OCTOBER[-2:]}
    assert {r["payment_id"]: r["verdict"] for r in made.tables["receipts"].to_pylist()} == verdicts


def test_a_wrong_receipt_blocks_until_a_person_accepts_it(made, desk):
    """Mismatch, forgery and junk block; a missing one does not. The reason is printed."""
    wrong = [BY_VERDICT[name]["id"] for name in ("facts_mismatch", "bad_signature", "malformed")]
    assert made.status == "provisional"
    by = f"the shop was moved,Mina,{format_instant(now())}"
    write_accepted(desk.lake, (f"receipt_proves_its_payment,{each},{by}" for each in wrong))
    accepted = statement(desk.lake, "2026-10")
    assert accepted.status == "final"
    found = accepted.tables["checks"].to_pylist()
    assert {r["record_id"]: r["acknowledged_reason"] for r in found} == dict.fromkeys(
        wrong, "the shop was moved"
    )


def test_receipts_beside_a_payment_that_was_set_aside_are_unknown_for_that_reason(desk):
    """They were verified: how many there are rests on the payment that could not be held."""
    odd = receipted(8, "2026-10-08T08:00:00Z") | {"amount": 5}
    desk.service.payments = [*OCTOBER, odd]
    desk.extract()
    verify_lake(desk.lake, SETTINGS)
    found = statement(desk.lake, "2026-10")
    assert row(found.tables["summary"], currency="usdt")["receipts_checked"] is None
    [told] = [each for each in found.unknown if "receipts_checked" in each.figures]
    assert odd["id"] in told.text and {"receipts_valid", "attested_ratio"} <= {*told.figures}
    assert "charged_total" in told.figures  # what was charged is in the share of signed value
    assert not any("1e20" in unknown.text for unknown in found.unknown)  # none is too large
    assert "no receipt of the period was verified" not in str(found)
