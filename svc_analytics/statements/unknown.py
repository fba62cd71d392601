"""Say which figures of a statement are unknown because something may be missing, and why."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pyarrow as pa

from svc_analytics.coverage import describe_span
from svc_analytics.instants import to_micros
from svc_analytics.render.document import Unknown
from svc_analytics.schema import STREAMS
from svc_analytics.warehouse.figures import Figure, summary_figures

# What a figure needs, by the column that says that an omission breaks it.
_BREAKS = {
    "lacks_payments": {"payments", "parents_within"},
    "lacks_payouts": {"payouts"},
    "lacks_refunds_to_date": {"refunds_to_date"},
    "lacks_payments_before": {"payments_before", "parents", "rate"},
    "lacks_opening": {"opening"},
    "lacks_closing": {"closing"},
}
_READING = "time_was_read_without_gap"
_CAUSES = {
    "record_could_be_held": "could not be held exactly",
    "status_is_known": "has an unknown status",
    "kind_is_known": "is of an unknown kind",
}
_NAMED = 3  # records named of each cause

Row = dict[str, Any]


def unknown_figures(summary: pa.Table, omissions: pa.Table) -> tuple[Unknown, ...]:
    """Return the figures of a summary that omissions leave unknown, those of one cause together.

    `omissions` are rows of `int_period_omissions`. Time of the period itself that was not
    read is left out: the statement's reasons tell it.
    """
    rows = summary.to_pylist()
    found = [
        (figures, coins, omission["check_name"], omission["stream"], omission)
        for omission in omissions.to_pylist()
        for figures, coins in [_broken(omission, rows)]
        if figures and not _is_told(omission)
    ]
    found.sort(key=lambda item: (*item[:4], str(item[4]["omitted_from"]), item[4]["record_id"]))
    causes: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for key, group in groupby(found, key=lambda item: item[:4]):
        causes.setdefault(key[:2], []).append(_because([item[4] for item in group]))
    return tuple(Unknown(*key, "; ".join(texts)) for key, texts in causes.items())


def _is_told(omission: Row) -> bool:
    is_of_period = omission["lacks_payments"] or omission["lacks_payouts"]
    return bool(omission["check_name"] == _READING and is_of_period)


def _broken(omission: Row, rows: Iterable[Row]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the figures without a value that rest on what is omitted, and their coins."""
    needs = set().union(*(needs for name, needs in _BREAKS.items() if omission[name]))
    resting = [figure for figure in summary_figures() if _rests_on(figure, needs)]
    cells = [
        (figure.name, row["currency"])
        for row in rows
        if omission["currency"] in (None, row["currency"])
        for figure in resting
        if row[figure.name] is None
    ]
    named = {name for name, _ in cells}
    figures = tuple(figure.name for figure in resting if figure.name in named)
    return figures, tuple(dict.fromkeys(coin for _, coin in cells))


def _rests_on(figure: Figure, needs: set[str]) -> bool:
    return not needs.isdisjoint(figure.needs)


def _because(omissions: list[Row]) -> str:
    """Say what is omitted, of one cause and stream."""
    stream, check = omissions[0]["stream"], omissions[0]["check_name"]
    if check == _READING:
        spans = ", ".join(_span(omission) for omission in omissions[:_NAMED])
        return f"{stream} were not read for {spans}{_more(omissions)}"
    ids = ", ".join(map(_record, omissions[:_NAMED]))
    record = stream.removesuffix("s").replace("_", " ")
    return f"{record} {ids}{_more(omissions)} {_CAUSES[check]} ({check})"


def _record(omission: Row) -> str:
    """Name a record and when it was booked, or between which days it can have been."""
    days = [f"{omission[name]:%Y-%m-%d}" for name in ("omitted_from", "omitted_to")]
    return f"{omission['record_id']} of {' to '.join(dict.fromkeys(days))}"


def _span(omission: Row) -> str:
    end = to_micros(omission["omitted_to"]) - STREAMS[omission["stream"]].settles_within
    return describe_span((to_micros(omission["omitted_from"]), end))


def _more(omissions: list[Row]) -> str:
    others = len(omissions) - _NAMED
    return f" and {others} more" if others > 0 else ""
