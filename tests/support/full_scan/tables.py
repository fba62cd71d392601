"""The tables of days, positions, fees, refunds, cohorts, payouts, receipts, and what was read."""

from bisect import bisect_right
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from svc_analytics.periods import Period, month_of
from tests.support.full_scan.knowledge import View, gaps
from tests.support.full_scan.lines import (
    day_of,
    entries_of,
    has_earlier,
    nets_of,
    pseudonym,
    refunded_after,
)
from tests.support.full_scan.quotients import ratio, total
from tests.support.full_scan.rows import STREAMS, Entry, Row
from tests.support.full_scan.values import fee_kept, moved, parent_of, sold, verdict_of


def daily(view: View) -> list[Row]:
    """The table `daily`."""
    days: dict[tuple[date, str], list[Entry]] = defaultdict(list)
    for entry in entries_of(view):
        days[day_of(view, entry.at), entry.currency].append(entry)
    return [_day(view, day, coin, days[day, coin]) for day, coin in sorted(days)]


def _day(view: View, day: date, coin: str, entries: list[Entry]) -> Row:
    known = view.known[coin]
    by_kind = {
        kind: [entry for entry in entries if entry.kind == kind]
        for kind in ("payment", "refund", "payout")
    }
    paid, back, out = by_kind.values()
    values: dict[str, tuple[bool, Any]] = {
        "payments_count": (known.has_payments, len(paid)),
        "gross_sales": (known.has_payments, total(entry.gross for entry in paid)),
        "payment_fees": (known.has_payments, total(-entry.fee for entry in paid)),
        "net_sales": (known.has_payments, total(entry.net for entry in paid)),
        "refunds_count": (known.has_payouts, len(back)),
        "refunds_debited": (known.has_payouts, total(-entry.net for entry in back)),
        "payouts_count": (known.has_payouts, len(out)),
        "payouts_debited": (known.has_payouts, total(-entry.net for entry in out)),
        "net_settlement": (
            known.has_payments and known.has_payouts,
            total(entry.net for entry in (*paid, *back)),
        ),
        "rail_movement": (
            known.has_payments and known.has_payouts,
            total(entry.net for entry in entries),
        ),
    }
    masked = {name: value if is_known else None for name, (is_known, value) in values.items()}
    return {"day": day, "currency": coin} | masked


def position(view: View) -> list[Row]:
    """The table `position`."""
    last = min(view.end, view.books.read_to)
    first_day, last_day = day_of(view, view.start), day_of(view, last - 1)
    days = [first_day + timedelta(place) for place in range((last_day - first_day).days + 1)]
    found = []
    for coin in sorted(view.coins):
        nets = nets_of(view, coin)
        own = [entry for entry in entries_of(view) if entry.currency == coin]
        if own or total(nets):
            found += _coin_days(view, coin, total(nets), own, days)
    return sorted(found, key=lambda row: (row["day"], row["currency"]))


def _coin_days(
    view: View, coin: str, opening: Decimal, entries: list[Entry], days: list[date]
) -> list[Row]:
    known, rows = view.known[coin], []
    for day in days:
        movement = total(entry.net for entry in entries if day_of(view, entry.at) == day)
        has_position = known.has_opening and known.has_closing
        rows.append(
            {
                "day": day,
                "currency": coin,
                "opening": opening if has_position else None,
                "movement": movement if known.has_payments and known.has_payouts else None,
                "closing": opening + movement if has_position else None,
            }
        )
        opening += movement
    return rows


def fees(view: View) -> list[Row]:
    """The table `fees`."""
    found = [
        {
            "entry_id": f"{entry.kind}:{entry.id}",
            "incurred_by": entry.kind,
            "incurred_at": entry.at,
            "currency": entry.currency,
            "base": entry.row["amount"],
            "fee": entry.row["fee_amount"],
            "rate": ratio(entry.row["fee_amount"], entry.row["amount"]),
            "fee_bearer": entry.row["fee_bearer"] if entry.kind == "payment" else "merchant",
        }
        for entry in entries_of(view)
    ]
    return sorted(found, key=lambda row: (row["incurred_at"], row["entry_id"]))


def refunds(view: View) -> list[Row]:
    """The table `refunds`."""
    rows = sorted(moved(view, "refund"), key=lambda row: (row["settled_at"], row["id"]))
    return [_refund(view, row) for row in rows]


def _refund(view: View, row: Row) -> Row:
    paid = parent_of(view, row)
    is_same = paid is not None and paid["currency"] == row["currency"]
    named = ("reference_id", "settled_at", "currency", "amount", "debited_amount", "usd_value")
    found = {"payout_id": row["id"], "payment_id": row["payment_id"], "comment": row["comment"]}
    found |= {name: row[name] for name in named}
    parent = paid or {}
    found |= {name: parent.get(name) for name in ("receipt_no", "paid_at", "charged_amount")}
    found |= {"order_id": parent.get("reference_id")}
    found |= dict.fromkeys(("refunded_after", "refundable_left", "fee_kept"))
    if is_same and paid:
        found["fee_kept"] = fee_kept(view, row)
        if has_earlier(view, row["currency"], paid):
            found["refunded_after"] = refunded_after(view, row)
            found["refundable_left"] = paid["charged_amount"] - found["refunded_after"]
    return found


def cohorts(view: View) -> list[Row]:
    """The table `cohorts`."""
    months = _months(view)
    starts = [period.start for period in months]
    found: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in view.books.money:
        paid = parent_of(view, row) if row["kind"] == "refund" else None
        if paid and paid["currency"] == row["currency"]:
            of, settled = (
                _label(months, starts, at) for at in (paid["paid_at"], row["settled_at"])
            )
            if of and settled and row["settled_at"] < view.end:
                found[of, settled, row["currency"]].append(row)
    by_label = {period.label: period for period in months}
    return [_cohort(view, by_label[key[0]], key, found[key]) for key in sorted(found)]


def _cohort(view: View, period: Period, key: tuple[str, str, str], rows: list[Row]) -> Row:
    known = view.known[key[2]]
    charged = [
        row["charged_amount"]
        for row in view.books.sales
        if row["currency"] == key[2] and period.start <= row["paid_at"] < min(period.end, view.end)
    ]
    sold_for = total(charged) if charged else None
    has_sold = known.payments_whole_from is None or period.start >= known.payments_whole_from
    has_back = known.refunds_whole_from is None or period.start >= known.refunds_whole_from
    paid = total(row["amount"] for row in rows)
    return {
        **dict(zip(("payment_month", "refund_month", "currency"), key, strict=True)),
        "refunds_count": len(rows) if has_sold and has_back else None,
        "refunds_paid": paid if has_sold and has_back else None,
        "charged_total": sold_for if has_sold else None,
        "ratio": ratio(paid, sold_for) if has_sold and has_back else None,
    }


def _months(view: View) -> list[Period]:
    """Return the calendar's months from the first payment to the period."""
    first = min((row["paid_at"] for row in view.books.payments), default=view.end)
    found = []
    if first < view.end:
        period = month_of(first, view.period.zone, view.period.calendar)
        while period.start < view.end:
            found.append(period)
            period = period.shift(1)
    return found


def _label(months: list[Period], starts: list[int], at: int) -> str | None:
    place = bisect_right(starts, at) - 1
    return months[place].label if place >= 0 and at < months[place].end else None


def payouts(view: View) -> list[Row]:
    """The table `payouts`."""
    rows = sorted(moved(view, "payout"), key=lambda row: (row["settled_at"], row["id"]))
    named = ("reference_id", "settled_at", "currency", "amount", "fee_amount", "debited_amount")
    named = (*named, "fee_percent", "usd_value", "comment")
    return [
        {"payout_id": row["id"], "payer_ref": pseudonym(row["payer_id"])}
        | {name: row[name] for name in named}
        for row in rows
    ]


def receipts(view: View) -> list[Row]:
    """The table `receipts`."""
    rows = sorted(sold(view), key=lambda row: (row["paid_at"], row["id"]))
    named = ("receipt_no", "paid_at", "currency", "charged_amount")
    return [
        {"payment_id": row["id"]}
        | {name: row[name] for name in named}
        | dict(zip(("verdict", "reason"), verdict_of(view, row), strict=True))
        for row in rows
    ]


def reading(view: View) -> list[Row]:
    """The table `reading`."""
    classes = dict(zip(STREAMS, ("checkout or payout", "payout"), strict=True))
    return [_read(view, stream, classes[stream]) for stream in STREAMS]


def _read(view: View, stream: str, key_class: str) -> Row:
    was_read, at = bool(view.books.spans(stream)), "paid_at"
    held, counted = view.books.payments, view.books.sales
    if stream == "payout_records":
        held, counted, at = view.books.records, view.books.money, "settled_at"
    held, counted = ([row for row in rows if view.holds(row[at])] for rows in (held, counted))
    aside = sum(
        row["stream"] == stream and row["booked_from"] < view.end and row["booked_to"] >= view.start
        for row in view.books.rejected
    )
    is_whole = not view.is_unread(stream)
    seen = [row["extracted_at"] for row in held]
    is_confirmed = not gaps(_clipped(view, stream), view.start, view.end)
    return {
        "stream": stream,
        "state": ("complete" if is_whole else "partial") if was_read else "not extracted",
        "key_class": key_class,
        "read_count": len(held) + aside if was_read else None,
        "counted_count": len(counted) if was_read else None,
        "unclassified_count": len(held) - len(counted) if was_read else None,
        "quarantined_count": aside if was_read else None,
        "first_read_at": min(seen, default=None),
        "last_read_at": max(seen, default=None),
        "reading": ("confirmed" if is_confirmed else "single") if was_read else None,
    }


def _clipped(view: View, stream: str) -> list[tuple[int, int]]:
    spans = view.books.confirmed(stream)
    return [(a, min(b, view.end)) for a, b in spans if a < view.end and b > view.start]
