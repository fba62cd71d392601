"""A model that stays here, while an engine counts some of its steps: the same SQL, cut in two."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from svc_analytics.engines.reach import Reach, counts, is_counted, sources
from svc_analytics.engines.trees import Tree, call_of, steps, tables
from svc_analytics.warehouse.models import Model

_STEP = re.compile(r"^(?:with )?(?P<name>\w+) as \(\n(?P<body>.*?)^\)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Cut:
    """Which steps of a model an engine counts, and which queries of it stay here."""

    model: Model
    gone: tuple[str, ...]  # steps whose rows are needed here
    left: tuple[Tree, ...]  # the queries that stay

    def sql(self) -> str:
        """Return the model's SQL, where each step that is gone reads its rows from a table."""
        parts = {name: f"    select * from {part_name(self.model, name)}\n" for name in self.gone}

        def put(found: re.Match[str]) -> str:
            body = parts.get(found["name"], found["body"])
            return found[0].replace(found["body"], body, 1)

        return _STEP.sub(put, self.model.sql)


def part_name(model: Model, step: str) -> str:
    """Return the name of the table of a step's rows."""
    return f"part_{model.name}_{step}"


def cut(model: Model, reach: Reach, tree: Tree) -> Cut:
    """Tell which steps of a model an engine can count; `tree` is the model as it is called."""
    bodies = {step.alias.lower(): step.this for step in steps(tree)}
    written = {found["name"] for found in _STEP.finditer(model.sql)}
    going: list[str] = []
    for name, query in bodies.items():
        waits = _own(query, bodies) - {*going}
        if name in written and not waits and reach.oddity(query, known=bodies) is None:
            going.append(name)
    final = tree.copy()
    final.set("with_", None)
    left = [final, *(query for name, query in bodies.items() if name not in going)]
    gone: set[str] = set()
    for query in left:  # which grows by the steps that are cheap enough to be read here
        for name in sorted(_own(query, bodies) & {*going} - gone):
            if _is_worth(name, bodies, reach):
                gone.add(name)
            elif bodies[name] not in left:
                left.append(bodies[name])
    return Cut(model, tuple(sorted(gone)), tuple(left))


def _own(query: Tree, bodies: Mapping[str, Tree]) -> set[str]:
    """Return the steps of its model that a step reads."""
    return {call_of(table) for table in tables(query)} & bodies.keys()


def _is_worth(name: str, bodies: Mapping[str, Tree], reach: Reach) -> bool:
    """Tell whether a step counts or joins records that are not here: others are cheap."""
    behind, waiting = {name}, [name]
    while waiting:
        fresh = _own(bodies[waiting.pop()], bodies) - behind
        behind |= fresh
        waiting += fresh
    named = {source for each in behind for source in sources(bodies[each])} - bodies.keys()
    far = [source for source in named if reach.is_far([source])]
    is_counting = any(counts(bodies[each]) for each in behind) or any(map(is_counted, far))
    return is_counting and bool(far)
