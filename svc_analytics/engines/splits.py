"""A model that is read here, while an engine counts some of its steps: its SQL, split in two."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from svc_analytics.engines.support import SqlSupport, counts, is_counted, sources
from svc_analytics.engines.trees import Tree, call_of, steps, tables
from svc_analytics.warehouse.models import Model

_STEP = re.compile(r"^(?:with )?(?P<name>\w+) as \(\n(?P<body>.*?)^\)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class SplitModel:
    """Which steps of a model an engine counts, and which queries of it stay here."""

    model: Model
    engine_steps: tuple[str, ...]  # whose rows are needed here
    local_queries: tuple[Tree, ...]

    def sql(self) -> str:
        """Write the model's SQL; a step that the engine counts reads its rows from a table."""
        parts = {
            name: f"    select * from {part_name(self.model, name)}\n" for name in self.engine_steps
        }

        def put(match: re.Match[str]) -> str:
            body = parts.get(match["name"], match["body"])
            return match[0].replace(match["body"], body, 1)

        return _STEP.sub(put, self.model.sql)


def part_name(model: Model, step: str) -> str:
    """Name the table of a step's rows."""
    return f"part_{model.name}_{step}"


def split_model(model: Model, support: SqlSupport, tree: Tree) -> SplitModel:
    """Split a model into what an engine can count and the rest; `tree` is the model as called."""
    bodies = {step.alias.lower(): step.this for step in steps(tree)}
    written = {match["name"] for match in _STEP.finditer(model.sql)}
    countable: list[str] = []
    for name, query in bodies.items():
        waits = _own(query, bodies) - {*countable}
        if name in written and not waits and support.unsupported_part(query, known=bodies) is None:
            countable.append(name)
    final = tree.copy()
    final.set("with_", None)
    local = [final, *(query for name, query in bodies.items() if name not in countable)]
    engine_steps: set[str] = set()
    for query in local:  # which grows by the steps that are cheap enough to be read here
        for name in sorted(_own(query, bodies) & {*countable} - engine_steps):
            if _is_worth(name, bodies, support):
                engine_steps.add(name)
            elif bodies[name] not in local:
                local.append(bodies[name])
    return SplitModel(model, tuple(sorted(engine_steps)), tuple(local))


def _own(query: Tree, bodies: Mapping[str, Tree]) -> set[str]:
    """Return the steps of its model that a step reads."""
    return {call_of(table) for table in tables(query)} & bodies.keys()


def _is_worth(name: str, bodies: Mapping[str, Tree], support: SqlSupport) -> bool:
    """Tell whether a step counts or joins records that are not here: others are cheap."""
    behind, waiting = {name}, [name]
    while waiting:
        fresh = _own(bodies[waiting.pop()], bodies) - behind
        behind |= fresh
        waiting += fresh
    named = {source for each in behind for source in sources(bodies[each])} - bodies.keys()
    far = [source for source in named if support.needs_engine([source])]
    is_counting = any(counts(bodies[each]) for each in behind) or any(map(is_counted, far))
    return is_counting and bool(far)
