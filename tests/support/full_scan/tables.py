"""The tables of a statement: days, lines, fees, refunds, payouts, figures by coin, and so on."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from zoneinfo import ZoneInfo

from svc_analytics.periods import Period, month_of
from svc_analytics.warehouse.figures import other_figures, read_figures, summary_figures
from tests.support.full_scan.rows import DAY, EPOCH, STREAMS, Entry, Known, Row, View, gaps
from tests.support.full_scan.values import (
    ZERO,
    Values,
    fee_kept,
    moved,
    parent_of,
    ratio,
    share,
    sold,
    total,
    values_of,
    verdict_of,
)


def daily(view: View) -> list[Row]:
    """The table `daily`."""
    days: dict[tuple[date, str], list[Entry]] = defaultdict(list)
    for entry in entries_of(view):
        days[day_of(view, entry.at), entry.currency].append(entry)
    return [_day(view, day, coin, days[day, coin]) for day, coin in sorted(days)]


def _day(view: View, day: date, coin: str, entries: list[Entry]) -> Row:
    known = view.known[coin]
    paid, back, out = (
        [entry for entry in entries if entry.kind == kind]
        for kind in ("payment", "refund", "payout")
    )
    of_payments = {
        "payments_count": len(paid),
        "gross_sales": total(entry.gross for entry in paid),
        "payment_fees": total(-entry.fee for entry in paid),
        "net_sales": total(entry.net for entry in paid),
    }
    of_payouts = {
        "refunds_count": len(back),
        "refunds_debited": total(-entry.net for entry in back),
        "payouts_count": len(out),
        "payouts_debited": total(-entry.net for entry in out),
    }
    of_both = {
        "net_settlement": total(entry.net for entry in (*paid, *back)),
        "rail_movement": total(entry.net for entry in entries),
    }
    return {
        "day": day,
        "currency": coin,
        **_known(known.has_payments, of_payments),
        **_known(known.has_payouts, of_payouts),
        **_known(known.has_payments and known.has_payouts, of_both),
    }


def _known(is_known: bool, values: Row) -> Row:
    return values if is_known else dict.fromkeys(values)


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
    found = {
        "state": "complete" if is_whole else "partial",
        "read_count": len(held) + aside,
        "counted_count": len(counted),
        "unclassified_count": len(held) - len(counted),
        "quarantined_count": aside,
        "reading": "confirmed" if is_confirmed else "single",
    }
    return {
        "stream": stream,
        "key_class": key_class,
        "first_read_at": min(seen, default=None),
        "last_read_at": max(seen, default=None),
        **(found if was_read else dict.fromkeys(found) | {"state": "not extracted"}),
    }


def _clipped(view: View, stream: str) -> list[tuple[int, int]]:
    spans = view.books.confirmed(stream)
    return [(a, min(b, view.end)) for a, b in spans if a < view.end and b > view.start]


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


IN_USD = (
    *("usd_gross", "usd_net_sales", "usd_fees", "usd_refunds", "usd_payouts"),
    *("closing_position", "usd_exposure", "payments_count", "usd_gross_priced_count"),
    *("refunds_count", "usd_refunds_priced_count", "payouts_count", "usd_payouts_priced_count"),
)


def summary(view: View) -> list[Row]:
    """The table `summary`."""
    names = [figure.name for figure in summary_figures()]
    return [
        {"period": view.period.label, "currency": coin} | {name: values[name] for name in names}
        for coin, values in figures_by_coin(view).items()
    ]


def figures(view: View) -> list[Row]:
    """The table `figures`."""
    return [
        {
            "name": figure.name,
            "currency": coin,
            "value": _decimal(values[figure.name]),
            "unit": figure.unit,
            "note": values["note"] if figure.note else figure.meaning,
        }
        for coin, values in figures_by_coin(view).items()
        for figure in sorted(other_figures(), key=lambda figure: figure.name)
    ]


def trend(view: View) -> list[Row]:
    """The rows of a month in the table `trend`."""
    return [
        {"month": view.period.label, "currency": coin} | {name: values[name] for name in IN_USD}
        for coin, values in figures_by_coin(view).items()
    ]


def exposure(view: View) -> list[Row]:
    """The table `exposure`."""
    found = figures_by_coin(view)
    worths = {coin: values["usd_exposure"] for coin, values in found.items()}
    known = [abs(each) for each in worths.values() if each is not None]
    whole = total(known) if known and len(known) == len(worths) else None
    rows, so_far = [], ZERO
    for coin in sorted(worths, key=lambda coin: _falling(worths[coin], coin)):
        values, own = found[coin], worths[coin]
        so_far += abs(own or ZERO)
        at = values["implied_rate_at"]
        rows.append(
            {
                "currency": coin,
                "position": values["closing_position"],
                "implied_rate": values["implied_rate"],
                "implied_rate_at": at,
                "rate_record_id": values["rate_record_id"],
                "rate_age_days": None if at is None else (view.end - at) // DAY,
                "usd_exposure": own,
                "share": None if own is None else ratio(abs(own), whole),
                "concentration": None if whole is None else ratio(so_far, whole),
            }
        )
    return rows


def _falling(value: Decimal | None, coin: str) -> tuple[bool, Decimal, str]:
    return value is None, -abs(value or ZERO), coin


@lru_cache(maxsize=1)
def figures_by_coin(view: View) -> dict[str, Values]:
    """Every figure, by coin and name: masked where something may be missing."""
    needs = {figure.name: figure.needs for figure in read_figures().values()}
    found = {}
    for coin in sorted(view.coins):
        values, known = values_of(view, coin), view.known[coin]
        is_shown = values["movements_count"] or values["closing_position"] or known.lacks_records
        if is_shown:
            found[coin] = {
                name: value if _is_known(view, known, values, needs.get(name, ())) else None
                for name, value in values.items()
            }
    return found


def _is_known(view: View, known: Known, values: Values, needs: Iterable[str]) -> bool:
    has_parents = values["refunds_unresolved_count"] == 0
    at, whole_from = values["implied_rate_at"], known.prices_whole_from
    conditions = {
        "payments": known.has_payments,
        "payouts": known.has_payouts,
        "refunds_to_date": known.has_refunds_to_date,
        "parents": has_parents or known.has_payments_before,
        "parents_within": has_parents or known.has_payments,
        "opening": known.has_opening,
        "closing": known.has_closing,
        "verdicts": bool(view.books.verdicts),
        "asserted": True,  # `values_of` leaves out what was not read
        "rate": at is not None and (whole_from is None or at >= whole_from),
    }
    return all(conditions[need] for need in needs)


def _decimal(value: Decimal | int | None) -> Decimal | None:
    return None if value is None else Decimal(value)
