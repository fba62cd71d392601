"""The rules by which a tree becomes an engine's own SQL, where a translator does not suffice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from svc_analytics.engines.medians import count_to_the_middle
from svc_analytics.engines.portable import FORMATS
from svc_analytics.engines.trees import OUR_DIALECT, Tree, change, without_filters, write_out
from svc_analytics.engines.words import RAISES, own_words
from svc_analytics.instants import to_micros

Rule = Callable[[Tree], Tree]
_KINDS = exp.DataType.Type
_CLOCKS = (_KINDS.TIMESTAMP, _KINDS.TIMESTAMPNTZ)
_INSTANTS = (_KINDS.TIMESTAMPTZ, _KINDS.TIMESTAMPLTZ)

WRAPPED = "a sum is not what its parts add up to: the engine wrapped it around"
TOLERANCE = "1e-9"  # of the sum of all parts without sign, beside one unit for each part


def prepare(tree: Tree, dialect: str) -> Tree:
    """Return the tree of one step as the engine counts it: macros written out, sums guarded."""
    return _ruled(guard_sums(_plain(tree, dialect), dialect), dialect)


def translate(sql: Tree, dialect: str) -> str:
    """Return a query of the probe: no guard may come to the aid of an engine there."""
    return write(_ruled(_plain(sql, dialect), dialect), dialect)


def _plain(tree: Tree, dialect: str) -> Tree:
    if dialect == OUR_DIALECT:
        return without_filters(tree)
    return without_filters(write_out(count_to_the_middle(tree), own_words(dialect)))


def _ruled(tree: Tree, dialect: str) -> Tree:
    for rule in _RULES.get(dialect, ()):
        tree = change(tree, rule)
    return tree


def write(tree: Tree, dialect: str) -> str:
    """Return the SQL of a whole query."""
    text: str = tree.sql(dialect, unsupported_level=ErrorLevel.RAISE, pretty=True)
    return text


def _at_zone(node: Tree) -> Tree:
    """Take an instant for a clock of UTC, as the session does: of other zones is `local_time`."""
    return exp.paren(node.this) if isinstance(node, exp.AtTimeZone) else node


def _clock_is_utc(node: Tree) -> Tree:
    if isinstance(node, exp.DataType) and node.this in _CLOCKS:
        return exp.DataType.build("timestamptz", dialect=OUR_DIALECT)
    return node


def _month_text(node: Tree) -> Tree:
    if not isinstance(node, exp.TimeToStr):
        return node
    form = exp.Literal.string(FORMATS[node.text("format")])
    return exp.Anonymous(this="date_format", expressions=[node.this, form])


def _days_listed(node: Tree) -> Tree:
    """List days and numbers only forward: an engine's own list may run backward."""
    if not isinstance(node, exp.GenerateSeries):
        return node
    start, end = node.args["start"], node.args["end"]
    step = [node.args["step"]] if node.args.get("step") else []
    listed = exp.Anonymous(this="sequence", expressions=[start, end, *step])
    is_forward = exp.LTE(this=start.copy(), expression=end.copy())
    return exp.Case(ifs=[exp.If(this=is_forward, true=listed)])


def _instant(node: Tree) -> Tree:
    """Write an instant as a number: not every engine reads the year 1 from a text."""
    is_instant = isinstance(node, exp.Cast) and node.to.this in (*_INSTANTS, *_CLOCKS)
    if not (is_instant and isinstance(node.this, exp.Literal) and node.this.is_string):
        return node
    micros = exp.Literal.number(instant_micros(node.this.name))
    return exp.Anonymous(this="timestamp_micros", expressions=[micros])


def instant_micros(text: str) -> int:
    """Return the UTC microseconds of an instant as it is written in SQL."""
    at = datetime.fromisoformat(text)
    return to_micros(at if at.tzinfo else at.replace(tzinfo=UTC))


def _turned(node: Tree) -> Tree:
    """Turn a sign by a subtraction: Spark's own minus and `abs` round to 34 digits unsaid."""
    if isinstance(node, exp.Neg) and not isinstance(node.this, exp.Literal):
        return _negative(node.this)
    if isinstance(node, exp.Abs):
        value = node.this
        is_negative = exp.LT(this=value.copy(), expression=exp.Literal.number(0))
        turned = exp.If(this=is_negative, true=_negative(value.copy()))
        return exp.Case(ifs=[turned], default=value.copy())
    return node


def _negative(value: Tree) -> Tree:
    return exp.paren(exp.Sub(this=exp.Literal.number(0), expression=exp.paren(value)))


_SPARK: tuple[Rule, ...] = (
    *(_month_text, _days_listed, _instant, _at_zone, _clock_is_utc, _turned),
)
_RULES = {"spark": _SPARK, "databricks": _SPARK}


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
