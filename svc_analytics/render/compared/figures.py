"""Two statements beside each other: every figure of every coin, and what it changed by."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa

from svc_analytics import money
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.cells import is_divided
from svc_analytics.formatting.display import select_known
from svc_analytics.instants import DAY
from svc_analytics.messages import MESSAGE_COLUMN, Message, clauses, json_of, translated
from svc_analytics.money import EXACT, PERCENT_SCALE, SCALE
from svc_analytics.render.document import Reason, Unknown
from svc_analytics.render.figures import why_unknown
from svc_analytics.warehouse.figures import Figure, find_figures, stated_figures

# What a coin without a payment and a refund in the period needs nothing of.
_OF_NONE = {"parents", "parents_within", "refunds_to_date", "verdicts"}
_OF_THE_PERIOD = {"payments", "payouts"}
TO_DATE = "refunds_to_date"  # what figures need that grow as their period gets older
_AMOUNT = pa.decimal128(38, SCALE)
# A difference of two amounts may have a digit more, and a percentage many.
COMPARISON = pa.schema(
    [
        *((name, pa.string()) for name in ("group", "figure", "label", "currency", "unit")),
        *(("old", _AMOUNT), ("new", _AMOUNT), ("difference", pa.decimal256(39, SCALE))),
        ("percent", pa.decimal256(50, PERCENT_SCALE)),
        *(("is_unknown", pa.bool_()), ("is_provisional", pa.bool_()), ("note", pa.string())),
    ]
)

Row = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """One of two statements: its name, its standing, and its figures by coin."""

    name: str
    status: str
    status_line: str  # its period, zone and status, in one line
    read_to: str  # an instant as text
    reasons: Sequence[Reason]
    unknown: Sequence[Unknown]
    figures: Mapping[str, Mapping[str, Decimal | None]]
    is_running: bool  # whether its month, or other period, is not over
    noun: str = "month"  # what it is of
    read: frozenset[str] = frozenset()  # the needs of figures that are met for any coin
    age: int | None = None  # microseconds from its end to where refunds to date end
    counted_to: str = ""  # up to when refunds to date were counted, if that is before `read_to`

    def value(self, coin: str, figure: Figure) -> Decimal | None:
        """Return a figure of a coin; None where it is unknown or undefined."""
        if coin in self.figures:
            return self.figures[coin].get(figure.name)
        return Decimal(0) if self._has_none_of(figure) else None

    def why(self, coin: str, figure: Figure) -> str:
        """Say why a figure of a coin has no value."""
        if coin not in self.figures:
            return Message("comparison.no_coin", coin=coin)
        if figure.name not in self.figures[coin]:
            return Message("comparison.no_figure")
        return why_unknown(self, {"currency": coin, **self.figures[coin]}, figure.name)

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it, without its figures."""
        return {
            "month": self.name,
            "status": self.status,
            "standing": self.status_line,
            "reasons": [reason.text for reason in self.reasons],
            "is_running": self.is_running,
            "read_to": self.read_to,
        }

    def _has_none_of(self, figure: Figure) -> bool:
        """Whether it is known that a coin without a row has none of a figure.

        What was not read is unknown of every coin, so a figure that is known of another coin
        is known of this one, too.
        """
        if figure.denominator or not figure.is_zero_when_empty:
            return False
        if any(row.get(figure.name) is not None for row in self.figures.values()):
            return True
        if self.figures and "verdicts" in figure.needs:
            return False  # no receipt of any coin was verified
        read = self.read | (_OF_THE_PERIOD if self.status == "final" else set())
        return read >= {*figure.needs} - _OF_NONE


def is_to_date(figure: Figure) -> bool:
    """Whether a figure grows with the refunds that still come of the period's payments."""
    return TO_DATE in figure.needs


def is_same_age(old: Side, new: Side) -> bool:
    """Whether refunds had as much time on both sides, to the day; without ages nobody asks."""
    if old.age is None or new.age is None:
        return True
    return min(old.age, new.age) >= 0 and abs(old.age - new.age) < DAY


def figures_by_coin(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, Decimal | None]]:
    """Return every figure of a statement's tables by coin and name, of CSV's texts as well."""
    known = comparable_figures()
    figures: dict[str, dict[str, Decimal | None]] = {}
    for row in tables["summary"].to_pylist() if "summary" in tables else ():
        figures[row["currency"]] = {name: number_of(row[name]) for name in row if name in known}
    for row in tables["figures"].to_pylist() if "figures" in tables else ():
        figures.setdefault(row["currency"], {})[row["name"]] = number_of(row["value"])
    return figures


def number_of(value: Any) -> Decimal | None:
    """Return a number of a typed table, or of a text as CSV has it."""
    if isinstance(value, str):
        return money.parse_amount(value) if value else None
    return None if value is None else Decimal(value)


@cache
def comparable_figures() -> dict[str, Figure]:
    """Return the figures of a statement that are numbers, in its order."""
    return {each.name: each for each in stated_figures() if each.is_number}


def chosen_figures(names: Sequence[str]) -> list[Figure]:
    """Return figures by their names or labels, or refuse one that is no number."""
    figures = find_figures(names)
    for each in figures:
        if each.name not in comparable_figures():
            raise ConfigError(f"{each.name} is no number: it has no difference and no trend")
    return figures


def compare_sides(
    old: Side, new: Side, only: Sequence[str] | None = None, coins: Sequence[str] | None = None
) -> pa.Table:
    """Return one row per figure and coin of two statements, in the order of the statement.

    `only` these figures, `coins` only these coins. Raises `ConfigError` for a figure or a
    coin that there is not.
    """
    figures = list(comparable_figures().values()) if only is None else chosen_figures(only)
    known = sorted({*old.figures, *new.figures})
    names = known if coins is None else select_known(coins, known)
    rows = [_row(old, new, figure, coin) for figure in figures for coin in names]
    return pa.Table.from_pylist(rows, schema=COMPARISON)


def change_table(old: Side, new: Side) -> pa.Table:
    """Return the sales less fees and refunds of each coin on both sides, in USD."""
    figure, coins = comparable_figures()["usd_net_settlement"], sorted({*old.figures, *new.figures})
    before, after = ([side.value(coin, figure) for coin in coins] for side in (old, new))
    schema = pa.schema({"currency": pa.string(), "old": _AMOUNT, "new": _AMOUNT})
    return pa.table({"currency": coins, "old": before, "new": after}, schema=schema)


def amount_scales(comparison: pa.Table) -> dict[str, int]:
    """Return the scale of each coin: the most places of its amounts that were not divided."""
    scales: dict[str, int] = {}
    for row in comparison.select(["figure", "currency", "unit", "old", "new"]).to_pylist():
        if row["unit"] == "coin" and not is_divided(row["figure"]):
            for value in filter(None, (row["old"], row["new"])):
                places = len(money.format_amount(value).partition(".")[2])
                scales[row["currency"]] = max(scales.get(row["currency"], 0), places)
    return scales


def change_of(old: Decimal | None, new: Decimal | None) -> Row:
    """Return by how much a figure changed, and by how many per cent; None where one is unknown."""
    if old is None or new is None:
        return {"difference": None, "percent": None}
    return {"difference": EXACT.subtract(new, old), "percent": money.percent_change(old, new)}


def _row(old: Side, new: Side, figure: Figure, coin: str) -> Row:
    before, after = old.value(coin, figure), new.value(coin, figure)
    is_comparable = not is_to_date(figure) or is_same_age(old, new)
    return change_of(before, after if is_comparable else None) | {
        "group": figure.group,
        "figure": figure.name,
        "label": figure.label,
        "currency": coin,
        "unit": figure.unit,
        "old": before,
        "new": after,
        "is_unknown": before is None or after is None,
        "is_provisional": "provisional" in (old.status, new.status),
        "note": _note(old, new, figure, coin),
    }


def with_messages(table: pa.Table, old: Side, new: Side) -> pa.Table:
    """Return a comparison with what each note is made of, so that any language can say it."""
    rows, figures = table.select(["figure", "currency"]).to_pylist(), comparable_figures()
    notes = [_note(old, new, figures[row["figure"]], row["currency"]) for row in rows]
    texts = [json_of(note) if note else None for note in notes]
    return table.append_column(MESSAGE_COLUMN, pa.array(texts, pa.string()))


def _note(old: Side, new: Side, figure: Figure, coin: str) -> Message | None:
    notes = [*_notes(old, new, figure, coin)]
    return clauses(*notes) if notes else None


def _notes(old: Side, new: Side, figure: Figure, coin: str) -> Iterator[Message]:
    """Say why a side has no value, up to when it was counted, and what cannot be said of both."""
    for side in (old, new):
        if coin not in side.figures or side.value(coin, figure) is None:
            yield Message(
                "comparison.of_side", side=side.name, why=translated(side.why(coin, figure))
            )
        elif side.counted_to and is_to_date(figure):
            yield Message("comparison.counted", side=side.name, until=side.counted_to)
    before, after = old.value(coin, figure), new.value(coin, figure)
    if is_to_date(figure) and not is_same_age(old, new):
        yield Message("comparison.younger")
    elif before is not None and after is not None and money.percent_change(before, after) is None:
        yield Message("comparison.sign") if before else Message("comparison.zero", side=old.name)
