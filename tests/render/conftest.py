"""A statement with everything that a form could get wrong."""

from pathlib import Path
from typing import Any

import pytest

from svc_analytics.statements.statement import Statement
from tests.support.ledgers import FORMULA, LEDGER, PERSIAN, SCRIPT, TURNED, Make, Save, read_ledger
from tests.support.prepared import stated


@pytest.fixture
def make(desk) -> Make:
    """Extract a ledger full of hostile texts and make a statement of it."""

    def build(ledger: str = LEDGER, month: str = "2026-10", **options: Any) -> Statement:
        payments, records = read_ledger(ledger)
        for record, text in zip(payments[1:], (FORMULA, "@SUM(A1)", "-2+3"), strict=False):
            record["reference_id"] = text
        for record, text in zip(records, (TURNED, SCRIPT, 'a "b" \\ c\nd'), strict=False):
            record["comment"] = text
        desk.service.merchant |= {"display_name": SCRIPT, "display_name_fa": PERSIAN}
        desk.service.payments, desk.service.payouts = payments, records
        return stated(desk, month, **options)

    return build


@pytest.fixture
def save(make, tmp_path) -> Save:
    """Save the statement in one form and return the folder."""

    def write(*formats: str, ledger: str = LEDGER, **options: Any) -> Path:
        return make(ledger, **options).save(tmp_path / "-".join(formats), formats)

    return write
