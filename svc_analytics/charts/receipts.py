"""Chart of receipt verdicts."""

from collections import Counter

from svc_analytics.charts.axes import (
    Axes,
    Table,
    add_legend,
    amounts,
    finish,
    hatched,
    label_ticks,
    rows_of,
)
from svc_analytics.charts.palette import BLUE
from svc_analytics.charts.words import apart, in_line
from svc_analytics.messages import Message
from svc_analytics.signing.receipts import PROVEN


def receipt_verdicts(axes: Axes, table: Table) -> None:
    """Draw the number of receipts by verdict: proven ones filled, others hatched.

    `table` has `verdict`, one row per receipt.
    """
    counts = Counter(str(row["verdict"]) for row in rows_of(table))
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] not in PROVEN, -pair[1], pair[0]))
    for label, look in (("proven", {"color": BLUE}), ("not proven", hatched())):
        own = [n for n, (name, _) in enumerate(ordered) if (name in PROVEN) == (label == "proven")]
        if own:
            bars = axes.barh(own, [ordered[n][1] for n in own], 0.7, label=label, **look)
            axes.bar_label(
                bars,
                [in_line(axes, f"{ordered[n][1]:,}") for n in own],
                padding=3,
                fontsize="small",
            )
    label_ticks(axes.yaxis, range(len(ordered)), [verdict for verdict, _ in ordered])
    axes.set_ylim(max(len(ordered), 1) - 0.4, -0.6)
    axes.set_xlim(0, max(counts.values(), default=1) * 1.15)
    amounts(axes.xaxis)
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel(apart(axes, "receipts"))
    if len(axes.containers) > 1:
        add_legend(axes, loc="lower right")
    proven = sum(count for name, count in ordered if name in PROVEN)
    counts_told = {"count": f"{proven:,}", "total": f"{sum(counts.values()):,}"}
    sentence = Message("chart.proven", **counts_told) if ordered else ""
    finish(axes, "Receipts by verdict", ordered, "no receipt", sentence)
