"""The table `checks`: every rule over the records of a period, written a second time.

Rules over the files themselves are left out: on a whole lake they find nothing.
"""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import localcontext
from typing import Any

from svc_analytics.instants import BEGINNING, from_micros, to_micros
from svc_analytics.periods import month, month_of
from tests.support.full_scan.figures import exposure, figures_by_coin
from tests.support.full_scan.knowledge import View
from tests.support.full_scan.quotients import EXACT, text
from tests.support.full_scan.rows import Books, Row
from tests.support.full_scan.rules import RULES

BLOCKING = {
    "amounts_can_be_summed", "listed_records_remain",
    "amounts_are_not_negative", "kind_is_known", "payout_debited_equals_amount_plus_fee",
    "receipt_number_is_unique", "receipt_proves_its_payment", "record_could_be_held",
    "record_is_still_listed", "record_was_not_restated", "reference_is_unique",
    "refund_currency_is_its_payments", "refund_has_its_payment", "refund_is_debited_without_fee",
    "refunds_stay_within_charged_amount", "status_is_known",
}  # fmt: skip
COLUMNS = ("check_name", "severity", "record_id", "month", "currency", "detail")
_OF_SPANS = ("record_could_be_held", "listed_records_remain")  # they may lie between two instants
_UNPLACED = "balance_is_of_a_coin_that_moved"

_END = to_micros(datetime.max.replace(tzinfo=UTC))
_ALWAYS = ("check_name", "record_id", "occurred_at", "currency", "detail")


def findings_of_all_time(books: Books) -> list[Any]:
    """What the rules find in a lake, whenever it occurred or is said to, without an order."""
    always = replace(month("2026-10"), start=BEGINNING, end=_END)
    view = View(books, always, books.read_to, books.read_to)
    with localcontext(EXACT):
        return [
            (rule.__name__, record, None if at is None else from_micros(at), *rest)
            for rule in RULES
            for record, at, *rest in rule(view)
        ]


def as_found(rows: list[Row]) -> list[Any]:
    """The same of rows of the view `exceptions`."""
    return [tuple(row[name] for name in _ALWAYS) for row in rows]


def checks(view: View) -> list[Row]:
    """The table `checks`, in order."""
    found = [
        (name, *each)
        for rule in RULES
        for name, each in ((rule.__name__, each) for each in rule(view))
        if each[1] is None or view.holds(each[1]) or name in _OF_SPANS
    ]
    found.sort(key=lambda each: (each[0], each[2] or 0, each[1] or "", each[4]))
    found.sort(key=lambda each: each[0] in BLOCKING, reverse=True)
    return [_row(view, *each) for each in found] + _old_rates(view) + _unplaced(view)


def _row(
    view: View, name: str, record_id: str | None, at: int | None, coin: str | None, detail: str
) -> Row:
    return {
        "check_name": name,
        "severity": "blocking" if name in BLOCKING else "advisory",
        "record_id": record_id,
        "month": None if at is None else month_of(at).label if at >= 0 else _early_month(at),
        "currency": coin,
        "detail": detail,
    }


def _early_month(at: int) -> str:
    return f"{from_micros(at).year:04d}-{from_micros(at).month:02d}"


def _old_rates(view: View) -> list[Row]:
    """Positions in USD at rates that are more than 31 days old."""
    found = []
    for row in exposure(view):
        coin, age, value = row["currency"], row["rate_age_days"] or 0, row["usd_exposure"]
        if age > 31 and value:
            detail = f"USD {text(value)} at a rate that is {age} days old"
            found.append(_row(view, "rate_of_a_position_is_recent", coin, None, coin, detail))
    return found


def _unplaced(view: View) -> list[Row]:
    coins = figures_by_coin(view)
    return [
        {
            "check_name": _UNPLACED,
            "severity": "advisory",
            "record_id": None,
            "month": view.period.label,
            "currency": row["currency"],
            "detail": (
                f"assertions.csv, line {row['line']}: a balance of {row['currency']} was "
                f"asserted, and {view.period.folder} has no movement and no position in "
                f"{row['currency']}: it is compared with nothing"
            ),
        }
        for row in view.books.assertions
        if view.start < row["at"] <= view.end and row["currency"] not in coins
    ]
