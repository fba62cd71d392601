"""Two merchants, each with a lake of its own."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from svc_analytics.cli.app import cli
from svc_analytics.lakehouse import Lakehouse
from tests.support.desks import Desk
from tests.support.fake_service import FakeService
from tests.support.ledgers import read_ledger
from tests.support.prepared import extracted

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
# The records of both have the same ids: only the merchant tells them apart.
FIRST = """
 kind     currency  amount  fee   at                of
 payment  btc       3       0.03  2026-10-10T09:00
 payment  btc       2       0.02  2026-10-11T09:00
 refund   btc       0.5           2026-10-12T08:00  2
"""
SECOND = """
 kind     currency  amount  fee   at                of
 payment  btc       1       0.04  2026-10-10T09:00
 payment  usdt      100     1     2026-10-11T09:00
 payout   usdt      50      0.5   2026-10-12T08:00
"""
MERCHANTS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")

Make = Callable[..., Path]


@pytest.fixture
def make(settings, tmp_path) -> Make:
    """Extract a ledger of a merchant into a lake of its own."""

    def build(merchant: str, ledger: str, **request: Any) -> Path:
        service = FakeService(now=NOW)
        service.merchant = service.merchant | {"id": merchant, "display_name": merchant[:4]}
        service.payments, service.payouts = read_ledger(ledger)
        lake = Lakehouse(tmp_path / merchant[:4])
        return extracted(Desk(service, replace(settings), lake), **request).lake.path

    return build


@pytest.fixture
def folders(make) -> list[Path]:
    return [make(MERCHANTS[0], FIRST), make(MERCHANTS[1], SECOND)]


def run(folders: list[Path], *words: str) -> Result:
    """Run a command over several lakes."""
    given = [word for folder in folders for word in ("--data-dir", str(folder))]
    return CliRunner().invoke(cli, [*words, *given])
