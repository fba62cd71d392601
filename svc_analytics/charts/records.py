"""Charts of what became of records: refunds by cohort, the position, verdicts, what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from svc_analytics.charts.axes import (
    BLUE,
    GREY,
    Row,
    all_days,
    all_months,
    amounts,
    hatched,
    label_days,
    label_places,
    mark_unknown,
    percent,
    rows_of,
    say_if_empty,
    signed_bars,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svc_analytics.charts.axes import Table

PROVEN = ("valid", "valid_previous_secret", "proven_by_record")
_DAY = timedelta(days=1)
_LETTERS = ((13, 6.5), (18, 5.0), (25, 3.8))  # points, for up to so many months; then none


def refund_cohorts(axes: Axes, table: Table, currency: str) -> None:
    """Draw which part of each month's charged total came back in which month.

    `table` has `payment_month`, `refund_month`, `currency` and `ratio`. Darker is more,
    and a field says its percentage as long as it has room; `?` is one that is unknown.
    The months are those of all coins, and none between them is left out.
    """
    found = {
        (row["payment_month"], row["refund_month"]): row["ratio"]
        for row in rows_of(table, currency)
    }
    paid, returned = (
        all_months(row[name] for row in rows_of(table))
        for name in ("payment_month", "refund_month")
    )
    known = [ratio for ratio in found.values() if ratio is not None]
    size = next((size for most, size in _LETTERS if len(returned) <= most), 0.0)
    top = max(known, default=Decimal(0)) or Decimal(1)
    for (payment_month, refund_month), ratio in found.items():
        place = (returned.index(refund_month), paid.index(payment_month))
        _field(axes, place, ratio, float(ratio / top) if ratio is not None else 0.0, size)
    axes.set_xlim(-0.5, max(len(returned), 1) - 0.5)
    axes.set_ylim(max(len(paid), 1) - 0.5, -0.5)
    label_places(axes, returned)
    axes.set_yticks(range(len(paid)), paid)
    axes.set_xlabel("month of the refund")
    axes.set_ylabel("month of the payment")
    axes.set_title(f"Refunded share of each month's charged total, {currency}")
    say_if_empty(axes, list(found), "no refund")


def position(axes: Axes, table: Table, currency: str) -> None:
    """Draw the rail position at each day's end as steps, and each day's movement as bars.

    `table` has `day`, `currency`, `movement` and `closing`. Where the position is unknown
    the line is broken, and a day of unknown movement is a cross. It is no balance: deposits
    and withdrawals are not in it.
    """
    rows = rows_of(table, currency)
    days = [row["day"].toordinal() for row in rows]
    moved = [
        (day, row["movement"])
        for day, row in zip(days, rows, strict=True)
        if row["movement"] is not None
    ]
    closing = [_place(row["closing"]) for row in rows]
    is_known = any(place == place for place in closing)
    label = "position" if is_known else "position unknown"
    signed_bars(axes.bar, moved)
    axes.step(days, closing, where="mid", color="black", linewidth=1.4, label=label)
    mark_unknown(axes, sorted(set(days) - {day for day, _ in moved}))
    axes.axhline(0, color="black", linewidth=0.8)
    label_days(axes, all_days(table))
    amounts(axes.yaxis)
    axes.set_ylabel(currency)
    axes.set_title(f"Rail position and movements, {currency}")
    if rows:
        axes.legend(frameon=False, fontsize="small")
    say_if_empty(axes, rows, "no movement")


def receipt_verdicts(axes: Axes, table: Table) -> None:
    """Draw how many receipts got which verdict: proven ones filled, all others hatched.

    `table` has `verdict`, one row per receipt.
    """
    counts = Counter(str(row["verdict"]) for row in rows_of(table))
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] not in PROVEN, -pair[1], pair[0]))
    for place, (verdict, count) in enumerate(ordered):
        look = {"color": BLUE} if verdict in PROVEN else hatched()
        bars = axes.barh([place], [count], 0.7, **look)
        axes.bar_label(bars, [f"{count:,}"], padding=3, fontsize="small")
    axes.set_yticks(range(len(ordered)), [verdict for verdict, _ in ordered])
    axes.set_ylim(max(len(ordered), 1) - 0.4, -0.6)
    axes.set_xlim(0, max(counts.values(), default=1) * 1.15)
    amounts(axes.xaxis)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("receipts")
    axes.set_title("Verdicts on receipts")
    say_if_empty(axes, ordered, "no receipt")


def coverage_calendar(
    axes: Axes, table: Table, stream: str, months: int = 12, zone: str = "UTC"
) -> None:
    """Draw each day of the last months in a zone: read and settled, read in part, or not read.

    `table` has `stream`, `starts_at`, `ends_at` and `state`, as the view `coverage`. A day
    is filled when all of it is complete, hatched when some of it was read, else a cross.
    """
    spans = [row for row in rows_of(table) if row["stream"] == stream and row["ends_at"]]
    looks = {"complete": {"color": BLUE}, "in part": hatched()}
    labels = _months_before(max((row["ends_at"] for row in spans), default=None), months, zone)
    drawn = [
        (day, place, _state(spans, day, zone))
        for place, first in enumerate(labels)
        for day in _days(first)
    ]
    for state, look in looks.items():
        fields = [(day.day, place) for day, place, found in drawn if found == state]
        for x, y in fields:
            axes.bar([x], [0.8], 0.8, bottom=y - 0.4, **look)
    unread = [(day.day, place) for day, place, found in drawn if found == "not read"]
    axes.plot([x for x, _ in unread], [y for _, y in unread], "x", color=GREY, markersize=3)
    axes.set_yticks(range(len(labels)), [f"{first:%Y-%m}" for first in labels])
    axes.set_xticks(range(1, 32, 5))
    axes.set_xlim(0.2, 31.8)
    axes.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    axes.set_xlabel(f"day ({zone}): filled complete, hatched in part, x not read")
    axes.set_title(f"What was read of {stream}")
    say_if_empty(axes, spans, "never read")


def _field(
    axes: Axes, place: tuple[int, int], ratio: Decimal | None, depth: float, size: float
) -> None:
    """Draw one field of a heat map, its text dark on light or light on dark."""
    shade = str(round(1 - 0.8 * depth, 3))
    x, y = place
    axes.bar([x], [1], 1, bottom=y - 0.5, facecolor=shade, edgecolor="white")
    ink = "white" if depth > 0.5 else "black"
    if size:
        axes.text(x, y, _short(ratio), ha="center", va="center", color=ink, fontsize=size)


def _short(ratio: Decimal | None) -> str:
    """Write a ratio in few letters, never as zero when it is not."""
    if ratio is None:
        return "?"
    rounded = ratio.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    return percent(rounded) if rounded or not ratio else "<0.01%"


def _place(value: Decimal | None) -> float:
    return float("nan") if value is None else float(value)


def _months_before(last: datetime | None, months: int, zone: str) -> list[date]:
    """Return the first days of the months up to the one that holds an instant."""
    if last is None:
        return []
    last = last.astimezone(ZoneInfo(zone))
    index = last.year * 12 + last.month - 1
    return [date(n // 12, n % 12 + 1, 1) for n in range(index - months + 1, index + 1)]


def _days(first: date) -> Iterable[date]:
    day = first
    while day.month == first.month:
        yield day
        day += _DAY


def _state(spans: list[Row], day: date, zone: str) -> str:
    """Say whether all, some or nothing of a day was read."""
    start, end = _midnight(day, zone), _midnight(day + _DAY, zone)
    touching = [row for row in spans if row["starts_at"] < end and row["ends_at"] > start]
    whole = [
        row
        for row in touching
        if row["state"] == "complete" and row["starts_at"] <= start and row["ends_at"] >= end
    ]
    return "complete" if whole else "in part" if touching else "not read"


def _midnight(day: date, zone: str) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)
