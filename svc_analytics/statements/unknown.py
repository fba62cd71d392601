"""Say which figures of a statement are unknown because something may be missing, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.coverage import describe_span
from svc_analytics.instants import BEGINNING, format_instant, to_micros
from svc_analytics.render.document import Unknown
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.figures import read_figures

# What a figure needs, by the column that says that an omission breaks it.
_BREAKS = {
    "lacks_payments": {"payments", "parents_within"},
    "lacks_payouts": {"payouts"},
    "lacks_refunds_to_date": {"refunds_to_date"},
    "lacks_payments_before": {"payments_before", "parents", "rate", "cohorts"},
    "lacks_payouts_before": {"rate"},
    "lacks_refunds_before": {"refunded", "cohorts"},
    "lacks_opening": {"opening"},
    "lacks_closing": {"closing"},
}
_READING = "time_was_read_without_gap"
_WRONG = {
    "record_could_be_held": "could not be read exactly:",
    "status_is_known": "has the unknown status",
    "kind_is_known": "is of the unknown kind",
}
_NAMED = 3  # records named of each cause

Row = dict[str, Any]
Cell = tuple[str, str, frozenset[str]]  # a figure without a value, its coin, what it needs


def unknown_figures(tables: Mapping[str, pa.Table], omissions: list[Row]) -> tuple[Unknown, ...]:
    """Return the figures that omissions leave unknown, those of one cause together.

    `omissions` are rows of `int_period_omissions`. Time of the period itself that was not
    read is left out: the statement's reasons tell it.
    """
    cells = list(_cells(tables))
    found = [
        (figures, coins, omission["check_name"], omission["stream"], omission)
        for omission in omissions
        for figures, coins in [_broken(omission, cells)]
        if figures and not _is_told(omission)
    ]
    found.sort(key=lambda item: (*item[:4], str(item[4]["omitted_from"]), item[4]["record_id"]))
    causes: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for key, group in groupby(found, key=lambda item: item[:4]):
        causes.setdefault(key[:2], []).append(_because([item[4] for item in group]))
    return tuple(Unknown(*key, "; ".join(texts)) for key, texts in causes.items())


def _cells(tables: Mapping[str, pa.Table]) -> Iterator[Cell]:
    """Yield the figures without a value; those of receipts need a secret, not a record."""
    known = _values(tables)
    for (name, coin), value in known.items():
        needs = set(read_figures()[name].needs)
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


def _values(tables: Mapping[str, pa.Table]) -> dict[tuple[str, str], Any]:
    """Return every figure by its name and coin."""
    summary, others = (tables[name].to_pylist() for name in ("summary", "figures"))
    values = {
        (name, row["currency"]): row[name]
        for row in summary
        for name in row
        if name in read_figures()
    }
    return values | {(row["name"], row["currency"]): row["value"] for row in others}


def _is_told(omission: Row) -> bool:
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


def _because(omissions: list[Row]) -> str:
    """Say what is omitted, of one cause and stream."""
    stream = omissions[0]["stream"]
    if omissions[0]["check_name"] == _READING:
        spans = ", ".join(map(_span, omissions[:_NAMED]))
        return f"{stream} {spans} were not read{_more(omissions)}"
    record = stream.removesuffix("s").replace("_", " ")
    return ", ".join(f"{record} {_record(omission)}" for omission in omissions[:_NAMED]) + _more(
        omissions
    )


def _record(omission: Row) -> str:
    """Name a record, when it was booked, and what is wrong with it."""
    first, last = to_micros(omission["omitted_from"]), to_micros(omission["omitted_to"])
    when = f"of {omission['omitted_from']:%Y-%m-%d}" if last - first <= 1 else "of an unknown day"
    return f"{omission['record_id']} {when} {_WRONG[omission['check_name']]} {omission['detail']}"


def _span(omission: Row) -> str:
    end = to_micros(omission["omitted_to"]) - STREAMS[omission["stream"]].settles_within
    start = to_micros(omission["omitted_from"])
    if start == BEGINNING:
        return f"before {format_instant(end)}"
    return f"of {describe_span((start, end))}"


def _more(omissions: list[Row]) -> str:
    others = len(omissions) - _NAMED
    return f" and {others} more" if others > 0 else ""
