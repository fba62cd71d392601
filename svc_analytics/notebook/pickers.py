"""Pickers of month, zone, calendar and coin that drive the cells of a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from svc_analytics import charts
from svc_analytics.arguments import check
from svc_analytics.closing.stated import statement
from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.formatting.status_line import RUNNING
from svc_analytics.instants import now
from svc_analytics.lake.lake import check_lake, known_months, last_full_month
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.picked import Choice, Picked, rows_of_coin
from svc_analytics.notebook.pictures import draw
from svc_analytics.notebook.show import show
from svc_analytics.periods import CALENDARS, GREGORIAN, month_of
from svc_analytics.statements.statement import Statement

Parts = Callable[[Statement, str], Sequence[Any]]
ALL_COINS = "all coins"
# Usual ones to choose from; any other IANA zone can be typed.
ZONES = (
    *("UTC", "Asia/Tehran", "Asia/Dubai", "Asia/Istanbul", "Asia/Kolkata", "Asia/Singapore"),
    *("Asia/Tokyo", "Europe/Berlin", "Europe/Lisbon", "Europe/London", "America/New_York"),
    *("America/Los_Angeles", "America/Sao_Paulo", "Australia/Sydney"),
)
_FEES = (
    *("gross_sales", "payment_fees", "payout_fees", "total_fees_borne"),
    *("effective_fee_rate", "refunds_paid", "fee_leakage"),
)
_POSITION = (
    *("opening_position", "net_sales", "refunds_debited", "net_settlement"),
    *("payouts_debited", "rail_movement", "closing_position"),
)
_RECEIPTS = ("payments_count", "receipts_checked", "receipts_valid", "attested_ratio")

# What is shown of a statement and a coin.
PARTS: dict[str, Parts] = {
    "settlement": lambda st, coin: (
        draw(charts.net_settlement_daily, st, coin),
        show(rows_of_coin(st.tables["daily"], coin), f"{st.period.folder} by day, {coin}"),
    ),
    "fees": lambda st, coin: (
        _figures(st, coin, "fees", _FEES),
        draw(charts.refund_cohorts, st, coin),
    ),
    "position": lambda st, coin: (
        _figures(st, coin, "position", _POSITION),
        draw(charts.position, st, coin),
    ),
    "exposure": lambda st, coin: (
        draw(charts.usd_exposure, st),
        show(rows_of_coin(st.tables["exposure"], coin), f"exposure in {coin}"),
    ),
    "receipts": lambda st, coin: (
        _figures(st, coin, "receipts", _RECEIPTS),
        draw(charts.receipt_verdicts, rows_of_coin(st.tables["receipts"], coin)),
    ),
}


def pick(
    lake: Lakehouse,
    start: Statement | str | None = None,
    parts: str | Parts | None = None,
    *,
    month: str | None = None,
    zone: str = "UTC",
    calendar: str | None = None,
) -> Picked:
    """Return the statement of a month, which pickers at the top of a notebook change.

    Display it to see its heading and, with ipywidgets in a running notebook, pickers of
    month, zone, calendar and coin. Cells that show it follow the pickers. It starts with
    `start`, a month or a statement; without one, with the last full month of the lake.

    `parts` are tables and charts to show below the pickers, for one coin: settlement,
    fees, position, exposure or receipts, or a function that returns them for a statement
    and a coin. For a statement they are settlement unless told.

    Returns:
        The picked statement, for `svc.show`, `svc.draw` and `svc.search`; a notebook
        displays its heading and pickers.

    Raises:
        ConfigError: for a month that does not exist, a lake that holds none, or no such parts.
        LakeError: when there is no lake.

    Examples:
        >>> picked = svc.pick(lake, "2026-10")  # doctest: +SKIP
        >>> svc.show(picked)  # doctest: +SKIP
    """
    check_lake(lake)
    check("start", start, (Statement, str, type(None)), 'a month as text, such as "2026-10"')
    check("month", month, (str, type(None)), 'it as text, such as "2026-10"')
    if not callable(parts):
        check("parts", parts, (str, type(None)), f"a function, or one of {', '.join(PARTS)}")
    if isinstance(parts, str) and parts not in PARTS:
        raise ConfigError(f"there are no parts {parts!r}: choose one of {', '.join(PARTS)}")
    if isinstance(start, Statement):
        picked = start
    else:
        label = start or month or last_full_month(lake, zone, calendar)
        picked = statement(lake, label, zone=zone, calendar=calendar)
    if parts is None and (picked is start or month is not None):
        parts = "settlement"
    chosen = PARTS[parts] if isinstance(parts, str) else parts
    return Picked(lake, picked, chosen and _of_one_coin(chosen), widgets_of)


def widgets_of(picked: Picked) -> Pickers | None:
    """Return pickers; None without ipywidgets: then nothing but the heading is shown."""
    try:
        return Pickers(picked)
    except ModuleNotFoundError:
        return None


def _of_one_coin(parts: Parts) -> Callable[[Statement, str | None], Any]:
    """Show the parts of one coin; a line where a month has no coin."""
    return lambda st, coin: (
        f"{st.period.folder} has no movement and no position" if coin is None else parts(st, coin)
    )


class Pickers:
    """Four widgets that change what is picked, and offer what there is to pick."""

    def __init__(self, picked: Picked) -> None:
        import ipywidgets  # an optional extra

        self._picked, self._is_quiet = picked, False
        self.month = ipywidgets.Dropdown(description="month")
        self.zone = ipywidgets.Combobox(description="zone", options=ZONES, continuous_update=False)
        self.calendar = ipywidgets.Dropdown(description="calendar", options=list(CALENDARS))
        self.coin = ipywidgets.Dropdown(description="coin")
        self.box = ipywidgets.Box([self.month, self.zone, self.calendar, self.coin])
        self.box.layout.flex_flow = "row wrap"
        self._offer()
        for name in ("month", "zone", "calendar", "coin"):
            getattr(self, name).observe(partial(self._change, name), "value")

    def _change(self, name: str, event: Any) -> None:
        """Pick what a person has changed; the other pickers follow."""
        if self._is_quiet:
            return
        value = event["new"]
        with self._quietly():
            self._picked.choose(**{name: None if value == ALL_COINS else value})
            self._offer()

    def _offer(self) -> None:
        """Offer the months and coins there are, and show what is picked."""
        choice = self._picked.choice
        with suppress(SvcError):  # of a zone that does not exist: the months stay as they are
            months = _month_options(self._picked.lake, choice)
            self.month.options, self.month.value = months, choice.month
        self.zone.value, self.calendar.value = choice.zone, choice.calendar
        coins = [ALL_COINS if coin is None else coin for coin in self._picked.coins]
        shown = ALL_COINS if choice.coin is None else choice.coin
        self.coin.options = coins if shown in coins else [*coins, shown]
        self.coin.value = shown

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Let nothing that is set meanwhile count as picked by a person."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False


def _month_options(lake: Lakehouse, choice: Choice) -> list[tuple[str, str]]:
    """Return months, newest first, as texts and labels; a running one is marked."""
    calendar = choice.calendar or GREGORIAN
    labels = {*known_months(lake, choice.zone, calendar), choice.month}
    running = month_of(now(), choice.zone, calendar).label
    return [
        (f"{label} {RUNNING}" if label >= running else label, label)
        for label in sorted(labels, reverse=True)
    ]


def _figures(st: Statement, coin: str, title: str, names: Sequence[str]) -> Any:
    return show(st, f"{title} of {st.period.folder}", only=names, coins=[coin])
