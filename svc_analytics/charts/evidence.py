"""Charts of what figures rest on: the days that were read, and the receipts that are proven."""

from collections import Counter
from datetime import date, datetime, timedelta

from svc_analytics.charts import drawing
from svc_analytics.charts.drawing import BLUE, SOFT, Axes, Row, Table
from svc_analytics.charts.words import apart, in_line
from svc_analytics.instants import from_micros, to_micros
from svc_analytics.messages import Message
from svc_analytics.periods import clock_of
from svc_analytics.signing.receipt_tokens import PROVEN, VERDICT_WORDS

_DAY = timedelta(days=1)
UNREAD = "not read"


def coverage_calendar(
    axes: Axes, table: Table, stream: str, months: int = 12, zone: str = "UTC"
) -> None:
    """Draw each day of the last months as complete, read in part, or not read.

    `table` has `stream`, `starts_at`, `ends_at` and `state`, as the view `coverage`. A day
    is filled when all of it is complete, hatched when some of it was read, else a cross.
    Days after the newest read of any stream are blank.
    """
    read = [row for row in drawing.rows_of(table) if row["ends_at"]]
    newest = max((row["ends_at"] for row in read), default=None)
    spans = [row for row in read if row["stream"] == stream]
    looks = {"complete": {"color": BLUE}, "in part": drawing.hatched()}
    labels = _months_before(newest if spans else None, months, zone)
    drawn = [
        (day.day, place, _state(spans, day, zone))
        for place, first in enumerate(labels)
        for day in _days(first)
        if newest and _midnight(day, zone) < newest
    ]
    for wanted, look in looks.items():
        if own := [(x, y) for x, y, state in drawn if state == wanted]:
            heights = [y - 0.4 for _, y in own]
            axes.bar([x for x, _ in own], 0.8, 0.8, bottom=heights, label=wanted, **look)
    if unread := [(x, y) for x, y, state in drawn if state == UNREAD]:
        axes.plot(*zip(*unread, strict=True), "x", color=SOFT, markersize=3, label=UNREAD)
    drawing.label_ticks(axes.yaxis, range(len(labels)), [f"{first:%Y-%m}" for first in labels])
    days = range(1, 32, 5)
    drawing.label_ticks(axes.xaxis, days, list(map(str, days)))
    axes.set_xlim(0.2, 31.8)
    axes.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    blank = Message("day ({zone}); days after the newest read are blank", zone=zone)
    axes.set_xlabel(apart(axes, blank))
    drawing.legend_below(axes)
    title = f"{stream.capitalize().replace('_', ' ')} read, by day"
    drawing.finish(axes, title, spans, "never read", _subtitle(drawn))


def _subtitle(drawn: list[tuple[int, int, str]]) -> str:
    """Say how many of the days are complete."""
    complete = sum(state == "complete" for _, _, state in drawn)
    counts = {"count": f"{complete:,}", "total": f"{len(drawn):,}"}
    return Message("chart.days_read", **counts) if drawn else ""


def _months_before(last: datetime | None, months: int, zone: str) -> list[date]:
    """Return the first days of the months up to the one that holds an instant."""
    if last is None:
        return []
    last = clock_of(zone).local(to_micros(last))
    index = last.year * 12 + last.month - 1
    return [date(n // 12, n % 12 + 1, 1) for n in range(index - months + 1, index + 1)]


def _days(first: date) -> list[date]:
    """Return the days of a month by its first."""
    days = (first + n * _DAY for n in range(31))
    return [day for day in days if day.month == first.month]


def _state(spans: list[Row], day: date, zone: str) -> str:
    """Return how much of a day was read: all is complete, some is in part."""
    start, end = _midnight(day, zone), _midnight(day + _DAY, zone)
    touching = [row for row in spans if row["starts_at"] < end and row["ends_at"] > start]
    is_complete = any(
        row["state"] == "complete" and row["starts_at"] <= start and row["ends_at"] >= end
        for row in touching
    )
    return "complete" if is_complete else "in part" if touching else UNREAD


def _midnight(day: date, zone: str) -> datetime:
    return from_micros(clock_of(zone).midnight(day))


def receipt_verdicts(axes: Axes, table: Table) -> None:
    """Draw the number of receipts by verdict: proven ones filled, others hatched.

    `table` has `verdict`, one row per receipt.
    """
    counts = Counter(str(row["verdict"]) for row in drawing.rows_of(table))
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] not in PROVEN, -pair[1], pair[0]))
    for label, look in (("proven", {"color": BLUE}), ("not proven", drawing.hatched())):
        own = [n for n, (name, _) in enumerate(ordered) if (name in PROVEN) == (label == "proven")]
        if own:
            bars = axes.barh(own, [ordered[n][1] for n in own], 0.7, label=label, **look)
            axes.bar_label(
                bars,
                [in_line(axes, f"{ordered[n][1]:,}") for n in own],
                padding=3,
                fontsize="small",
            )
    drawing.label_ticks(
        axes.yaxis, range(len(ordered)), [VERDICT_WORDS.get(name, name) for name, _ in ordered]
    )
    axes.set_ylim(max(len(ordered), 1) - 0.4, -0.6)
    axes.set_xlim(0, max(counts.values(), default=1) * 1.15)
    drawing.amount_axis(axes.xaxis)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(apart(axes, "receipts"))
    drawing.legend_below(axes)
    proven = sum(count for name, count in ordered if name in PROVEN)
    named = {"count": f"{proven:,}", "total": f"{sum(counts.values()):,}"}
    sentence = Message("chart.proven", **named) if ordered else ""
    drawing.finish(axes, "Receipts by verdict", ordered, "no receipt", sentence)
