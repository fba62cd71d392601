"""Payments without a receipt: counted in the footer of their month, looked for only where some are.

Tokens are most of a payment's bytes, so files whose footer counts none of these are not searched.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from svc_analytics.lake.footer import MonthFileFooter, read_footer
from svc_analytics.lake.month_file import read_groups, write_month_file
from svc_analytics.periods import month
from svc_analytics.schema import PAYMENTS, PAYOUT_RECORDS
from svc_analytics.statements.statement import statement
from svc_analytics.warehouse.sources import open_sources
from tests.support.closings import all_findings
from tests.support.desks import Desk
from tests.support.fake_service import payment, payout
from tests.support.prepared import extracted

MONTHS = {"2026-08": 2, "2026-09": 0, "2026-10": 1}  # payments without a receipt, of three each


@pytest.fixture
def held(desk) -> Desk:
    desk.service.payments = [
        payment(n, f"{label}-0{day}T12:00:00Z", receipt=None if day <= lacking else f"v1.{n}.b")
        for place, (label, lacking) in enumerate(MONTHS.items())
        for n, day in enumerate((1, 2, 3), 10 * place)
    ]
    desk.service.payouts = [payout(1, "2026-09-03T00:00:00Z")]
    return extracted(desk)


def state(desk: Desk, label: str, count: Callable[[int], int | None], patch: Any) -> None:
    """Write a month file again, with another count in its footer."""
    path = desk.lake.month_path(PAYMENTS, label)
    rows, real = [*read_groups(path)], MonthFileFooter.to_json

    def to_json(footer: MonthFileFooter) -> str:
        return real(replace(footer, without_receipt=count(footer.without_receipt or 0)))

    with patch.context() as patched:
        patched.setattr(MonthFileFooter, "to_json", to_json)
        write_month_file(desk.lake.storage, path, PAYMENTS, rows, read_footer(path))


def searched(desk: Desk, label: str | None) -> list[str]:
    """The files in which a reader of a month, or of all, looks for them."""
    period = label and (month(label).start, month(label).end)
    with open_sources(desk.lake, None, period or None) as sources:
        return [path.stem for path in sources.files["receiptless_payments"]]


def verdicts(desk: Desk, label: str) -> list[str]:
    return list(statement(desk.lake, label).tables["receipts"]["verdict"].to_pylist())


def test_a_months_footer_counts_its_payments_without_a_receipt(held):
    """That of payout records, which have none, does not say."""
    footers = held.lake.footers(PAYMENTS).items()
    counts = {label: footer.without_receipt for label, footer in footers}
    assert counts == {"0000-00": 0, **MONTHS, "2026-11": 0}
    of_payouts = held.lake.footers(PAYOUT_RECORDS).values()
    assert {footer.without_receipt for footer in of_payouts} == {None}


@pytest.mark.thorough
def test_a_statement_searches_only_files_that_have_some(held):
    """Few payments of other months lie in one file, which says nothing. `check` reads all files."""
    assert searched(held, "2026-10") == ["2026-10", "0000-00", "payments"]
    assert searched(held, "2026-09") == ["0000-00", "payments"]
    assert {*searched(held, None)} == {"0000-00", *MONTHS, "2026-11"}
    assert verdicts(held, "2026-10") == ["missing", "not_checked", "not_checked"]
    assert verdicts(held, "2026-09") == ["not_checked"] * 3


@pytest.mark.thorough
def test_a_file_that_does_not_say_is_searched(held, monkeypatch):
    """One that an earlier version wrote: how many it has is unknown, not none."""
    state(held, "2026-08", lambda count: None, monkeypatch)
    assert held.lake.footers(PAYMENTS)["2026-08"].without_receipt is None
    assert "2026-08" in searched(held, "2026-08")
    assert verdicts(held, "2026-08") == ["missing", "missing", "not_checked"]
    assert not all_findings(held.lake)


def test_a_count_that_its_rows_do_not_have_is_found(held, monkeypatch):
    """By each statement of the month; `check` has the same rule."""
    state(held, "2026-09", lambda count: count + 1, monkeypatch)
    detail = "payments: 0 payments without a receipt, its footer states 1"
    [finding] = statement(held.lake, "2026-09").tables["checks"].to_pylist()
    assert (finding["record_id"], finding["detail"]) == ("2026-09", detail)
    assert finding["check_name"] == "month_file_matches_its_footer"
