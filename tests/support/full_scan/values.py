"""What each figure of a period is, if all was read: fee tiers, quotients, medians, texts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from math import prod
from typing import Any

from tests.support.full_scan.rows import DAY, Row, View

Values = dict[str, Any]
ATTESTED = ("valid", "valid_previous_secret")
PROVEN = (*ATTESTED, "proven_by_record")


def values_of(view: View, coin: str) -> Values:
    """Return every figure of a coin as if all was read."""
    found = _sales(view, coin) | _refunds(view, coin) | _payouts(view, coin)
    found |= _net_in_usd(found) | _position(view, coin) | _cohort(view, coin, found)
    found |= _receipts(view, coin, found) | _asserted(view, coin)
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


def _refunds(view: View, coin: str) -> Values:
    rows = moved(view, "refund", coin)
    pairs = [(row, parent_of(view, row)) for row in rows]
    drifts = [_drift(view, row) for row in rows]
    same = [row for row, paid in pairs if paid and paid["currency"] == coin]
    by_parent = {
        "same_period": [row for row, paid in pairs if paid and paid["paid_at"] >= view.start],
        "prior_period": [row for row, paid in pairs if paid and paid["paid_at"] < view.start],
        "unresolved": [row for row, paid in pairs if not paid],
    }
    found: Values = {
        "refunds_count": len(rows),
        "refunds_paid": total(row["amount"] for row in rows),
        "refunds_debited": total(row["debited_amount"] for row in rows),
        "refunds_unresolved_count": len(by_parent["unresolved"]),
        "fee_leakage": _leaked([(fee_kept(view, row), parent_of(view, row)) for row in same]),
        "usd_refunds": _priced(row["usd_value"] for row in rows),
        "usd_refunds_priced_count": sum(row["usd_value"] is not None for row in rows),
        "usd_rate_drift": None if None in drifts or not drifts else total_known(drifts),
    }
    for name, own in by_parent.items():
        found[f"refunds_{name}"] = total(row["amount"] for row in own)
        found[f"usd_refunds_{name}"] = _priced(row["usd_value"] for row in own)
    return found


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


Tiers = dict[tuple[str, int], Decimal]  # by coin and UTC day, counted from 1970


def fees_off_tier(view: View) -> Iterator[tuple[Row, Decimal]]:
    """Yield the payments of the period with a fee at another rate than their day."""
    tiers, units = _tiers(view)
    for row in view.books.sales:
        rate = tiers.get((row["currency"], row["paid_at"] // DAY))
        if rate is not None:
            unit = units[row["currency"]]
            if is_at_rate(row["fee_amount"], row["amount"], rate, unit) is False:
                yield row, rate


def fees_off_payments(view: View) -> Iterator[tuple[Row, Decimal]]:
    """Yield the payouts of the period with a fee at another rate than the newest payments."""
    tiers, units = _tiers(view)
    for row in moved(view, "payout"):
        coin, day = row["currency"], row["settled_at"] // DAY
        earlier = [each for each in tiers if each[0] == coin and each[1] <= day]
        if earlier:
            rate = tiers[max(earlier)]
            if is_at_rate(row["fee_amount"], row["amount"], rate, units[coin]) is False:
                yield row, rate


def _tiers(view: View) -> tuple[Tiers, dict[str, Decimal]]:
    """Return the tier of each day of the period and of the last day before, and coins' units."""
    rows = _rows(view)
    places: dict[str, int] = defaultdict(int)
    for row in rows:
        used = max(places_used(row["amount"]), places_used(row["fee_amount"]))
        places[row["currency"]] = max(places[row["currency"]], used)
    units = {coin: Decimal(1).scaleb(-used) for coin, used in places.items()}
    bases: dict[tuple[str, int], dict[Decimal, list[Decimal]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        rate = _explained(row, units[row["currency"]])
        if rate is not None:
            bases[row["currency"], row["paid_at"] // DAY][rate].append(row["amount"])
    tiers = {
        key: min(found, key=lambda rate: (-total(found[rate]), rate))
        for key, found in bases.items()
    }
    return tiers, units


def _rows(view: View) -> list[Row]:
    """Return the payments of the period's UTC days, and of each coin's last day before."""
    first, last = view.start // DAY, (view.end - 1) // DAY
    sales = [row for row in view.books.sales if row["amount"] and row["paid_at"] // DAY <= last]
    before: dict[str, int] = {}
    for row in sales:
        day = row["paid_at"] // DAY
        if day < first:
            before[row["currency"]] = max(before.get(row["currency"], 0), day)
    return [
        row
        for row in sales
        if row["paid_at"] // DAY >= first or row["paid_at"] // DAY == before[row["currency"]]
    ]


def _explained(row: Row, unit: Decimal) -> Decimal | None:
    """Return the rate with the fewest places that explains a fee."""
    exact = ratio(row["fee_amount"], row["amount"])
    if exact is None:
        return None
    for places in (3, 4, 5):
        rate = round_half_up(exact, places)
        if is_at_rate(row["fee_amount"], row["amount"], rate, unit):
            return rate
    return exact


EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
ZERO = Decimal().quantize(Decimal("1e-18"))
LIMIT = 10**20  # from here on 38 digits with 18 places hold no amount


def stated(amount: Decimal | None) -> Decimal | None:
    """Return an amount as a statement holds it: unknown where 38 digits do not."""
    return None if amount is None or amount.copy_abs() >= LIMIT else amount


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Add amounts exactly; none are zero."""
    found = ZERO
    for amount in amounts:
        found = EXACT.add(found, amount)
    return found


def total_known(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Add the amounts that are known; without one the sum is unknown."""
    known = [amount for amount in amounts if amount is not None]
    return total(known) if known else None


def ratio(part: Any, whole: Any) -> Decimal | None:
    """Divide, half up at 8 places."""
    return _rounded([part], whole, 8)


def share(a: Any, b: Any, c: Any) -> Decimal | None:
    """Return a * b / c, rounded once, half up at 18 places."""
    return _rounded([a, b], c, 18)


def worth(a: Any, b: Any, c: Any) -> Decimal | None:
    """Return a * b / c, half up at 8 places."""
    return stated(_rounded([a, b], c, 8))


def _rounded(factors: list[Any], divisor: Any, places: int) -> Decimal | None:
    given = (*factors, divisor)
    if not divisor or any(each is None or abs(Fraction(each)) >= LIMIT for each in given):
        return None
    exact = prod(map(Fraction, factors)) / Fraction(divisor)
    units = abs(exact) * 10**places
    whole = (2 * units.numerator + units.denominator) // (2 * units.denominator)
    if whole >= 10**38:
        return None
    return Decimal(-whole if exact < 0 else whole).scaleb(-places, EXACT)


def middle(values: Iterable[Decimal], places: int) -> Decimal | None:
    """Return the median; of two in the middle their mean, the half of the last place up."""
    found = sorted(values)
    if not found:
        return None
    low, high = found[(len(found) - 1) // 2], found[len(found) // 2]
    if places == 8:
        return round_half_up(EXACT.divide(EXACT.add(low, high), 2), 8)
    return EXACT.add(low, round_half_up(EXACT.divide(EXACT.subtract(high, low), 2), 18))


def round_half_up(value: Decimal, places: int) -> Decimal:
    """Round, a half away from zero."""
    return value.quantize(Decimal(1).scaleb(-places), context=EXACT)


def is_at_rate(fee: Decimal, base: Decimal, rate: Decimal, unit: Decimal) -> bool:
    """Tell whether a fee is at a rate, to one unit; a rate from 1e10 on is none."""
    product = EXACT.multiply(base, rate)
    return abs(EXACT.subtract(fee, product)) <= unit and abs(rate) < 10**10


def places_used(value: Decimal) -> int:
    """Return how many decimal places are in use."""
    return len(text(value).partition(".")[2].rstrip("0"))


def text(value: Decimal, places: int = 18) -> str:
    """Write an amount with all its places."""
    return format(value.quantize(Decimal(1).scaleb(-places), ROUND_DOWN, EXACT), "f")
