"""Several lakes, one merchant each, opened together."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics import money
from svc_analytics.arguments import AnyPath, Instant, as_instant, check, check_path, described
from svc_analytics.closing.stated import statement
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import Display, DisplayTable, names_of, text_table
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.tables import to_frame
from svc_analytics.formatting.texts import counted, single_line
from svc_analytics.instants import now as now_micros
from svc_analytics.lake.lake import Lake
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.periods import Period
from svc_analytics.render.compared.figures import Side, comparable_figures
from svc_analytics.render.document import status_text
from svc_analytics.statements.comparison import side_of
from svc_analytics.statements.statement import Statement
from svc_analytics.warehouse.figures import Figure, as_moved, label_of
from svc_analytics.warehouse.models import models_used_by
from svc_analytics.warehouse.several_lakes import open_views
from svc_analytics.warehouse.sources import open_sources
from svc_analytics.warehouse.warehouse import Warehouse, of_one_snapshot

if TYPE_CHECKING:
    import pandas as pd


class Lakes(Displayable):
    """The lakes of several merchants: what `svc_analytics.open_lakes` returns.

    Examples:
        >>> both = svc.open_lakes(["data/a", "data/b"])  # doctest: +SKIP
        >>> both.sql("select merchant_id, count(*) from payments group by all")  # doctest: +SKIP
    """

    def __init__(self, lakes: Sequence[Lakehouse]) -> None:
        self.lakes = tuple(lakes)

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Run one read-only query on the views of all lakes; return an exact frame.

        Each public view has the column `merchant_id` before its own. Join on it too: ids of two
        merchants may be the same. With an engine, one query of it counts the records of all.

        Returns:
            A frame as `lake.sql` returns it.

        Raises:
            QueryError: for anything but a single SELECT, and for errors in it.
            LakeError: when a file of a lake was altered.

        Examples:
            >>> both.sql("select merchant_id, currency, fee from fees")  # doctest: +SKIP
        """
        check("query", query, str, 'a query as text, such as "select * from coverage"')
        return to_frame(query_lakes(self.lakes, query, parameters))

    def statement(
        self,
        month: str,
        *,
        zone: str = "UTC",
        calendar: str | None = None,
        now: Instant | None = None,
    ) -> GroupStatement:
        """State a month, a quarter or a year of each merchant, and sum the figures per coin.

        The arguments are those of `svc.statement`. A sum with an unknown part is unknown and
        says of which merchant; ratios are made of sums.

        Returns:
            A `GroupStatement`: `statements` by merchant, and `figures`, a frame with a row per
            merchant, coin and figure; those of `all merchants` come last.

        Raises:
            ConfigError: as `svc.statement`.
            LakeError: when a file of a lake was altered.

        Examples:
            >>> both.statement("2026-Q3").figures  # doctest: +SKIP
        """
        clock = now_micros() if now is None else as_instant("now", now)
        statements = {
            lake.merchant_id: statement(lake, month, zone=zone, calendar=calendar, now=clock)
            for lake in self.lakes
        }
        period = next(iter(statements.values())).period
        table = figures_of({merchant: side_of(each) for merchant, each in statements.items()})
        return GroupStatement(period, statements, table)

    def _display(self) -> Display:
        rows = [
            (lake.merchant_id, single_line(names_of(lake.merchant)), str(lake.path))
            for lake in self.lakes
        ]
        header = ["merchant_id", "merchant", "lake"]
        return Display(counted(len(rows), "lake"), [], [text_table("", header, rows)])


def open_lakes(
    data_dirs: Sequence[AnyPath],
    *,
    engine: str | None = None,
    engine_data: Sequence[str] | None = None,
) -> Lakes:
    """Open the lakes of several merchants together.

    `data_dirs` are their folders. No merchant may stand among them twice, because its money
    would be counted twice. With an `engine`, as in `open_lake`, that server counts the records
    of all; `engine_data` are the lakes' folders as its machines see them, in the same order.

    Returns:
        The lakes, to query and to state together.

    Raises:
        ConfigError: for no folder at all, for a folder or a merchant that is given twice, and
            for another number of folders in `engine_data`.
        NoLake: where a folder holds no lake.

    Examples:
        >>> both = svc.open_lakes(["data/a", "data/b"])  # doctest: +SKIP
    """
    folders = _listed("data_dirs", data_dirs, "data/a", "data/b")
    if not folders:
        raise ConfigError("no lake given: name at least one folder")
    check("engine", engine, (str, type(None)), 'an address, such as "sc://spark.example:15002"')
    lakes: dict[str, Lakehouse] = {}
    for data_dir, place in zip(folders, _places(folders, engine_data), strict=True):
        check_path("data_dirs", data_dir, "data/a")
        lake = Lakehouse(data_dir, engine=engine or "", engine_data=place)
        lake.require()
        if other := lakes.get(lake.merchant_id):
            same = f"{other.path} and {lake.path} are of one merchant, {lake.merchant_id}"
            raise ConfigError(f"{same}: its money would be counted twice")
        lakes[lake.merchant_id] = lake
    return Lakes(list(lakes.values()))


def _places(folders: Sequence[object], engine_data: Sequence[str] | None) -> list[str]:
    """Return where an engine sees each folder; empty where it sees it as this machine does."""
    if engine_data is None:
        return [""] * len(folders)
    seen = _listed("engine_data", engine_data, "/mnt/a", "/mnt/b")
    if len(seen) != len(folders):
        places = f"{len(seen)} folder{'s' * (len(seen) != 1)}"
        message = f"{len(folders)} lakes, but the engine is told of {places}"
        next_step = "give --engine-data, in Python engine_data, once for each, in the same order"
        raise ConfigError(f"{message}: {next_step}")
    return seen


def _listed(name: str, folders: Any, *examples: str) -> list[Any]:
    """Return a list of folders; a single one is no list."""
    if isinstance(folders, (str, os.PathLike)) or not isinstance(folders, Sequence):
        wanted = ", ".join(f'"{each}"' for each in examples)
        raise ConfigError(
            f"{name} is {described(folders)}: give a list of folders, such as [{wanted}]"
        )
    return list(folders)


# ---------- One query over several lakes
# By DuckDB here, or by the engine that the lakes name.


def query_lakes(
    lakes: Sequence[Lake], query: str, parameters: Mapping[str, Any] | None = None
) -> pa.Table:
    """Answer one read-only query over the views of all lakes, exactly.

    Raises `QueryError` for anything but one SELECT on views, and for errors in it.
    """
    models = models_used_by(query)

    def answer() -> pa.Table:
        with ExitStack() as stack:
            return _open(stack, lakes, models).query_readonly(query, parameters)

    return of_one_snapshot(answer)


def _open(stack: ExitStack, lakes: Sequence[Lake], models: frozenset[str] | None) -> Warehouse:
    if engine := lakes[0].connect():
        together: Warehouse = stack.enter_context(engine.open_views(lakes, models))
        return together
    sources = [stack.enter_context(open_sources(lake, models)) for lake in lakes]
    return open_views(stack, sources, models)


# ---------- The statements of several merchants over one period, beside each other and summed


@dataclass(frozen=True)
class GroupStatement(Displayable):
    """The figures of several merchants: of each, and summed per coin.

    `statements` has each merchant's own statement, by the merchant's id.
    """

    period: Period
    statements: dict[str, Statement] = field(repr=False)
    table: pa.Table = field(repr=False)

    @property
    def figures(self) -> pd.DataFrame:
        """One row per merchant, coin and figure; those of `all merchants` come last."""
        return to_frame(self.table)

    @property
    def status(self) -> str:
        """`final` when each merchant's statement is, else `provisional`."""
        is_final = all(statement.status == "final" for statement in self.statements.values())
        return "final" if is_final else "provisional"

    @property
    def needs_attention(self) -> bool:
        """Whether anything but a running month keeps one of them from being final."""
        return any(statement.needs_attention for statement in self.statements.values())

    def to_html(self) -> str:
        """Return the same as a page that stands alone."""
        from svc_analytics.render.compared.forms import comparison_page

        names = "; ".join(names_of(statement.merchant) for statement in self.statements.values())
        return comparison_page(self._display(), names)

    def _display(self) -> Display:
        own = list(self.statements.items())
        lines = [f"{self.period.title}: {self.period.local_bounds}", f"status: {self.status}"]
        for place, (merchant, stated) in enumerate(own, 1):
            name = single_line(f"{merchant}, {names_of(stated.merchant)}")
            lines.append(f"merchant {place}: {status_text(stated)} · {name}")
        sums = (row for row in self.table.to_pylist() if row["merchant_id"] == TOTAL)
        unknown = [row for row in sums if row["value"] is None]
        names: dict[str, list[str]] = {str(row["note"]): [] for row in unknown}
        for row in unknown:
            names[str(row["note"])].append(f"{row['label']} of {row['currency']}")
        lines += [f"no sum: {', '.join(figures)}: {why}" for why, figures in names.items()]
        title = single_line(f"Statement {self.period.folder} of {len(own)} merchants")
        coins = sorted(set(self.table["currency"].to_pylist()))
        return Display(title, lines, [self._coin(coin) for coin in coins])

    def _coin(self, coin: str) -> DisplayTable:
        """Return a coin's figures: figures down, merchants and their sum across."""
        columns = [*self.statements, TOTAL]
        cells = {
            (row["figure"], row["merchant_id"]): _text(as_moved(row["figure"], row["value"]))
            for row in self.table.to_pylist()
            if row["currency"] == coin
        }
        labels = {row["figure"]: str(row["label"]) for row in self.table.to_pylist()}
        heads = [f"merchant {place}" for place in range(1, len(columns))]
        rows = [
            [labels[name], *(cells.get((name, merchant), "") for merchant in columns)]
            for name in labels
            if any((name, merchant) in cells for merchant in columns)
        ]
        return text_table(coin, [coin, *heads, TOTAL], rows)


def _text(value: Any) -> str:
    """Write a figure with every digit; what has no value is a dash."""
    return "–" if value is None else money.group_digits(money.format_amount(value))


# ---------- The figures of several merchants' statements
# Of each, and summed per coin, exactly.
#
# A sum with an unknown part is unknown, and says whose part. A ratio is made of sums, never of
# ratios. What is counted of single people or found among records is not summed.


TOTAL = "all merchants"
# Parts of ratios that follow from two sums.
_REFUNDED = ("refunded_to_date", "charged_total", "open_refundable")
FIGURES = pa.schema(
    [
        *((name, pa.string()) for name in ("merchant_id", "currency", "figure", "label", "unit")),
        ("value", pa.decimal128(money.INTEGER_DIGITS + money.SCALE, money.SCALE)),
        ("note", pa.string()),  # why there is no value
    ]
)

_TOO_LARGE = "the sum reaches 1e20, and more digits cannot be held"

Row = dict[str, object]


def figures_of(sides: Mapping[str, Side]) -> pa.Table:
    """Return every figure of each merchant, and behind them those of all merchants together.

    `sides` are the statements by merchant.
    """
    coins = sorted({coin for side in sides.values() for coin in side.figures})
    rows = [
        _row(merchant, coin, figure, side.value(coin, figure), side.why(coin, figure))
        for merchant, side in sides.items()
        for coin in coins
        for figure in comparable_figures().values()
    ]
    rows += [row for coin in coins for row in _sums(sides, coin)]
    return pa.Table.from_pylist(rows, FIGURES)


def _sums(sides: Mapping[str, Side], coin: str) -> Iterator[Row]:
    """Yield the figures of one coin over all merchants: sums, then ratios of them."""
    sums: dict[str, Decimal | None] = {}
    for figure in comparable_figures().values():
        if "merchants" in figure.adds:
            parts = {merchant: side.value(coin, figure) for merchant, side in sides.items()}
            lacking = [merchant for merchant, part in parts.items() if part is None]
            sums[figure.name] = None if lacking else _sum(parts)
            why = f"unknown of {', '.join(lacking)}" if lacking else _TOO_LARGE
            yield _row(TOTAL, coin, figure, sums[figure.name], why)
    sums |= _refunded(sums)
    for figure in comparable_figures().values():
        if figure.denominator and sums.keys() >= set(figure.operands):
            part, whole = (sums[name] for name in figure.operands)
            yield _row(TOTAL, coin, figure, ratio(part, whole), _why_no_ratio(figure))


def _sum(parts: Mapping[str, Decimal | None]) -> Decimal | None:
    """Return the sum of what each merchant has; None where it has too many digits to be held.

    >>> _sum({"one": Decimal("99999999999999999999.999999999999999998"), "other": Decimal("1e-18")})
    Decimal('99999999999999999999.999999999999999999')
    """
    total = Decimal(0)
    for part in parts.values():
        total = money.EXACT.add(total, part or Decimal(0))
    return total if total.copy_abs() < Decimal(10) ** money.INTEGER_DIGITS else None


def _refunded(sums: Mapping[str, Decimal | None]) -> dict[str, Decimal | None]:
    name, *operands = _REFUNDED
    charged, left = (sums.get(each) for each in operands)
    return {name: None if charged is None or left is None else money.EXACT.subtract(charged, left)}


def ratio(part: Decimal | None, whole: Decimal | None) -> Decimal | None:
    """Return an exact quotient, rounded once, half up, to 8 places; None of zero or unknown.

    >>> ratio(Decimal(1), Decimal(3)), ratio(Decimal(2), Decimal(0))
    (Decimal('0.33333333'), None)
    """
    if part is None or not whole:
        return None
    return money.round_half_up(Fraction(part) / Fraction(whole), money.RATIO_SCALE)


def _why_no_ratio(figure: Figure) -> str:
    """Say in labels why a ratio has no value; its note says the same in both cases."""
    part, whole = map(label_of, figure.operands)
    return f"{part} or {whole} is unknown, or {whole} is zero"


def _row(merchant: str, coin: str, figure: Figure, value: Decimal | None, why: str) -> Row:
    return {
        "merchant_id": merchant,
        "currency": coin,
        "figure": figure.name,
        "label": figure.label,
        "unit": figure.unit,
        "value": value,
        "note": why if value is None else None,
    }
