"""The models' SQL as trees: parameters written in, macros written out, filters made plain."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from svc_analytics.errors import QueryError
from svc_analytics.warehouse.models import read_macros

OUR_DIALECT = "duckdb"  # the dialect that all our SQL is written in
_TABLES = re.compile(r"read_parquet\(\{(\w+)\}\)|(?<=\bfrom )\{(\w+)\}")
_OTHERS = re.compile(r'(?<!")\{(\w+)\}(?!")')

Tree = exp.Expr
Arguments = Mapping[str, Tree]  # by the name of a parameter
Macro = tuple[tuple[str, ...], Tree]  # its parameters, its body


def parse(sql: str) -> Tree:
    """Return the tree of a query; files stand in it as tables of such names as `{payments}`."""
    return _parse(sql).copy()


@cache
def _parse(sql: str) -> Tree:
    named = _TABLES.sub(lambda match: f'"{{{match[1] or match[2]}}}"', sql)
    try:
        tree = sqlglot.parse_one(_OTHERS.sub(r"'\1'", named), read=OUR_DIALECT)
    except SqlglotError as error:
        message = f"the query cannot be read: {str(error).splitlines()[0]}"
        raise QueryError(message) from error
    for node in tree.walk():
        node.pop_comments()
        node._meta = None  # where it stood in the text: half of the time of each copy
    return tree


@cache
def macros() -> dict[str, Macro]:
    """Return the macros of expressions, by name."""
    macros_by_name = {}
    for tree in sqlglot.parse(read_macros(), read=OUR_DIALECT):
        if isinstance(tree, exp.Create):
            head = tree.this
            macros_by_name[head.this.name] = (
                tuple(each.name for each in head.expressions),
                tree.expression,
            )
    return macros_by_name


def call_of(table: exp.Table) -> str:
    """Return the name of the model, step or file that a table is read from."""
    name = table.this.name if isinstance(table.this, exp.Anonymous) else table.name
    return str(name).lower()


def arguments(table: exp.Table, parameters: Mapping[str, Tree | None]) -> dict[str, Tree]:
    """Return the arguments of a call of a table macro, by parameter."""
    values, places = {}, iter(parameters)
    for each in table.this.expressions if isinstance(table.this, exp.Anonymous) else ():
        if isinstance(each, exp.PropertyEQ):
            values[each.this.name] = each.expression
        else:
            values[next(places)] = each
    return {name: values.get(name) or default or exp.Null() for name, default in parameters.items()}


@cache
def parameters(signature: str) -> dict[str, Tree | None]:
    """Return the parameters of a table macro with their defaults."""
    parts = [part.partition(" := ") for part in signature.strip("()").split(", ") if part]
    return {
        name: sqlglot.parse_one(default, read=OUR_DIALECT) if default else None
        for name, _, default in parts
    }


def write_in(tree: Tree, values: Arguments) -> Tree:
    """Return a tree with values in the place of parameters: bare columns of their names."""

    def put(node: Tree) -> Tree:
        if isinstance(node, exp.Column) and not node.table and node.name in values:
            return _in_parentheses(values[node.name].copy())
        return node

    return tree.copy().transform(put)


def with_values(tree: Tree, values: Mapping[str, object]) -> Tree:
    """Return a tree with plain values in the place of its `$names`; lists stay names."""

    def put(node: Tree) -> Tree:
        value = values.get(node.name, []) if isinstance(node, exp.Placeholder) else []
        return exp.convert(value) if isinstance(value, (str, int, type(None))) else node

    return tree.copy().transform(put)


def write_out(tree: Tree, own: Mapping[str, Macro]) -> Tree:
    """Return a tree with the bodies of macros in the place of their calls; `own` come first."""

    def put(node: Tree) -> Tree:
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        macro = own.get(name) or macros().get(name)
        if macro is None:
            return node
        operands = [write_out(each, own) for each in node.expressions]
        body = write_in(macro[1], dict(zip(macro[0], operands, strict=True)))
        return _in_parentheses(write_out(body, own))

    written: Tree = tree.transform(put)
    return written


def without_filters(tree: Tree) -> Tree:
    """Return a tree that counts by cases: not every engine knows `filter (where ...)`."""

    def put(node: Tree) -> Tree:
        if not isinstance(node, exp.Filter):
            return node
        function: Tree = node.this.copy()
        condition = node.expression.this
        inner = function.this.expressions[0] if _is_distinct(function) else function.this
        counted = exp.Literal.number(1) if isinstance(inner, exp.Star) else inner.copy()
        case = exp.Case(ifs=[exp.If(this=condition.copy(), true=counted)])
        if _is_distinct(function):
            function.this.set("expressions", [case])
        else:
            function.set("this", case)
        return function

    written: Tree = tree.transform(put)
    return written


def change(tree: Tree, rule: Callable[[Tree], Tree]) -> Tree:
    """Return a tree changed by a rule, the inner nodes first, so that none is left out."""
    for node in reversed(list(tree.walk())):
        changed = rule(node)
        if node is tree:
            tree = changed
        elif changed is not node:
            node.replace(changed)
    return tree


def tables(tree: Tree) -> Iterator[exp.Table]:
    """Yield the tables that a tree reads, steps of its own included."""
    yield from tree.find_all(exp.Table)


def inner_steps(tree: Tree) -> set[str]:
    """Return the names of all steps of a query, also of the queries within it."""
    return {step.alias.lower() for step in tree.find_all(exp.CTE)}


def steps(tree: Tree) -> list[exp.CTE]:
    """Return the steps of a query's own `with`."""
    clause = tree.args.get("with_")
    return list(clause.expressions) if clause else []


def _is_distinct(function: Tree) -> bool:
    return isinstance(function.this, exp.Distinct)


def _in_parentheses(value: Tree) -> Tree:
    plain = (exp.Column, exp.Literal, exp.Paren, exp.Func, exp.Null, exp.Placeholder)
    return value if isinstance(value, plain) else exp.paren(value, copy=False)
