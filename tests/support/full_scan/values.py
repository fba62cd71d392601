"""What each figure of a period is, if all was read."""

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.support.full_scan.knowledge import View
from tests.support.full_scan.quotients import ZERO, middle, ratio, share, total, total_known, worth
from tests.support.full_scan.rows import Row

Values = dict[str, Any]
ATTESTED = ("valid", "valid_previous_secret")
PROVEN = (*ATTESTED, "proven_by_record")


def values_of(view: View, coin: str) -> Values:
    """Return every figure of a coin as if all was read."""
    found: Values = {}
    found |= _sales(view, coin)
    found |= _refunds(view, coin, found)
    found |= _payouts(view, coin)
    found |= _net_in_usd(found)
    found |= _position(view, coin)
    found |= _cohort(view, coin, found)
    found |= _receipts(view, coin, found)
    found |= _asserted(view, coin)
    own = view.period
    fees = [
        -entry.fee
        for entry in view.books.entries
        if own.start <= entry.at < own.end
        and entry.currency == coin
        and (entry.kind != "payment" or entry.row["fee_bearer"] == "merchant")
    ]
    found["total_fees_borne"] = total(fees)
    found["refund_ratio_period"] = ratio(found["refunds_paid"], found["charged_total"])
    return found


def sold(view: View, coin: str | None = None) -> list[Row]:
    """Return the completed payments of the period."""
    rows = [row for row in view.books.sales if view.holds(row["paid_at"])]
    return [row for row in rows if coin in (None, row["currency"])]


def _sales(view: View, coin: str) -> Values:
    rows = sold(view, coin)
    gross, fees = (total(row[name] for row in rows) for name in ("amount", "fee_amount"))
    quotients = [ratio(row["fee_amount"], row["amount"]) for row in rows]
    rates = [rate for rate in quotients if rate is not None]
    amounts = [row["amount"] for row in rows]
    return {
        "payments_count": len(rows),
        "payers_count": len({row["payer_id"] for row in rows} - {None}),
        "gross_sales": gross,
        "charged_total": total(row["charged_amount"] for row in rows),
        "payment_fees": fees,
        "net_sales": total(row["net_amount"] for row in rows),
        "ticket_avg": share(gross, 1, len(rows)),
        "ticket_max": max(amounts, default=None),
        "ticket_median": middle(amounts, 18),
        "fee_rate_min": min(rates, default=None),
        "fee_rate_max": max(rates, default=None),
        "fee_rate_median": middle(rates, 8),
        "effective_fee_rate": ratio(fees, gross),
        "usd_gross": _priced(row["usd_value"] for row in rows),
        "usd_gross_priced_count": sum(row["usd_value"] is not None for row in rows),
        "usd_net_sales": _at_own_rates(rows, "net_amount"),
        "usd_fees": _at_own_rates(rows, "fee_amount"),
        **_oddities(rows),
    }


def _oddities(rows: list[Row]) -> Values:
    """Return what does not add up within payments, and who bears their fees."""
    own = [row for row in rows if row["fee_bearer"] == "merchant"]
    others = [row for row in rows if row["fee_bearer"] not in ("merchant", None)]
    return {
        "fees_borne_by_merchant": total(row["fee_amount"] for row in own),
        "fees_borne_by_others": total(row["fee_amount"] for row in others),
        "fees_without_bearer": total(
            row["fee_amount"] for row in rows if row["fee_bearer"] is None
        ),
        "bearer_breaks": sum(
            row["charged_amount"] != row["amount"]
            or row["net_amount"] != row["amount"] - row["fee_amount"]
            for row in own
        ),
        "pay_identity_breaks": sum(
            row["charged_amount"] - row["fee_amount"] != row["net_amount"] for row in rows
        ),
    }


def _priced(values: Iterable[Decimal | None]) -> Decimal | None:
    """Sum what has a value in USD: nothing sold is zero, nothing priced is unknown."""
    found = list(values)
    return total_known(found) if found else ZERO


def _at_own_rates(rows: list[Row], name: str) -> Decimal | None:
    """Sum amounts in USD, each at its payment's rate; unknown where a quotient does not fit."""
    values = [share(row["usd_value"], row[name], row["amount"]) for row in rows]
    divided = [row["amount"] and row["usd_value"] is not None for row in rows]
    lacks = any(
        is_divided and value is None for is_divided, value in zip(divided, values, strict=True)
    )
    return None if lacks else _priced(values)


def moved(view: View, kind: str, coin: str | None = None) -> list[Row]:
    """Return the completed refunds or payouts of the period."""
    rows = [row for row in view.books.money if view.holds(row["settled_at"])]
    return [row for row in rows if row["kind"] == kind and coin in (None, row["currency"])]


def parent_of(view: View, refund: Row) -> Row | None:
    """Return the payment that a refund returns, whatever its status."""
    return view.books.by_id.get(refund["payment_id"])


def fee_kept(view: View, refund: Row) -> Decimal | None:
    """Return the payment's fee on the value returned."""
    paid = parent_of(view, refund) or dict.fromkeys(("fee_amount", "charged_amount"))
    return share(paid["fee_amount"], refund["amount"], paid["charged_amount"])


def _leaked(pairs: list[tuple[Decimal | None, Row | None]]) -> Decimal | None:
    """Sum what each refund left of its payment's fee; unknown where a quotient does not fit."""
    if any(kept is None and paid and paid["charged_amount"] for kept, paid in pairs):
        return None
    return total(kept or ZERO for kept, _ in pairs)


def _drift(view: View, refund: Row) -> Decimal | None:
    paid = parent_of(view, refund)
    if not paid or paid["currency"] != refund["currency"] or refund["usd_value"] is None:
        return None
    then = share(paid["usd_value"], refund["amount"], paid["amount"])
    return None if then is None else refund["usd_value"] - then


def _refunds(view: View, coin: str, found: Values) -> Values:
    rows = moved(view, "refund", coin)
    pairs = [(row, parent_of(view, row)) for row in rows]
    drifts = [_drift(view, row) for row in rows]
    same = [row for row, paid in pairs if paid and paid["currency"] == coin]
    unresolved = [row for row, paid in pairs if not paid]
    return {
        "refunds_count": len(rows),
        "refunds_paid": total(row["amount"] for row in rows),
        "refunds_debited": total(row["debited_amount"] for row in rows),
        "refunds_same_period": total(
            row["amount"] for row, paid in pairs if paid and paid["paid_at"] >= view.start
        ),
        "refunds_prior_period": total(
            row["amount"] for row, paid in pairs if paid and paid["paid_at"] < view.start
        ),
        "refunds_unresolved": total(row["amount"] for row in unresolved),
        "refunds_unresolved_count": len(unresolved),
        "fee_leakage": _leaked([(fee_kept(view, row), parent_of(view, row)) for row in same]),
        "usd_refunds": _priced(row["usd_value"] for row in rows),
        "usd_refunds_priced_count": sum(row["usd_value"] is not None for row in rows),
        "usd_refunds_same_period": _priced(
            row["usd_value"] for row, paid in pairs if paid and paid["paid_at"] >= view.start
        ),
        "usd_refunds_prior_period": _priced(
            row["usd_value"] for row, paid in pairs if paid and paid["paid_at"] < view.start
        ),
        "usd_refunds_unresolved": _priced(row["usd_value"] for row in unresolved),
        "usd_rate_drift": None if None in drifts or not drifts else total_known(drifts),
    }


def _payouts(view: View, coin: str) -> Values:
    rows = moved(view, "payout", coin)
    return {
        "payouts_count": len(rows),
        "payouts_sent": total(row["amount"] for row in rows),
        "payout_fees": total(row["fee_amount"] for row in rows),
        "payouts_debited": total(row["debited_amount"] for row in rows),
        "usd_payouts": _priced(row["usd_value"] for row in rows),
        "usd_payouts_priced_count": sum(row["usd_value"] is not None for row in rows),
        "usd_payout_fees": _at_own_rates(rows, "fee_amount"),
        "usd_payouts_debited": _at_own_rates(rows, "debited_amount"),
    }


def _net_in_usd(found: Values) -> Values:
    """Return what is left in USD; unknown where a part of it is."""
    sales, refunds, out = (
        found[name] for name in ("usd_net_sales", "usd_refunds", "usd_payouts_debited")
    )
    left = None if sales is None or refunds is None else sales - refunds
    moved_in_all = None if left is None or out is None else left - out
    return {"usd_net_settlement": left, "usd_rail_movement": moved_in_all}


def _position(view: View, coin: str) -> Values:
    own = [entry for entry in view.books.entries if entry.currency == coin]
    until = [entry for entry in own if entry.at < view.end]
    within = [entry for entry in until if entry.at >= view.start]
    priced = [entry for entry in until if entry.usd_value is not None and entry.gross]
    newest = max(priced, key=lambda entry: entry.place, default=None)
    closing = total(entry.net for entry in until)
    found: Values = {
        "movements_count": len(within),
        "net_settlement": total(entry.net for entry in within if entry.kind != "payout"),
        "rail_movement": total(entry.net for entry in within),
        "opening_position": total(entry.net for entry in until if entry.at < view.start),
        "closing_position": closing,
    }
    rate = dict.fromkeys(("implied_rate", "implied_rate_at", "rate_record_id", "usd_exposure"))
    if newest:
        amount = abs(newest.gross)
        rate = {
            "implied_rate": share(newest.usd_value, 1, amount),
            "implied_rate_at": newest.at,
            "rate_record_id": newest.id,
            "usd_exposure": worth(closing, newest.usd_value, amount),
        }
    return found | rate


def _cohort(view: View, coin: str, found: Values) -> Values:
    """Return what was returned to date of the period's payments."""
    returned: dict[str, Decimal] = {}
    for row in view.books.money:
        is_counted = row["kind"] == "refund" and row["currency"] == coin
        if is_counted and row["settled_at"] < view.as_of:
            before = returned.get(row["payment_id"], ZERO)
            returned[row["payment_id"]] = before + row["amount"]
    pairs = [
        (returned[row["id"]], row["charged_amount"])
        for row in sold(view, coin)
        if row["id"] in returned
    ]
    to_date = total(back for back, _ in pairs)
    return {
        "fully_refunded_count": sum(0 < back >= charged for back, charged in pairs),
        "partly_refunded_count": sum(0 < back < charged for back, charged in pairs),
        "refund_ratio_cohort": ratio(to_date, found["charged_total"]),
        "refunded_payments_ratio": ratio(len(pairs), found["payments_count"]),
        "open_refundable": found["charged_total"] - to_date,
    }


def verdict_of(view: View, payment: Row) -> tuple[str, str]:
    """Return what the receipt of a payment was found to prove, and the same in words."""
    if payment["receipt"] is None:
        return "missing", "the payment has no receipt token"
    row = view.books.verdicts.get((payment["id"], payment["extracted_at"]))
    if row:
        return row["verdict"], row["reason"]
    return "not_checked", "its receipt was never checked: run svc-analytics receipts verify"


def _receipts(view: View, coin: str, found: Values) -> Values:
    pairs = [(row, verdict_of(view, row)[0]) for row in sold(view, coin)]
    attested = [row for row, verdict in pairs if verdict in ATTESTED]
    amount = total(row["charged_amount"] for row in attested)
    return {
        "receipts_checked": sum(verdict != "not_checked" for _, verdict in pairs),
        "receipts_valid": sum(verdict in PROVEN for _, verdict in pairs),
        "attested_count": len(attested),
        "attested_amount": amount,
        "attested_ratio": ratio(amount, found["charged_total"]),
        "attested_count_ratio": ratio(len(attested), found["payments_count"]),
    }


def _asserted(view: View, coin: str) -> Values:
    """Return the newest balance that was read off in the period, and what explains it not."""
    seen = [
        row
        for row in view.books.assertions
        if row["currency"] == coin and view.start < row["at"] <= view.end
    ]
    if not seen:
        note = "no balance asserted"
        return {"asserted_balance": None, "outside_movement": None, "note": note}
    newest = max(seen, key=lambda row: (row["at"], row["line"]))
    earlier = [row["balance"] for row in seen if row["at"] == newest["at"]][:-1]
    replaced = (
        f"; it replaces {', '.join(f'{each.normalize():f}' for each in earlier)}" if earlier else ""
    )
    is_read = newest["at"] <= view.books.read_to
    moved_before = total(
        entry.net
        for entry in view.books.entries
        if entry.currency == coin and entry.at < newest["at"]
    )
    at = datetime.fromtimestamp(newest["at"] // 1_000_000, UTC)
    return {
        "asserted_balance": newest["balance"],
        "outside_movement": newest["balance"] - moved_before if is_read else None,
        "note": f"read off the console at {at:%Y-%m-%dT%H:%M:%SZ}{replaced}",
    }
