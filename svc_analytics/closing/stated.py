"""Statements and comparisons that know what became of their months: what people call."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from svc_analytics.arguments import Instant, PeriodOptions, as_clock, as_instant, as_names, check
from svc_analytics.closing.month_states import with_state
from svc_analytics.lake.lake import Lake, check_lake
from svc_analytics.periods import TO_DATE, parse_period
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.signing.secrets import Secrets
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.change import THRESHOLD, Change, explain_comparison
from svc_analytics.statements.comparison import Comparison, compare_periods, named_periods
from svc_analytics.statements.reading import Basis, check_names
from svc_analytics.statements.statement import Statement, prepare


def statement(
    lake: Lake,
    month: str,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    now: Instant | None = None,
    as_of: Instant | None = None,
    webhooks: str | Path | None = None,
    webhook_secrets: Secrets | None = None,
    metadata: Collection[str] = (),
) -> Statement:
    """Make the statement of a month, such as `2026-10`, `oct 2026` or `last month`.

    Or of a quarter, such as `2026-Q3`, of a year, such as `2026` or `1405`, or of a year to date:
    `2026-10-ytd` ends with October, `ytd` with the newest month that is over. What is written in
    the Jalali calendar, such as `1405-08` or `aban 1405`, needs no `calendar`; the last month and
    this year do. A period begins and ends at midnight in `zone`, an IANA name.

    `as_of` makes the statement of an earlier instant again; by default it is the end of the
    newest read. As of an instant within the period, it is that of a period which was still
    running. `now` replaces this machine's clock. Both are a datetime with a zone, text such as
    `2026-11-01T00:00:00Z`, or UTC microseconds. `webhooks` is a log of deliveries: a record that
    it names and the lake lacks becomes a finding; `webhook_secrets` verify it, by default those
    of the settings. `metadata` names properties of the payments' metadata to add to `lines` as
    columns.

    Returns:
        A `Statement`: `summary` (a row per currency, a column per figure: `payments_count`,
        `gross_sales`, `payment_fees`, `net_sales`, `net_settlement`, `closing_position` ...),
        `daily`, `lines`, `figures`, `checks`, and `status` with its `reasons`; that of
        a sealed month says so. A figure that needs time that was not read is empty, never zero.

    Raises:
        ConfigError: for a month that does not exist, has not begun, or had not by `as_of`, a
            zone that does not exist, or a lake into which nothing was read.
        LakeError: when there is no lake, a file of it was altered, or it was read only up to
            an instant before `as_of`.

    Examples:
        >>> st = svc.statement(lake, "2026-10", zone="Asia/Tehran")  # doctest: +SKIP
        >>> st.summary[["currency", "net_settlement"]]  # doctest: +SKIP
    """
    check_lake(lake)
    names, clock = check_names(metadata), as_clock(now)
    at = None if as_of is None else as_instant("as_of", as_of)
    period = parse_period(month, clock, lake_zone(lake, zone), calendar)
    basis = Basis(clock, read_assertions(lake.path), names, at, now=clock, may_be_cached=True)
    new = prepare(lake, period, basis, webhooks, webhook_secrets)
    return _stated(lake, new, clock) if at is None else new


def compare(
    lake: Lake,
    before: str | None = None,
    after: str | None = None,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    only: Sequence[str] | None = None,
    coins: Sequence[str] | None = None,
    exact: bool = False,
    now: Instant | None = None,
) -> Comparison:
    """Compare two months, quarters or years, figure by figure and coin by coin.

    Two quarters are `2026-Q2` and `2026-Q3`, two years `2025` and `2026`.

    Without months, the last full month is compared with the one before; with one alone, it is
    compared with the month before it, a year to date with the same months of the year before.
    With "previous year" as the earlier one, any period is compared with the same one a year before.
    `only` names figures, `coins` coins; with `exact` every digit is displayed. `now` replaces this
    machine's clock: a datetime with a zone, RFC 3339 text, or UTC microseconds.

    Returns:
        A `Comparison`, which displays itself: `.rows` is a frame with one row per figure and
        coin (old, new, difference, percent), `.trend()` a figure of the year by month.

    Raises:
        ConfigError: for a month that does not exist or has not begun, for a month beside a
            year, and for a figure or a coin that neither has.
        LakeError: when there is no lake, or a file of it was altered.

    Examples:
        >>> svc.compare(lake, "2026-09", "2026-10", zone="Asia/Tehran")  # doctest: +SKIP
    """
    check_lake(lake)
    figures = None if only is None else as_names("only", only, "net_settlement")
    named, clock = None if coins is None else as_names("coins", coins, "btc"), as_clock(now)
    at = PeriodOptions(zone=zone, calendar=calendar)
    periods = named_periods(before, after, lake, clock, at)
    both = compare_periods(lake, periods, clock, figures, named)
    old, new = (_stated(lake, each, clock) for each in (both.old, both.new))
    return replace(both.of_statements(old, new), is_exact=exact)


def explain_change(
    lake: Lake,
    before: str | None = None,
    after: str | None = None,
    *,
    zone: str = "UTC",
    calendar: str | None = None,
    coins: Sequence[str] | None = None,
    threshold: Decimal | int = THRESHOLD,
    now: Instant | None = None,
) -> Change:
    """Explain why figures moved between two periods: split each change into parts.

    These are sales less fees and refunds, payment fees, refunds paid, and the position in USD; each
    of every coin, in coin and in USD. The parts are one-off records, new and lost customers,
    volume, fee tier, refund timing, price, and what has no USD value. They add up to the change, to
    the last digit. The periods are named as for `compare`; `coins` chooses coins. A figure that
    changed by more than `threshold` per cent needs a sentence, kept beside the later statement.
    `now` replaces this machine's clock: a datetime with a zone, RFC 3339 text, or UTC microseconds.

    Returns:
        A `Change`, which displays itself: `.rows` has a row per figure, coin and unit, `.parts`
        the parts of each, `.records` the ten records that add most to each part.

    Raises:
        ConfigError: as `compare` does, and for a line of a file of sentences that is wrong.
        LakeError: when there is no lake, a file of it was altered, or it changed meanwhile.

    Examples:
        >>> why = svc.explain_change(lake, "2026-09", "2026-10")  # doctest: +SKIP
        >>> why.parts[["figure", "currency", "unit", "part", "amount"]]  # doctest: +SKIP
    """
    wanted = "per cent as a whole number or a Decimal, such as 10"
    check("threshold", threshold, (int, Decimal), wanted)
    both = compare(lake, before, after, zone=zone, calendar=calendar, now=now)
    named = None if coins is None else as_names("coins", coins, "btc")
    return explain_comparison(both, named, threshold)


def _stated(lake: Lake, own: Statement, clock: int) -> Statement:
    """Return a statement with the state of its period; a year to date is never closed."""
    return own if own.period.kind == TO_DATE else with_state(lake, own, clock)
