"""The views as a source file of dbt: tables and columns with types and meanings."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

_HEAD = """\
# Written by svc-analytics views --dbt. DuckDB's profile names analytics.duckdb or a bundle.
version: 2
sources:
  - name: svc_analytics
    description: Records of the Merchant Payments API, and what follows from them.
    schema: main
    tables:
"""


def dbt_sources(views: Iterable[dict[str, Any]]) -> str:
    """Return the YAML that names each view, as `describe_views` gives them; a macro is no table."""
    tables = (view for view in views if "(" not in view["view"])
    return _HEAD + "".join(line for view in tables for line in _table(view))


def _table(view: dict[str, Any]) -> Iterator[str]:
    meaning = _text(f"{view['meaning']} Grain: {view['grain']}.")
    yield f"      - name: {view['view']}\n"
    yield f"        description: {meaning}\n"
    yield "        columns:\n"
    for column in view["columns"]:
        yield f"          - name: {column['name']}\n"
        yield f"            description: {_text(column['comment'])}\n"
        if column["type"]:
            yield f"            data_type: {column['type']}\n"


def _text(text: str) -> str:
    """Write a text in quotes: what JSON quotes, YAML reads. Jinja reads braces in it, as dbt does.

    >>> _text('say "no": {{ x }}')
    '"say \\\\"no\\\\": { { x } }"'
    """
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted.replace("{{", "{ {").replace("}}", "} }")
