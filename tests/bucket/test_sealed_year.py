"""A year that was sealed in a bucket: it names its twelve seals, and any machine verifies it."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import svc_analytics as svc
from svc_analytics.closing.verification.verify import verify_statement
from svc_analytics.lakehouse import Lakehouse
from tests.support.buckets import keys_in
from tests.support.closings import Closer
from tests.support.desks import Desk
from tests.support.fake_service import FakeService

YEAR = [f"2025-{number:02}" for number in range(1, 13)]
LEDGER = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2025-01-10T09:00
 payment  btc       2       0.02  2025-12-10T09:00
 payment  btc       7       0.07  2026-01-10T09:00
"""


@pytest.mark.thorough
def test_a_year_sealed_in_a_bucket_names_its_twelve_seals(url, settings, monkeypatch, tmp_path):
    """3 + 2 btc were sold in 2025. A machine without a copy verifies the year, and states it."""
    desk = Desk(
        FakeService(now=datetime(2026, 11, 20, tzinfo=UTC)), replace(settings), Lakehouse(url)
    )
    closer = Closer(desk)
    closer.serve(LEDGER)
    for label in (*YEAR, "2025"):
        assert closer.close(label).state == "sealed", label
    monkeypatch.setenv("SVC_CACHE_DIR", str(tmp_path / "another"))
    lake = Lakehouse(url)
    lake.refresh()
    folder = lake.path / "statements" / "2025"
    facts = json.loads((folder / "manifest.json").read_text())
    assert [each["label"] for each in facts["month_seals"]] == YEAR
    assert verify_statement(folder, lake).holds
    assert svc.statement(lake, "2025").summary["gross_sales"].tolist() == [5]
    assert verify_statement(folder, lake, earlier=folder.parent / "chain.json").holds
    keys = keys_in(url.split("/")[2])
    assert {"lake/statements/2025.zip", "lake/statements/chain.json"} <= {*keys}
