"""Medians by `row_number`: no engine's own median is exact, and most go through a float."""

from __future__ import annotations

from sqlglot import exp

from svc_analytics.engines.trees import Tree

MEDIANS = ("middle18", "middle8")


def count_to_the_middle(tree: Tree) -> Tree:
    """Return a tree whose medians are made of the two values in the middle of each group."""
    return tree.transform(lambda node: _counted(node) if isinstance(node, exp.Select) else node)


def has_odd_median(tree: Tree) -> bool:
    """Tell whether a median is not of one table's rows, so that they cannot be numbered."""
    return any(
        _medians(select) and (select.args.get("joins") or _joined(select))
        for select in tree.find_all(exp.Select)
    )


def _joined(select: exp.Select) -> bool:
    source = select.args.get("from_")
    return source is None or bool(source.this.args.get("joins"))


def _medians(select: exp.Select) -> list[exp.Anonymous]:
    """Return the calls of medians among the columns of a select."""
    return [
        call
        for column in select.expressions
        for call in column.find_all(exp.Anonymous)
        if call.name.lower() in MEDIANS and len(call.expressions) == 1
    ]


def _counted(select: exp.Select) -> exp.Select:
    calls = _medians(select)
    if not calls:
        return select
    counted = select.copy()
    group = counted.args.get("group")
    keys = group.expressions if group else []
    numbers = []
    for number, call in enumerate(_medians(counted)):
        value = call.expressions[0].copy()
        numbers += _numbered(value, keys, number)
        call.replace(_middle(call.name, value, number))
    source, where = counted.args["from_"], counted.args.pop("where", None)
    inner = exp.Select(expressions=[exp.Star(), *numbers], from_=source.copy(), where=where)
    alias = exp.TableAlias(this=exp.to_identifier(source.this.alias_or_name))
    counted.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    return counted


def _numbered(value: Tree, keys: list[Tree], number: int) -> list[Tree]:
    """Return the columns that say which place a value has in its group, and how many there are."""
    partition = [key.copy() for key in keys]
    order = exp.Order(expressions=[exp.Ordered(this=value.copy(), nulls_first=False)])
    place = exp.Window(this=exp.RowNumber(), partition_by=partition, order=order)
    count = exp.Window(
        this=exp.Count(this=value.copy()), partition_by=[key.copy() for key in partition]
    )
    return [exp.alias_(place, f"place_{number}"), exp.alias_(count, f"count_{number}")]


def _middle(name: str, value: Tree, number: int) -> Tree:
    """Return a median of the lower and the upper value in the middle of a group."""
    twice = exp.Mul(this=exp.column(f"place_{number}"), expression=exp.Literal.number(2))
    count = exp.column(f"count_{number}")
    ends = []
    for first, last in ((0, 1), (1, 2)):  # twice its place is the count, or one or two more
        low = exp.Add(this=count.copy(), expression=exp.Literal.number(first))
        high = exp.Add(this=count.copy(), expression=exp.Literal.number(last))
        is_there = exp.Between(this=twice.copy(), low=low, high=high)
        case = exp.Case(ifs=[exp.If(this=is_there, true=value.copy())])
        ends.append(exp.Max(this=case))
    return exp.Anonymous(this=name, expressions=ends)
