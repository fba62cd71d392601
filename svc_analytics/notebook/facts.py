"""What a page made of a notebook says of itself, asked in the notebook's own kernel."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from svc_analytics.errors import SvcError
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.standing import standing_of
from svc_analytics.instants import format_instant
from svc_analytics.lakehouse import Lakehouse
from svc_analytics.notebook.desk.panel import Desk
from svc_analytics.notebook.show import is_statement
from svc_analytics.render.document import status_look, status_word

# Runs behind the last cell; what it prints is read and taken out again.
QUESTION = "print(__import__('svc_analytics.notebook.facts', fromlist=['_']).page_facts(globals()))"


def page_facts(names: Mapping[str, Any]) -> str:
    """Return merchant, period and status of what a notebook shows, as JSON.

    They are those of its statement `st`, or of the last one that it made; without a
    statement, those of its lake.
    """
    for desk in (value for value in names.values() if isinstance(value, Desk)):
        desk.settle()
    return json.dumps(_of_statement(names) or _of_lake(names.values()), ensure_ascii=False)


def _of_statement(names: Mapping[str, Any]) -> dict[str, str]:
    own = [getattr(value, "statement", value) for value in [*names.values(), names.get("st")]]
    statement = next(filter(is_statement, reversed(own)), None)
    if statement is None:
        return {}
    return {
        "merchant": names_of(statement.merchant),
        "period": statement.period.label,
        "status": status_word(statement),
        "look": status_look(statement),
        "standing": standing_of(statement.tables["summary"]).text,
        "read_to": format_instant(statement.as_of),
    }


def _of_lake(values: Iterable[Any]) -> dict[str, str]:
    lake = next((value for value in values if isinstance(value, Lakehouse)), None)
    try:
        return {"merchant": names_of(lake.merchant)} if lake else {}
    except SvcError:  # it is empty: nothing was read
        return {}
