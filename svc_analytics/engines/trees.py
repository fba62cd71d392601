"""The models' SQL as trees: parameters written in, macros written out, filters made plain."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files

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
    return _macros_in(read_macros(), OUR_DIALECT)


def _macros_in(sql: str, dialect: str) -> dict[str, Macro]:
    trees = sqlglot.parse(sql, read=dialect)
    written = ((tree.this, tree.expression) for tree in trees if isinstance(tree, exp.Create))
    return {
        head.this.name: (tuple(each.name for each in head.expressions), body)
        for head, body in written
    }


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


def is_plain(value: object) -> bool:
    """Tell whether a value can be written into a query of any engine."""
    is_number = isinstance(value, Decimal) and value.is_finite()
    return is_number or isinstance(value, (str, int, type(None)))


def with_values(tree: Tree, values: Mapping[str, object]) -> Tree:
    """Return a tree with plain values in the place of its `$names`; lists stay names."""

    def put(node: Tree) -> Tree:
        value = values.get(node.name, []) if isinstance(node, exp.Placeholder) else []
        if isinstance(value, Decimal) and is_plain(value):
            number = exp.Literal.number(f"{abs(value):f}")
            return exp.Neg(this=number) if value < 0 else number
        return exp.convert(value) if is_plain(value) else node

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


# ---------- What an engine says in words of its own
# A translator would let it through unchanged. Each macro in `words` means what the macro of the
# same name in `macros.sql` means; the probe asks for values that tell them apart.


_WORDS = {"spark": "spark.sql", "databricks": "spark.sql", "trino": "trino.sql"}
RAISES = {"spark": "raise_error", "databricks": "raise_error", "trino": "fail"}
DIALECTS = tuple(sorted(_WORDS))  # that our SQL can be printed in


@cache
def own_words(dialect: str) -> dict[str, Macro]:
    """Return the macros that an engine words itself, by name."""
    own: dict[str, Macro] = {}
    for name in filter(None, ("medians.sql", _WORDS.get(dialect))):
        text = (files("svc_analytics.engines") / "words" / name).read_text(encoding="utf-8")
        own |= _macros_in(text, dialect)
    return own


# ---------- Which SQL means the same on every engine
# Only what is listed here leaves this machine.


_SHAPES = (
    *(exp.Select, exp.From, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit),
    *(exp.Join, exp.Table, exp.TableAlias, exp.With, exp.CTE, exp.Subquery, exp.Union),
    *(exp.Alias, exp.Column, exp.Identifier, exp.Star, exp.Paren, exp.Literal, exp.Null),
    *(exp.Boolean, exp.Placeholder, exp.Distinct, exp.Var, exp.PropertyEQ, exp.Tuple),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is),
    *(exp.In, exp.Between, exp.Exists, exp.Case, exp.If, exp.Coalesce, exp.Nullif),
    *(exp.Sum, exp.Count, exp.Min, exp.Max, exp.Filter, exp.Add, exp.Sub, exp.Mul, exp.Neg),
    *(exp.Abs, exp.Greatest, exp.Least, exp.Cast, exp.DataType, exp.DataTypeParam),
    *(exp.Window, exp.WindowSpec, exp.RowNumber, exp.Lag),
)
# Where the type of each operand is known, as in our own models.
_OURS = (
    *(exp.AtTimeZone, exp.TimeToStr, exp.TimestampTrunc, exp.Interval, exp.Round),
    *(exp.DPipe, exp.Left, exp.SHA2, exp.LastValue, exp.IgnoreNulls, exp.Unnest),
    *(exp.GenerateSeries, exp.Length, exp.Trim, exp.SplitPart, exp.Repeat, exp.NullSafeNEQ),
    *(exp.Mod, exp.TryCast),
)
_KINDS = exp.DataType.Type
_TYPES = {
    *(_KINDS.DECIMAL, _KINDS.BIGINT, _KINDS.INT, _KINDS.BOOLEAN, _KINDS.DATE),
    *(_KINDS.TIMESTAMP, _KINDS.TIMESTAMPTZ, _KINDS.TIMESTAMPNTZ),
}
_UNITS = {"day", "month"}
FORMATS = {"%Y-%m": "yyyy-MM"}  # of a month


def unsupported_part(tree: Tree, own: Collection[str], *, is_ours: bool = True) -> str | None:
    """Name the first part of a query that an engine may count in another way; None without one.

    `own` are the macros that engines word themselves. People's own queries are read strictly.
    """
    return next((part for node in tree.walk() if (part := _unsupported(node, own, is_ours))), None)


def _unsupported(node: Tree, own: Collection[str], is_ours: bool) -> str | None:
    if isinstance(node, exp.Anonymous):
        return _unsupported_call(node, own)
    if not isinstance(node, (*_SHAPES, *_OURS) if is_ours else _SHAPES):
        return node.key
    if isinstance(node, exp.Cast) and not is_ours and type(node) is not exp.Cast:
        return node.key
    if isinstance(node, exp.DataType):
        return None if _is_shared(node) else node.sql("duckdb")
    if isinstance(node, exp.TimeToStr):
        return None if node.text("format") in FORMATS else "strftime"
    if isinstance(node, exp.TimestampTrunc):
        return None if node.text("unit").lower() in _UNITS else "date_trunc"
    return None


def _unsupported_call(node: exp.Anonymous, own: Collection[str]) -> str | None:
    name = node.name.lower()
    if isinstance(node.parent, exp.Table) or name in own:
        return None
    if name not in macros():
        return name
    return name if unsupported_part(macros()[name][1], own) else None


def _is_shared(kind: exp.DataType) -> bool:
    """Tell whether a type is the same everywhere; NULL may be of any."""
    cast = kind.parent
    if isinstance(cast, exp.Cast) and isinstance(cast.this, (exp.Null, exp.Placeholder)):
        return not kind.args.get("nested")
    return kind.this in _TYPES or _is_text_of_amount(kind)


def _is_text_of_amount(kind: exp.DataType) -> bool:
    """Tell whether a cast to text is the one of our macros that counts decimal places."""
    is_text = kind.this in (_KINDS.TEXT, _KINDS.VARCHAR)
    return is_text and kind.find_ancestor(exp.SplitPart) is not None
