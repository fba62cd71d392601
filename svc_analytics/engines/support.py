"""What of a query an engine counts: what reads records, and means the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache

from sqlglot import exp

from svc_analytics.engines.compiler import has_odd_median
from svc_analytics.engines.trees import (
    Tree,
    call_of,
    inner_steps,
    own_words,
    parse,
    tables,
    unsupported_part,
)
from svc_analytics.warehouse.models import Model
from svc_analytics.warehouse.view_builder import RECEIPTLESS, every_model

# Files of records. What is in any other file is little: it is read here, and handed over.
RECORDS = frozenset(
    {
        *("payments", "payout_records", "changes_payments", "changes_payout_records"),
        *("receipt_verdicts", "sessions", "bindings", "other_payouts", "parents"),
        RECEIPTLESS,
    }
)
_COUNTS = (exp.Group, exp.AggFunc, exp.Distinct, exp.Window, exp.Join)


@cache
def models() -> Mapping[str, Model]:
    """Return all models by name, the findings included."""
    return {model.name: model for model in every_model()}


@dataclass(frozen=True)
class SqlSupport:
    """The parts of our SQL that an engine supports.

    `is_kept` tells of a model whether its rows are here already, and few enough to be handed
    over: then whatever it is made of does not matter.
    """

    dialect: str
    is_kept: Callable[[str], bool] = lambda name: False

    def unsupported_part(
        self, tree: Tree, *, known: Collection[str] = (), is_ours: bool = True
    ) -> str | None:
        """Name the first part of a query that the engine does not support; None without one.

        `known` are names of tables that the engine has.
        """
        nested = (each.find_ancestor(exp.Subquery, exp.CTE) for each in tree.find_all(exp.With))
        if not is_ours and any(nested):
            return "a step within a step"
        if has_odd_median(tree):
            return "a median over a join"
        own = own_words(self.dialect)
        return unsupported_part(tree, own, is_ours=is_ours) or self._unsupported_source(
            sources(tree) - {*known}
        )

    def needs_engine(self, names: Collection[str]) -> bool:
        """Tell whether any of these models reads records that are not here.

        One that is made of kept rows alone is as near as they are.
        """
        return any(map(self._needs_engine, names))

    def _needs_engine(self, name: str) -> bool:
        if not reads_records(name) or self.is_kept(name):
            return False
        return name not in models() or self.needs_engine(_sources(name))

    def can_count(self, name: str) -> bool:
        """Tell whether the engine can count a model, and it reads records."""
        return reads_records(name) and self.unsupported_part(_tree(name)) is None

    def _unsupported_source(self, names: Collection[str]) -> str | None:
        for name in sorted(names):
            if name not in models() and _file(name) is None:
                return f"the table {name!r:.60}"
            if name in models() and reads_records(name) and not self.is_kept(name):
                part = self.unsupported_part(_tree(name))
                if part:
                    return part
        return None


def sources(tree: Tree) -> set[str]:
    """Return the models and files that a query names; its own steps are none."""
    return {call_of(table) for table in tables(tree) if call_of(table)} - inner_steps(tree)


@cache
def reads_records(name: str) -> bool:
    """Tell whether a model, or a file, has rows of records; all else is few rows."""
    if name not in models():
        return _file(name) in RECORDS
    return any(map(reads_records, _sources(name)))


@cache
def is_counted(name: str) -> bool:
    """Tell whether a model joins or counts records, and does not only choose some of them."""
    if name not in models():
        return False
    tree = _tree(name)
    return counts(tree) or any(map(is_counted, filter(reads_records, _sources(name))))


def counts(tree: Tree) -> bool:
    """Tell whether a query itself joins or counts."""
    return tree.find(*_COUNTS) is not None


@cache
def _sources(name: str) -> frozenset[str]:
    return frozenset(sources(_tree(name)))


def _tree(name: str) -> Tree:
    return parse(models()[name].sql)


def _file(name: str) -> str | None:
    return name[1:-1] if name.startswith("{") else None
