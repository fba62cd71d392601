"""The figures of a statement computed a second time, from contract records alone.

Plain Python over Decimal and Fraction, sharing nothing with the package: the tests
compare every statement with it, digit by digit.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

Record = dict[str, Any]
WIDE = Context(prec=200, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Books:
    """All records of a merchant, as the service states them."""

    payments: list[Record]
    payout_records: list[Record]

    def summary(self, start: datetime, end: datetime, as_of: datetime) -> dict[str, Record]:
        """Return the summary figures by currency; all time is taken as read."""
        figures = {}
        for currency in sorted({record["currency"] for record in self._all()}):
            found = self._currency(currency, start, end, as_of)
            if found.pop("movements") or found["closing_position"]:
                figures[currency] = found
        return figures

    def _all(self) -> Iterable[Record]:
        return [*self.payments, *self.payout_records]

    def _currency(self, currency: str, start: datetime, end: datetime, as_of: datetime) -> Record:
        payments = [p for p in self.payments if p["currency"] == currency and is_money(p)]
        records = [r for r in self.payout_records if r["currency"] == currency and is_money(r)]
        p = [x for x in payments if start <= at(x["paid_at"]) < end]
        moved = [x for x in records if start <= at(x["settled_at"]) < end]
        r = [x for x in moved if x["kind"] == "refund"]
        o = [x for x in moved if x["kind"] == "payout"]
        parents = {x["id"]: x for x in self.payments}
        refunded: dict[str, Decimal] = defaultdict(Decimal)
        for x in records:
            parent = parents.get(x["payment_id"])
            if (
                x["kind"] == "refund"
                and parent
                and parent["currency"] == currency
                and at(x["settled_at"]) < as_of
            ):
                refunded[x["payment_id"]] += Decimal(x["amount"])
        to_date = sum((refunded[x["id"]] for x in p if x["id"] in refunded), Decimal())
        opening = total(x["net_amount"] for x in payments if at(x["paid_at"]) < start) - total(
            x["debited_amount"] for x in records if at(x["settled_at"]) < start
        )
        net_sales, charged = (
            total(x["net_amount"] for x in p),
            total(x["charged_amount"] for x in p),
        )
        gross, fees = total(x["amount"] for x in p), total(x["fee_amount"] for x in p)
        refunds_debited = total(x["debited_amount"] for x in r)
        payouts_debited = total(x["debited_amount"] for x in o)
        movement = net_sales - refunds_debited - payouts_debited
        closing = opening + movement
        rate = newest_rate(payments, records, end)
        known = [x for x in r if x["payment_id"] in parents]
        borne = total(x["fee_amount"] for x in p if x["fee_bearer"] == "merchant")
        return {
            "movements": len(p) + len(moved),
            "payments_count": len(p),
            "payers_count": len({x["payer_id"] for x in p}),
            "gross_sales": gross,
            "charged_total": charged,
            "payment_fees": fees,
            "net_sales": net_sales,
            "refunds_count": len(r),
            "refunds_paid": total(x["amount"] for x in r),
            "refunds_debited": refunds_debited,
            "refunds_same_period": total(
                x["amount"] for x in known if at(parents[x["payment_id"]]["paid_at"]) >= start
            ),
            "refunds_prior_period": total(
                x["amount"] for x in known if at(parents[x["payment_id"]]["paid_at"]) < start
            ),
            "refunds_unresolved": total(x["amount"] for x in r if x["payment_id"] not in parents),
            "fee_leakage": sum(
                (
                    quotient(
                        [parents[x["payment_id"]]["fee_amount"], x["amount"]],
                        parents[x["payment_id"]]["charged_amount"],
                        18,
                    )
                    or Decimal()
                    for x in known
                    if parents[x["payment_id"]]["currency"] == currency
                ),
                Decimal(),
            ),
            "payouts_count": len(o),
            "payouts_sent": total(x["amount"] for x in o),
            "payout_fees": total(x["fee_amount"] for x in o),
            "payouts_debited": payouts_debited,
            "total_fees_borne": borne + total(x["fee_amount"] for x in moved),
            "net_settlement": net_sales - refunds_debited,
            "rail_movement": movement,
            "opening_position": opening,
            "closing_position": closing,
            "effective_fee_rate": quotient([fees], gross, 8),
            "refund_ratio_period": quotient([total(x["amount"] for x in r)], charged, 8),
            "refund_ratio_cohort": quotient([to_date], charged, 8),
            "refunded_payments_ratio": quotient([sum(x["id"] in refunded for x in p)], len(p), 8),
            "open_refundable": charged - to_date,
            "usd_gross": priced(p, lambda x: Decimal(x["usd_value"])),
            "usd_net_sales": priced(
                p, lambda x: quotient([x["usd_value"], x["net_amount"]], x["amount"], 18)
            ),
            "usd_fees": priced(
                p, lambda x: quotient([x["usd_value"], x["fee_amount"]], x["amount"], 18)
            ),
            "usd_refunds": priced(r, lambda x: Decimal(x["usd_value"])),
            "usd_payouts": priced(o, lambda x: Decimal(x["usd_value"])),
            "implied_rate": rate and quotient([rate["usd_value"]], rate["amount"], 18),
            "implied_rate_at": rate and moment(rate),
            "usd_exposure": rate and quotient([closing, rate["usd_value"]], rate["amount"], 8),
            "receipts_checked": None,
            "receipts_valid": None,
            "attested_ratio": None,
        }


def is_money(record: Record) -> bool:
    return record["status"] == "completed" and record.get("kind", "payout") in ("payout", "refund")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def moment(record: Record) -> datetime:
    return at(record.get("paid_at") or record["settled_at"])


def total(amounts: Iterable[str]) -> Decimal:
    found = Decimal()
    for amount in amounts:
        found = WIDE.add(found, Decimal(amount))
    return found


def quotient(factors: list[Any], divisor: Any, places: int) -> Decimal | None:
    """Multiply exactly, divide once, round half up (away from zero) once."""
    if not Fraction(divisor):
        return None
    exact = Fraction(1)
    for factor in factors:
        exact *= Fraction(factor)
    units = exact / Fraction(divisor) * 10**places
    sign = -1 if units < 0 else 1
    whole = (2 * abs(units.numerator) + units.denominator) // (2 * units.denominator)
    return Decimal(sign * whole).scaleb(-places, WIDE)


def priced(records: list[Record], value: Any) -> Decimal | None:
    """Sum what has a recorded value; nothing sold is zero, nothing priced is unknown."""
    if not records:
        return Decimal()
    values = [value(x) for x in records if x["usd_value"] is not None]
    values = [x for x in values if x is not None]
    return sum(values, Decimal()) if values else None


def newest_rate(payments: list[Record], records: list[Record], end: datetime) -> Record | None:
    """The newest priced record before the end; ties by kind, then id."""
    candidates = [
        (moment(x), x.get("kind", "payment"), x["id"], x)
        for x in (*payments, *records)
        if moment(x) < end and x["usd_value"] is not None and Decimal(x["amount"])
    ]
    return max(candidates, key=lambda item: item[:3])[3] if candidates else None
