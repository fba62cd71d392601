"""Every rule over records, written a second time, and the table `checks` that they make."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal, localcontext
from inspect import isgeneratorfunction
from typing import Any

from svc_analytics.instants import from_micros, to_micros
from svc_analytics.periods import month, month_of
from tests.support.full_scan import values
from tests.support.full_scan.rows import BEGINNING, DAY, STREAMS, Books, Row, View, gaps
from tests.support.full_scan.tables import exposure, figures_by_coin, refunded_after

SIZES = ("amount", "charged_amount", "debited_amount", "fee_amount", "net_amount")
EACH_LISTED = "record_is_still_listed"
Found = tuple[str | None, int | None, str | None, str]  # record, instant, coin, detail


def _payment(row: Row, detail: str) -> Found:
    return row["id"], row["paid_at"], row["currency"], detail


def _record(row: Row, detail: str) -> Found:
    return row["id"], row["settled_at"], row["currency"], detail


def noun(row: Row) -> str:
    """Name a payment, a payout or a refund; a payout record of any other kind as that."""
    if "kind" not in row or row.get("stream") == "payments":
        return "payment"
    return row["kind"] if row["kind"] in ("payout", "refund") else "payout record"


def shortest(amount: Decimal) -> str:
    """Write an amount without zeros behind its last place."""
    return f"{amount:f}".rstrip("0").rstrip(".") if "." in f"{amount:f}" else f"{amount:f}"


def _all(view: View) -> Iterator[tuple[Row, Callable[[Row, str], Found]]]:
    """Yield the payments and the payout records, each with what tells of it."""
    yield from ((row, _payment) for row in view.books.payments)
    yield from ((row, _record) for row in view.books.records)


def amounts_are_not_negative(view: View) -> Iterator[Found]:
    for row, of in _all(view):
        sizes = {name: row.get(name) or 0 for name in (*SIZES, "fee_percent", "usd_value")}
        fact = min(sizes, key=lambda name: sizes[name])
        if sizes[fact] < 0:
            yield of(row, f"{fact} {values.text(sizes[fact])}")


def amounts_are_not_zero(view: View) -> Iterator[Found]:
    for row, of in _all(view):
        if not row["amount"]:
            yield of(row, f"{row['kind']} of 0" if "kind" in row else "amount 0")


def amounts_can_be_divided(view: View) -> Iterator[Found]:
    for row, of in _all(view):
        if row["amount"] and not _has_rates(row):
            yield of(row, _divided(row))


def _has_rates(row: Row) -> bool:
    value, amount = row["usd_value"], row["amount"]
    others = () if "kind" in row else ("net_amount", "fee_amount")
    rates = [values.ratio(row["fee_amount"], amount)]
    if value is not None:
        rates += [
            values.share(value, 1, abs(amount)),
            *(values.share(value, row[of], amount) for of in others),
        ]
    return None not in rates


def _divided(row: Row) -> str:
    value = "" if row["usd_value"] is None else f", usd_value {values.text(row['usd_value'])}"
    return f"amount {values.text(row['amount'])}, fee {values.text(row['fee_amount'])}{value}"


def amounts_can_be_summed(view: View) -> Iterator[Found]:
    sides = ((view.books.sales, "paid_at", _payment), (view.books.money, "created_at", _record))
    for rows, filed, of in sides:
        for coin in {row["currency"] for row in rows}:
            own = [row for row in rows if row["currency"] == coin]
            for period in {month_of(row[filed]) for row in own}:
                until = [row for row in own if row[filed] < period.end]
                within = [row for row in until if row[filed] >= period.start]
                for word, names in (("amount", SIZES), ("usd_value", ("usd_value",))):
                    yield from (
                        of(row, f"{word} {values.text(size)}: with it sums reach 1e20")
                        for row, size in _largest(until, within, names)
                    )


def _largest(
    until: list[Row], within: list[Row], names: tuple[str, ...]
) -> list[tuple[Row, Decimal]]:
    """Return the ten largest records of a month, if the sums of all up to its end do not fit."""
    if all(
        values.total(abs(row.get(name) or values.ZERO) for row in until) < values.LIMIT
        for name in names
    ):
        return []
    sized = [(row, max(abs(row.get(name) or values.ZERO) for name in names)) for row in within]
    large = [(row, size) for row, size in sized if int(size) * len(until) >= values.LIMIT]
    return sorted(large, key=lambda pair: (-pair[1], pair[0]["id"]))[:10]


def currency_is_a_plain_slug(view: View) -> Iterator[Found]:
    rows, seen = [of(row, "") for row, of in _all(view)], set()
    for record, at, coin, _ in sorted(rows, key=lambda row: (row[1], row[0])):
        filed = (coin, month_of(at))
        if not re.fullmatch(r"[a-z0-9._-]+", coin) and filed not in seen:
            seen.add(filed)
            yield record, at, coin, f"coin {coin} is no plain lowercase symbol"


def fee_bearer_is_known(view: View) -> Iterator[Found]:
    for row in view.books.payments:
        if row["fee_bearer"] != "merchant":
            bearer = row["fee_bearer"]
            yield _payment(row, "no fee_bearer" if bearer is None else f"fee_bearer {bearer}")


def implied_rate_is_near_its_days_median(view: View) -> Iterator[Found]:
    rates: dict[tuple[str, int], list[tuple[Any, Decimal | None]]] = defaultdict(list)
    for entry in view.books.entries:
        if entry.usd_value is not None and entry.gross:
            rate = values.share(entry.usd_value, 1, abs(entry.gross))
            rates[entry.currency, entry.at // DAY].append((entry, rate))
    for pairs in rates.values():
        median = values.middle([rate for _, rate in pairs if rate is not None], 18)
        if len(pairs) < 3 or median is None:
            continue
        tenth = values.round_half_up(values.EXACT.divide(median, 10), 18)
        for entry, rate in pairs:
            if rate is not None and abs(rate - median) > tenth:
                detail = f"rate {values.text(rate)}, the day's median is {values.text(median)}"
                yield entry.id, entry.at, entry.currency, detail


def kind_is_known(view: View) -> Iterator[Found]:
    for row in view.books.records:
        if row["kind"] not in ("payout", "refund"):
            named = f"payout record of {shortest(row['amount'])} {row['currency']}"
            yield _record(row, f"{named}: kind {row['kind']}")


def optional_facts_could_be_held(view: View) -> Iterator[Found]:
    for row, of in _all(view):
        extra = json.loads(row["extra"] or "{}")
        names = [name for name in row if name in extra and row[name] is None]
        if names:
            yield of(row, f"{', '.join(names)} could not be held: extra has what was received")


def payment_amount_is_charged_to_payer(view: View) -> Iterator[Found]:
    for row in view.books.payments:
        if row["fee_bearer"] == "merchant" and row["charged_amount"] != row["amount"]:
            charged = values.text(row["charged_amount"])
            yield _payment(row, f"amount {values.text(row['amount'])}, charged {charged}")


def payment_fee_is_at_its_tier(view: View) -> Iterator[Found]:
    for row, rate in values.fees_off_tier(view):
        fee, amount = values.text(row["fee_amount"]), values.text(row["amount"])
        yield _payment(row, f"fee {fee} of {amount}, the day's rate is {values.text(rate, 8)}")


def payment_net_equals_charged_less_fee(view: View) -> Iterator[Found]:
    for row in view.books.payments:
        if row["charged_amount"] - row["fee_amount"] != row["net_amount"]:
            names = ("charged_amount", "fee_amount", "net_amount")
            charged, fee, net = (values.text(row[name]) for name in names)
            yield _payment(row, f"charged {charged}, fee {fee}, net {net}")


def payment_reference_is_unique(view: View) -> Iterator[Found]:
    for row, uses in _shared(view.books.payments, "reference_id"):
        yield _payment(row, f"reference {row['reference_id']} stands on {uses} payments")


def receipt_number_is_unique(view: View) -> Iterator[Found]:
    for row, uses in _shared(view.books.payments, "receipt_no"):
        yield _payment(row, f"receipt number {row['receipt_no']} stands on {uses} payments")


def reference_is_unique(view: View) -> Iterator[Found]:
    for row, uses in _shared(view.books.records, "reference_id"):
        yield _record(row, f"reference {row['reference_id']} stands on {uses} records")


def _shared(rows: list[Row], name: str) -> Iterator[tuple[Row, int]]:
    uses = Counter(row[name] for row in rows if row[name] is not None)
    yield from ((row, uses[row[name]]) for row in rows if uses[row[name]] > 1)


def payout_debited_equals_amount_plus_fee(view: View) -> Iterator[Found]:
    for row in view.books.records:
        is_payout = row["kind"] == "payout"
        if is_payout and row["debited_amount"] - row["fee_amount"] != row["amount"]:
            yield _record(row, _debited(row))


def refund_is_debited_without_fee(view: View) -> Iterator[Found]:
    for row in view.books.records:
        is_refund = row["kind"] == "refund"
        if is_refund and (row["fee_amount"] or row["debited_amount"] != row["amount"]):
            yield _record(row, _debited(row))


def _debited(row: Row) -> str:
    amount, fee, debited = (
        values.text(row[name]) for name in ("amount", "fee_amount", "debited_amount")
    )
    return f"amount {amount}, fee {fee}, debited {debited}"


def payout_fee_is_at_payments_tier(view: View) -> Iterator[Found]:
    for row, rate in values.fees_off_payments(view):
        fee, amount = values.text(row["fee_amount"]), values.text(row["amount"])
        yield _record(row, f"fee {fee} of {amount}, payments pay {values.text(rate, 8)}")


def receipt_proves_its_payment(view: View) -> Iterator[Found]:
    for row in view.books.payments:
        checked = view.books.verdicts.get((row["id"], row["extracted_at"]))
        if checked and checked["verdict"] in ("facts_mismatch", "bad_signature", "malformed"):
            order = f", {row['reference_id']}" if row["reference_id"] is not None else ""
            named = f"receipt {row['receipt_no'] or '-'}{order}"
            yield _payment(row, f"{named}: {checked['reason']}")


def record_could_be_held(view: View) -> Iterator[Found]:
    for row in view.books.rejected:
        if row["booked_from"] < view.end and row["booked_to"] >= view.start:
            amount = row["amount"] or "an unknown amount of"
            named = f"{noun(row)} of {amount} {row['currency'] or '(unknown coin)'}"
            detail = f"{named}: {row['reason']}"
            yield row["record_id"], row["booked_from"], row["currency"], detail


def listed_records_remain(view: View) -> Iterator[Found]:
    for name, rows in view.books.unlisted.items():
        together = _together(view, rows)
        booked = [row["booked_at"] for row in together]
        if booked and min(booked) < view.end and max(booked) >= view.start:
            said = Counter(row["state"].partition(":")[0] for row in together)
            detail = (
                f"the service no longer lists {len(together)} records, the first of them "
                f"{min(row['id'] for row in together)}; asked for their ids, it knows "
                f"{said['known']}, does not know {said['gone']}, and did not say of "
                f"{said['not asked']}"
            )
            coins = {row["currency"] for row in together}
            yield name, min(booked), coins.pop() if len(coins) == 1 else None, detail


def record_is_still_listed(view: View) -> Iterator[Found]:
    said = {
        "gone": "and knows no record of this id",
        "known": "but knows it by its id",
        "not asked": "and was not asked for its id",
    }
    for rows in view.books.unlisted.values():
        together = _together(view, rows)
        for row in rows:
            if row not in together:
                state, _, answer = row["state"].partition(": ")
                more = f"and asked for its id it answered {answer}, which is not this record and "
                detail = f"{more}does not say that it is gone" if answer else said[state]
                detail = f"the service no longer lists it, {detail}"
                yield row["id"], row["booked_at"], row["currency"], detail


def _together(view: View, rows: list[Row]) -> list[Row]:
    """Return those of a month that are one finding: of more than 20 that nobody accepted alone."""
    named = {record_id for rule, record_id in view.books.accepted if rule == EACH_LISTED}
    left = [row for row in rows if row["id"] not in named]
    return left if len(left) > 20 else []


def record_was_not_restated(view: View) -> Iterator[Found]:
    for stream, row in view.books.changes:
        if row["is_restatement"]:
            at = row["paid_at" if stream == "payments" else "settled_at"]
            detail = f"restated; first read {readable(row['extracted_at'])}"
            yield row["id"], at, row["currency"], detail


def refund_currency_is_its_payments(view: View) -> Iterator[Found]:
    for row, paid in _refunds(view):
        if paid and paid["currency"] != row["currency"]:
            yield _record(row, f"payment {row['payment_id']} is in {paid['currency']}")


def refund_has_its_payment(view: View) -> Iterator[Found]:
    unread = gaps(view.books.spans("payments"), BEGINNING, view.books.read_to)
    for row, paid in _refunds(view):
        if not paid and not any(start < row["settled_at"] for start, _ in unread):
            name = row["payment_id"]
            yield _record(row, "names no payment" if name is None else f"no payment {name}")


def refunds_stay_within_charged_amount(view: View) -> Iterator[Found]:
    for row, paid in _refunds(view):
        if paid and paid["currency"] == row["currency"]:
            back, charged = refunded_after(view, row), paid["charged_amount"]
            if back > charged:
                detail = f"returned {values.text(back)} of {values.text(charged)}"
                yield _record(row, f"payment {row['payment_id']}: {detail}")


def _refunds(view: View) -> Iterable[tuple[Row, Row | None]]:
    return ((row, values.parent_of(view, row)) for row in values.moved(view, "refund"))


def refund_is_not_before_its_payment(view: View) -> Iterator[Found]:
    for row, paid in _refunds(view):
        if paid and row["settled_at"] < paid["paid_at"]:
            settled, before = readable(row["settled_at"]), readable(paid["paid_at"])
            yield _record(row, f"settled {settled}, payment {row['payment_id']} was paid {before}")


def settled_in_the_month_created(view: View) -> Iterator[Found]:
    for row in view.books.records:
        created, settled = row["created_at"], row["settled_at"]
        if settled < created:
            told = f"settled {readable(settled)}, before it was created"
            yield _record(row, f"{told}: {readable(created)}")
        elif month_of(settled) != month_of(created):
            told = f"created {moment_text(created)}, settled {moment_text(settled)}"
            yield _record(row, f"{told}: in UTC it is counted in {from_micros(settled):%B}")


def status_is_known(view: View) -> Iterator[Found]:
    for row, of in _all(view):
        if row["status"] != "completed":
            named = f"{noun(row)} of {shortest(row['amount'])} {row['currency']}"
            yield of(row, f"{named}: status {row['status']}")


def time_was_read_without_gap(view: View) -> Iterator[Found]:
    for stream in STREAMS:
        spans = view.books.spans(stream)
        for start, end in gaps(spans, min(spans, default=(0, 0))[0], view.books.read_to):
            if spans and start > min(spans)[0]:
                detail = f"not read from {readable(start)} to {readable(end)}"
                yield f"{stream} {instant_text(start)}", start, None, f"{stream} {detail}"


def instant_text(at: int) -> str:
    """Write an instant as DuckDB does."""
    moment = from_micros(at)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}+00"


def readable(at: int) -> str:
    """Write an instant for people, with seconds if it has any."""
    return instant_text(at).removesuffix("+00").removesuffix(":00") + "Z"


def moment_text(at: int) -> str:
    """Write an instant as people do, without its seconds."""
    moment = from_micros(at)
    return f"{moment.day} {moment:%B %Y %H:%M}"


RULES: tuple[Callable[[View], Iterator[Found]], ...] = tuple(
    each
    for name, each in sorted(globals().items())
    if isgeneratorfunction(each) and each.__module__ == __name__ and not name.startswith("_")
)


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
_LEFT_OUT = ("record_could_be_held", "status_is_known", "kind_is_known")  # what is accepted
_UNPLACED = "balance_is_of_a_coin_that_moved"

_END = to_micros(datetime.max.replace(tzinfo=UTC))
_ALWAYS = ("check_name", "record_id", "occurred_at", "currency", "detail")


def findings_of_all_time(books: Books) -> list[Any]:
    """What the rules find in a lake, whenever it occurred or is said to, without an order."""
    always = replace(month("2026-10"), start=BEGINNING, end=_END)
    view = View(books, always, books.read_to, books.read_to)
    with localcontext(values.EXACT):
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
    if record_id and (said := view.books.accepted.get((name, record_id))):
        detail += f"{'; it is not counted' if name in _LEFT_OUT else ''} (accepted: {said})"
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
            detail = f"USD {values.text(value)} at a rate that is {age} days old"
            found.append(_row(view, "rate_of_a_position_is_recent", coin, None, coin, detail))
    return found


def _unplaced(view: View) -> list[Row]:
    found = []
    for row in view.books.assertions:
        coin = row["currency"]
        if view.start < row["at"] <= view.end and coin not in figures_by_coin(view):
            detail = (
                f"assertions.csv, line {row['line']}: a balance of {coin} was asserted, and "
                f"{view.period.folder} has no movement and no position in {coin}: "
                "it is compared with nothing"
            )
            unplaced = _row(view, _UNPLACED, None, None, coin, detail)
            found.append(unplaced | {"month": view.period.label})
    return found
