"""Which SQL means the same on every engine: only what is listed here leaves this machine."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from svc_analytics.engines.trees import Tree, macros

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
