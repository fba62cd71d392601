"""A query as one statement of another engine: each model that it reads becomes a step of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from svc_analytics.engines import trees
from svc_analytics.engines.trees import FORMATS, OUR_DIALECT, RAISES, Tree
from svc_analytics.instants import to_micros
from svc_analytics.warehouse.models import Model
from svc_analytics.warehouse.view_builder import RECEIPTLESS, every_model

_DONE = "resolved"
_NONE: Mapping[str, str] = {}
# Tells where the rows of a table lie on the engine; None for a model that it counts itself.
FindTable = Callable[[exp.Table], str | None]


@dataclass
class Compiler:
    """One query on its way to an engine."""

    dialect: str
    models: Mapping[str, Model]
    find_table: FindTable
    _steps: dict[str, Tree] = field(default_factory=dict)  # by name, each behind what it reads
    _taken: set[str] = field(default_factory=set)  # the names of steps, those to come too
    _names: dict[str, str] = field(default_factory=dict)  # of the steps, by what was called

    def compile(self, tree: Tree) -> str:
        """Return the SQL of a query for the engine; a step without order keeps that of a model."""
        body = self._take(tree.copy(), "")
        last = self._last_alone(body)
        body = self._steps.pop(last) if last else body
        if self._steps:
            named = ((exp.to_identifier(name), each) for name, each in self._steps.items())
            listed = [exp.CTE(this=each, alias=exp.TableAlias(this=name)) for name, each in named]
            body.set("with_", exp.With(expressions=listed))
        return write(body, self.dialect)

    def beside(self, find_table: FindTable) -> Compiler:
        """Return the compiler of another lake, whose steps are steps of the same query."""
        return Compiler(self.dialect, self.models, find_table, self._steps, self._taken)

    def name_of(self, table: exp.Table) -> str:
        """Return the name, on the engine, of a model or a file."""
        return self.find_table(table) or self._model(table)

    def add_query(self, name: str, tree: Tree) -> str:
        """Add a whole query as a step; return what it is called there."""
        free = self._free(name)
        self._steps[free] = self._take(tree, f"{free}__")
        return free

    def add(self, name: str, tree: Tree) -> str:
        """Add a step, made of names that the engine has; return what it is called there."""
        free = self._free(name)
        self._steps[free] = prepare(tree, self.dialect)
        return free

    def _take(
        self, tree: Tree, prefix: str, outer: Mapping[str, str] = _NONE, *, is_inner: bool = False
    ) -> Tree:
        """Return a query without its `with`, whose steps become steps of the whole."""
        own = dict(outer)
        for step in trees.steps(tree):
            name = self._free(f"{prefix}{step.alias}")
            self._steps[name] = self._take(step.this.copy(), f"{name}__", own)
            own[step.alias.lower()] = name
        tree.set("with_", None)
        for each in list(tree.find_all(exp.Subquery)):
            if trees.steps(each.this):
                each.set(
                    "this", self._take(each.this.copy(), f"{prefix}inner__", own, is_inner=True)
                )
        self._resolve(tree, own)
        return tree if is_inner else prepare(tree, self.dialect)

    def _resolve(self, tree: Tree, own: Mapping[str, str]) -> None:
        """Give each table the name of a step of the whole, or of a table of the engine."""
        for table in list(trees.tables(tree)):
            called = trees.call_of(table)
            if table.meta.get(_DONE):
                continue  # of a query within
            table.meta[_DONE] = True
            name = own.get(called) or self.name_of(table)
            alias = table.alias or called.strip("{}")
            table.set("this", exp.to_identifier(name))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))

    def _model(self, table: exp.Table) -> str:
        """Return the step of a model, as it is called here."""
        model = self.models[trees.call_of(table)]
        values = trees.arguments(table, trees.parameters(model.signature))
        called = ", ".join([model.name, *(each.sql(OUR_DIALECT) for each in values.values())])
        if called not in self._names:
            body = trees.write_in(trees.parse(model.sql), values)
            self._names[called] = self.add_query(model.name, body)
        return self._names[called]

    def _free(self, name: str) -> str:
        numbered = (f"{name}_{number}" for number in range(2, len(self._taken) + 3))
        free = next(each for each in (name, *numbered) if each not in self._taken)
        self._taken.add(free)
        return free

    def _last_alone(self, body: Tree) -> str | None:
        """Return the last step where the query is no more than all of it."""
        said = {name for name, value in body.args.items() if value}
        if said != {"expressions", "from_"} or body.expressions != [exp.Star()]:
            return None
        source = body.args["from_"].this
        last = [*self._steps][-1:]
        is_alone = source.name in last and not source.args.get("joins")
        return source.name if is_alone else None


# ---------- The rules by which a tree becomes an engine's own SQL
# Where a translator does not suffice.


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
        return trees.without_filters(tree)
    written = trees.write_out(count_to_the_middle(tree), trees.own_words(dialect))
    return trees.without_filters(written)


def _ruled(tree: Tree, dialect: str) -> Tree:
    for rule in _RULES.get(dialect, ()):
        tree = trees.change(tree, rule)
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

    return trees.change(tree, put)


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


# ---------- Medians by `row_number`
# No engine's own median is exact, and most go through a float.


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


# ---------- What of a query an engine counts: what reads records, and means the same everywh


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
    is_materialized: Callable[[str], bool] = lambda name: False

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
        own = trees.own_words(self.dialect)
        return trees.unsupported_part(tree, own, is_ours=is_ours) or self._unsupported_source(
            sources(tree) - {*known}
        )

    def needs_engine(self, names: Collection[str]) -> bool:
        """Tell whether any of these models reads records that are not here.

        One that is made of kept rows alone is as near as they are.
        """
        return any(map(self._needs_engine, names))

    def _needs_engine(self, name: str) -> bool:
        if not reads_records(name) or self.is_materialized(name):
            return False
        return name not in models() or self.needs_engine(_sources(name))

    def can_count(self, name: str) -> bool:
        """Tell whether the engine can count a model, and it reads records."""
        return reads_records(name) and self.unsupported_part(_tree(name)) is None

    def _unsupported_source(self, names: Collection[str]) -> str | None:
        for name in sorted(names):
            if name not in models() and _file(name) is None:
                return f"the table {name!r:.60}"
            if name in models() and reads_records(name) and not self.is_materialized(name):
                part = self.unsupported_part(_tree(name))
                if part:
                    return part
        return None


def sources(tree: Tree) -> set[str]:
    """Return the models and files that a query names; its own steps are none."""
    called = set(filter(None, map(trees.call_of, trees.tables(tree))))
    return called - trees.inner_steps(tree)


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
    return trees.parse(models()[name].sql)


def _file(name: str) -> str | None:
    return name[1:-1] if name.startswith("{") else None
