"""The EVIDENCE.txt of a packed statement: what an auditor asks of records from outside.

Auditing standards (PCAOB AS 1105.10A) ask for their source, and how they were received, kept and
changed. Each sentence is a fact of the manifest or of a sealed table, or the result of a check
that ran while the package was made.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from svc_analytics.api.routes import PREFIX, ROUTES
from svc_analytics.closing.months import MONTH_SEALS
from svc_analytics.closing.verification.proof import Proof
from svc_analytics.formatting.display import names_of
from svc_analytics.formatting.sanitize import single_line
from svc_analytics.formatting.tables import to_objects
from svc_analytics.periods import noun_of
from svc_analytics.proofs.chain import FILE as CHAIN
from svc_analytics.proofs.checkpoint import SIGNATURE
from svc_analytics.proofs.signature import signer_in
from svc_analytics.proofs.stamp import has_stamp
from svc_analytics.render.document import unknown_lines
from svc_analytics.warehouse.models import read_checks, read_footings

FILE = "EVIDENCE.txt"
_WIDTH = 92
_ROUTES = {"payments": ROUTES["payments"], "payout_records": ROUTES["payouts"]}
_NAMES = {"payments": "Payments", "payout_records": "Payouts and refunds"}
_READINGS = {
    "confirmed": "Two readings in a row saw the same records.",
    "single": "They were read once; no second reading confirmed them.",
}
_STATES = {
    "complete": "was read completely",
    "partial": "was read in part",
    "not extracted": "was not read",
}
Row = dict[str, Any]


@dataclass(frozen=True)
class Evidence:
    """The facts of a proven folder, by the question that they answer."""

    proof: Proof

    @cached_property
    def facts(self) -> Row:
        """The manifest."""
        return self.proof.manifest

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The sealed tables; none where they could not be read."""
        return self.proof.sealed.statement.tables if self.proof.sealed else {}

    def rows(self, name: str) -> list[Row]:
        """Read a small table of the statement."""
        return to_objects(self.tables[name]) if name in self.tables else []

    def has(self, name: str) -> bool:
        """Whether a file lies in the folder."""
        return (self.proof.folder / name).is_file()

    @cached_property
    def signer(self) -> str | None:
        """The fingerprint of the key that signed the checkpoint; None where none did."""
        return signer_in(self.proof.folder)

    @cached_property
    def is_stamped(self) -> bool:
        """Whether an authority stamped the checkpoint, whoever it is."""
        return has_stamp(self.proof.folder)

    @property
    def has_chain(self) -> bool:
        """Whether the chain of all checkpoints is there, in the package or beside the folder."""
        return self.has(CHAIN) or (self.proof.folder.parent / CHAIN).is_file()


def evidence_text(proof: Proof) -> str:
    """Write the EVIDENCE.txt of a folder that was proven."""
    evidence = Evidence(proof)
    title = f"Evidence for statement {proof.manifest['label']}"
    parts = [
        ("1. Where the records came from", _source(evidence)),
        ("2. What was read, and how completely", _coverage(evidence)),
        ("3. What was changed or set aside", _changes(evidence)),
        ("4. How they were kept", _keeping(evidence)),
        ("5. Which checks ran, and their results", _checks(evidence)),
        ("6. What a person accepted, and why", _acceptances(evidence)),
        ("7. What was checked when this package was made", _proofs(evidence)),
        ("8. How to test each statement", _tests(evidence)),
        ("9. What this does not prove", _limits(evidence)),
    ]
    sections = [_section(heading, sentences) for heading, sentences in parts]
    return "\n".join([title, "=" * len(title), "", *sections])


def _section(heading: str, sentences: Iterable[str]) -> str:
    lines = [heading, "-" * len(heading)]
    for sentence in sentences:
        text = single_line(sentence)
        lines.append(textwrap.fill(text, _WIDTH, initial_indent="- ", subsequent_indent="  "))
    return "\n".join([*lines, ""])


def _source(evidence: Evidence) -> Iterator[str]:
    facts = evidence.facts
    merchant = facts["merchant"]
    yield (
        f"The merchant is {names_of(merchant)}, {merchant.get('id', 'without an id')} at the "
        "Merchant Payments API, which is the source of every record."
    )
    for row in evidence.rows("reading"):
        route = _ROUTES[row["stream"]]
        if row["read_count"] is None:
            yield f"{_NAMES[row['stream']]} were not read."
        else:
            yield (
                f"{_NAMES[row['stream']]} were received by {route.method} {PREFIX}{route.path}, "
                f"with a key of the class {row['key_class']}{_when(row)}."
            )
    yield f"svc-analytics {facts.get('tool_version', 'of no stated version')} made the statement."


def _when(row: Row) -> str:
    if row["first_read_at"] is None:
        return ""
    return f", from {row['first_read_at']} to {row['last_read_at']}"


def _coverage(evidence: Evidence) -> Iterator[str]:
    facts = evidence.facts
    yield (
        f"The period is {facts.get('start')} up to, but not including, {facts.get('end')} "
        f"(zone {facts['zone']}, calendar {facts['calendar']}); what was known at {facts['as_of']}."
    )
    for row in evidence.rows("reading"):
        yield from _stream(row, facts["coverage"].get(row["stream"], []))
    yield from map(str, unknown_lines({"unknown": facts.get("unknown", [])}))
    if not facts.get("unknown"):
        yield "No figure was left unknown for want of records."


def _stream(row: Row, spans: list[list[str]]) -> Iterator[str]:
    name = _NAMES[row["stream"]]
    yield f"{name}: the period {_STATES[row['state']]}."
    for start, end, state in spans:
        yield f"{name}: from {start} to {end}, {state}."
    if row["read_count"] is not None:
        yield (
            f"{name}: {row['read_count']} records of the period were read, and "
            f"{row['counted_count']} of them count. {_READINGS.get(row['reading'], '')}"
        )


def _changes(evidence: Evidence) -> Iterator[str]:
    told = [text for row in evidence.rows("reading") for text in _set_aside(row)]
    yield from told or ["No record of the period was set aside."]
    yield from _versions(evidence)
    if names := evidence.facts["options"].get("metadata"):
        yield f"The lines show these properties of the metadata: {', '.join(map(str, names))}."


def _set_aside(row: Row) -> Iterator[str]:
    name = _NAMES[row["stream"]]
    if count := row["quarantined_count"]:
        yield (
            f"{name}: {_counted(count, 'record')} could not be held exactly, and "
            f"{'is' if count == 1 else 'are'} in no figure; the lake keeps the bytes."
        )
    if row["unclassified_count"]:
        yield (
            f"{name}: {row['unclassified_count']} records are of an unknown status or kind, or are "
            "not completed. They are in no figure."
        )


def _counted(count: int, noun: str) -> str:
    """Word a number of things.

    >>> _counted(1, "record"), _counted(2, "record")
    ('1 record', '2 records')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _versions(evidence: Evidence) -> Iterator[str]:
    """Tell which records the service changed, and which statement this one replaces."""
    if "lines" in evidence.tables:
        lines = evidence.tables["lines"]
        later = pc.sum(pc.greater(lines["record_version"], 1)).as_py() or 0
        yield (
            f"{len(lines)} lines: {later} hold a later version of their record than the first that "
            "was read. The lake keeps every version."
        )
    if replaced := evidence.facts.get("supersedes"):
        count = len(evidence.rows("restatement"))
        yield (
            f"This is version {evidence.facts['version']}. It replaces the one sealed as "
            f"{replaced}; the table restatement lists {count} differences, each with its cause."
        )


def _keeping(evidence: Evidence) -> Iterator[str]:
    facts = evidence.facts
    yield (
        f"manifest.json names {len(facts['files'])} files with their SHA-256. Its seal is "
        f"{facts['seal']}."
    )
    if before := facts.get("previous_seal"):
        yield f"It names the seal of the {noun_of(facts['label'])} before, {before}."
    else:
        yield f"It names no seal of a {noun_of(facts['label'])} before."
    if months := facts.get(MONTH_SEALS):
        yield f"It names the seals of its {len(months)} months."
    if tree := facts.get("tree"):
        yield f"A hash tree of {tree['size']} lines has the root {tree['root']}."
    else:
        yield "It has no tree of its lines: it was sealed before there were trees."


def _checks(evidence: Evidence) -> Iterator[str]:
    findings = evidence.rows("checks")
    counts = Counter((row["check_name"], row["severity"]) for row in findings)
    for (name, severity), count in sorted(counts.items()):
        yield f"{name} ({severity}): {_counted(count, 'finding')}, listed in the table checks."
    if "checks" in evidence.tables and not findings:
        yield "The checks of the statement found nothing."
    if evidence.proof.new:
        rules = ", ".join(rule.name for rule in (*read_checks(), *read_footings()))
        yield f"When this package was made, these rules were applied to the lake again: {rules}."
    verdicts = Counter(row["verdict"] for row in evidence.rows("receipts"))
    for verdict, count in sorted(verdicts.items()):
        yield f"Receipts of payments, {verdict}: {count}."
    for each in evidence.facts["options"].get("assertions") or ():
        yield (
            f"A person saw a balance of {each['balance']} {each['currency']} at {each['at']}. "
            "It is compared with the records in the table figures."
        )
    if "webhooks" in evidence.facts["options"]:
        yield "A saved log of webhooks was compared with the records."


def _acceptances(evidence: Evidence) -> Iterator[str]:
    accepted = [row for row in evidence.rows("checks") if row["acknowledged_by"] is not None]
    for row in accepted:
        yield (
            f"{row['check_name']}, {row['record_id']}: accepted by {row['acknowledged_by']}, "
            f"because: {row['acknowledged_reason']}."
        )
    if not accepted:
        yield "Nothing was accepted by a person."


def _proofs(evidence: Evidence) -> Iterator[str]:
    proof = evidence.proof
    yield "Sealed: every file was as the manifest says, and the manifest as its seal says."
    if evidence.signer:
        yield f"Signed: by the key {evidence.signer}. verify.py --signers tells whose it is."
    elif evidence.has(SIGNATURE):
        yield f"Not signed: {SIGNATURE} is no signature of its checkpoint."
    else:
        yield "Not signed: no key signed its checkpoint."
    if evidence.is_stamped:
        yield "Stamped: verify.py --authority tells by whom, and when."
    else:
        yield "Not stamped: no authority stamped its checkpoint."
    again = "the statement was made again from the records of the lake"
    if not (proof.lake and proof.new):
        yield "Not proven: it was not made again from the records."
    elif count := proof.table.num_rows:
        yield f"Not proven: {again}, with {count} differences."
    else:
        yield f"{'Proven in part' if proof.unproven else 'Proven'}: {again}, with no difference."
    yield from (f"Not proven: {text}." for text in proof.unproven)
    yield from (f"Note: {text}." for text in proof.notes)


def _tests(evidence: Evidence) -> Iterator[str]:
    yield (
        "4: run python verify.py, with Python 3.9 or newer and nothing else. It prints what held, "
        "what failed and what was not checked. sha256sum -c SHA256SUMS compares the files too."
    )
    yield "Figures: verify.py adds the lines of lines.csv up to summary.csv, in exact decimals."
    yield (
        "1 to 3, 5 and 6: the merchant has the lake. Ask for svc-analytics statement-verify FOLDER "
        "there: it makes the statement again from the records."
    )
    if evidence.signer:
        yield "The signature: verify.py --signers FILE, with a key that you got by another way."
    if evidence.is_stamped:
        yield "The stamp: verify.py --authority FILE, with the certificates of the authority."
    if evidence.has_chain:
        yield "The chain: keep chain.json; verify.py --earlier FILE compares a later one with it."


def _limits(evidence: Evidence) -> Iterator[str]:
    if evidence.signer:
        yield (
            "The signature proves that the statement is unchanged since it was signed by that key. "
            "It does not prove that it is true."
        )
    else:
        yield (
            "Nobody signed it. Whoever changes the files can compute a seal that fits them: "
            "compare the seal with one that you got by another way."
        )
    if evidence.is_stamped:
        yield "The stamp proves that it existed before that time, and nothing of what it says."
    else:
        yield "No authority stamped it: when it was made, only the merchant's own clock says."
    yield (
        "It is complete as far as the service listed the records. What the service did not list, "
        "and money that moved past it, is not in it."
    )
    if not evidence.proof.lake:
        yield "It was not compared with the records: no lake was there."
