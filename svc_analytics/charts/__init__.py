"""One function, one figure, drawn on the Axes it is given. For statements and notebooks.

Tables are Arrow tables or the frames that `lake.sql` returns. A float is a position in
the picture and nothing else: numbers that are read as text are written from decimals.
Texts of percentages and of USD are rounded half up to 2 places, of coins to six digits. Every
scale of amounts holds its zero, amounts of two coins have two axes, and what differs in colour
differs in hatching, lightness or marker too, so that a grey print can be read.
"""

from svc_analytics.charts.bridge import usd_bridge, usd_change
from svc_analytics.charts.columns import column_chart
from svc_analytics.charts.evidence import coverage_calendar, receipt_verdicts
from svc_analytics.charts.sales import (
    fee_tiers,
    net_settlement_daily,
    position,
    refund_cohorts,
    refund_ratio,
)
from svc_analytics.charts.usd import usd_exposure, usd_rates, usd_year
from svc_analytics.charts.words import percent

__all__ = [
    "column_chart",
    "coverage_calendar",
    "fee_tiers",
    "net_settlement_daily",
    "percent",
    "position",
    "receipt_verdicts",
    "refund_cohorts",
    "refund_ratio",
    "usd_bridge",
    "usd_change",
    "usd_exposure",
    "usd_rates",
    "usd_year",
]
