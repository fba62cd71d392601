"""The README.txt of a packed statement: what it is, and how a stranger checks it."""

import textwrap
from typing import Any

from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.periods import noun_of
from svc_analytics.warehouse.models import read_statement_macros

# Run as it is in the folder; a test does.
RECIPE = """\
import hashlib, json, pathlib

facts = json.loads(pathlib.Path("manifest.json").read_text(encoding="utf-8"))
for name, entry in facts["files"].items():
    assert hashlib.sha256(pathlib.Path(name).read_bytes()).hexdigest() == entry["sha256"], name
named = facts.pop("seal")
text = json.dumps(facts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
seal = hashlib.sha256(text.encode()).hexdigest()
print(seal == named, seal)
"""
_README = """\
{title}
{rule}

What this is
------------
A statement of the payments, refunds and payouts of one merchant in one {noun}.
svc-analytics {tool_version} read the records from the Merchant Payments API, made the
statement from them, and sealed it.

merchant        {merchant}
period          {start} up to, but not including, {end}
                ({noun} {label}, calendar {calendar}, zone {zone})
status          {status}
data as of      {as_of}
version         {version}{supersedes}
seal before     {previous_seal}

How to check that nothing was altered
-------------------------------------
python verify.py does all that follows, with Python 3.9 or newer and nothing else, and adds
the lines up to the summary. Read it first: it has 300 lines. By hand:

1. "files" in manifest.json names every file with its SHA-256. Compare them:
   sha256sum -c SHA256SUMS
2. The seal is the SHA-256 of manifest.json itself: without its entry "seal", written as
   JSON in UTF-8 with the names sorted at every depth, with no blanks between, and with
   letters as they are rather than escaped.
3. This is both steps in Python, which needs no other package. Run it in this folder:

{recipe}
   It prints True and the seal.
4. Compare the seal with the one that the merchant gave you by another way than this
   file: on the telephone, in a letter, in the minutes. Whoever alters the files can
   compute a seal that fits them, so a seal that comes with its files proves nothing.
5. Each month names the seal of the month before ("previous_seal"), and each later
   version the seal of the version that it replaces ("supersedes"). A month that is
   sealed later vouches for this one.{months}

EVIDENCE.txt says where the records came from, how completely they were read, what was
changed or set aside, and what is not proven.

That the figures follow from the records is shown by the merchant, who has them:
svc-analytics statement-verify FOLDER --data-dir LAKE

How to read the files
---------------------
Numbers are exact, with a point before the decimals. An empty cell is unknown or
undefined, never zero. Instants are in UTC. In CSV a text that a spreadsheet might run as
a formula has an apostrophe in front.

{definitions}

{tables}
"""
_MONTHS = """ A quarter or a year names the
   seals of all its months too ("month_seals")."""
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
    title = single_line(f"Statement {manifest['label']} of {names_of(manifest['merchant'])}")
    names = ("tool_version", "start", "end", "label", "calendar", "zone", "status", "as_of")
    facts = {name: single_line(str(manifest.get(name, "not stated"))) for name in names}
    replaced = manifest.get("supersedes")
    return _README.format(
        **facts,
        title=title,
        rule="=" * len(title),
        merchant=single_line(str(manifest["merchant"].get("id", "not stated"))),
        version=manifest["version"],
        supersedes=f", replaces the version sealed as {replaced}" if replaced else "",
        previous_seal=manifest.get("previous_seal") or f"none: no {noun} before was sealed",
        noun=noun,
        months="" if noun == "month" else _MONTHS,
        recipe=textwrap.indent(RECIPE, "   "),
        definitions=_definitions(manifest),
        tables=_tables(manifest),
    )


def _definitions(manifest: dict[str, Any]) -> str:
    if "definitions.csv" in manifest["files"]:
        return "definitions.csv says what each figure means, and how it is computed."
    return "What each figure means is printed by the command: svc-analytics figures"


def _tables(manifest: dict[str, Any]) -> str:
    """List the files, each with what it holds where that is known."""
    meanings = {model.name: model.meaning for model in read_statement_macros()} | {
        f"statement_{name}": text for name, text in _TABLES.items()
    }
    lines = []
    for name in sorted(manifest["files"]):
        meaning = meanings.get(f"statement_{name.partition('.')[0]}")
        lines.append(f"{name:<24}{meaning}" if meaning else name)
    return "\n".join(line.rstrip() for line in lines)
