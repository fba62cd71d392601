"""Readable forms of a sealed statement, made on demand in a folder beside the sealed one.

The sealed folder stays as it is, byte for byte, so its seal holds whatever lies here. The forms
are made of the sealed tables, and a verification renders them again and compares. Those with
another currency beside USD lie in a folder of their own, with the rates that they were made of.

They tell whether the month is signed and stamped, as it was when they were written: `forms.json`
keeps that. A signature or a stamp that they tell of must be there; one that came later is no fault
of theirs, and whatever signs or stamps writes them again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from svc_analytics.closing import seals
from svc_analytics.closing.verification.contents import PROGRAM, is_this_release
from svc_analytics.closing.verification.forms import Findings, compare_forms, formats_of
from svc_analytics.errors import SvcError, text_of
from svc_analytics.external_rates import ExternalRates, parse_rates
from svc_analytics.files import UNREADABLE, hash_file
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import Message, translated
from svc_analytics.proofs.checkpoint import SIGNATURE, STAMP
from svc_analytics.proofs.statuses import UNREAD, Marks
from svc_analytics.render.folder import Output, write_files
from svc_analytics.render.formats import DOCUMENTS
from svc_analytics.statements.sentences import StoredSentences, stored_sentences
from svc_analytics.statements.statement import Statement
from svc_analytics.storage import Storage

ENDING, FACTS = "-forms", "forms.json"
_WORDED = {name for name, form in DOCUMENTS.items() if form.is_worded}
_OF_RELEASE = DOCUMENTS.keys() - {"json"}  # each release makes them in its own way
_OTHER_SENTENCES = "its sentences on what moved differ from those in the lake now"
_WRITTEN_BEFORE = "written before the month was signed or stamped as it is now"
_MARKS = "marks"  # the fact of how the sealed folder was marked when they were written


@dataclass(frozen=True)
class Sealed:
    """A sealed statement that was proven: what its forms are made of."""

    folder: Path
    manifest: seals.Manifest
    statement: Statement
    facts: dict[str, Any]  # as its documents print them
    is_proven: bool = True  # whether the forms that the seal holds were made again

    @property
    def place(self) -> Path:
        """The folder of its derived forms."""
        external = self.statement.external
        return forms_folder(self.folder, external.rates.currency if external else "")

    @property
    def marks(self) -> Marks:
        """The marks on its folder as it is now."""
        return Marks.of(self.folder)

    @property
    def sentences(self) -> StoredSentences:
        """The sentences that people wrote on what moved, as they are now."""
        return stored_sentences(self.folder.parent, self.manifest["label"])

    def saying(self, stored: StoredSentences) -> "Sealed":
        """Return it with sentences, which its forms print."""
        sentences, unread = stored.sentences, stored.unread
        statement = replace(self.statement, sentences=sentences, unread_sentences=unread)
        return replace(self, statement=statement)

    def marked(self, marks: Marks) -> "Sealed":
        """Return it with the statuses that its forms tell of a folder with these marks."""
        statement, seal = self.statement, str(self.manifest["seal"])
        if statement.state is None:
            return self
        state = replace(statement.state, statuses=marks.statuses(seal))
        return replace(self, statement=replace(statement, state=state))

    def converted(self, rates: ExternalRates) -> "Sealed":
        """Return it with another currency beside USD; raise `ConfigError` for days without one."""
        return replace(self, statement=self.statement.converted(rates))

    def lacking(self, output: Output) -> list[str]:
        """Return those of the formats that neither the seal nor its forms have, in the language."""
        known, external = read_facts(self.place), self.statement.external
        is_current = known.get("seal") == self.manifest["seal"] and is_this_release(known)
        is_current &= StoredSentences.from_json(known) == self.sentences
        had = self._had(known, output.language) if is_current else set()
        if external:  # which no seal has
            is_ours = known.get("rates") == external.rates.to_json()
            worded = [name for name in output.formats if name in _WORDED]
            return [name for name in worded if not (is_ours and name in had)]
        had |= self.sealed_formats(output.language)
        return [name for name in output.formats if name not in had]

    def sealed_formats(self, language: Language) -> set[str]:
        """Return the formats that the seal holds as they would be made now, in a language."""
        sealed = self._had(self.manifest, language)
        sealed -= set() if self.is_proven else _OF_RELEASE
        return sealed - _WORDED if self.sentences.to_json() else sealed  # no seal has sentences

    def _had(self, facts: Mapping[str, Any], language: Language) -> set[str]:
        """Return the formats of a folder's files; those with words in its own language alone."""
        formats = {*formats_of(facts["files"], self.statement.tables)}
        is_spoken = facts.get("language", asdict(ENGLISH)) == asdict(language)
        return formats if is_spoken else formats - _WORDED


def forms_folder(folder: Path, currency: str = "") -> Path:
    """Return the folder of the forms that are derived from a sealed one."""
    return folder.with_name("-".join([f"{folder.name}{ENDING}", *filter(None, [currency])]))


def write_forms(sealed: Sealed, output: Output, storage: Storage) -> Path | None:
    """Write the formats that the seal lacks beside it, with those written earlier.

    Returns their folder; None where nothing was lacking.
    """
    output.check()
    lacking = sealed.lacking(output.fitting(sealed.statement))
    if not lacking:
        return None
    _write(sealed, lacking, output, storage)
    return sealed.place


def _write(sealed: Sealed, lacking: list[str], output: Output, storage: Storage) -> None:
    """Write the forms that are beside a seal again, and those that it lacks."""
    earlier = formats_of(read_facts(sealed.place).get("files", ()), sealed.statement.tables)
    formats = tuple(dict.fromkeys([*earlier, *lacking]))
    with storage.merging(), storage.write_folder(sealed.place) as folder:
        fill(sealed, Output(formats, output.language, output.note), folder)


def write_again(sealed: Sealed, storage: Storage) -> None:
    """Write the forms beside a seal again where the month was signed or stamped since."""
    marks = sealed.marks
    for each in (sealed, *_converted(sealed)):
        facts = read_facts(each.place)
        is_of_seal = facts.get("seal") == sealed.manifest["seal"]
        if is_of_seal and Marks.from_json(facts.get(_MARKS)) != marks:
            with suppress(SvcError):  # such as a PDF, which cannot be made here
                _write(each, [], Output((), Language(**facts["language"])), storage)


def _converted(sealed: Sealed) -> Iterator[Sealed]:
    """Yield a sealed statement in each currency that it has forms in; strange folders aside."""
    for place in sorted(sealed.place.parent.glob(f"{sealed.place.name}-*/")):
        with suppress(SvcError):
            converted = sealed.converted(parse_rates(read_facts(place).get("rates", {})))
            if converted.place == place:
                yield converted


def fill(sealed: Sealed, output: Output, folder: Path) -> None:
    """Write forms of a sealed statement into a folder, and what they are."""
    marks = sealed.marks
    sentences = sealed.sentences
    sealed = sealed.marked(marks).saying(sentences)
    rows = write_files(sealed.statement, sealed.facts, folder, output)
    files = {name: {"sha256": hash_file(folder / name), "rows": rows[name]} for name in rows}
    own = sealed.statement.manifest(files)
    own_facts = {name: own[name] for name in (*PROGRAM, "files")}
    facts = own_facts | {"seal": sealed.manifest["seal"], "language": asdict(output.language)}
    facts |= {_MARKS: marks.to_json(), **sentences.to_json()}
    if external := sealed.statement.external:
        facts["rates"] = external.rates.to_json()
    text = json.dumps(facts, ensure_ascii=False, indent=2)
    (folder / FACTS).write_text(f"{text}\n", encoding="utf-8", newline="\n")


def compare_derived(sealed: Sealed) -> Findings:
    """Render the forms beside a seal again, and compare; nothing is found where there are none."""
    own = [_compare(sealed)] if sealed.place.is_dir() else []
    others = sorted(sealed.place.parent.glob(f"{sealed.place.name}-*/"))
    return Findings.joined([*own, *(_compare_converted(sealed, place) for place in others)])


def _compare_converted(sealed: Sealed, place: Path) -> Findings:
    """Compare forms in another currency with what the sealed tables and their own rates give."""
    try:
        converted = sealed.converted(parse_rates(read_facts(place).get("rates", {})))
    except SvcError as error:
        return Findings(_of_forms(place, [text_of(error)]))
    if converted.place != place:
        text = Message("seal.other_rates", name=converted.place.name)
        return Findings(_of_forms(place, [text]))
    return _compare(converted)


def _compare(sealed: Sealed) -> Findings:
    findings, facts = Findings(), read_facts(sealed.place)
    place = sealed.place
    if facts.get("seal") != sealed.manifest["seal"]:
        findings.broken.append(Message("seal.forms_of_other", name=place.name))
        return findings
    altered = seals.broken_files(place, facts, "seal.form_differs")
    marks = Marks.from_json(facts.get(_MARKS))
    sentences, now = StoredSentences.from_json(facts), sealed.sentences
    statement, is_own = sealed.marked(marks).saying(sentences).statement, is_this_release(facts)
    findings = compare_forms(statement, facts, sealed.facts, place, altered, is_own=is_own)
    findings.unproven += findings.left_out
    _compare_marks(marks, sealed.marks, findings)
    # A package holds the sentences that could be read, and no line that could not.
    if now != (sentences if now.unread else replace(sentences, unread=())):
        findings.notes.append(Message(_OTHER_SENTENCES))
    strange = {path.name for path in place.iterdir()} - {FACTS, *facts["files"]}
    findings.broken += altered.values()
    findings.broken += [Message("seal.no_form", name=name) for name in sorted(strange)]
    findings.broken = _of_forms(place, findings.broken)
    findings.unproven = _of_forms(place, findings.unproven)
    findings.notes = _of_forms(place, findings.notes)
    return findings


def _of_forms(place: Path, texts: Sequence[str]) -> list[Message]:
    """Put the name of a folder of forms before what is said of it."""
    return [Message("{name}: {TEXT}", name=place.name, text=translated(text)) for text in texts]


def _compare_marks(before: Marks, now: Marks, findings: Findings) -> None:
    """Find marks that forms tell of and the folder has not; it may have come by them later."""
    if before.signer and before.signer != now.signer:
        text = Message("seal.other_key", key=before.signer, file=SIGNATURE)
        (findings.unproven if now.signer == UNREAD else findings.broken).append(text)
    if before.is_stamped and not now.is_stamped:
        findings.broken.append(Message("seal.no_stamp", file=STAMP))
    is_fewer = before.signer in (None, now.signer) and before.is_stamped <= now.is_stamped
    if is_fewer and before != now:
        findings.notes.append(Message(_WRITTEN_BEFORE))


def read_facts(folder: Path) -> dict[str, Any]:
    """Return the facts that a folder of forms states; {} where there is none."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        Language(**facts["language"])
        is_whole = isinstance(facts["files"], dict)
    except (*UNREADABLE, SvcError):
        return {}
    return dict(facts) if is_whole else {}
