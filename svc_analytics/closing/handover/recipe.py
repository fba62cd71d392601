"""The README.txt of a packed statement: what it is, and how a stranger checks it.

`templates/readme.txt` has its text, and in it the recipe, which a test runs.
"""

from typing import Any

from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.text_templates import load_text
from svc_analytics.periods import noun_of
from svc_analytics.warehouse.models import read_statement_macros

_FACTS = ("tool_version", "start", "end", "label", "calendar", "zone", "status", "as_of")
_TABLES = {
    "checks": "every finding that concerns the period",
    "definitions": "what each figure means, and how it is computed",
    "months": "the figures of each month that the period is made of",
    "trend": "all coins in USD, month by month, up to that of the statement",
    "restatement": "what differs from the version before, with the cause",
}


def readme_text(manifest: dict[str, Any]) -> str:
    """Write the README.txt of a sealed statement."""
    noun = noun_of(str(manifest["label"]))
    return load_text(__package__, "readme.txt").render(
        {name: single_line(str(manifest.get(name, "not stated"))) for name in _FACTS},
        title=single_line(f"Statement {manifest['label']} of {names_of(manifest['merchant'])}"),
        merchant=single_line(str(manifest["merchant"].get("id", "not stated"))),
        version=manifest["version"],
        supersedes=manifest.get("supersedes"),
        previous_seal=manifest.get("previous_seal") or f"none: no {noun} before was sealed",
        noun=noun,
        has_definitions="definitions.csv" in manifest["files"],
        tables=[(name, _meaning(name.partition(".")[0])) for name in sorted(manifest["files"])],
    )


def _meaning(table: str) -> str:
    """Tell what a table holds; no text where that is not known."""
    macros = {model.name: model.meaning for model in read_statement_macros()}
    return _TABLES.get(table) or macros.get(f"statement_{table}", "")
