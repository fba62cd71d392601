"""The statement that the pickers of a notebook choose, and the cells that follow it.

Cells are updated by their display handles, not by `ipywidgets.interactive_output`: what such a
widget holds is neither in the saved notebook nor on the page that is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

from svc_analytics.errors import ConfigError, SvcError
from svc_analytics.formatting.display import Display, arrow_of, display_table, names_of, titled_html
from svc_analytics.formatting.texts import escape_invisible, single_line
from svc_analytics.formatting.values import value_text
from svc_analytics.instants import now
from svc_analytics.messages import Message, translated
from svc_analytics.notebook.errors import ipython_shell, sentence_of
from svc_analytics.periods import GREGORIAN, month, month_of
from svc_analytics.render.document import proof_lines, status_note, status_word
from svc_analytics.statements.explain import record_columns
from svc_analytics.warehouse.figures import find_figure

if TYPE_CHECKING:
    import pyarrow as pa

    from svc_analytics.lakehouse import Lakehouse
    from svc_analytics.statements.change import Change
    from svc_analytics.statements.comparison import Comparison
    from svc_analytics.statements.statement import Statement


MOST_RECORDS = 10  # behind a figure; `lake.explain` has them all
Content = Callable[[Any, "str | None"], Any]  # of a statement and a coin
_DIGITS = 76  # enough for every sum of money; Python's decimals keep 28 unless told


@dataclass(frozen=True)
class Choice:
    """The choice of a person: a month of a calendar in a zone, and a coin or all of them.

    Without a calendar, it is the one that the month is written in.
    """

    month: str
    zone: str
    calendar: str | None
    coin: str | None = None


class Live:
    """A view of the picked statement in a cell: it follows the pickers."""

    def __init__(self, source: Picked, content: Content, first: Any) -> None:
        self._source, self._content = source, content
        self._last, self._last_of = displayable(first), source.state

    @property
    def shown(self) -> Any:
        """The view of what is picked now."""
        state = self._source.state
        if state != self._last_of:
            self._last, self._last_of = self._source.shown(self._content), state
        return self._last

    def __repr__(self) -> str:
        return repr(self.shown)

    def _repr_html_(self) -> str:
        return html_of(self.shown)

    def _ipython_display_(self) -> None:
        self._source.follow(self, display(self.shown, display_id=True))


@dataclass(frozen=True)
class _CellOutput:
    """An output of a notebook, and the run of the cell that made it."""

    live: Live
    handle: Any
    cell: str | None
    run: int


class Picked:
    """The picked statement. What is shown of it changes with the pickers.

    Give it to `svc.show`, `svc.draw` and `svc.search` where a statement is expected, or
    show anything else of it with its `show`. Cells that show it are updated in place.
    """

    def __init__(
        self,
        lake: Lakehouse,
        statement: Statement,
        parts: Content | None = None,
        widgets: Callable[[Picked], Any] | None = None,
    ) -> None:
        period = statement.period
        self.lake = lake
        self._statement = statement  # the last one that could be made
        self._error, self._count = "", 0
        self._outputs: list[_CellOutput] = []
        self._compared: dict[tuple[int, str | None], Comparison] = {}
        self._has_parts = parts is not None  # they are of one coin
        self.choice = Choice(period.label, period.zone, period.calendar)
        self._settle_coin()
        self._head = [self.show(lambda st, _: heading(st, self._error))]
        self._below = [self.show(parts)] if parts else []
        self._make_widgets = widgets
        self._widgets: Any = None

    @property
    def statement(self) -> Statement:
        """The statement of the picked month; where it cannot be made, the last one that could."""
        return self._statement

    @property
    def coin(self) -> str | None:
        """The picked coin; None for all coins."""
        return self.choice.coin

    @property
    def coins(self) -> list[str | None]:
        """The coins to pick from; None for all coins comes first."""
        coins = self._statement.tables["summary"]["currency"].to_pylist()
        return [*([] if self._has_parts else [None]), *map(str, coins)]

    @property
    def state(self) -> tuple[int, str | None]:
        """Which statement it is, counted from the first, and which coin."""
        return self._count, self.coin

    def table(self, table: Any) -> pa.Table:
        """Return the rows of the picked coin of a table.

        It is a table of the statement, such as `lines`, or a frame or an Arrow table.
        """
        if isinstance(table, str):
            return rows_of_coin(table_of(self.statement, table), self.coin)
        return rows_of_coin(arrow_of(table), self.coin)

    def show(self, content: Content) -> Live:
        """Show what a function returns for the picked statement and coin.

        It is called again for every other pick; the coin is None for all coins.

        >>> picked.show(lambda st, coin: st.status)     # doctest: +SKIP
        """
        return Live(self, content, content(self.statement, self.coin))

    def comparison(self, before: str | None = None) -> Comparison:
        """Return the picked month compared with the one before it, or with `before`.

        "previous year" is the same month a year before. It is made once for each pick.

        >>> picked.show(lambda st, coin: picked.comparison())     # doctest: +SKIP
        """
        period, key = self.statement.period, (self._count, before)
        if key not in self._compared:
            from svc_analytics.closing.stated import compare

            named = [before, period.label] if before else [period.label]
            both = compare(self.lake, *named, zone=period.zone, calendar=period.calendar)
            self._compared = {key: both}
        both = self._compared[key]
        return replace(both, table=rows_of_coin(both.table, self.coin))

    def change(self, before: str | None = None) -> Change:
        """Return why figures moved from the month before, or from `before`, to the picked one.

        >>> picked.show(lambda st, coin: picked.change())     # doctest: +SKIP
        """
        from svc_analytics.statements.change import explain_comparison

        return explain_comparison(self.comparison(before), self.coin and [self.coin])

    def explain(self, figure: str) -> Live:
        """Show where a figure comes from: its value, its SQL, and the first of its records.

        It is of the picked coin, or of the first one of the statement.
        """
        return self.show(lambda st, coin: explained(self.lake, st, figure, coin))

    def check(self, **claims: Claim) -> Live:
        """Compare figures of the statement, all coins, with what its tables add up to.

        Each figure is claimed to be the sum of a column, `daily.net_sales`; the sum of
        other figures, a list of their names; or a count of rows, of a table or of what a
        function selects. Raises `AssertionError` that names the first that differs. What
        is unknown is not compared.
        """
        return self.show(lambda st, _: Display("", [compared(st, claims)]))

    def choose(self, **changes: Any) -> None:
        """Pick another month, zone, calendar or coin; every cell follows.

        >>> picked.choose(month="aban 1405", coin="btc")     # doctest: +SKIP
        """
        wanted, before = {*changes}, self.choice
        if "month" in wanted and "calendar" not in wanted:
            changes["calendar"] = None
        if "calendar" in wanted and "month" not in wanted:
            changes["month"] = same_time(before.month, before.calendar, changes["calendar"])
        self.choice = replace(before, **changes)
        if wanted - {"coin"}:
            self._make()
        self._settle_coin()
        for output in self._outputs:
            output.handle.update(output.live.shown)

    def _make(self) -> None:
        """Make the statement of the choice; meanwhile, no figure of another one stays.

        Where it cannot be made, the last one comes back, and the heading names the mistake.
        """
        from svc_analytics.closing.stated import statement

        wanted, self._count = self.choice, self._count + 1
        for output in self._outputs:
            output.handle.update(line(f"making the statement of {wanted.month}, {wanted.zone} …"))
        try:
            chosen = statement(self.lake, wanted.month, zone=wanted.zone, calendar=wanted.calendar)
        except SvcError as error:
            self._error = sentence_of(error)
        else:
            self._statement, self._error, period = chosen, "", chosen.period
            self.choice = replace(wanted, month=period.label, calendar=period.calendar)

    def _settle_coin(self) -> None:
        """Pick another coin where the statement does not have the picked one."""
        if self.coin not in self.coins:
            self.choice = replace(self.choice, coin=next(iter(self.coins), None))

    def shown(self, content: Content) -> Any:
        """Return the content of a cell now; an error is one line in its place."""
        try:
            return displayable(content(self._statement, self.coin))
        except Exception as error:  # of one cell, in the middle of others
            return line(sentence_of(error))

    def follow(self, live: Live, handle: Any) -> None:
        """Keep what a cell displays up to date, until the cell runs again."""
        cell, run = running_cell()
        self._outputs = [
            each for each in self._outputs if cell is None or each.cell != cell or each.run == run
        ]
        self._outputs.append(_CellOutput(live, handle, cell, run))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._head + self._below))

    def _repr_html_(self) -> str:
        return "".join(live._repr_html_() for live in self._head + self._below)

    def _ipython_display_(self) -> None:
        if self._make_widgets and not self._widgets and hasattr(ipython_shell(), "kernel"):
            self._widgets = self._make_widgets(self)
        box = [self._widgets.box] if self._widgets else []
        for part in (*self._head, *box, *self._below):
            display(part)


def running_cell() -> tuple[str | None, int]:
    """Return the id of the running cell, if the frontend tells it, and the count of its run."""
    shell = ipython_shell()
    parent: dict[str, Any] = getattr(shell, "get_parent", dict)()
    return parent.get("metadata", {}).get("cellId"), getattr(shell, "execution_count", 0)


@dataclass(frozen=True, repr=False)
class Heading(Display):
    """A title and lines, the last of which are folded in a notebook behind the first."""

    folded_lines: int = 0

    @property
    def parts(self) -> tuple[str, list[str], list[str]]:
        """The first line, those that stand open, and those that are folded behind it."""
        first, *others = self.lines
        at = len(others) - self.folded_lines
        return first, others[:at], others[at:]

    def _repr_html_(self) -> str:
        first, opened, rests = self.parts
        folded = f"<summary>{escape(single_line(first))}</summary>{titled_html('', rests, [])}"
        details = f'<details class="svc-rests">{folded}</details>'
        return titled_html(self.title, [], [details, titled_html("", opened, []) if opened else ""])


def heading(statement: Statement, mistake: str = "") -> Heading:
    """Return merchant, month, bounds and state; what is wrong, or not known, stands open.

    Why a settled month is so, and what it is proven by, is folded.
    """
    period = statement.period
    unknown = [each.text for each in statement.unknown]
    title = f"{period.title} · {names_of(statement.merchant)}"
    first = Message("{BOUNDS} · {STATE}", bounds=period.local_bounds, state=status_word(statement))
    note, proof = status_note(statement), proof_lines(statement)
    opened: list[str] = [*[mistake] * bool(mistake), *[note] * bool(statement.reasons), *unknown]
    rests = [*[note] * (not statement.reasons), *proof]
    return Heading(title, [first, *opened, *rests], folded_lines=len(rests))


def explained(lake: Lakehouse, statement: Statement, figure: str, coin: str | None) -> Any:
    """Return value, SQL and first records of a figure, of a coin or of the first one."""
    names = statement.tables["summary"]["currency"].to_pylist()
    coin = coin or next(iter(names), None)
    if coin is None:
        return f"{statement.period.folder} has no movement and no position"
    period = statement.period
    explanation = lake.explain(
        period.label, coin, figure, zone=period.zone, calendar=period.calendar
    )
    value = explanation.why_none if explanation.value is None else value_text(explanation.value)
    columns = record_columns(explanation.table, find_figure(figure))
    records = display_table(explanation.table, "its records", most=MOST_RECORDS, only=columns)
    return line(f"{figure} of {coin}: {value}"), Code(explanation.sql), Display("", [], [records])


def table_of(statement: Statement, name: str) -> pa.Table:
    """Return a table of a statement, or say which there are."""
    if name not in statement.tables:
        names = ", ".join(statement.tables)
        raise ConfigError(f"a statement has no table {name!r}: choose {names}")
    return statement.tables[name]


def rows_of_coin(table: pa.Table, coin: str | None) -> pa.Table:
    """Return a table, or its rows of one coin."""
    import pyarrow.compute as pc  # takes long to load

    is_whole = coin is None or "currency" not in table.column_names
    return table if is_whole else table.filter(pc.equal(table["currency"], coin))


def same_time(label: str, calendar: str | None, wanted: str) -> str:
    """Return the month of another calendar that holds the middle of a month.

    >>> same_time("2026-10", "gregorian", "jalali")
    '1405-07'
    """
    period = month(label, calendar=calendar or GREGORIAN)
    return month_of(min((period.start + period.end) // 2, now()), calendar=wanted).label


@dataclass(frozen=True)
class Stack:
    """Several things below one another."""

    parts: tuple[Any, ...]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.parts))

    def _repr_html_(self) -> str:
        return "".join(map(html_of, self.parts))


@dataclass(frozen=True)
class Code:
    """A text whose lines stay as they are, such as SQL."""

    text: str

    def __repr__(self) -> str:
        return escape_invisible(self.text)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def display(shown: Any, **options: Any) -> Any:
    """Display a thing in a notebook, which has IPython."""
    return import_module("IPython.display").display(shown, **options)


def displayable(shown: Any) -> Any:
    """Make a value displayable: a text as a line, several things as a stack."""
    if isinstance(shown, str):
        return line(shown)
    return Stack(tuple(shown)) if isinstance(shown, (tuple, list)) else shown


def html_of(shown: Any) -> str:
    """Return the HTML that a notebook shows of a value."""
    html = getattr(shown, "_repr_html_", lambda: None)()
    return Code(repr(shown))._repr_html_() if html is None else str(html)


def line(text: str) -> Display:
    """Return a text as a line to display."""
    return Display("", [text])


Claim = str | Sequence[str] | Callable[["Statement"], "pa.Table"]


def compared(statement: Statement, claims: Mapping[str, Claim]) -> Message:
    """Return how many figures agree with what they are claimed to be made of.

    Raises `AssertionError` that names the first figure that does not.
    """
    rows = statement.tables["summary"].to_pylist()
    count = 0
    for figure, claim in claims.items():
        for row in rows:
            stated, claimed = row[figure], _claimed(statement, claim, row)
            if stated is None or claimed is None:
                continue
            count += 1
            if stated != claimed:
                raise AssertionError(_difference(figure, claim, row, claimed))
    unknown = len(claims) * len(rows) - count
    agree = Message("agreement.agree", count=count)
    return (
        Message("agreement.skipped", agree=translated(agree), count=unknown) if unknown else agree
    )


def _difference(figure: str, claim: Claim, row: dict[str, Any], claimed: Decimal | int) -> Message:
    facts = {"figure": figure, "coin": row["currency"], "stated": row[figure], "claimed": claimed}
    if callable(claim):
        return Message("agreement.rows_differ", **facts)
    parts = claim if isinstance(claim, str) else " + ".join(claim)
    return Message("agreement.sum_differs", parts=parts, **facts)


def _claimed(statement: Statement, claim: Claim, row: dict[str, Any]) -> Decimal | int | None:
    """Reckon a claim for the coin of a row; None where a part is unknown."""
    coin = row["currency"]
    if callable(claim):
        return len(list(_values(claim(statement), "currency", coin)))
    if not isinstance(claim, str):
        return _sum([row[name] for name in claim])
    name, _, column = claim.partition(".")
    values = list(_values(statement.tables[name], column or "currency", coin))
    return _sum(values) if column else len(values)


def _values(table: pa.Table, column: str, coin: str) -> Iterator[Any]:
    pairs = zip(table["currency"].to_pylist(), table[column].to_pylist(), strict=True)
    return (value for currency, value in pairs if currency == coin)


def _sum(values: Sequence[Any]) -> Decimal | None:
    with localcontext(prec=_DIGITS):
        return None if None in values else sum(values, Decimal())
