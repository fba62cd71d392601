"""Compare two periods of a lake, figure by figure, in one zone and calendar."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.arguments import PeriodOptions, as_names, check, check_path
from svc_analytics.bucket.address import local_path
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import Display, names_of
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.status_line import StatusLine, attach, status_line_of
from svc_analytics.formatting.tables import to_frame, to_objects
from svc_analytics.formatting.texts import single_line
from svc_analytics.instants import DAY, format_instant
from svc_analytics.lake.lake import Lake, last_full_month
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.periods import Period, parse_period
from svc_analytics.proofs.sealed_zones import lake_zone
from svc_analytics.render.compared import side_by_side
from svc_analytics.render.compared.figures import (
    Side,
    change_table,
    comparable_figures,
    compare_sides,
    figures_by_coin,
    is_to_date,
    number_of,
    with_messages,
)
from svc_analytics.render.compared.folder import Compared, write_compared
from svc_analytics.render.document import status_text
from svc_analytics.statements.balance_assertions import read_assertions
from svc_analytics.statements.months import count_months, keep_known
from svc_analytics.statements.reading import Basis
from svc_analytics.statements.statement import Statement, prepare
from svc_analytics.statements.trend import MONTHS, monthly_figures
from svc_analytics.warehouse.figure_sql import select_figures
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.warehouse import Warehouse, count

if TYPE_CHECKING:
    import pandas as pd

PREVIOUS_YEAR = "previous year"  # stands for the same period a year before
_IN_A_YEAR = {"month": 12, "quarter": 4}


@dataclass(frozen=True)
class Comparison(Displayable):
    """Two months of a lake beside each other; `svc.compare` makes one.

    Examples:
        >>> both = svc.compare(lake, "2026-09", "2026-10")  # doctest: +SKIP
        >>> both.rows[["figure", "currency", "difference"]]  # doctest: +SKIP
    """

    old: Statement = field(repr=False)
    new: Statement = field(repr=False)
    table: pa.Table = field(repr=False)
    lake: Lake = field(repr=False)
    now: int | None = field(default=None, repr=False)
    is_narrowed: bool = False  # whether some figures were chosen
    is_exact: bool = False  # whether every digit is displayed
    counted: tuple[Side, Side] | None = field(default=None, repr=False)  # at the same age

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure and coin: old, new, difference and percent, all exact."""
        return to_frame(self.table)

    @property
    def described_table(self) -> pa.Table:
        """The table with what its notes are made of, for any language."""
        return with_messages(self.table, *self.counted) if self.counted else self.table

    @property
    def merchant(self) -> dict[str, Any]:
        """The merchant, as the newer statement has it."""
        return self.new.merchant

    @property
    def is_whole(self) -> bool:
        """Whether both months are over, so that two whole months are compared."""
        return not any(side.is_running for side in self.sides)

    @property
    def change(self) -> pa.Table:
        """The sales less fees and refunds of each coin in both periods, in USD."""
        return change_table(*self.sides)

    @property
    def needs_attention(self) -> bool:
        """Whether anything but a running month keeps one of the statements from being final."""
        return self.old.needs_attention or self.new.needs_attention

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both statements, as they are compared."""
        return side_of(self.old), side_of(self.new)

    def of_statements(self, old: Statement, new: Statement) -> Comparison:
        """Return the same of statements that say more of their periods."""
        table = attach(self.table, _status_line(old, new))
        return replace(self, old=old, new=new, table=table)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it: both sides, and a row per figure and coin."""
        old, new = (side.to_json() for side in self.sides)
        rows = to_objects(self.table)
        return {"old": old, "new": new, "is_whole": self.is_whole, "rows": rows}

    def to_html(self) -> str:
        """Return the same as a page that stands alone."""
        from svc_analytics.render.compared.forms import comparison_page  # loads matplotlib

        return comparison_page(self.titled(), names_of(self.merchant), change=self.change)

    def save(
        self,
        out: str | Path,
        formats: Collection[str] = ("html", "xlsx", "csv"),
        *,
        lang: str = "en",
        digits: str = "latin",
    ) -> Path:
        """Write the comparison into a folder of its own and return the folder.

        `formats` are html, xlsx, csv and json, in a list. Replaces an earlier comparison there.
        `lang` is the language of html and xlsx: `en`, `fa` (Persian) or `en+fa` (both);
        `digits` are `latin` or `fa`. The other formats are the same in every language.

        Returns:
            The folder's path.

        Raises:
            ConfigError: for an unknown format or language, or a text in place of a list.
            LakeError: when the folder holds anything else, or cannot be written.

        Examples:
            >>> both.save("out/2026-09-and-10", formats=["xlsx"])  # doctest: +SKIP
        """
        return save(replace(compared_of(self), language=Language(lang, digits)), out, formats)

    def trend(self, figure: str = "net_settlement", months: int = MONTHS) -> pd.DataFrame:
        """Return a figure of each coin in the 12 months that end with the later one.

        One row per `month` and `currency`; the figure is NULL where it is unknown, and
        `is_running` says whether the month is not over. `svc.draw(comparison.trend("net_sales"),
        x="month", y="net_sales", by="currency")` draws it.
        """
        return to_frame(self.trend_table([figure], months))

    def trend_table(self, figures: Sequence[str], months: int = MONTHS) -> pa.Table:
        """Return any figures of the same as an Arrow table."""
        later = max(self.old, self.new, key=lambda side: side.period.start)
        table = monthly_figures(self.lake, figures, later.period.months[-1], months, self.now)
        own = status_line_of(later.tables["summary"])
        # The status is the last month's: the months before it may have another.
        line = Message("status of the last month: {STANDING}", standing=translated(own.text))
        return attach(table, replace(own, text=line))

    def _display(self) -> Display:
        old, new = self.sides
        title = Message(
            "comparison.title",
            old=translated(self.old.period.title),
            new=translated(self.new.period.title),
            names=single_line(names_of(self.merchant)),
        )
        same_age = side_by_side.age_line(*self.counted, self.table) if self.counted else ""
        tables = side_by_side.comparison_tables(
            self.described_table, old, new, is_narrowed=self.is_narrowed, is_exact=self.is_exact
        )
        lines = [*side_by_side.head_lines(old, new), *filter(None, [same_age])]
        return Display(title, lines, tables)

    def titled(self) -> Display:
        """Return it to display below the names of the merchant, without these in its title."""
        title = Message(
            "comparison.periods",
            old=translated(self.old.period.title),
            new=translated(self.new.period.title),
        )
        return replace(self._safe_display(), title=title)

    def __repr__(self) -> str:
        return f"Comparison({self.old.period.folder}, {self.new.period.folder})"


def compared_of(both: Comparison) -> Compared:
    """Return the material of a comparison's forms."""
    return Compared(
        shown=both.titled(),
        names=names_of(both.merchant),
        tables={"comparison": both.described_table},
        facts=both.to_json(),
        zone=both.new.period.zone,
        made_at=max(both.old.as_of, both.new.as_of),
        change=both.change,
    )


def save(compared: Compared, out: str | Path, formats: Collection[str]) -> Path:
    """Write the forms of a comparison into a folder that a person named."""
    check_path("out", out, "out/2026-09-and-10")
    return write_compared(compared, local_path("out", out), as_names("formats", formats, "csv"))


def compare_periods(
    lake: Lake,
    periods: tuple[Period, Period],
    clock: int,
    figures: Sequence[str] | None,
    coins: Sequence[str] | None,
) -> Comparison:
    """Compare two periods, the earlier one first, by statements that are made of both."""
    # The months before either are no part of it: `trend` reads them where they are asked for.
    basis = Basis(clock, read_assertions(lake.path), has_trend=False, now=clock)
    old, new = (prepare(lake, period, basis) for period in periods)
    sides = at_same_age(lake, (side_of(old), periods[0]), (side_of(new), periods[1]))
    table = attach(compare_sides(*sides, figures, coins), _status_line(old, new))
    return Comparison(old, new, table, lake, clock, figures is not None, counted=sides)


def named_periods(
    before: str | None, after: str | None, lake: Lake, clock: int, at: PeriodOptions
) -> tuple[Period, Period]:
    """Return the periods that are named: the later one alone is compared with the one before."""
    zone, calendar = lake_zone(lake, at["zone"]), at["calendar"]
    for each in (before, after):
        check("a month", each, (str, type(None)), 'it as text, such as "2026-10"')
    is_a_year = before == PREVIOUS_YEAR
    newest = after or (None if is_a_year else before) or last_full_month(lake, zone, calendar)
    later = parse_period(newest, clock, zone, calendar)
    earlier = later.shift(-_IN_A_YEAR.get(later.kind, 1) if is_a_year else -1)
    if after is not None and not is_a_year:
        earlier = parse_period(before or "", clock, zone, later.calendar)
    _require_alike(earlier, later)
    return earlier, later


def _require_alike(earlier: Period, later: Period) -> None:
    """Refuse to compare a period with itself, or a month with a year."""
    if earlier == later:
        raise ConfigError(f"{later.label} would be compared with itself: name two months")
    if earlier.kind != later.kind:
        text = " and ".join(f"{each.label} is a {each.kind}" for each in (earlier, later))
        raise ConfigError(f"{text}: compare two months, two quarters or two years")


def _status_line(old: Statement, new: Statement) -> StatusLine:
    """Return the standing of a table of both, and the places of each coin's amounts."""
    before, after = (status_line_of(each.tables["summary"]) for each in (old, new))
    scales = dict(before.scales)
    for coin, places in after.scales.items():
        scales[coin] = max(places, scales.get(coin, 0))
    return StatusLine(clauses(*side_by_side.status_lines(before.text, after.text)), scales=scales)


def side_of(statement: Statement) -> Side:
    """Return a statement as a side of a comparison."""
    return Side(
        name=statement.period.label,
        status=statement.status,
        status_line=status_text(statement),
        read_to=format_instant(statement.as_of),
        reasons=statement.reasons,
        unknown=statement.unknown,
        figures=figures_by_coin(statement.tables),
        is_running=any(reason.is_unfinished for reason in statement.reasons),
        noun=statement.period.noun,
        read=statement.read,
        age=statement.as_of - statement.period.end,
    )


# ---------- Two statements as old as each other, as far as refunds to date go
# A sale of last month had a month less to be refunded than one of the month before. So the older
# statement's figures to date are counted up to when it was as old as the younger one is now.


Ended = tuple[Side, Period]  # a side, and its period


def at_same_age(lake: Lake, old: Ended, new: Ended) -> tuple[Side, Side]:
    """Return both sides with their refunds to date counted over the same time.

    The same sides where one of them is not over: its sales have no age.
    """
    ages = [side.age for side, _ in (old, new) if side.age is not None]
    age = min(ages, default=-1)
    if len(ages) < 2 or age < 0 or max(ages) - age < DAY:
        return old[0], new[0]
    return _counted_at(lake, *old, age), _counted_at(lake, *new, age)


def _counted_at(lake: Lake, side: Side, period: Period, age: int) -> Side:
    """Return a side with its figures to date as they were at an age."""
    if side.age == age:
        return side
    until = period.end + age
    then = _figures_before(lake, period, until)
    figures = {coin: {**row, **then.get(coin, {})} for coin, row in side.figures.items()}
    return replace(side, figures=figures, age=age, counted_to=format_instant(until))


def _figures_before(lake: Lake, period: Period, until: int) -> dict[str, dict[str, Decimal | None]]:
    """Return the figures to date of each coin, of refunds before an instant alone."""
    chosen = [figure for figure in comparable_figures().values() if is_to_date(figure)]
    used = models_used_by(select_figures(chosen)) or frozenset()

    def work(warehouse: Warehouse) -> pa.Table:
        keep_known(warehouse, [period], until, until)
        return count_months(warehouse, [period], chosen, until, until)

    rows = count(lake, used, work, period=(period.start, period.end)).to_pylist()
    names = [figure.name for figure in chosen]
    return {row["currency"]: {name: number_of(row[name]) for name in names} for row in rows}
