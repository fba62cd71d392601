"""The table `lines`: every movement of a period, and what each returns."""

from datetime import date, timedelta
from decimal import Decimal
from hashlib import sha256
from zoneinfo import ZoneInfo

from svc_analytics.periods import month_of
from tests.support.full_scan.knowledge import View
from tests.support.full_scan.quotients import ratio, share, total
from tests.support.full_scan.rows import EPOCH, Entry, Row
from tests.support.full_scan.values import parent_of, verdict_of


def lines(view: View) -> list[Row]:
    """The table `lines`, but for its flags."""
    running = {coin: total(nets_of(view, coin)) for coin in view.coins}
    found = []
    for number, entry in enumerate(entries_of(view), 1):
        running[entry.currency] += entry.net
        known = view.known[entry.currency]
        row = _line(view, entry) | {"line_no": number, "running_position": None}
        if known.has_opening and known.has_closing:
            row["running_position"] = running[entry.currency]
        found.append(row)
    return found


def entries_of(view: View) -> list[Entry]:
    """Return the movements of the period, in order."""
    return [entry for entry in view.books.entries if view.holds(entry.at)]


def nets_of(view: View, coin: str) -> list[Decimal]:
    """Return what moved in a coin before the period."""
    own = (entry for entry in view.books.entries if entry.currency == coin)
    return [entry.net for entry in own if entry.at < view.start]


def _line(view: View, entry: Entry) -> Row:
    row, is_payment = entry.row, entry.kind == "payment"
    versions = sum(
        older["id"] == entry.id and (stream == "payments") == is_payment
        for stream, older in view.books.changes
    )
    return {
        "entry_id": f"{entry.kind}:{entry.id}",
        "kind": entry.kind,
        "status": row["status"],
        "record_id": entry.id,
        "receipt_no": row.get("receipt_no"),
        "reference_id": row["reference_id"],
        "session_id": row.get("session_id"),
        "occurred_at_utc": entry.at,
        "occurred_at_local": clock(view, entry.at),
        "period": view.period.label,
        "currency": entry.currency,
        "gross": entry.gross,
        "charged": row.get("charged_amount"),
        "fee": entry.fee,
        "net": entry.net,
        "fee_bearer": row.get("fee_bearer"),
        "fee_percent": row.get("fee_percent"),
        "effective_fee_rate": ratio(-entry.fee, abs(entry.gross)),
        "usd_value": entry.usd_value,
        "implied_usd_rate": share(entry.usd_value, 1, abs(entry.gross)),
        "payer_ref": pseudonym(row["payer_id"]),
        "comment": row.get("comment"),
        "receipt_verdict": verdict_of(view, row)[0] if is_payment else None,
        "receipt_sha256": fingerprint(row.get("receipt"), 64),
        "first_seen_at": row["extracted_at"],
        "record_version": 1 + versions,
        **_returned(view, entry),
    }


def _returned(view: View, entry: Entry) -> Row:
    """Return what a line says of the payment that it returns."""
    names = ("receipt_no", "reference_id", "paid_at", "period")
    found: Row = dict.fromkeys([f"parent_{name}" for name in names])
    found |= dict.fromkeys(("refunded_before", "refunded_after", "refundable_left"))
    found |= {"days_to_refund": None, "parent_payment_id": entry.row.get("payment_id")}
    paid = parent_of(view, entry.row) if entry.kind == "refund" else None
    if not paid:
        return found
    found |= {f"parent_{name}": paid[name] for name in names[:3]}
    found["parent_period"] = month_of(paid["paid_at"]).label
    found["days_to_refund"] = (day_of(view, entry.at) - day_of(view, paid["paid_at"])).days
    if paid["currency"] == entry.currency and has_earlier(view, entry.currency, paid):
        after = refunded_after(view, entry.row)
        found["refunded_before"] = after - entry.row["amount"]
        found["refunded_after"] = after
        found["refundable_left"] = paid["charged_amount"] - after
    return found


def refunded_after(view: View, refund: Row) -> Decimal:
    """Return what was returned of a payment in a refund's coin, with it and before it."""
    return total(
        row["amount"]
        for row in view.books.money
        if row["kind"] == "refund"
        and (row["payment_id"], row["currency"]) == (refund["payment_id"], refund["currency"])
        and (row["settled_at"], row["id"]) <= (refund["settled_at"], refund["id"])
    )


def has_earlier(view: View, coin: str, paid: Row) -> bool:
    """Whether all earlier refunds of a payment are known."""
    whole_from = view.known[coin].refunds_whole_from
    return whole_from is None or bool(paid["paid_at"] >= whole_from)


def clock(view: View, at: int) -> int:
    """Return what a clock of the statement's zone shows, as if it were UTC."""
    local = (EPOCH + timedelta(microseconds=at)).astimezone(ZoneInfo(view.period.zone))
    return (local.replace(tzinfo=EPOCH.tzinfo) - EPOCH) // timedelta(microseconds=1)


def day_of(view: View, at: int) -> date:
    """Return the day of an instant in the statement's zone."""
    return (EPOCH + timedelta(microseconds=clock(view, at))).date()


def pseudonym(payer_id: str | None) -> str | None:
    """Return what a statement calls a customer; no program takes it for a number or a day."""
    return payer_id and f"p-{fingerprint(payer_id, 12)}"


def fingerprint(text: str | None, size: int) -> str | None:
    """Return the first letters of a text's SHA-256."""
    return None if text is None else sha256(text.encode()).hexdigest()[:size]
