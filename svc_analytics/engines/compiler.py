"""A query as one statement of another engine: each model that it reads becomes a step of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from svc_analytics.engines.dialects import prepare, write
from svc_analytics.engines.trees import (
    OUR_DIALECT,
    Tree,
    arguments,
    call_of,
    parameters,
    parse,
    steps,
    tables,
    write_in,
)
from svc_analytics.warehouse.models import Model

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
        for step in steps(tree):
            name = self._free(f"{prefix}{step.alias}")
            self._steps[name] = self._take(step.this.copy(), f"{name}__", own)
            own[step.alias.lower()] = name
        tree.set("with_", None)
        for each in list(tree.find_all(exp.Subquery)):
            if steps(each.this):
                each.set(
                    "this", self._take(each.this.copy(), f"{prefix}inner__", own, is_inner=True)
                )
        self._resolve(tree, own)
        return tree if is_inner else prepare(tree, self.dialect)

    def _resolve(self, tree: Tree, own: Mapping[str, str]) -> None:
        """Give each table the name of a step of the whole, or of a table of the engine."""
        for table in list(tables(tree)):
            called = call_of(table)
            if table.meta.get(_DONE):
                continue  # of a query within
            table.meta[_DONE] = True
            name = own.get(called) or self.name_of(table)
            alias = table.alias or called.strip("{}")
            table.set("this", exp.to_identifier(name))
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))

    def _model(self, table: exp.Table) -> str:
        """Return the step of a model, as it is called here."""
        model = self.models[call_of(table)]
        values = arguments(table, parameters(model.signature))
        called = ", ".join([model.name, *(each.sql(OUR_DIALECT) for each in values.values())])
        if called not in self._names:
            body = write_in(parse(model.sql), values)
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
