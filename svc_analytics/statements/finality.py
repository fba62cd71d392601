"""What keeps a period from being stated, its figures from being known, and both from being final.

Time that was not read and blocking findings are reasons; a record that is missing or could not be
read leaves unknown what is made of it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby, product
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import Coverage, gaps, intersection, span_values
from svc_analytics.errors import ConfigError, LakeError
from svc_analytics.instants import (
    BEGINNING,
    format_instant,
    from_micros,
    readable_instant,
    to_micros,
)
from svc_analytics.lake.lake import Lake
from svc_analytics.messages import Message, clauses, joined, stored_text, translated
from svc_analytics.periods import Period
from svc_analytics.render.document import UNFINISHED, Reason, Unknown
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.acknowledgements import blocking_findings
from svc_analytics.warehouse.figures import Figure, read_figures
from svc_analytics.warehouse.models import count_findings
from svc_analytics.webhooks.reconcile import COUNTED_TEXTS

# What a figure needs, by the column that says that an omission breaks it.
_BREAKS = {
    "lacks_payments": {"payments", "parents_within"},
    "lacks_payouts": {"payouts"},
    "lacks_refunds_to_date": {"refunds_to_date"},
    "lacks_payments_before": {"parents", "rate", "cohorts"},
    "lacks_payouts_before": {"rate"},
    "lacks_refunds_before": {"refunded", "cohorts"},
    "lacks_opening": {"opening"},
    "lacks_closing": {"closing"},
}
_READING = "time_was_read_without_gap"
_WRONG = {
    "record_could_be_held": Message("unknown.not_held"),
    "status_is_known": Message("unknown.unknown_status"),
    "kind_is_known": Message("unknown.unknown_kind"),
}
_STREAMS = {
    "payments": Message("stream.payments"),
    "payout_records": Message("stream.payout_records"),
}
_RECORDS = {  # by stream: of a day, and of none that is known
    "payments": ("unknown.payment", "unknown.undated_payment"),
    "payout_records": ("unknown.payout_record", "unknown.undated_payout_record"),
}
_NAMED = 3  # records named of each cause
_UNVERIFIED = {"not_checked", "missing"}  # verdicts that need no secret
_SUMS, _ZERO = "amounts_can_be_summed", "amounts_are_not_zero"
_SUMMED = ("coin", "USD")  # the units of amounts
# What is stated only if another figure is, or is not zero.
_STATED_IF = {
    **dict.fromkeys(("implied_rate", "usd_exposure"), "implied_rate_at"),
    **dict.fromkeys(("usd_gross", "usd_net_sales", "usd_fees"), "usd_gross_priced_count"),
    "usd_refunds": "usd_refunds_priced_count",
    **dict.fromkeys(
        ("usd_payouts", "usd_payout_fees", "usd_payouts_debited"), "usd_payouts_priced_count"
    ),
    "outside_movement": "asserted_balance",
}
# A part of it is too large only if it is; without a value, no record of the part has one in USD.
_PART_OF = dict.fromkeys(
    ("usd_refunds_same_period", "usd_refunds_prior_period", "usd_refunds_unresolved"),
    "usd_refunds",
)
Row = dict[str, Any]
Values = Mapping[tuple[str, str], Any]  # of figures, by name and coin
Cell = tuple[str, str, frozenset[str]]  # a figure without a value, its coin, what it needs


class _Loss(NamedTuple):
    """The figures that one omission leaves unknown, and their coins."""

    figures: tuple[str, ...]
    coins: tuple[str, ...]
    omission: Row

    def cause(self) -> tuple[Any, ...]:
        """Those of one cause are told together."""
        return self.figures, self.coins, self.omission["check_name"], self.omission["stream"]

    def order(self) -> tuple[Any, ...]:
        omission = self.omission
        return *self.cause(), str(omission["omitted_from"]), omission["record_id"]


def unknown_figures(tables: Mapping[str, pa.Table], omissions: list[Row]) -> tuple[Unknown, ...]:
    """Return the figures that omissions leave unknown, those of one cause together.

    `omissions` are rows of `int_period_omissions`. Time of the period itself that was not
    read is left out: the statement's reasons tell it.
    """
    values = _values(tables)
    cells = list(_cells(tables, values))
    losses = [_Loss(*_broken(omission, cells), omission) for omission in omissions]
    unlisted = [loss for loss in losses if loss.figures and not _is_listed(loss.omission)]
    unlisted.sort(key=_Loss.order)
    causes: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Message]] = {}
    for (figures, coins, *_), group in groupby(unlisted, key=_Loss.cause):
        because = _because([loss.omission for loss in group])
        causes.setdefault((figures, coins), []).append(because)
    unread = tuple(Unknown(*key, clauses(*texts)) for key, texts in causes.items())
    broken = {pair for loss in losses for pair in product(loss.figures, loss.coins)}
    return (*unread, *_too_large(values, broken, tables["checks"]))


def needs_met(omissions: list[Row]) -> frozenset[str]:
    """Return the needs that figures have met, of a coin of which nothing was read."""
    general = [row for row in omissions if row["currency"] is None]
    broken = [needs for name, needs in _BREAKS.items() if any(row[name] for row in general)]
    return frozenset(set().union(*_BREAKS.values()).difference(*broken))


def _too_large(values: Values, broken: set[tuple[str, str]], checks: pa.Table) -> Iterator[Unknown]:
    """Yield the figures of each coin that have too many digits, or no rate for an amount of 0."""
    for coin in dict.fromkeys(coin for _, coin in values):
        names = [name for name, of in values if of == coin]
        if large := tuple(name for name in names if _is_too_large(name, coin, values, broken)):
            yield Unknown(large, (coin,), _why_unstated(coin, checks))


def _is_too_large(name: str, coin: str, values: Values, broken: set[tuple[str, str]]) -> bool:
    """Tell whether a figure has more digits than can be stated; `broken` ones lack a record."""
    figure = read_figures()[name]
    if (name, coin) in broken or values.get((name, coin), 0) is not None:
        return False
    if any(_is_too_large(each, coin, values, broken) for each in figure.operands):
        return True
    if not _can_be_stated(figure, coin, values):
        return False
    if whole := _PART_OF.get(name):
        return _is_too_large(whole, coin, values, broken)
    return _has_amounts(figure, coin, values)


def _can_be_stated(figure: Figure, coin: str, values: Values) -> bool:
    """Tell whether a figure has all that it is made of, whatever its size."""
    # What is only a step to other figures stands in no table.
    operands = [values.get((each, coin), 0) for each in figure.operands]
    if None in operands or (figure.denominator and operands[1] == 0):
        return False
    return "verdicts" not in figure.needs or values["receipts_checked", coin] is not None


def _has_amounts(figure: Figure, coin: str, values: Values) -> bool:
    """Tell whether there is an amount of which a figure is made, or it would be zero without."""
    if witness := _STATED_IF.get(figure.name):
        return bool(values[witness, coin])
    return bool(figure.denominator) or (figure.is_zero_when_empty and figure.unit in _SUMMED)


def _why_unstated(coin: str, checks: pa.Table) -> Message:
    """Name the records that make sums of a coin too large; one of amount 0 may be the cause too."""
    broken: dict[str, list[str]] = {_SUMS: [], _ZERO: []}
    for row in checks.select(["check_name", "currency", "record_id"]).to_pylist():
        if row["currency"] == coin and row["check_name"] in broken:
            broken[row["check_name"]].append(row["record_id"])
    if amounts := broken[_SUMS]:
        return Message("unknown.too_large_records", ids=", ".join(amounts[:_NAMED]))
    return Message("unknown.too_large_or_zero" if broken[_ZERO] else "unknown.too_large")


def _cells(tables: Mapping[str, pa.Table], known: Values) -> Iterator[Cell]:
    """Yield the figures without a value; those of receipts where any receipt was verified."""
    verdicts = {*pc.unique(tables["receipts"]["verdict"]).to_pylist()}
    met = {"verdicts"} if verdicts - _UNVERIFIED else set()
    for (name, coin), value in known.items():
        needs = set(read_figures()[name].needs) - met
        if known["refunds_unresolved", coin] == 0:
            needs -= {"parents", "parents_within"}  # all refunded payments are there
        is_asked = name != "outside_movement" or known["asserted_balance", coin] is not None
        if value is None and is_asked and "verdicts" not in needs:
            yield name, coin, frozenset(needs)
    for coin in _coins_without_refundable(tables["refunds"]):
        yield "refundable_left", coin, frozenset({"refunded"})
    for row in tables["cohorts"].to_pylist():
        if row["ratio"] is None:
            yield "cohorts", row["currency"], frozenset({"cohorts"})


def _coins_without_refundable(refunds: pa.Table) -> list[str]:
    """Return the coins of refunds whose payment is known, and not what was returned of it."""
    is_known = pc.is_valid(refunds["charged_amount"])
    is_broken = pc.and_(is_known, pc.is_null(refunds["refunded_after"]))
    return list(refunds["currency"].filter(is_broken).unique().to_pylist())


def _values(tables: Mapping[str, pa.Table]) -> Values:
    """Return every figure by its name and coin."""
    summary, others = (tables[name].to_pylist() for name in ("summary", "figures"))
    values = {
        (name, row["currency"]): row[name]
        for row in summary
        for name in row
        if name in read_figures()
    }
    return values | {(row["name"], row["currency"]): row["value"] for row in others}


def _is_listed(omission: Row) -> bool:
    is_of_period = omission["lacks_payments"] or omission["lacks_payouts"]
    return bool(omission["check_name"] == _READING and is_of_period)


def _broken(omission: Row, cells: list[Cell]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the figures without a value that rest on what is omitted, and their coins."""
    needs = set().union(*(needs for name, needs in _BREAKS.items() if omission[name]))
    broken = [
        (name, coin)
        for name, coin, needed in cells
        if omission["currency"] in (None, coin) and not needs.isdisjoint(needed)
    ]
    names, coins = (tuple(dict.fromkeys(pair[place] for pair in broken)) for place in (0, 1))
    return names, coins


def _because(omissions: list[Row]) -> Message:
    """Word an omission, of one cause and stream."""
    named, others = omissions[:_NAMED], len(omissions) - _NAMED
    is_time = omissions[0]["check_name"] == _READING
    text = _unread(named) if is_time else joined("list.comma", list(map(_record, named)))
    return Message("list.more", text=translated(text), count=others) if others > 0 else text


def _record(omission: Row) -> Message:
    """Name a record, when it was booked, and what is wrong with it."""
    first, last = to_micros(omission["omitted_from"]), to_micros(omission["omitted_to"])
    dated, undated = _RECORDS[omission["stream"]]
    id_, wrong = omission["record_id"], _WRONG[omission["check_name"]]
    detail = translated(stored_text(omission["detail"], omission["message"]))
    values = {"id": id_, "wrong": translated(wrong), "detail": detail}
    if last - first > 1:
        return Message(undated, **values)
    return Message(dated, day=f"{omission['omitted_from']:%Y-%m-%d}", **values)


def _unread(omissions: list[Row]) -> Message:
    """Say which time was not read."""
    stream = _STREAMS[omissions[0]["stream"]]
    if len(omissions) > 1:
        spans = joined("list.comma", list(map(_span, omissions)))
        return Message("unknown.several", stream=translated(stream), spans=translated(spans))
    span = _span(omissions[0])
    is_before = span.code == "part.before"
    code = "unknown.before" if is_before else "unknown.within"
    return Message(code, stream=translated(stream), **span.values)


def _span(omission: Row) -> Message:
    end = to_micros(omission["omitted_to"]) - STREAMS[omission["stream"]].settles_within
    start = to_micros(omission["omitted_from"])
    if start == BEGINNING:
        return Message("part.before", end=format_instant(end))
    return Message("part.within", **span_values((start, end)))


def require_begun(period: Period, clock: int) -> None:
    """Raise `ConfigError` for a month, a quarter or a year that lies in the future."""
    if period.start >= clock:
        raise ConfigError(f"{period.folder} has not begun: choose a {period.noun} up to now")


def require_begun_by(period: Period, as_of: int) -> None:
    """Raise `ConfigError` where a period had not begun at the instant it is to be stated as of."""
    if as_of <= period.start:
        begins, then = format_instant(period.start), format_instant(as_of)
        message = (
            f"{period.folder} begins at {begins}, and as_of is {then}: nothing of it was known"
        )
        raise ConfigError(f"{message} then; give a later as_of")


def read_until(lake: Lake, coverage: dict[str, Coverage], as_of: int | None) -> int:
    """Return the end of the newest read; refuse an `as_of` that is later than that."""
    read_to = max((end for each in coverage.values() for _, end in each.read), default=None)
    if read_to is None:
        raise ConfigError(f"nothing was read into {lake.place} yet: run svc-analytics extract")
    if as_of is not None and read_to < as_of:
        message = f"{lake.place} was read only up to {format_instant(read_to)}: run extract first"
        raise LakeError(message)
    return read_to


def find_reasons(
    period: Period, coverage: dict[str, Coverage], checks: pa.Table, known_to: int, is_over: bool
) -> tuple[Reason, ...]:
    """List why a statement is provisional: a running month, unread time, blocking findings."""
    ends = readable_instant(from_micros(period.end))
    running = (
        []
        if is_over
        else [Reason(Message(UNFINISHED, period=translated(period.noun), instant=ends))]
    )
    unread = [
        Reason(text)
        for name, read in coverage.items()
        for text in _time_not_read(name, read, period, known_to, is_over)
    ]
    counts = Counter(blocking_findings(checks)["check_name"].to_pylist())
    blocking = [
        Reason(count_findings(name, count, COUNTED_TEXTS)) for name, count in sorted(counts.items())
    ]
    return (*running, *unread, *blocking)


def unread_again(causes: Mapping[str, str]) -> list[Reason]:
    """List the streams that a second reading could not read, each with its cause."""
    return [
        Reason(Message("reason.unread_again", stream=translated(STREAMS[name].words), why=why))
        for name, why in sorted(causes.items())
    ]


def _time_not_read(
    name: str, coverage: Coverage, period: Period, known_to: int, is_over: bool
) -> Iterator[Message]:
    """Say which time of the period a stream was not read for, or only provisionally."""
    words = STREAMS[name].words
    if not coverage.read:
        yield Message("reason.never_extracted", stream=translated(words))
        return
    for span in gaps(coverage, period.start - STREAMS[name].settles_within, known_to):
        yield Message("reason.unread", stream=translated(words), **span_values(span))
    fresh = intersection(coverage.provisional, period.start, known_to)
    if is_over and fresh:
        yield Message("reason.still_provisional", stream=translated(words), **span_values(fresh[0]))
