"""A form of a sealed month to give away, such as its page: made on demand, beside the seal."""

from pathlib import Path

from svc_analytics.closing import seals
from svc_analytics.closing.handover.evidence import pack_folder
from svc_analytics.closing.job import Job, one_at_a_time
from svc_analytics.closing.result import CloseResult
from svc_analytics.closing.verification import derived_forms
from svc_analytics.closing.verification.derived_forms import Sealed
from svc_analytics.closing.verification.proof import require_unaltered
from svc_analytics.errors import ConfigError, LakeError, SvcError, text_of
from svc_analytics.lake.lake import Lake
from svc_analytics.language.catalogue import ENGLISH, Language
from svc_analytics.messages import Message, clauses, translated
from svc_analytics.periods import Period
from svc_analytics.render.document import Document, Reason
from svc_analytics.render.folder import Output
from svc_analytics.render.formats import DOCUMENTS

ZIP = "zip"


def readable_file(lake: Lake, folder: Path, name: str, language: Language = ENGLISH) -> Path:
    """Return the file of a form of a sealed folder, or its zip for an auditor; make what lacks.

    Raises `LakeError` where the folder was altered, and `ConfigError` where the form needs
    something that is not installed.
    """
    if name == ZIP:
        return pack_folder(folder, folder.with_name(f"{folder.name}.{ZIP}"), lake).file
    manifest, [file, *_] = seals.read_manifest(folder), DOCUMENTS[name].files
    proof = require_unaltered(lake, folder, manifest)
    if proof.sealed is None:
        why = clauses(*proof.findings.unproven)
        raise LakeError(Message("seal.not_shown", folder=folder, why=translated(why)))
    if name in proof.sealed.sealed_formats(language):
        return folder / file
    derived_forms.write_forms(proof.sealed, Output((name,), language), lake.storage)
    return derived_forms.forms_folder(folder) / file


def write_lacking(job: Job, sealed: Sealed) -> list[Message]:
    """Write what a close was asked for and the seal lacks beside it; say where it is."""
    shown = sealed.converted(job.rates) if job.rates else sealed
    place = derived_forms.write_forms(shown, job.output, job.lake.storage)
    derived_forms.write_again(sealed, job.lake.storage)
    text = "the forms that the seal lacks are in {place}"
    return [Message(text, place=place)] if place else []


def forms_left_out(output: Output, statement: Document) -> list[Message]:
    """Say which forms were asked for that a statement of this status or period has not."""
    fitting = output.fitting(statement).formats
    names = [name for name in output.formats if name not in fitting]
    text = "{name} is not written: only a final month can have it"
    return [Message(text, name=name) for name in names]


def only_forms(job: Job, period: Period, error: SvcError) -> CloseResult:
    """Write the forms that a sealed period lacks, where the service cannot be read.

    Raises the error where the period has no seal, and where there was nothing else to do.
    """
    folders = seals.versions(job.folder(period))
    if not (folders and (job.rates or {*DOCUMENTS} & {*job.output.formats})):
        raise error
    folder, manifest = folders[-1], seals.read_manifest(folders[-1])
    with one_at_a_time(job.lake):
        proof = require_unaltered(job.lake, folder, manifest)
        written = write_lacking(job, proof.sealed) if proof.sealed else proof.findings.unproven
    if not (written or isinstance(error, ConfigError)):
        raise error
    has_changed = proof.table.num_rows > 0
    reasons = [Message("state.changed")] * has_changed + proof.findings.of_files
    seal, why = str(manifest["seal"]), tuple(map(Reason, reasons))
    closed = CloseResult(period.folder, proof.state, folder, len(folders), seal, why)
    left = forms_left_out(job.output, proof.sealed.statement) if proof.sealed else []
    unread = Message("the service was not read: {ERROR}", error=translated(text_of(error)))
    return closed.with_notes([*written, *proof.findings.left_out, *left, unread]).logged()
