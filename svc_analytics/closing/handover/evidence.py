"""The EVIDENCE.txt of a packed statement: what an auditor asks of records from outside.

Auditing standards (PCAOB AS 1105.10A) ask for their source, and how they were received, kept and
changed. Each sentence is a fact of the manifest or of a sealed table, or the result of a check
that ran while the package was made. `templates/evidence.txt` has the sentences, one in a line.
"""

import textwrap
from collections import Counter
from typing import Any

import pyarrow.compute as pc

from svc_analytics.api.routes import PREFIX, ROUTES
from svc_analytics.closing.verification.proof import Proof
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_objects
from svc_analytics.formatting.text_templates import load_text
from svc_analytics.periods import noun_of
from svc_analytics.proofs.chain import FILE as CHAIN
from svc_analytics.proofs.marks import Marks
from svc_analytics.render.document import unknown_lines
from svc_analytics.warehouse.models import read_checks, read_footings

FILE = "EVIDENCE.txt"
_WIDTH = 92
_POINT = "- "  # begins a sentence: no value of a record stands before it
_WORDS = {
    "names": {"payments": "Payments", "payout_records": "Payouts and refunds"},
    "routes": {"payments": ROUTES["payments"], "payout_records": ROUTES["payouts"]},
    "prefix": PREFIX,
    "readings": {
        "confirmed": "Two readings in a row saw the same records.",
        "single": "They were read once; no second reading confirmed them.",
    },
    "states": {
        "complete": "was read completely",
        "partial": "was read in part",
        "not extracted": "was not read",
    },
}


def _in_line(value: object) -> str:
    """Write a value of a sentence, so that it begins no line of its own."""
    return single_line(str(value))


def evidence_text(proof: Proof) -> str:
    """Write the EVIDENCE.txt of a folder that was proven."""
    text = load_text(__package__, "evidence.txt", _in_line)
    lines = text.render(**_facts(proof), **_WORDS)
    return "".join(f"{_laid_out(*each)}\n" for each in enumerate(lines.splitlines()))


def _laid_out(place: int, line: str) -> str:
    """Break a sentence into lines, and draw a rule below a heading."""
    if line.startswith(_POINT):
        text = single_line(line.removeprefix(_POINT))
        return textwrap.fill(text, _WIDTH, initial_indent=_POINT, subsequent_indent="  ")
    return f"{line}\n{('-' if place else '=') * len(line)}" if line else ""


def _facts(proof: Proof) -> dict[str, Any]:
    """Gather the facts of the sentences; tables that could not be read give none."""
    facts, tables = proof.manifest, proof.sealed.statement.tables if proof.sealed else {}
    reading, checks, differences = (
        to_objects(tables[name]) if name in tables else []
        for name in ("reading", "checks", "restatement")
    )
    lines = tables.get("lines")
    later = 0 if lines is None else pc.sum(pc.greater(lines["record_version"], 1)).as_py() or 0
    verdicts = tables["receipts"]["verdict"].to_pylist() if "receipts" in tables else []
    places = (proof.folder / CHAIN, proof.folder.parent / CHAIN)
    return {
        "proof": proof,
        "facts": facts,
        "reading": reading,
        "checks": checks,
        "has_checks": "checks" in tables,
        "differences": len(differences),
        "lines": None if lines is None else {"count": len(lines), "later": later},
        "merchant": names_of(facts["merchant"]),
        "unknown": unknown_lines({"unknown": facts.get("unknown", [])}),
        "noun": noun_of(facts["label"]),
        "findings": sorted(Counter((r["check_name"], r["severity"]) for r in checks).items()),
        "rules": [rule.name for rule in (*read_checks(), *read_footings())],
        "verdicts": sorted(Counter(verdicts).items()),
        "marks": Marks.of(proof.folder),
        "has_chain": any(path.is_file() for path in places),
    }
