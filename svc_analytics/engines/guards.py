"""Beside each sum of money runs one in floats, which cannot wrap around: the two must agree.

Some engines answer a sum of more than 38 digits with a negative number and no error. The sum in
floats is a guard alone, and never a figure. It adds whole units: Spark makes a float of an amount
with 18 places by way of its text, which takes longer than all sums.
"""

from __future__ import annotations

from sqlglot import exp

from svc_analytics.engines.trees import Tree, change
from svc_analytics.engines.words import RAISES

WRAPPED = "a sum is not what its parts add up to: the engine wrapped it around"
TOLERANCE = "1e-9"  # of the sum of all parts without sign, beside one unit for each part


def guard_sums(tree: Tree, dialect: str) -> Tree:
    """Guard each sum of a query: one that is not what its parts add up to raises an error."""

    def put(node: Tree) -> Tree:
        if isinstance(node, exp.Window) and isinstance(node.this, exp.Sum):
            return _guarded(node, node.this, dialect)
        if isinstance(node, exp.Sum) and not isinstance(node.parent, exp.Window):
            return _guarded(node, node, dialect)
        return node

    return change(tree, put)


def _guarded(whole: Tree, summed: exp.Sum, dialect: str) -> Tree:
    """Return a sum, or the error that it wrapped; `whole` is the sum with its window, if any."""
    part = summed.this

    def over(function: Tree) -> Tree:
        if whole is summed:
            return function
        copy = whole.copy()
        copy.set("this", function)
        return copy

    as_float = exp.cast(exp.cast(part.copy(), "decimal(38, 0)"), "double")
    exact = exp.cast(whole.copy(), "double")
    apart = _size(exp.paren(exp.Sub(this=exact, expression=over(exp.Sum(this=as_float)))))
    count, size = over(exp.Count(this=part.copy())), over(exp.Sum(this=_size(as_float.copy())))
    share = exp.Mul(this=exp.cast(exp.Literal.string(TOLERANCE), "double"), expression=size)
    bound = exp.Add(this=share, expression=count.copy())
    is_empty = exp.EQ(this=count, expression=exp.Literal.number(0))
    is_right = exp.Or(this=is_empty, expression=exp.LTE(this=apart, expression=bound))
    error = exp.Anonymous(this=RAISES[dialect], expressions=[exp.Literal.string(WRAPPED)])
    return exp.Case(ifs=[exp.If(this=is_right, true=whole.copy())], default=error)


def _size(number: Tree) -> Tree:
    """Return a float without its sign, by a name that no rule for amounts writes anew."""
    return exp.Anonymous(this="abs", expressions=[number])
