"""The catalogue of figures: each is defined in a file of its own in `sql/figures/`.

A figure is one SQL expression over the records of one coin, or over other figures where its
header says `of`. Its header also says what it means, its label and formula in plain words, its
unit and its sign (`in` to the wallet, `out` of it, `either` way, `none`), what must have been read
for it to be known, and the table macro that yields its records. `rows` is the condition on these,
and `each` is what each of them adds: together they make the figure. Where it is not their sum, such
as a median, `from` is the value of each that it is chosen or made from. `{rows}` and `{each}` in
the expression stand for them, so what is counted is what is shown. `adds` says over
what the figure is summed: the months of a longer period, merchants, or nothing. `earlier` are the
labels of earlier releases, which sealed statements have still. Those of no group are steps to
others: they are not stated, have no label and add nothing.

The glossary says the same of each in words for people. It is made from these headers alone, so no
lake is needed to read it.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.arguments import check
from svc_analytics.errors import ConfigError
from svc_analytics.formatting.display import label
from svc_analytics.messages import Message, clauses, translated

_TITLE = re.compile(r"(?P<name>\w+): (?P<meaning>.+?)\. (?P<rest>(?:label|group): .+)", re.DOTALL)
_PAIR = re.compile(r"(\w+): (.+?)\.(?= \w+: |$)")
# A column of the summary that is known exactly where such a need is met.
_WITNESSES = {
    "payments": "payments_count",
    "payouts": "refunds_count",
    "opening": "opening_position",
    "closing": "closing_position",
    "verdicts": "receipts_checked",
    "rate": "closing_position",
}


@dataclass(frozen=True)
class Figure:
    """One figure of a statement, as its file defines it."""

    name: str
    meaning: str
    group: str
    unit: str
    sign: str
    source: str
    expression: str
    label: str = ""  # its name for people
    earlier: tuple[str, ...] = ()  # those that it had in earlier releases
    formula: str = ""  # how it is made, in plain words
    needs: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()  # over what it is summed: months, merchants
    operands: tuple[str, ...] = ()  # the figures that it is made of, if it is
    rows: str = ""  # which records of the source stand behind it; all without it
    each: str = ""  # what each of them adds, or has that it is made from; empty for a quotient
    is_sum: bool = False  # whether it is the sum of what each adds
    records: str = ""  # the table macro of the records to show, if they are others
    column: int | None = None  # its place among the columns of the summary
    is_zero_when_empty: bool = True  # what it is where there is no record; else undefined
    unread: str = ""  # why it is unknown where what it needs was not read
    unstated: str = ""  # why it is unknown where that was read
    note: str = ""  # SQL of the code and values of a text that says more than the meaning

    @property
    def is_stated(self) -> bool:
        """Whether a statement shows it: in its summary, or in its table `figures`."""
        return self.group != "none"

    @property
    def is_number(self) -> bool:
        """Whether it has a difference: an instant and the id of a record have none."""
        return self.unit not in ("instant", "id")

    @property
    def definition(self) -> str:
        """Its meaning, as a sentence."""
        return f"{self.meaning[:1].upper()}{self.meaning[1:]}."

    @property
    def shown_records(self) -> str:
        """The table macro that yields the records to show behind it."""
        return self.records or self.source

    @property
    def is_of_history(self) -> bool:
        """Whether the records behind it are those of all time, not of a period."""
        return "_until" in self.shown_records and "occurred_at >= starts_at" not in self.rows

    @property
    def hint(self) -> str:
        """Its definition and its formula, to read when it is pointed at."""
        definition, formula = self.definition, self.formula
        return Message(
            "{DEFINITION} Formula: {FORMULA}.",
            definition=translated(definition),
            formula=translated(formula),
        )

    @property
    def denominator(self) -> str | None:
        """The figure that a ratio is divided by."""
        return self.operands[1] if self.unit == "ratio" and self.operands else None

    @property
    def witnesses(self) -> list[str]:
        """The figures of the summary that are known where what it needs was read."""
        return [_WITNESSES[need] for need in self.needs if need in _WITNESSES]

    def is_read(self, row: Mapping[str, object]) -> bool:
        """Whether what it needs was read, as a row of the summary shows."""
        return all(row.get(witness) is not None for witness in self.witnesses)

    def why_unread(self, row: Mapping[str, object]) -> str:
        """Why it is unknown as such a row shows; no text where more than that was not read."""
        lacking = [witness for witness in self.witnesses if row.get(witness) is None]
        return self.unread if len(lacking) == 1 else ""


@cache
def read_figures() -> dict[str, Figure]:
    """Return all figures by name: the summary's in the order of its columns, then the others."""
    folder = files("svc_analytics.warehouse") / "sql" / "figures"
    texts = [entry.read_text(encoding="utf-8") for entry in folder.iterdir()]
    figures = sorted(
        map(parse_figure, texts), key=lambda figure: (figure.column or 9999, figure.name)
    )
    return {figure.name: figure for figure in figures}


def parse_figure(text: str) -> Figure:
    """Read one figure's file: its header, and the expression below it."""
    header, expression = text.split("\n\n", 1)
    title = _TITLE.fullmatch(header.removeprefix("-- ").replace("\n-- ", " "))
    if not title:
        message = f"a figure without a meaning and a group: {header}"
        raise ValueError(message)
    pairs = dict(_PAIR.findall(title["rest"]))
    if "adds" not in pairs and pairs["group"] != "none":
        message = f"{title['name']} does not say what it adds over: months, merchants or nothing"
        raise ValueError(message)
    is_sum, each = "each" in pairs, pairs.pop("from", "") or pairs.pop("each", "")
    words = expression.strip().replace("{rows}", pairs.get("rows", "true"))
    return Figure(
        name=title["name"],
        meaning=title["meaning"],
        expression=words.replace("{each}", each),
        each=each,
        is_sum=is_sum,
        adds=tuple(word for word in _names(pairs.pop("adds", "")) if word != "nothing"),
        needs=_names(pairs.pop("needs", "")),
        operands=_names(pairs.pop("of", "")),
        earlier=tuple(filter(None, pairs.pop("earlier", "").split(", "))),
        column=int(pairs.pop("column", 0)) or None,
        is_zero_when_empty=pairs.pop("empty", "zero") == "zero",
        **pairs,
    )


def summary_figures() -> list[Figure]:
    """Return the figures that are columns of the summary, in order."""
    return [figure for figure in read_figures().values() if figure.column]


def other_figures() -> list[Figure]:
    """Return the figures that stand in the table `figures`, by name."""
    return [figure for figure in read_figures().values() if figure.is_stated and not figure.column]


def stated_figures() -> list[Figure]:
    """Return all figures that a statement shows: group by group, the summary's first in each."""
    groups = list(figure_groups())
    listed = [*summary_figures(), *other_figures()]
    return sorted(listed, key=lambda figure: groups.index(figure.group))


def figure_groups() -> dict[str, tuple[str, ...]]:
    """Return the names of the summary's figures by group, both in the order of its columns."""
    groups: dict[str, tuple[str, ...]] = {}
    for figure in summary_figures():
        groups[figure.group] = (*groups.get(figure.group, ()), figure.name)
    return groups


def select_one(figure: Figure, narrowed: str = "true") -> str:
    """Return the SQL of one figure of one coin, known or not, that stands on its own."""
    if not figure.operands:
        further = "" if narrowed == "true" else f"\n        and {narrowed}"
        return f"""\
with records as (
    select * from {figure.source} where currency = {{currency}}{further}
)
select {figure.expression} as {figure.name} from records"""
    parts = [f"({_part(read_figures()[name])}) as {name}" for name in figure.operands]
    operands = ",\n        ".join(parts)
    return f"""\
with counted as (
    select
        {operands}
)
select {figure.expression} as {figure.name} from counted"""


def _part(figure: Figure) -> str:
    return f"select {figure.expression} from {figure.source} where currency = {{currency}}"


def _names(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text))


# How many records there are, and how many of them have a USD value.
PRICED = {
    "payments_count": "usd_gross_priced_count",
    "refunds_count": "usd_refunds_priced_count",
    "payouts_count": "usd_payouts_priced_count",
}
SIGNS = {
    "in": "into the wallet",
    "out": "out of the wallet",
    "either": "either way",
    "none": "none",
}
# What must have been read for a figure to be known.
NEEDS = {
    "payments": "payments of the period",
    "payouts": "payout records of the period",
    "refunds_to_date": "refunds to date of the period's payments",
    "parents": "the payments of its refunds, or all payments up to its end",
    "parents_within": "the payments of its refunds, or all payments of the period",
    "opening": "all history before the period",
    "closing": "all history up to the end of the period",
    "verdicts": "verified receipts",
    "asserted": "a reading that reaches to the balance",
    "rate": "all payments and payout records after the one that gives the rate",
}
_NOTHING = "nothing that is extracted"
# The columns of the glossary, with their meanings.
GLOSSARY = {
    "name": "the figure, as its column or row is called",
    "label": "its name for people",
    "group": "the heading under which it stands",
    "unit": "what it is counted in",
    "sign": "whether it is into the wallet or out of it",
    "definition": "what it means",
    "formula": "how it is made, in plain words",
    "needs": "what must have been read for it to be known",
}


@cache
def definitions_table() -> pa.Table:
    """Return the glossary: one row per figure that a statement shows, in its order."""
    columns = pa.schema([(name, pa.string()) for name in GLOSSARY])
    return pa.Table.from_pylist(list(map(describe, stated_figures())), schema=columns)


@cache
def definitions_digest() -> str:
    """Return one hash over the glossary: statements with the same one use the same words."""
    return sha256(json.dumps(definitions_table().to_pylist()).encode()).hexdigest()


def describe(figure: Figure) -> dict[str, str]:
    """Return one figure's row of the glossary."""
    return {
        "name": figure.name,
        "label": figure.label,
        "group": figure.group,
        "unit": figure.unit,
        "sign": SIGNS[figure.sign],
        "definition": figure.definition,
        "formula": figure.formula,
        "needs": clauses(*(NEEDS[need] for need in figure.needs)) if figure.needs else _NOTHING,
    }


def label_of(name: str) -> str:
    """Return the label of a figure; of any other column its name in plain words.

    >>> label_of("refund_ratio_cohort"), label_of("reference_id")
    ('Refund ratio by sale date', 'Reference id')
    """
    figure = read_figures().get(name)
    return figure.label if figure and figure.label else label(name)


# ---------- The sign of what people read
# Files, frames and SQL have amounts as the service states them.


Value = TypeVar("Value")
_COULD_LEAVE = "open_refundable"  # it has not: it is the most that refunds can still take


def as_moved(name: str, value: Value) -> Value:
    """Return a figure as people read it: a minus leaves the wallet; nothing has no sign.

    >>> as_moved("payment_fees", Decimal("1.50")), as_moved("gross_sales", Decimal(3))
    (Decimal('-1.50'), Decimal('3'))
    """
    figure = read_figures().get(name)
    is_out = figure is not None and figure.sign == "out" and name != _COULD_LEAVE
    is_out = is_out and isinstance(value, Decimal) and bool(value)
    # The minus operator would round to the 28 digits of the default context.
    return value.copy_negate() if is_out else value  # type: ignore[attr-defined]


def moved_table(table: pa.Table) -> pa.Table:
    """Return a table with its figures as people read them: columns of them, or a row for each."""
    for place, field in enumerate(table.schema):
        values = table[field.name]
        if not pa.types.is_decimal(field.type):
            continue
        if field.name == "value" and "name" in table.column_names:
            pairs = zip(table["name"].to_pylist(), values.to_pylist(), strict=True)
            values = pa.chunked_array([[as_moved(*pair) for pair in pairs]], field.type)
        elif as_moved(field.name, Decimal(1)) < 0:
            values = pc.negate(values)
        table = table.set_column(place, field, values)
    return table


def labels_of(name: str) -> tuple[str, ...]:
    """Return the label of a figure or a column, and those that it had in earlier releases.

    >>> labels_of("net_sales")
    ('Sales after fees', 'Net sales')
    """
    figure = read_figures().get(name)
    return (label_of(name), *(figure.earlier if figure else ()))


def in_sentence(name: str) -> str:
    """Return a label as it stands within a sentence.

    >>> in_sentence("gross_sales"), in_sentence("usd_net_sales")
    ('gross sales', 'USD sales after fees')
    """
    text = label_of(name)
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def grouped_figures() -> dict[str, list[Figure]]:
    """Return all figures that a statement shows by group, both in its order."""
    groups: dict[str, list[Figure]] = {group: [] for group in figure_groups()}
    for figure in stated_figures():
        groups[figure.group].append(figure)
    return groups


def find_figures(names: Iterable[str]) -> list[Figure]:
    """Return figures by their names or labels, however they are capitalised.

    Raises `ConfigError` for one that no statement shows, with the names like it.
    """
    return list(map(find_figure, names))


def find_figure(name: str) -> Figure:
    """Return one figure by its name or its label, or raise `ConfigError`."""
    check("figure", name, str, 'the name of a figure, such as "net_settlement"')
    known = {
        _folded(text): figure for figure in stated_figures() for text in (figure.name, figure.label)
    }
    if figure := known.get(_folded(name)):
        return figure
    near = get_close_matches(_folded(name), known, n=3, cutoff=0.5)
    names = list(dict.fromkeys(f"{known[text].name} ({known[text].label})" for text in near))
    hint = f"did you mean {' or '.join(names)}?" if names else "see svc-analytics figures"
    raise ConfigError(f"no figure {name!r:.60}: {hint}")


def _folded(text: str) -> str:
    return " ".join(text.replace("_", " ").casefold().split())
