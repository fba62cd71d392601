"""Why figures moved between two periods: each change split into parts, to the last digit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from svc_analytics.formatting.display import Display
from svc_analytics.formatting.displayable import Displayable
from svc_analytics.formatting.standing import attach, standing_of
from svc_analytics.formatting.tables import to_frame, to_objects
from svc_analytics.language.catalogue import Language
from svc_analytics.messages import Message
from svc_analytics.money import PERCENT_SCALE, SCALE
from svc_analytics.render.compared.side_by_side import (
    Bridges,
    MovedTables,
    head_lines,
    records_tables,
)
from svc_analytics.schema import INSTANT
from svc_analytics.statements.change.moved import Moved, keep_moved, largest_records
from svc_analytics.statements.change.parts import LABELS, OF
from svc_analytics.statements.change.sentences import read_sentences
from svc_analytics.statements.change.split import EXPLAINED, THRESHOLD, figure_changes, of_all_coins
from svc_analytics.statements.comparison import Comparison, compared_of, save, side_of
from svc_analytics.warehouse.warehouse import Warehouse, open_warehouse

if TYPE_CHECKING:
    import pandas as pd

    from svc_analytics.statements.statement import Statement

_PROMISE = "The parts of each column add up to its change, to the last digit."
_WIDE = pa.decimal256(76, SCALE)
_TEXTS = ("figure", "label", "currency", "unit")
CHANGES = pa.schema(
    [
        *((name, pa.string()) for name in _TEXTS),
        *((name, _WIDE) for name in ("old", "new", "difference")),
        ("percent", pa.decimal256(50, PERCENT_SCALE)),
        ("needs_sentence", pa.bool_()),
        *((name, pa.string()) for name in ("sentence", "prepared_by", "reviewed_by")),
    ]
)
PARTS = pa.schema(
    [
        *((name, pa.string()) for name in ("figure", "currency", "unit", "part", "label", "of")),
        ("amount", _WIDE),
        *((name, pa.int64()) for name in ("old_records", "new_records")),
    ]
)
RECORDS = pa.schema(
    [
        *((name, pa.string()) for name in ("figure", "currency", "unit", "part", "of")),
        ("place", pa.int64()),
        *((name, pa.string()) for name in ("period", "kind", "record_id")),
        ("occurred_at", INSTANT),
        *((name, pa.string()) for name in ("customer", "order_reference", "receipt_no")),
        *((name, pa.decimal128(38, SCALE)) for name in ("amount", "effect")),
    ]
)


@dataclass(frozen=True)
class Change(Displayable):
    """Why figures moved between two periods; `svc.explain_change` makes one.

    Examples:
        >>> why = svc.explain_change(lake, "2026-09", "2026-10")  # doctest: +SKIP
        >>> why.parts[["figure", "currency", "unit", "part", "amount"]]  # doctest: +SKIP
    """

    comparison: Comparison = field(repr=False)
    changes: pa.Table = field(repr=False)
    table: pa.Table = field(repr=False)
    largest: pa.Table = field(repr=False)

    @property
    def rows(self) -> pd.DataFrame:
        """One row per figure, coin and unit: old, new, difference, and the sentence on it."""
        return to_frame(self.changes)

    @property
    def parts(self) -> pd.DataFrame:
        """One row per part of each change; the parts add up to the difference."""
        return to_frame(self.table)

    @property
    def records(self) -> pd.DataFrame:
        """The ten records that add most to each part, and what each adds."""
        return to_frame(self.largest)

    @property
    def new(self) -> Statement:
        """The newer statement of the two."""
        return self.comparison.new

    @property
    def needs_attention(self) -> bool:
        """Whether anything but a running month keeps one of the statements from being final."""
        return self.comparison.needs_attention

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it: the comparison, and why its figures moved."""
        why = {name: to_objects(table) for name, table in self._tables.items()}
        return self.comparison.to_json() | {"why": why}

    def save(
        self,
        out: str | Path,
        formats: Collection[str] = ("html", "xlsx", "csv"),
        *,
        lang: str = "en",
        digits: str = "latin",
    ) -> Path:
        """Write the comparison with its parts into a folder, as `Comparison.save` does."""
        whole = compared_of(self.comparison)
        more = dict(whole.tables) | self._tables
        compared = replace(
            whole, moved=self._moved(), tables=more, facts=self.to_json(), words=LABELS
        )
        return save(replace(compared, language=Language(lang, digits)), out, formats)

    @property
    def _tables(self) -> dict[str, pa.Table]:
        return {"changes": self.changes, "parts": self.table, "records": self.largest}

    def _display(self) -> Display:
        old, new = self.comparison.sides
        own = self._moved()
        lines = [*head_lines(old, new, has_percentage=False), own.line]
        title = Message("What moved from {old} to {new}", old=old.name, new=new.name)
        return Display(title, lines, [*own.bridges, *own.sentences], folded=own.records)

    def _moved(self) -> MovedTables:
        """Return the tables of what moved, part by part."""
        both, rows, order = self.comparison, self.changes.to_pylist(), list(LABELS)
        parts = sorted(self.table.to_pylist(), key=lambda row: order.index(row["part"]))
        old, new = (side.name for side in both.sides)
        bridges = Bridges((old, new), standing_of(both.table).scales, both.is_exact)
        wanted = [row for row in rows if row["needs_sentence"] or row["sentence"]]
        sentences = [bridges.sentences(wanted)] if wanted else []
        records = records_tables(self.largest, LABELS)
        return MovedTables(_PROMISE, bridges.tables(rows, parts), sentences, records)

    def __repr__(self) -> str:
        return f"Change({self.comparison.old.period.folder}, {self.comparison.new.period.folder})"


def explain_comparison(
    both: Comparison, coins: Sequence[str] | None = None, threshold: Decimal | int = THRESHOLD
) -> Change:
    """Split the changes of a comparison into parts; those above the threshold need a sentence."""
    old, new = both.old.period, both.new.period
    span = (min(old.start, new.start), max(old.end, new.end))
    with open_warehouse(both.lake, period=span) as warehouse:
        moved = keep_moved(warehouse, old, new)
        figures = list(figure_changes(side_of(both.old), side_of(both.new), moved, coins))
        largest = _named(
            warehouse, moved, (old.label, new.label), [each.currency for each in figures]
        )
    figures += of_all_coins(figures)
    sentences = read_sentences(both.lake.path, new.folder, EXPLAINED)
    periods = (old.folder, new.folder)
    changes = [
        each.row(sentences.get((*periods, each.figure, each.currency)), threshold)
        for each in figures
    ]
    parts = [row for each in figures for row in each.part_rows()]
    standing = standing_of(both.table)
    return Change(
        both,
        attach(pa.Table.from_pylist(changes, schema=CHANGES), standing),
        attach(pa.Table.from_pylist(parts, schema=PARTS), standing),
        attach(largest, standing),
    )


def _named(
    warehouse: Warehouse, moved: Moved, labels: tuple[str, str], coins: Collection[str]
) -> pa.Table:
    """Return the largest records of each part, with the labels of their periods."""
    rows = [
        row | {"of": OF[row["whose"]], "period": labels[min(row["side"], 1)]}
        for row in largest_records(warehouse, moved).to_pylist()
        if row["currency"] in coins
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS)
