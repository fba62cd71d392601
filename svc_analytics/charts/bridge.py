"""Chart of how the position became what it is worth, from the opening to the closing, in USD."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from svc_analytics.charts import drawing
from svc_analytics.charts.drawing import BLUE, HATCH, INK, PAPER, RULE, RUST, UP, Axes, Row, Table
from svc_analytics.charts.usd import total, unpriced, usd_of
from svc_analytics.charts.words import ROUNDED, cents, sentences, share
from svc_analytics.messages import Message
from svc_analytics.warehouse.figures import label_of

CHANGE = "Sales less fees and refunds, USD"  # what a change is of
UNKNOWN = "unknown: a value in USD is missing"
_CENT = Decimal("0.01")
_NAMES, _LETTER, _EDGE = 1.25, 0.065, 0.08  # inches: the names, a letter of an amount, its edge


@dataclass(frozen=True)
class Step:
    """A step of the bridge: from where to where it leads, in USD and cents."""

    name: str
    start: Decimal
    end: Decimal
    is_worth: bool = False  # what the position is worth, and no movement

    @property
    def amount(self) -> Decimal:
        """The amount that it adds; of the opening and the closing all of it."""
        return self.end - self.start

    @property
    def text(self) -> str:
        """The amount to print, with a plus before what comes in."""
        sign = "+" if not self.is_worth and self.amount > 0 else ""
        return f"{sign}{cents(self.amount)}"


def usd_bridge(axes: Axes, table: Table) -> None:
    """Draw what the opening position was worth, what moved it, and what the closing one is worth.

    `table` has a row per coin, with `opening_position`, `usd_opening`, `usd_net_sales`,
    `usd_refunds`, `usd_payouts_debited`, `closing_position` and `usd_exposure`. The steps are
    rounded to cents, and add up: what no movement explains, mostly other rates at the end than
    before, is the step of the rates. Of an unknown step nothing is drawn.
    """
    rows = drawing.rows_of(table)
    steps = bridge_steps(rows)
    _draw_steps(axes, steps)
    why = UNKNOWN if rows else "no record"
    drawing.finish(axes, "From opening to closing, USD", steps, why, _subtitle(steps, rows))


def usd_change(axes: Axes, table: Table) -> None:
    """Draw sales less fees and refunds in USD, before and after, and each coin's part of it.

    `table` has a row per coin, with `currency`, `old` and `new`. The steps are rounded to cents,
    and add up: what all coins together were rounded by is in the largest step.
    """
    rows = drawing.rows_of(table)
    steps = change_steps(rows)
    _draw_steps(axes, steps)
    why = UNKNOWN if rows else "no record"
    drawing.finish(axes, CHANGE, steps, why, sentence_of_change(steps))


def change_steps(rows: Sequence[Row]) -> list[Step]:
    """Return the steps from the old sum to the new one, largest first; none if one is unknown.

    >>> given = [("btc", 10, 14), ("eth", 5, "4.50")]
    >>> rows = [dict(currency=coin, old=Decimal(old), new=Decimal(new)) for coin, old, new in given]
    >>> [(step.name, str(step.amount)) for step in change_steps(rows)]
    [('Before', '15.00'), ('btc', '4.00'), ('eth', '-0.50'), ('After', '18.50')]
    """
    if not rows or any(row[side] is None for row in rows for side in ("old", "new")):
        return []
    at, end = (_in_cents([row[side] for row in rows]) for side in ("old", "new"))
    moved = {
        str(row["currency"]): _in_cents([row["new"], row["old"].copy_negate()]) for row in rows
    }
    order = sorted(moved, key=lambda coin: (-abs(moved[coin]), coin))
    moved[order[0]] += end - at - total(moved.values())
    steps = [Step("Before", Decimal(0), at, is_worth=True)]
    for coin in order:
        steps.append(Step(coin, at, at + moved[coin]))
        at += moved[coin]
    return [*steps, Step("After", Decimal(0), end, is_worth=True)]


def sentence_of_change(steps: Sequence[Step]) -> str:
    """Say by how much more or less was left, and which coin moved it most."""
    if not steps:
        return ""
    moved = steps[-1].amount - steps[0].amount
    code = "chart.left_more" if moved >= 0 else "chart.left_less"
    largest = steps[1]
    return Message(code, amount=cents(abs(moved)), coin=largest.name, moved=largest.text)


def _draw_steps(axes: Axes, steps: Sequence[Step]) -> None:
    """Draw steps as bars one below the other, each from where the one before ends."""
    for place, step in enumerate(steps):
        _draw(axes, place, step)
    for place, step in enumerate(steps[:-1]):
        axes.plot([float(step.end)] * 2, [place, place + 1], color=RULE, linewidth=0.8, zorder=0)
    axes.axvline(0, color=INK, linewidth=0.8)
    drawing.label_ticks(axes.yaxis, range(len(steps)), [step.name for step in steps])
    axes.set_xticks([])
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_ylim(max(len(steps), 1) - 0.4, -0.6)
    ends = [float(value) for step in steps for value in (step.start, step.end)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    axes.set_xlim(low, high + _room(axes, steps) * ((high - low) or 1.0))


def _room(axes: Axes, steps: Sequence[Step]) -> float:
    """Return the room that the amounts need at the right, as a part of that of the bars."""
    amount = _EDGE + _LETTER * max((len(cents(step.amount)) + 1 for step in steps), default=0)
    return amount / max(drawing.picture_width(axes) - _NAMES - amount, amount)


def _draw(axes: Axes, place: int, step: Step) -> None:
    """Draw a step with its amount: worth dark, what comes in filled, what goes out hatched."""
    look: dict[str, Any] = {"color": BLUE if step.is_worth else UP}
    if step.amount < 0:
        look = {"facecolor": PAPER, "edgecolor": RUST, "hatch": HATCH}
    axes.barh([place], [float(step.amount)], 0.66, left=float(step.start), **look)
    right = float(max(step.start, step.end))
    drawing.annotate(axes, (right, place), step.text, xytext=(4, 0), va="center")


def bridge_steps(rows: Sequence[Row]) -> list[Step]:
    """Return the steps, which add up to the cent; none where one of them is unknown.

    100 USD, and 50 of sales, less 10 of refunds and 30.30 of payouts with their fee, are 109.70;
    the closing is worth 112, so the rates gave 2.30.

    >>> given = {"opening_position": 1, "usd_opening": Decimal(100), "closing_position": 2}
    >>> given |= {"usd_net_sales": Decimal(50), "usd_refunds": Decimal(10)}
    >>> given |= {"usd_payouts_debited": Decimal("30.30"), "usd_exposure": Decimal(112)}
    >>> [str(step.amount) for step in bridge_steps([given])]
    ['100.00', '50.00', '-10.00', '-30.30', '2.30', '112.00']
    """
    parts = [_parts(row) for row in rows]
    if not parts or any(value is None for row in parts for value in row):
        return []
    columns = zip(*parts, strict=True)
    opening, sales, refunds, payouts, closing = (_in_cents(column) for column in columns)
    moved = [("Sales less fees", sales), ("Refunds", -refunds), ("Payouts and fees", -payouts)]
    rates = closing - opening - total(amount for _, amount in moved)
    at, steps = opening, [Step(label_of("opening_position"), Decimal(0), opening, is_worth=True)]
    for name, amount in [*moved, ("Rates", rates)]:
        steps.append(Step(name, at, at + amount))
        at += amount
    return [*steps, Step(label_of("closing_position"), Decimal(0), closing, is_worth=True)]


def _parts(row: Row) -> tuple[Decimal | None, ...]:
    """Return a coin's worths and movements in USD."""
    return (
        Decimal(0) if row["opening_position"] == 0 else row["usd_opening"],
        usd_of(row, "usd_net_sales"),
        usd_of(row, "usd_refunds"),
        usd_of(row, "usd_payouts_debited"),
        Decimal(0) if row["closing_position"] == 0 else row["usd_exposure"],
    )


def _in_cents(values: Sequence[Decimal | None]) -> Decimal:
    return total([value for value in values if value is not None]).quantize(_CENT, context=ROUNDED)


def _subtitle(steps: Sequence[Step], rows: Sequence[Row]) -> str:
    """Say how much of what sales left was paid out, and what the position gained or lost."""
    if not steps:
        return unpriced(rows, has_payouts=True)
    opening, sales, refunds, payouts, _, closing = (step.amount for step in steps)
    net, gained = sales + refunds, closing - opening
    taken = Message("chart.paid_out", share=share(payouts, net)) if net > 0 and payouts else ""
    code = "chart.worth_more" if gained >= 0 else "chart.worth_less"
    return sentences(
        taken, Message(code, amount=cents(abs(gained))), unpriced(rows, has_payouts=True)
    )
